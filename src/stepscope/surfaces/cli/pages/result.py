"""Results as terminal pages: the overview laid out by hand, any other tool from its schema."""

from __future__ import annotations

from stepscope.analysis.overview_page import OverviewPage
from stepscope.field_names import label_of
from stepscope.result import Result, tables_of
from stepscope.surfaces.cli.pages.overview import write_overview
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.cli.pages.parts import diagnostics, title_line
from stepscope.surfaces.outline import outline


def write_result(page: Page, result: Result, title: str, top: int | None) -> None:
    """Write a tool's answer: the overview by hand, any other from its schema."""
    page.times_of = result.times_of
    if isinstance(result, OverviewPage):
        write_overview(page, result, top)
    else:
        _write_any(page, result, title, top)


def _write_any(page: Page, result: Result, title: str, top: int | None) -> None:
    """What it is over, its values, its tables."""
    title_line(page, title, result)
    if result.times:
        page.line((result.times, "dim"))
    diagnostics(page, result.diagnostics)
    page.blank()
    for line in outline(result):
        lead = "  " * (line.depth + 1)
        if line.label and line.text:
            page.text(line.text, lead=f"{lead}{line.label}: ")
        elif line.label:
            page.line(lead, (line.label, "bold"))
        else:
            page.text(line.text, lead=f"{lead}· ")
    for name, table in tables_of(result).items():
        page.heading(f"{label_of(name.replace('.', '_'))} · {len(table):,} rows")
        page.table(table, top)
