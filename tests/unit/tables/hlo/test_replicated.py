"""Programs of several devices: whether each of them does all of the work."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.tables.hlo.module import parse_module
from stepscope.tables.hlo.replicated import computes_the_same
from tests.profiles.hlo import f32, instruction, program

WHOLE, DIVIDED = {"type": 0}, {"type": 3}


def count(*shardings: Any, opcode: str = "add", devices: tuple[int, int] = (1, 4)) -> int:
    """Of a program whose parameters have these shardings (None: not said)."""
    given = [
        instruction(f"p{number}", "parameter", f32(8), parameter_number=number)
        if said is None
        else instruction(f"p{number}", "parameter", f32(8), parameter_number=number, sharding=said)
        for number, said in enumerate(shardings)
    ]
    end = instruction("end", opcode, f32(8), *(one.name for one in given))
    module = parse_module(program("jit_step", [*given, end], devices=devices))
    assert module is not None
    return computes_the_same(module)


def test_what_is_given_whole_to_each_of_several_devices_is_computed_by_each() -> None:
    assert count(WHOLE, WHOLE) == 4


@pytest.mark.parametrize(
    ("shardings", "changes"),
    [
        ((WHOLE, DIVIDED), {}),
        ((WHOLE, None), {}),
        ((), {}),
        ((WHOLE, WHOLE), {"opcode": "all-reduce"}),
        ((WHOLE, WHOLE), {"devices": (1, 1)}),
        ((WHOLE, WHOLE), {"devices": (4, 1)}),
    ],
    ids=["divided", "not said", "nothing given", "exchanged", "one device", "replicas"],
)
def test_else_nothing_is_said(shardings: tuple[Any, ...], changes: dict[str, Any]) -> None:
    assert count(*shardings, **changes) == 0
