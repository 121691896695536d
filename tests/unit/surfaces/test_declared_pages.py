"""What tools declare for their pages names fields, columns and options that there are."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

import pytest

from stepscope.analysis import TOOLS
from stepscope.panels import BarChart, LineChart, Panel, Picker, Shown, TableView
from stepscope.registry import Tool
from stepscope.result import columns_of
from stepscope.surfaces.envelope import tool_info
from stepscope.surfaces.fields import own_fields, records_in, row_of

DECLARED = [tool for tool in TOOLS if tool.page]
# Texts about a row of the field; all others are about the result.
OF_ROWS = {
    "bar_chart": ("label", "text", "tip"),
    "terms": ("name", "meaning", "text"),
    "line_chart": ("tip",),
}
# What the page itself knows of a chart: its rows, and the chosen point.
OF_CHARTS = {"bar_chart": {"count", "chosen", "at_peak"}, "line_chart": {"count", "by"}}
TEXTS = {"title", "note", "none", "label", "value", "text", "tip", "marked", "tone", "name"}
TEXTS |= {"meaning", "detail"}


def panels() -> list[Any]:
    return [
        pytest.param(tool, panel, id=f"{tool.id}-{place}-{panel.form}")
        for tool in DECLARED
        for place, panel in enumerate(tool.page)
    ]


def names_in(hint: Any) -> set[str]:
    """Names of the columns of a table, or of the fields of records."""
    row = row_of(hint)
    if row is not None:
        return set(columns_of(row))
    return {name for record in records_in(hint) for name in own_fields(record)}


def hint_at(tool: Tool, path: str) -> Any:
    """The type of a field, or of what is within it; fails if there is none."""
    hint: Any = None
    result: type = tool.result
    names = dict(own_fields(result)) | {"times_of": str}
    for step in path.split("."):
        if step.isdigit():
            continue
        if step == "rows" and row_of(hint) is not None:
            return int
        assert step in names, f"{tool.id}: {path} names nothing"
        hint = names[step]
        row = row_of(hint)
        if row is not None:
            names = {name: of for name, (of, _) in columns_of(row).items()}
        else:
            names = {k: v for record in records_in(hint) for k, v in own_fields(record).items()}
    return hint


def paths_in(text: str) -> list[str]:
    return re.findall(r"\{([\w.]+)(?:=\w+)?\??\}", text)


@pytest.mark.parametrize(("tool", "panel"), panels())
def test_texts_name_what_there_is(tool: Tool, panel: Panel) -> None:
    field = panel.field if isinstance(panel, Shown) else ""
    known = OF_CHARTS.get(panel.form, set())
    if isinstance(panel, BarChart) and panel.points:
        # A chart of the chosen point says what was before it.
        known = known | names_in(hint_at(tool, panel.points))
    for name, text in asdict(panel).items():
        if name not in TEXTS:
            continue
        of_row = name in OF_ROWS.get(panel.form, ())
        rows = names_in(hint_at(tool, field)) if of_row else set()
        for path in paths_in(text):
            if of_row and not (panel.form == "line_chart" and path in known):
                assert path in rows, f"{field} has no {path}"
            elif path not in known:
                hint_at(tool, path)
        assert "{" not in re.sub(r"\{[\w.]+(?:=\w+)?\??\}", "", text), "a slot is misspelt"


@pytest.mark.parametrize(("tool", "panel"), panels())
def test_fields_columns_and_options_are_there(tool: Tool, panel: Panel) -> None:
    paths: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    if isinstance(panel, BarChart):
        paths, columns = (panel.points,), (panel.value, *panel.first, *panel.live)
    elif isinstance(panel, LineChart):
        paths, columns = panel.marker, (*panel.columns, panel.by)
    elif isinstance(panel, TableView):
        columns = (*panel.first, *panel.hidden)
    elif isinstance(panel, Picker):
        paths = (panel.values, panel.labels, panel.current)
        options = {option.name for option in tool.option_list()}
        assert {panel.option, *panel.clears} <= options
    if isinstance(panel, Shown):
        assert {*filter(None, columns)} <= names_in(hint_at(tool, panel.field))
    for path in filter(None, paths):
        hint_at(tool, path)


def test_headings_come_first_and_once() -> None:
    for tool in DECLARED:
        assert [panel.form for panel in tool.page].count("headline") == 1, tool.id


def test_a_tool_tells_its_page() -> None:
    page: Any = tool_info(TOOLS.find("device_idle"), None)["page"]  # as it is sent
    assert [panel["form"] for panel in page][:2] == ["headline", "figure"]
