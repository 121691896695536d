"""Products of one-hot rows in compiled programs, through fusions and changes of type."""

from __future__ import annotations

import pytest

from stepscope.tables.hlo.module import HloModule, parse_module
from stepscope.tables.traits.one_hot import one_hot_of
from tests.profiles.hlo import Instruction, f32, instruction, program, shape

PRED, S32 = 1, 4
IDS = instruction("ids", "parameter", shape(S32, 32, 1), parameter_number=0)
TABLE = instruction("table", "parameter", f32(512, 16), parameter_number=1)


def rows(direction: str = "EQ", width: int = 512) -> list[Instruction]:
    return [
        instruction("wide", "broadcast", shape(S32, 32, width), "ids"),
        instruction("count", "iota", shape(S32, 32, width)),
        instruction(
            "same", "compare", shape(PRED, 32, width), "wide", "count",
            comparison_direction=direction,
        ),
        instruction("codes", "convert", f32(32, width), "same"),
    ]  # fmt: skip


def ways(module: HloModule, of: str = "dot.1") -> set[str]:
    by_id = {one.id: name for name, one in module.instructions.items()}
    return {by_id[at] for at in one_hot_of(module, module.instructions[of])}


def loaded(*entry: Instruction, **bodies: list[Instruction]) -> HloModule:
    found = parse_module(program("jit_step", entry, bodies=bodies))
    assert found is not None
    return found


DOT = instruction("dot.1", "dot", f32(32, 16), "codes", "table")


def test_what_makes_the_rows_is_part_of_it() -> None:
    assert ways(loaded(IDS, TABLE, *rows(), DOT)) == {"codes", "same"}


@pytest.mark.parametrize("made", [rows("GE"), rows(width=8)])
def test_masks_and_few_classes_are_none(made: list[Instruction]) -> None:
    """Attention masks compare with ``iota`` as well; labels of eight classes cost nothing."""
    assert ways(loaded(IDS, TABLE, *made, DOT)) == set()


def test_two_counts_are_the_identity() -> None:
    again = instruction("wide", "iota", shape(S32, 32, 512))
    made = [again if one.name == "wide" else one for one in rows()]
    assert ways(loaded(IDS, TABLE, *made, DOT)) == set()


def test_fusions_on_both_sides_are_looked_into() -> None:
    inner = instruction("ids.1", "parameter", shape(S32, 32, 1), parameter_number=0)
    body = [
        inner,
        *(instruction("wide", "broadcast", shape(S32, 32, 512), "ids.1"), *rows()[1:]),
    ]
    given = instruction("given", "parameter", f32(32, 512), parameter_number=0)
    held = instruction("held", "parameter", f32(512, 16), parameter_number=1)
    module = loaded(
        IDS,
        TABLE,
        instruction("fusion.1", "fusion", f32(32, 512), "ids", calls=["make"]),
        instruction("turned", "transpose", f32(512, 32), "fusion.1"),
        instruction("fusion.2", "fusion", f32(32, 16), "turned", "table", calls=["multiply"]),
        make=body,
        multiply=[given, held, instruction("inner", "dot", f32(32, 16), "given", "held")],
    )
    assert ways(module, "fusion.2") == {"turned", "fusion.1"}


def test_rows_that_are_scaled_are_no_look_up() -> None:
    """Gates of experts: what is multiplied depends on more than an index."""
    gate = instruction("gate", "parameter", f32(32, 512), parameter_number=2)
    scaled = instruction("scaled", "multiply", f32(32, 512), "codes", "gate")
    dot = instruction("dot.1", "dot", f32(32, 16), "scaled", "table")
    assert ways(loaded(IDS, TABLE, gate, *rows(), scaled, dot)) == set()


def test_a_product_in_a_circle_of_calls_ends() -> None:
    body = [instruction("again", "call", f32(32, 16), calls=["round"])]
    module = loaded(instruction("start", "call", f32(32, 16), calls=["round"]), round=body)
    assert ways(module, "start") == set()
