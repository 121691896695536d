"""What a field's name says of its unit is what its heading says, in every table of every tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, get_args, get_origin, get_type_hints

import pytest

from stepscope.analysis import TOOLS
from stepscope.registry import Tool
from stepscope.result import Column, ColumnKind, Table, columns_of

UNITS: Final = {"ms": "ms", "us": "µs", "ns": "ns", "ps": "ps", "bytes": "B", "frac": "%"}


def columns(tool: Tool) -> Iterator[tuple[str, Column]]:
    """Every field of a tool's tables with its heading."""
    for name, hint in get_type_hints(tool.result, include_extras=True).items():
        if get_origin(hint) is Table:
            for field, (_, column) in columns_of(get_args(hint)[0]).items():
                yield f"{name}.{field}", column


@pytest.mark.parametrize("tool", TOOLS, ids=TOOLS.ids)
def test_a_columns_unit_is_the_ending_of_its_name(tool: Tool) -> None:
    wrong = [
        f"{field}: {column.unit!r}"
        for field, column in columns(tool)
        if (ending := field.rpartition("_")[2]) in UNITS and column.unit != UNITS[ending]
    ]
    assert not wrong


@pytest.mark.parametrize("tool", TOOLS, ids=TOOLS.ids)
def test_every_columns_kind_is_known(tool: Tool) -> None:
    assert {column.kind for _, column in columns(tool)} <= set(get_args(ColumnKind))
