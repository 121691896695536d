"""``stepscope ls``: runs, hosts, files, and the reason for each file that does not open."""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import Any, Final

import click

from stepscope.errors import StepscopeError
from stepscope.quantities import count_words, size_words
from stepscope.session import FileReport
from stepscope.session.workspace import Workspace
from stepscope.store import Found, Source, by_reason, find
from stepscope.store.described import described_all
from stepscope.store.notes import NO_NOTE, read_notes
from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.envelope import file_info, run_info
from stepscope.surfaces.format import clean, json_of, pad, shorten, width
from stepscope.utf8 import shown

# A longer name is cut in the middle.
_HOST_COLUMNS: Final = 32


@click.command("ls")
@arguments.path
@click.option("--check", is_flag=True, help="Decode every file and report damage.")
@arguments.formats("table", "json")
@arguments.everything
def list_runs(path: str, check: bool, format: str) -> None:
    """List runs, hosts and files at a path, and why a file does not open."""
    found = find(path)
    workspace = Workspace(found)
    reports = _checked(workspace) if check else workspace.files
    if format == "json":
        print(json_of(listing(found, reports), indent=2))
    else:
        _page(found, reports).print()


def _checked(workspace: Workspace) -> tuple[FileReport, ...]:
    """Decode run after run, letting each go before the next; returns the state of the files."""
    reports: list[FileReport] = []
    for run in workspace.runs:
        session = workspace.session(run.id)
        with contextlib.suppress(StepscopeError):  # the reason is in the reports
            _ = session.profile
        reports += [report for report in session.files if report.state != "skipped"]
        session.close()
    return (*reports, *(FileReport.from_miss(miss) for miss in workspace.found.misses))


def listing(found: Found, reports: tuple[FileReport, ...]) -> dict[str, Any]:
    """The listing as JSON-ready values."""
    notes = read_notes(found.root)
    formats = _formats(found)
    return {
        "root": shown(found.root),
        "folders": found.folders,
        "files_looked_at": found.files,
        "notes": list(found.notes),
        "runs": [
            {
                **run_info(run, notes.get(run.id, NO_NOTE)),
                "formats": [formats[source.path] for source in run.sources],
                "apart": sorted({source.apart for source in run.sources} - {""}),
            }
            for run in found.runs
        ],
        "files": [file_info(report) for report in reports],
    }


def _formats(found: Found) -> dict[str, str]:
    """What each file is and who wrote it, by its path; those beside others, too."""
    sources = [
        one for run in found.runs for source in run.sources for one in _add_companions(source)
    ]
    return {one.path: text for one, text in zip(sources, described_all(sources), strict=True)}


def _add_companions(source: Source) -> tuple[Source, ...]:
    """A file and those that lie beside it."""
    return (source, *source.companions)


def _page(found: Found, reports: tuple[FileReport, ...]) -> Page:
    page = Page.of_terminal(next="show overview_page", paths=(found.root,))
    page.line((clean(found.root), "bold"))
    page.line(
        (
            f"{count_words(len(found.runs), 'run')} in {count_words(found.folders, 'folder')}, "
            f"{count_words(found.files, 'file')} examined",
            "dim",
        )
    )
    for note in found.notes:
        page.text(clean(note), lead="! ", style="yellow")
    by_path = {report.path: report for report in reports}
    longest = max(width(clean(source.host)) for run in found.runs for source in run.sources)
    notes = read_notes(found.root)
    formats = _formats(found)
    for run in found.runs:
        when = datetime.fromtimestamp(run.recorded).strftime("%Y-%m-%d %H:%M")
        page.blank()
        noted = notes.get(run.id, NO_NOTE)
        tags = "".join(f"  #{clean(tag)}" for tag in noted.tags)
        page.line((clean(run.id), "bold"), (f"  {when}", "dim"), (tags, "cyan"))
        if noted.text:
            page.text(clean(noted.text), indent=2, style="dim")
        for source in run.sources:
            report = by_path[shown(source.path)]
            state = {"waiting": "", "opened": "whole"}.get(report.state, report.state)
            host = pad(shorten(clean(source.host), _HOST_COLUMNS), min(longest, _HOST_COLUMNS))
            size = pad(size_words(source.size_bytes), 10, right=True)
            facts = " · ".join(filter(None, (state, clean(formats[source.path]))))
            room = (page.width or 10_000) - width(f"  {host}  {size}  ")
            page.line(f"  {host}  {size}  ", (shorten(facts, room), "dim"))
            _reason(page, report.reason, report.hint)
            for one in source.companions:
                text = f"beside it: {clean(one.host)}, {clean(formats[one.path])}"
                page.text(clean(text), indent=4, style="dim")
            if source.apart:
                page.text(clean(source.apart), indent=4, style="dim")
    skipped = [report for report in reports if report.state == "skipped"]
    if skipped:
        page.heading(f"Not opened · {len(skipped)}")
        for group in by_reason(found.misses):
            page.blank()
            for miss in group:
                page.line("  ", clean(miss.path.removeprefix(shown(found.root)).lstrip("/")))
            _reason(page, group[0].reason, group[0].hint)
    return page


def _reason(page: Page, reason: str, hint: str) -> None:
    if reason:
        page.text(clean(reason), indent=4, style="yellow")
        page.text(clean(hint), indent=4, lead="→ ")


COMMAND = list_runs
