"""Options of tools: from a dataclass to flags and back."""

import dataclasses

import pytest

from stepscope.analysis import TOOLS
from stepscope.analysis.framework_op_stats import TOOL, Options
from stepscope.errors import UsageError
from stepscope.registry import VIEWS, view_of


def test_options_are_read_from_the_dataclass() -> None:
    found = {option.name: option for option in TOOL.option_list()}
    assert found["group_by"].choices == ("op", "type")
    assert found["group_by"].default == "op"
    assert found["include_idle"].type is bool
    assert all(option.help for option in found.values())


def test_options_are_parsed_from_text() -> None:
    assert TOOL.parse_options({"group_by": "type", "include_idle": "yes"}) == Options(
        group_by="type", include_idle=True
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"colour": "red"}, "colour"),
        ({"group_by": "kernel"}, "kernel"),
        ({"include_idle": "perhaps"}, "true or false"),
    ],
)
def test_wrong_options_say_what_is_right(given: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        TOOL.parse_options(given)
    assert says in str(caught.value)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999"])
def test_numbers_are_finite(number: str) -> None:
    with pytest.raises(UsageError, match="from_ms"):
        TOOLS.find("memory_profile").parse_options({"from_ms": number})


@pytest.mark.parametrize(
    "name", ["framework_op_stats", "op_stats", "op-stats", "framework_op_stats@"]
)
def test_tools_answer_to_their_id_and_short_name(name: str) -> None:
    assert TOOLS.find(name) is TOOL


def test_an_unknown_tool_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="nonsense") as caught:
        TOOLS.find("nonsense")
    assert "overview_page" in str(caught.value)


def test_ids_and_short_names_are_unique_and_tabs_known() -> None:
    names = [name for tool in TOOLS for name in {tool.id, tool.short}]
    assert len(names) == len(set(names))
    assert {tool.tab for tool in TOOLS} <= {tab for tabs in VIEWS.values() for tab in tabs}
    assert [view_of(tab) for tab in VIEWS["Work"]] == ["Work"] * len(VIEWS["Work"])


def test_no_tool_may_take_an_option_that_every_tool_has() -> None:
    @dataclasses.dataclass(frozen=True)
    class Options:
        host: str = ""

    with pytest.raises(ValueError, match="every tool has"):
        dataclasses.replace(next(iter(TOOLS)), options=Options)


def test_an_option_may_not_take_a_name_that_every_surface_uses() -> None:
    """An option ``host`` of a tool once hid the ``--host`` of every tool."""

    @dataclasses.dataclass(frozen=True)
    class Taken:
        host: str = ""

    with pytest.raises(ValueError, match="every tool has \\['host'\\] already"):
        dataclasses.replace(TOOL, options=Taken)
