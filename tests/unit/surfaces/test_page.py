"""Terminal pages: aligned, never wrapped to unreadable, literal, quiet when piped."""

from __future__ import annotations

import io

import pytest

from stepscope.result import Table
from stepscope.surfaces.cli.pages.page import Page, terminal_width, use_colour
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


def test_width_is_the_terminals_or_unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    assert terminal_width(Terminal()) == 77
    assert terminal_width(io.StringIO()) is None


def test_text_wraps_under_its_lead() -> None:
    page = Page(30)
    page.text("one two three four five six seven eight nine", lead="  → ")
    lines = printed(page).splitlines()
    assert lines[0].startswith("  → one") and lines[1].startswith("    ")
    assert max(map(len, lines)) <= 30
