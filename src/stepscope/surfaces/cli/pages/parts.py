"""Parts of several pages: the title, caveats about the numbers, findings."""

from __future__ import annotations

import re

from stepscope.advice.catalogue import causes
from stepscope.result import Diagnostic, Finding, Result
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.format import caller_text, clean, place_text, shorten, width
from stepscope.tables.core.thresholds import ALARM_FRAC

_SEVERITY = {"high": "bold red", "medium": "bold yellow", "low": "bold cyan", "info": "bold"}
# Parts of a healthy step that are named, and words of a line.
_PARTS = 3
_MOST_WORDS = 24
# The line that follows findings, beside that of the findings left out.
_AFTER_FINDINGS = 1
_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_DIAGNOSTIC = {"error": "red", "warning": "yellow", "info": "dim"}


def title_line(page: Page, title: str, result: Result) -> None:
    """The first line: tool, run, hosts."""
    hosts = clean(result.hosts[0]) if len(result.hosts) == 1 else f"{len(result.hosts)} hosts"
    part = f"  ·  {clean(result.selection)}" if result.selection else ""
    rest = f"  ·  run {clean(result.session)}  ·  {hosts}"
    if page.width is not None:
        part = shorten(part, max(page.width - width(title), 0))
        rest = shorten(rest, max(page.width - width(title + part), 0))
    page.line((title, "bold"), (part, "bold"), (rest, "dim"))


def diagnostics(page: Page, found: tuple[Diagnostic, ...]) -> None:
    """What to know before believing the numbers; none twice."""
    if page.height is not None:
        _brief_diagnostics(page, found)
        return
    said = {(one.message, one.where): one for one in reversed(found)}
    for diagnostic in reversed(said.values()):
        where = f" [{clean(diagnostic.where)}]" if diagnostic.where else ""
        page.text(
            f"{clean(diagnostic.message)}{where}",
            lead="! " if diagnostic.severity != "info" else "· ",
            style=_DIAGNOSTIC[diagnostic.severity],
        )


# Maximum number of cases on a screen, and of lines for each.
_CASES, _CASE_LINES = 4, 2


def _brief_diagnostics(page: Page, found: tuple[Diagnostic, ...]) -> None:
    """The first of each case, the most severe first, and how many hosts have it."""
    cases: dict[str, list[Diagnostic]] = {}
    for one in sorted(found, key=lambda one: tuple(_DIAGNOSTIC).index(one.severity)):
        cases.setdefault(one.slug, []).append(one)
    for case in [*cases.values()][:_CASES]:
        first = case[0]
        hosts = len({one.where for one in case})
        where = (
            f" [{hosts} hosts]" if hosts > 1 else f" [{clean(first.where)}]" if first.where else ""
        )
        lead = "! " if first.severity != "info" else "· "
        text = f"{lead}{clean(first.message).rstrip('.')}{where}"
        page.folded(text, _CASE_LINES, style=_DIAGNOSTIC[first.severity])
    if len(cases) > _CASES:
        page.line((f"… {len(cases) - _CASES} more notes: --all", "dim"))


def findings(page: Page, found: tuple[Finding, ...], most: int | None = None) -> None:
    """Write the advice, most useful first: at most four lines each, as many as fit.

    Args:
        page: Where to.
        found: All of it: whether anything is to be fixed depends on all.
        most: Maximum number that is written; None for any.
    """
    if all(one.rule == "incomplete-profile" and one.severity == "info" for one in found):
        page.text("No finding: the recording does not show what to change.", style="bold")
        for one in found:
            page.text(f"{clean(one.title)}. {clean(one.message)}")
        return
    if not any(map(_is_loss, found)):
        _nothing(page, found)
        return
    for number, finding in enumerate(found[:most], 1):
        written = Page(page.width)
        _finding(written, number, finding)
        room = page.room
        if number > 1 and room is not None and len(written.lines) > room - _AFTER_FINDINGS:
            left = len(found) - number + 1
            page.line((f"… {left} more finding{'s' if left > 1 else ''}: --all", "dim"))
            return
        page.lines += written.lines


def _is_loss(finding: Finding) -> bool:
    """Return whether a finding is an alarm, or of much overhead that is no sure one."""
    if finding.severity != "info" or finding.cause not in causes():
        return True
    cost = finding.measured.get("cost_ms") or finding.measured.get("part_ms") or 0.0
    whole = float(finding.measured.get("step_time_ms") or 0.0)
    is_much = whole > 0 and float(cost) >= ALARM_FRAC * whole
    return is_much and causes()[finding.cause].severity in ("overhead", "large", "open")


def _nothing(page: Page, found: tuple[Finding, ...]) -> None:
    """Write that nothing is overhead, and what the step consists of."""
    shown = found[:_PARTS]
    parts = [clean(finding.title) for finding in shown if "part_ms" in finding.measured]
    notes = [clean(finding.title) for finding in shown if "part_ms" not in finding.measured]
    sentences = ["Nothing to fix", *(["; ".join(parts)] if parts else ()), *notes]
    page.text(f"{'. '.join(sentences)}.", style="bold")


def _finding(page: Page, number: int, finding: Finding) -> None:
    lead = f"{number}. "
    room = 10_000 if page.width is None else page.width - len(lead)
    title, saving, place, fact, caller, action = printed(finding)
    style = _SEVERITY[finding.severity]
    space = room - width(title) - width(saving)
    if page.width is None or space >= 2:
        gap = " " * (2 if page.width is None else space)
        page.line(lead, (title, style), gap, (saving, "dim"))
        saving = ""
    else:
        page.line(lead, (_cut(title, room), style))
    body = " · ".join(filter(None, (saving, place, fact, caller)))
    for line in _folded(body, room):
        page.line(" " * len(lead), line)
    if action:
        page.line(" " * len(lead), _cut(f"→ {action}", room))


def printed(finding: Finding) -> tuple[str, str, str, str, str, str]:
    """Return the printed texts of a finding: title, saving, place, facts, caller, one action."""
    code = next(iter(finding.code.values()), "").partition("\n")[0]
    action = code or next(iter(finding.actions), "")
    return (
        clean(finding.title),
        clean(finding.saving_text),
        clean(place_text(finding.place)),
        _first_sentence(clean(finding.message)),
        clean(caller_text(finding.place)),
        _first_sentence(clean(action)),
    )


def _folded(text: str, room: int) -> list[str]:
    """Return a text on at most two lines."""
    if width(text) <= room:
        return [text] if text else []
    first = ""
    words = text.split(" ")
    while words and width(first) + 1 + width(words[0]) <= room:
        first += f" {words.pop(0)}"
    if not first:
        return [_cut(text, room)]
    return [first.strip(), _cut(" ".join(words), room)]


def _first_sentence(text: str) -> str:
    """Return the first sentence, and at most so many of its words."""
    first = _SENTENCE.split(text, 1)[0]
    words = first.split(" ")
    return first if len(words) <= _MOST_WORDS else f"{' '.join(words[:_MOST_WORDS])} …"


def _cut(text: str, room: int | None) -> str:
    return text if room is None or width(text) <= room else f"{text[: room - 1]}…"
