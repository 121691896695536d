"""Terminal pages: aligned, never wrapped to unreadable, literal, quiet when piped."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import pytest

from stepscope.result import Column, Row, Table
from stepscope.surfaces.cli.pages.page import Page, terminal_height, terminal_width, use_colour
from stepscope.surfaces.format import width
from tests.profiles import HOSTILE_NAMES
from tests.unit.surfaces.sample import Sample, sample


class Terminal(io.StringIO):
    """Text output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def printed(page: Page, *, colour: bool = False) -> str:
    out = io.StringIO()
    page.print(out, colour=colour)
    return out.getvalue()


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_tables_fit_the_terminal(columns: int) -> None:
    page = Page(columns)
    page.table(sample(), None)
    lines = printed(page).splitlines()
    assert max(map(width, lines)) <= columns
    assert "Operation" in lines[0] and "Self (µs)" in lines[0]


def test_what_is_left_out_is_named() -> None:
    page = Page(40)
    page.table(sample(), 1)
    text = printed(page)
    assert "no room here for: " in text and "Total (µs)" in text
    assert "1 more rows" in text
    assert "not recorded (–): Rate" in text
    assert "Secret" not in text


def test_without_a_terminal_nothing_is_shortened() -> None:
    page = Page(None)
    page.table(sample(), None)
    text = printed(page)
    assert "a/much/longer/name/" * 6 in text
    assert "…" not in text


def test_columns_align() -> None:
    page = Page(None)
    page.table(sample(("a", "bb")), None)
    head, first, second = printed(page).splitlines()[:3]
    assert head.index("Operation") == first.index("a  ") == second.index("bb")
    assert head.index("(µs)") + 4 == first.index("1,234") + 5


def test_names_from_files_are_literal_and_stay_on_their_line() -> None:
    page = Page(None)
    page.table(sample(HOSTILE_NAMES), None)
    text = printed(page, colour=True)
    assert "[bold red]markup[/]" in text
    assert "\x1b[31m" not in text, "a name cannot start a colour"
    assert len(text.splitlines()) == 1 + len(HOSTILE_NAMES) + 1


def test_empty_table_says_so() -> None:
    page = Page(80)
    page.table(Table.empty(Sample), None)
    assert "no rows" in printed(page)


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert use_colour(Terminal()) and not use_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not use_colour(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not use_colour(Terminal())


def test_a_pipe_has_the_columns_and_lines_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    monkeypatch.setenv("LINES", "33")
    assert (terminal_width(), terminal_height()) == (77, 33)
    monkeypatch.delenv("COLUMNS")
    monkeypatch.delenv("LINES")
    monkeypatch.setattr(sys, "__stdout__", None)
    assert (terminal_width(), terminal_height()) == (80, 24)


def test_a_page_that_is_too_long_says_how_to_see_the_rest_and_what_is_next() -> None:
    page = Page(80, 12, next="advise", paths=("a/long path" * 9,))
    for number in range(30):
        page.line(f"line {number}")
    lines = printed(page).splitlines()
    assert lines[-3:] == ["line 8", "… 21 more lines: --all", "Next: stepscope advise PATH"]
    assert len(lines) == 11
    page.height = None
    assert len(printed(page).splitlines()) == 31


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_numbers_stay_and_names_shorten(columns: int) -> None:
    page = Page(columns)
    page.table(sample(), None)
    head = printed(page).splitlines()[0]
    assert "Self (µs)" in head
    assert "1,234" in printed(page)
    assert "a/much/longer/name/" * 6 not in printed(page)


def test_text_wraps_under_its_lead() -> None:
    page = Page(30)
    page.text("one two three four five six seven eight nine", lead="  → ")
    lines = printed(page).splitlines()
    assert lines[0].startswith("  → one") and lines[1].startswith("    ")
    assert max(map(len, lines)) <= 30


class Side(Row):
    """An op on one side."""

    operation: Annotated[str, Column("Operation", kind="name")]
    kind: Annotated[str, Column("Kind", kind="category")]
    where: Annotated[str, Column("Where", kind="category")]
    self_us: Annotated[float, Column("Self", unit="µs", kind="time", sort="desc")]


@pytest.mark.parametrize("columns", [40, 80])
def test_a_column_that_alone_tells_rows_apart_stays(columns: int) -> None:
    columns_of_rows = {
        "operation": ["line not recorded"] * 2,
        "kind": ["a kind of work that both have"] * 2,
        "where": ["Host", "Device"],
        "self_us": [2.0, 1.0],
    }
    page = Page(columns)
    page.table(Table(Side, columns_of_rows), None)
    head, host, device = printed(page).splitlines()[:3]
    assert "Where" in head and "Host" in host and "Device" in device
    assert "Self (µs)" in head
    assert ("Kind" in head) == (columns == 80)
