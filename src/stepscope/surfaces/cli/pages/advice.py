"""Advice as a page, as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.result import SCHEMA_VERSION, Advice, Checked
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.cli.pages.parts import findings as findings_section
from stepscope.surfaces.format import clean, place_text

# Headings over the rules that did not fire, by outcome.
_OUTCOMES = {
    "silent": "Checked and not found",
    "unknown": "This recording cannot tell",
    "failed": "Rules that broke",
}


# The rule that explains any step: why it does not is what a recording lacks most.
_EXPLAINS_ANY = "largest-part"


def advice_page(
    session: str,
    advice: Advice,
    columns: int | None,
    *,
    height: int | None = None,
    next: str = "",
    paths: tuple[str, ...] = (),
    part: str = "",
    with_checks: bool = True,
) -> Page:
    """The answer as a page: its findings, and the outcome of the other rules.

    Args:
        session: The run's name.
        advice: What to show.
        columns: Width of the page; None: as wide as it gets.
        height: Lines of the page; None: all of it.
        next: The command to run next.
        paths: What it runs on.
        part: The part of the recording that it is about, in words; "" for all of it.
        with_checks: Also why each of the other rules did not fire. Where no rule fired, that is
            the answer, and always shown.
    """
    page = Page(columns, height, next=next, paths=paths)
    selection = f"  ·  {clean(part)}" if part else ""
    page.line(
        ("What to change", "bold"), (selection, "bold"), (f"  ·  run {clean(session)}", "dim")
    )
    if advice.note:
        page.text(clean(advice.note), style="dim")
    write_advice(page, advice, with_checks=with_checks)
    return page


def write_advice(page: Page, advice: Advice, *, with_checks: bool = True) -> None:
    """Write the findings, and the outcome of the other rules."""
    page.blank()
    findings_section(page, advice.findings)
    if not advice.findings:
        why = next((one.reason for one in advice.checked if one.rule == _EXPLAINS_ANY), "")
        if why:
            page.text(clean(why))
    _count_others(page, advice)
    is_all = with_checks or not advice.findings
    _others(page, advice, _OUTCOMES if is_all else ("failed",))


def _count_others(page: Page, advice: Advice) -> None:
    """Write where to read more: that other causes were checked is part of the answer."""
    silent, unknown = (
        sum(one.outcome == outcome for one in advice.checked) for outcome in ("silent", "unknown")
    )
    more = ["stepscope explain finding:1"] if advice.findings and not page.next else []
    checked = f"{silent} causes ruled out, {unknown} unknown: --checks"
    page.text(f"More: {' · '.join([*more, checked])}", style="dim")


def _others(page: Page, advice: Advice, outcomes: Iterable[str]) -> None:
    """The rules that did not fire, and why."""
    for outcome in outcomes:
        heading = _OUTCOMES[outcome]
        rest = [one for one in advice.checked if one.outcome == outcome]
        if not rest:
            continue
        page.heading(f"{heading} · {len(rest)}")
        for reason, titles in by_reason(rest):
            said = " · ".join(map(clean, titles))
            page.text(
                clean(reason) if len(titles) > 1 else f"{said}: {clean(reason)}",
                lead="  · ",
                style="dim",
            )
            if len(titles) > 1:
                page.text(said, indent=6, style="dim")


def by_reason(checked: Iterable[Checked]) -> list[tuple[str, list[str]]]:
    """Titles of rules with one reason together: what lacks in a recording silences many."""
    found: dict[str, list[str]] = {}
    for one in checked:
        found.setdefault(one.reason or "no sign of it.", []).append(one.title or one.rule)
    return list(found.items())


def advice_json(
    session: str, hosts: tuple[str, ...], advice: Advice, files_used: tuple[str, ...]
) -> dict[str, object]:
    """The answer as JSON-ready values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "session": session,
        "hosts": list(hosts),
        "files_used": list(files_used),
        **advice.to_dict(),
    }


def advice_markdown(session: str, advice: Advice) -> str:
    """The answer as Markdown."""
    from stepscope.surfaces.export.tables import markdown_escape

    lines = [f"# What to change in {markdown_escape(session)}", ""]
    if not advice.findings:
        lines.append(f"None of the {len(advice.checked)} rules of advice fired.")
    for number, finding in enumerate(advice.findings, 1):
        place = place_text(finding.place)
        facts = ". ".join(filter(None, (finding.saving_text.capitalize(), place)))
        lines.append(
            f"{number}. **{markdown_escape(finding.title)}** ({finding.severity}). "
            f"{markdown_escape(facts)}. {markdown_escape(finding.message)}"
        )
        code = [line for text in finding.code.values() for line in text.splitlines()]
        lines += [f"   - `{line}`" for line in code]
        lines += [f"   - {markdown_escape(one)}" for one in finding.actions if one not in code]
    for outcome, heading in _OUTCOMES.items():
        rest = [one for one in advice.checked if one.outcome == outcome]
        if rest:
            lines += ["", f"## {heading}", ""]
            lines += [
                f"- {markdown_escape('; '.join(titles))}: {markdown_escape(reason)}"
                for reason, titles in by_reason(rest)
            ]
    return "\n".join(lines)
