"""Results as terminal pages: the overview laid out by hand, any other tool from its schema."""

from __future__ import annotations

from collections import Counter

from stepscope.analysis.overview_page import OverviewPage
from stepscope.field_names import label_of
from stepscope.quantities import NOT_AVAILABLE, count_words
from stepscope.result import Result, tables_of
from stepscope.surfaces.cli.pages.overview import write_overview
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.cli.pages.parts import diagnostics, title_line
from stepscope.surfaces.format import clean
from stepscope.surfaces.outline import outline


def write_result(page: Page, result: Result, title: str, top: int | None) -> None:
    """Write a tool's answer: the overview by hand, any other from its schema."""
    page.times_of = result.times_of
    if isinstance(result, OverviewPage):
        write_overview(page, result, top)
    else:
        _write_any(page, result, title, top)


def _write_any(page: Page, result: Result, title: str, top: int | None) -> None:
    """Return its heading, values and tables: all of them, or as many as fit on one screen."""
    whole = Page(page.width, more=page.more, times_of=page.times_of, short_names=page.short_names)
    _write_all(whole, result, title, top)
    if page.height is None or len(whole.lines) + bool(page.next) < page.height:
        page.lines += whole.lines
    else:
        _write_screen(page, result, title)


def _write_all(page: Page, result: Result, title: str, top: int | None) -> None:
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
        page.heading(f"{label_of(name.replace('.', '_'))} · {count_words(len(table), 'row')}")
        page.table(table, top)


# Lines of a screen for what is not the first table.
_VALUE_LINES, _NOTE_LINES = 4, 2
# A longer value is a text, which does not stand in a row of figures.
_VALUE_COLUMNS = 40
_NO_FIGURES = ("", "none", "yes", "no", NOT_AVAILABLE)
# A heading, the head of the table, and what is named below it.
_TABLE_FRAME = 5


def _write_screen(page: Page, result: Result, title: str) -> None:
    """The answer in short: its headline, its figures, and as much of its first table as fits."""
    title_line(page, title, result)
    if result.times:
        page.folded(result.times, 1, style="dim")
    warnings = [one for one in result.diagnostics if one.severity != "info"]
    for one in warnings[:_NOTE_LINES]:
        page.folded(f"! {clean(one.message)}", 1, style="yellow")
    headline = getattr(result, "headline", "")
    if headline:
        page.folded(clean(headline), _NOTE_LINES, style="bold")
    lines = list(outline(result))
    often = Counter(line.label for line in lines)
    figures = [
        f"{line.label} {line.text}"
        for line in lines
        if often[line.label] == 1
        and line.text not in (*_NO_FIGURES, clean(str(headline)))
        and len(line.text) <= _VALUE_COLUMNS
        and "_" not in line.label
        and not line.text.endswith("rows, below")
    ]
    page.folded(" · ".join(figures), _VALUE_LINES)
    tables = [(name, table) for name, table in tables_of(result).items() if len(table)]
    for name, table in tables[:1]:
        page.heading(f"{label_of(name.replace('.', '_'))} · {count_words(len(table), 'row')}")
        rows = max((page.room or 0) - _TABLE_FRAME, 1)
        page.table(table, rows, brief=True)
    rest = " · ".join(
        f"{label_of(name.replace('.', '_'))} {len(one):,}" for name, one in tables[1:]
    )
    page.folded(f"More: {rest}: --all" if rest else "More: --all", 1, style="dim")
