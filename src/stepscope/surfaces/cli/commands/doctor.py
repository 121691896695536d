"""``stepscope doctor``: problems of this machine or of a recording."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import click

from stepscope.quantities import count_words
from stepscope.surfaces.cli import arguments

if TYPE_CHECKING:
    from stepscope.doctor import Check
    from stepscope.session import Session
    from stepscope.surfaces.cli.pages.page import Page

_FOUND = 1
_NAMED = 5
_STYLE = {"ok": "green", "absent": "dim", "warning": "yellow", "problem": "red"}


@click.command()
@arguments.argument(
    "path",
    metavar="[PATH]",
    required=False,
    help="A recording to check; without one, this machine.",
)
@click.option("--logdir", default=".", show_default=True, help="Folder for recordings.")
@arguments.run
@arguments.formats("table", "json")
@arguments.everything
def doctor(path: str | None, logdir: str, run: str | None, format: str) -> int:
    """Check this machine, or a recording, for problems."""
    as_json = format == "json"
    return check_machine(logdir, as_json) if path is None else _check_recording(path, run, as_json)


def check_machine(logdir: str, as_json: bool) -> int:
    """Print what the checks of this machine found; returns the exit code."""
    from stepscope.doctor import examine

    checks = examine(logdir)
    problems = sum(check.status == "problem" for check in checks)
    warnings = sum(check.status == "warning" for check in checks)
    verdict = "problem" if problems else "warning" if warnings else "ok"
    if as_json:
        body = {"verdict": verdict, "checks": [check.to_dict() for check in checks]}
        from stepscope.surfaces.format import json_of

        print(json_of(body, indent=2))
    else:
        _machine_page(checks, problems, warnings).print()
    return _FOUND if problems else 0


def _machine_page(checks: tuple[Check, ...], problems: int, warnings: int) -> Page:
    from stepscope.surfaces.cli.pages.page import Page
    from stepscope.surfaces.format import clean, pad

    page = Page.of_terminal(next="record -o LOGDIR", paths=("train.py",))
    counts = ((problems, "problem"), (warnings, "warning"))
    found = [count_words(number, noun) for number, noun in counts if number]
    page.line((" and ".join(found) or "Nothing here would spoil a recording.", "bold"))
    page.blank()
    widest = max(len(check.id) for check in checks)
    for check in checks:
        page.line(
            (pad(check.status, 7), _STYLE[check.status]),
            f"  {pad(check.id, widest)}  {clean(check.what)}",
        )
        for text, lead in ((check.why, ""), (check.hint, "→ ")):
            if text:
                page.text(clean(text), indent=11 + widest, lead=lead, style="" if lead else "dim")
    return page


def _check_recording(path: str, run: str | None, as_json: bool) -> int:
    import stepscope
    from stepscope.store.described import described
    from stepscope.surfaces.cli.pages.page import Page
    from stepscope.surfaces.cli.pages.parts import diagnostics
    from stepscope.surfaces.envelope import file_info
    from stepscope.surfaces.format import clean

    with contextlib.closing(stepscope.open(path, run=run)) as session:
        overview = session.overview_page()
        whole = overview.completeness
        notes = overview.diagnostics
        lost = [each for each in session.files if each.state in ("failed", "damaged")]
        has, lacks = _contents(session)
        facts: dict[str, Any] = {
            "path": path,
            "formats": sorted({described(one) for one in session.recording.run.sources}),
            "has": has,
            "lacks": lacks,
            "run": session.name,
            "other_runs": [one.id for one in session.runs if one.id != session.name],
            "hosts": list(overview.hosts),
            "verdict": whole.verdict,
            "notes": [
                {
                    "slug": note.slug,
                    "severity": note.severity,
                    "message": note.message,
                    "where": note.where,
                }
                for note in notes
            ],
            "files": [file_info(each) for each in lost],
        }
    if as_json:
        from stepscope.surfaces.format import json_of

        print(json_of(facts, indent=2))
        return 0
    page = Page.of_terminal(next="advise", paths=(path,))
    page.line(
        (f"The recording is {whole.verdict}.", "bold"),
        (f"  ·  run {clean(session.name)}  ·  {count_words(len(facts['hosts']), 'host')}", "dim"),
    )
    if facts["other_runs"]:
        _others_page(page, facts["other_runs"], is_newest=run is None)
    for each in lost:
        page.text(clean(f"{each.path}: {each.reason}"), lead="! ", style="red")
        page.text(clean(each.hint), indent=2, lead="→ ")
    for each in facts["formats"]:
        page.text(clean(each), style="dim")
    diagnostics(page, notes)
    _contents_page(page, has, lacks)
    if any(note.slug == "no-device-events" for note in notes):
        page.text("On the machine that recorded, run: stepscope doctor", lead="→ ")
    page.print()
    return 0


def _others_page(page: Page, others: list[str], *, is_newest: bool) -> None:
    """Say that there are other recordings, and how to look at one of them."""
    from stepscope.surfaces.format import clean

    count = len(others) + 1
    which = "; this is the newest" if is_newest else ""
    more = ", …" if len(others) > _NAMED else ""
    page.text(
        f"{count:,} recordings are at this path{which}. The others: "
        f"{clean(', '.join(others[:_NAMED]))}{more}.",
        style="yellow",
    )
    page.text("Look at another with --run NAME; `stepscope ls` lists all.", lead="→ ")


def _contents(session: Session) -> tuple[list[str], list[dict[str, str]]]:
    """The tools that have something to show, and what the others lack and how to record it."""
    from stepscope.analysis import TOOLS

    has: list[str] = []
    lacks: list[dict[str, str]] = []
    for tool in TOOLS:
        reason = session.available(tool.id)
        if reason is None:
            has.append(tool.id)
        else:
            lacks.append({"tool": tool.id, "missing": reason.missing, "record": reason.record})
    return has, lacks


def _contents_page(page: Page, has: list[str], lacks: list[dict[str, str]]) -> None:
    from stepscope.surfaces.format import clean

    page.heading("It has something to show in")
    page.folded(", ".join(has) or "no tool", 3, indent=2)
    if lacks:
        page.heading("It lacks")
        by_reason: dict[tuple[str, str], list[str]] = {}
        for one in lacks:
            by_reason.setdefault((one["missing"], one["record"]), []).append(one["tool"])
        if page.height is not None:
            listed = ", ".join(one["tool"] for one in lacks)
            page.folded(f"data for {listed}", 2, indent=2)
            page.line("  ", ("why, and how to record it: --all", "dim"))
            return
        for (missing, record), tools in by_reason.items():
            page.text(f"{clean(missing)} ({', '.join(tools)})", indent=2)
            if record:
                page.text(clean(record), indent=4, lead="→ ")


COMMAND = doctor
