"""What tools declare for their pages names fields, columns and options that there are."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stepscope.analysis import TOOLS
from stepscope.registry import Panel, Tool
from stepscope.result import columns_of
from stepscope.surfaces.envelope import panel_info, tool_info
from stepscope.surfaces.fields import own_fields, records_in, row_of

DECLARED = [tool for tool in TOOLS if tool.page]
# Texts about a row of the field; all others are about the result.
OF_ROWS = {
    "bars": ("label", "text", "more"),
    "terms": ("label", "note", "text"),
    "course": ("text",),
}
# What the page itself knows of a chart: its rows, and the chosen point.
OF_CHARTS = {"bars": {"count", "chosen", "at_peak"}, "course": {"count", "by"}}
TEXTS = ("title", "note", "none", "label", "value", "text", "more")


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
    for name in TEXTS:
        text = getattr(panel, name)
        of_row = name in OF_ROWS.get(panel.form, ())
        rows = names_in(hint_at(tool, panel.field)) if of_row else set()
        known = OF_CHARTS.get(panel.form, set())
        # A chart of the chosen point says what was before it.
        known = known | (names_in(hint_at(tool, panel.course)) if panel.course else set())
        for path in paths_in(text):
            if of_row and not (panel.form == "course" and path in known):
                assert path in rows, f"{panel.field} has no {path}"
            elif path not in known:
                hint_at(tool, path)
        assert "{" not in re.sub(r"\{[\w.]+(?:=\w+)?\??\}", "", text), "a slot is misspelt"


@pytest.mark.parametrize(("tool", "panel"), panels())
def test_fields_columns_and_options_are_there(tool: Tool, panel: Panel) -> None:
    hint = hint_at(tool, panel.field) if panel.field else None
    columns = [*panel.first, *panel.hidden, *panel.live, *filter(None, [panel.by])]
    if panel.form == "bars":
        columns.append(panel.value)
    missing = set(columns) - names_in(hint) if columns else set()
    assert not missing
    for path in (*panel.marker, *filter(None, [panel.course])):
        hint_at(tool, path)
    options = {option.name for option in tool.option_list()}
    assert {*filter(None, [panel.option]), *panel.clears} <= options
    if panel.form == "choice":
        for path in filter(None, [panel.value, panel.label]):
            hint_at(tool, path)


def test_headings_come_first_and_once() -> None:
    for tool in DECLARED:
        assert [panel.form for panel in tool.page].count("headline") == 1, tool.id


def test_json_holds_only_what_differs_from_the_defaults() -> None:
    assert panel_info(Panel(form="table", field="ops", first=("name",))) == {
        "form": "table",
        "field": "ops",
        "first": ["name"],
    }
    assert panel_info(Panel(form="table", field="ops", sums=False))["sums"] is False


def test_a_tool_tells_its_page() -> None:
    info = tool_info(TOOLS.find("device_idle"), None)
    assert [panel["form"] for panel in info["page"]][:2] == ["headline", "figure"]
