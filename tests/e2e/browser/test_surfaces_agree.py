"""What a browser draws of a selection is what the terminal prints of it, to the digit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Page, expect

import stepscope
from stepscope.analysis import TOOLS
from stepscope.surfaces.cli.group import build
from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.oracle.test_selections import SELECTIONS, SHARED

_MIN_COMPARED = 3  # numbers that both show
_UNITS = {
    **{name: ("time", of) for name, of in {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}.items()},
    **{name: ("size", of) for name, of in {"B": 1, "KiB": 2**10, "MiB": 2**20}.items()},
    **{"GiB": ("size", 2**30), "GB/s": ("bandwidth", 1e9), "TB/s": ("bandwidth", 1e12)},
    **{"GFLOP/s": ("rate", 1e9), "TFLOP/s": ("rate", 1e12), "%": ("share", 1), "": ("", 1)},
}
_QUANTITY = re.compile(
    r"(<?)\s*([−-]?)([\d,]+(?:\.\d+)?)\s*("
    + "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
    + r")(?![\w.,:])"
)
_READ = r"""() => {
  const text = (e) => (e?.textContent ?? "").replace(/\s+/g, " ").trim();
  const all = (e, which) => [...e.querySelectorAll(which)];
  const main = document.getElementById("main");
  return {
    text: main.innerText,
    facts: all(main, "dt").map((e) => [text(e), text(e.nextElementSibling)]),
    tables: all(main, "[role=grid], [role=treegrid], table").map((table) => ({
      head: all(table, "[role=columnheader], thead th").map(text),
      rows: all(table, "[role=row], tbody tr")
        .map((row) => all(row, "[role=gridcell], [role=rowheader], td, tbody th").map(text)),
    })),
  };
}"""

Interval = tuple[str, float, float]
Numbers = dict[tuple[str, tuple[str, ...]], Interval]


def interval(text: str, unit: str = "") -> Interval | None:
    """Return what a rounded quantity stands for: its kind, least and largest value."""
    found = _QUANTITY.match(text.strip())
    if found is None:
        return None
    digits = found[3].replace(",", "")
    half = 0.5 * 10.0 ** -len(digits.partition(".")[2])
    kind, factor = _UNITS[found[4] or unit]
    value = float(digits) * (-1 if found[2] else 1)
    low, high = (0.0, value) if found[1] else (value - half, value + half)
    return kind, low * factor, high * factor


def heading(text: str) -> tuple[str, str]:
    """Return the name of a column and its unit."""
    found = re.fullmatch(r"(.*?)\s*(?:\(([^()]*)\))?\s*[↓↑]?", text)
    assert found is not None
    unit = found[2] or ""
    return (found[1], unit) if unit in _UNITS else (text, "")


def table_numbers(head: list[str], rows: list[list[str]], keys: frozenset[str]) -> Numbers:
    """Return the numbers of a table by column and by the texts of the row's key columns.

    Rows that these texts do not tell apart are left out.
    """
    columns = [heading(text) for text in head]
    names = {name for name, _unit in columns}
    found: Numbers = {}
    seen: set[tuple[str, ...]] = set()
    for row in rows:
        if len(row) != len(columns):
            continue
        cells = {name: cell for (name, _unit), cell in zip(columns, row, strict=True)}
        key = tuple(cells[name].strip("–") for name in sorted(keys & names))
        again = key in seen
        seen.add(key)
        for name, unit in columns:
            if name in keys:
                continue
            number = interval(cells[name], unit)
            if again:
                found.pop((name, key), None)
            elif number is not None:
                found[name, key] = number
    return found


def cut(lines: list[str]) -> list[list[str]]:
    """Return the cells of lines in which columns are at least two spaces apart."""
    width = max(map(len, lines))
    padded = [line.ljust(width) for line in lines]
    blank = [all(line[at] == " " for line in padded) for at in range(width)]
    edges = [
        at
        for at in range(1, width)
        if not blank[at] and blank[at - 1] and (at < 2 or blank[at - 2])
    ]
    return [
        [line[low:high].strip() for low, high in zip(edges, [*edges[1:], width], strict=True)]
        for line in padded
    ]


def terminal_tables(text: str) -> list[tuple[list[str], list[list[str]]]]:
    """Return heading and rows of each table that the terminal printed."""
    found = []
    for block in re.split(r"\n\n", text):
        lines = block.splitlines()
        if len(lines) < 3 or not re.search(r" · [\d,]+ rows?$", lines[0]):
            continue
        body = [line for line in lines[1:] if re.match(r"  (?!not recorded|no room here)", line)]
        head, *rows = cut(body)
        found.append((head, rows))
    return found


def is_text(head: list[str], rows: list[list[str]], name: str) -> bool:
    at = [heading(each)[0] for each in head].index(name)
    cells = [row[at] for row in rows if len(row) == len(head)]
    return not any(interval(cell) for cell in cells)


def compare(tool: str, page: dict[str, Any], terminal: str) -> tuple[int, list[str]]:
    """Return how many numbers both show, and where they differ."""
    compared, wrong = 0, []

    def check(what: object, drawn: Interval | None, printed: Interval | None) -> None:
        nonlocal compared
        if drawn is None or printed is None or drawn[0] != printed[0]:
            return
        compared += 1
        slack = 1e-9 * max(map(abs, (*drawn[1:], *printed[1:])))
        if drawn[1] > printed[2] + slack or printed[1] > drawn[2] + slack:
            wrong.append(f"{what}: the page has {drawn}, the terminal {printed}")

    printed_facts = re.findall(r"^ *([A-Z][^:\n]*): (.+)$", terminal, re.M)
    for name, value in page["facts"]:
        printed = [text for each, text in printed_facts if each == name]
        if len(printed) == 1 and [each for each, _ in page["facts"]].count(name) == 1:
            check(name, interval(value), interval(printed[0]))
    for part, time, share in re.findall(
        r"^  (\S.*?) +[█▏▎▍▌▋▊▉ ]+ ([\d.,]+ \S+) +(<?[\d.]+%)$", terminal, re.M
    ):
        drawn = re.search(re.escape(part) + r"\s*\n([\d.,]+\s\S+)\n(<?[\d.]+%)", page["text"])
        if drawn:
            check(part, interval(drawn[1]), interval(time))
            check(part, interval(drawn[2]), interval(share))
    printed_tables = terminal_tables(terminal)
    for drawn_table in page["tables"]:
        head, rows = drawn_table["head"], drawn_table["rows"]
        names = {heading(text)[0] for text in head}
        for printed_head, printed_rows in printed_tables:
            both = names & {heading(text)[0] for text in printed_head}
            keys = frozenset(
                name
                for name in both
                if is_text(head, rows, name) and is_text(printed_head, printed_rows, name)
            )
            if not keys or heading(head[0])[0] not in keys:
                continue
            printed_numbers = table_numbers(printed_head, printed_rows, keys)
            for at, number in table_numbers(head, rows, keys).items():
                check(at, number, printed_numbers.get(at))
    return compared, wrong


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One page for all selections."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


def drawn(page: Page, server: Server, tool: str, selection: dict[str, str]) -> dict[str, Any]:
    """Return what the page shows of a selection once its answer is drawn."""
    query = "&".join(f"{name}={text}" for name, text in selection.items())
    page.goto("about:blank")
    page.goto(server.url)
    page.goto(f"{server.url.split('?')[0]}#/{tool}?{query}")
    shown = (
        page.locator(".tl-range-head") if tool == "trace_viewer" else page.locator(".times-said")
    )
    expect(shown.first).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    page.wait_for_timeout(150)
    found: dict[str, Any] = page.evaluate(_READ)
    return found


@pytest.mark.parametrize("path", dict.fromkeys(path for path, _tool, _selection in SELECTIONS))
def test_pages_draw_what_the_terminal_prints(
    path: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = SHARED / path
    if not recording.exists():
        pytest.skip(f"{recording} is not here.")
    monkeypatch.setenv("COLUMNS", "700")
    failed = []
    with ExitStack() as stack:
        session = stack.enter_context(stepscope.open(recording))
        server = stack.enter_context(Server(str(recording), Settings(port=0)))
        for _path, tool, selection in [each for each in SELECTIONS if each[0] == path]:
            part = session.select(**selection)
            options = {**selection, **part.opens(tool)}
            if "step" in TOOLS.find(tool).times_of:
                options["per"] = "step"  # as the pages have it
            flags = [f"--{name.replace('_', '-')}={text}" for name, text in options.items()]
            shown = CliRunner().invoke(build(), ["show", tool, str(recording), "--all", *flags])
            assert shown.exit_code == 0, shown.output
            compared, wrong = compare(tool, drawn(page, server, tool, selection), shown.output)
            name = f"{tool} {selection}"
            failed += [f"{name}: {one}" for one in wrong]
            if compared < _MIN_COMPARED:
                failed.append(f"{name}: only {compared} numbers are in both")
    assert not failed, "\n".join(failed)
