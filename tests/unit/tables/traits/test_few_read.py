"""Products of compiled programs of whose result few values are read."""

from __future__ import annotations

import pytest

from stepscope.tables.traits.few_read import FewRead, few_read
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program, shape
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

HERE = [("/work/train.py", 30, "logits_of_edges")]
S32 = 4
Z = instruction("z", "parameter", f32(600, 64), parameter_number=0)
AT = instruction("at", "parameter", shape(S32, 900, 2), parameter_number=1)
PAIRS = instruction("pairs", "dot", f32(600, 600), "z", "z", contracting=(1, 1))


def gather(of: str = "pairs", count: int = 900) -> Instruction:
    return instruction("taken", "gather", f32(count), of, "at", stack=HERE)


def found(*entry: Instruction, of: str = "pairs", **bodies: list[Instruction]) -> FewRead | None:
    proto = program("jit_step", [Z, AT, *entry], bodies=bodies)
    thread = line("tf_XLAEigen", (of, 0.0, 10.0, {"hlo_op": of, "program_id": u(7)}))
    (one,) = profile(metadata_plane(("jit_step", 7, proto)), host(thread)).hosts
    return few_read(one, int(one.space.lines[-1].begin))


def test_all_pairs_are_multiplied_and_some_are_read() -> None:
    assert found(PAIRS, gather()) == FewRead(400, "train.py:30")


def test_each_value_may_be_changed_by_itself_before() -> None:
    squashed = instruction("squashed", "tanh", f32(600, 600), "pairs")
    assert found(PAIRS, squashed, gather("squashed")) == FewRead(400, "train.py:30")


def test_what_is_read_within_a_fusion_is_seen() -> None:
    given = instruction("a", "parameter", f32(600, 600), parameter_number=0)
    at = instruction("b", "parameter", shape(S32, 900, 2), parameter_number=1)
    inner = instruction("inner", "gather", f32(900), "a", "b", stack=HERE)
    taken = instruction("taken", "fusion", f32(900), "pairs", "at", calls=["takes"])
    assert found(PAIRS, taken, takes=[given, at, inner]) == FewRead(400, "train.py:30")


def test_two_that_read_parts_of_it_read_their_sum() -> None:
    rows = instruction("rows", "slice", f32(100, 600), "pairs")
    both = instruction("both", "tuple", f32(900), "taken", "rows")
    # 900 and 60,000 of 360,000.
    assert found(PAIRS, gather(), rows, both) == FewRead(5, "train.py:30")


@pytest.mark.parametrize("opcode", ["reduce", "dot", "tuple"])
def test_what_reads_all_of_it_needs_it(opcode: str) -> None:
    whole = instruction("whole", opcode, f32(600, 600), "pairs", "z")
    assert found(PAIRS, gather(), whole) is None


def test_a_result_of_the_program_is_needed() -> None:
    assert found(gather("z"), PAIRS) is None


def test_half_of_it_is_not_few() -> None:
    rows = instruction("rows", "slice", f32(300, 600), "pairs")
    assert found(PAIRS, rows) is None


def test_an_index_that_is_computed_takes_nothing_of_itself() -> None:
    """A product that is the second operand of a gather says where to read."""
    where = instruction("where", "dot", f32(600, 600), "z", "z", contracting=(1, 1))
    taken = instruction("taken", "gather", f32(9), "z", "where")
    assert found(where, taken, of="where") is None


def test_a_product_may_end_a_fusion_of_which_few_are_read() -> None:
    given = instruction("g", "parameter", f32(600, 64), parameter_number=0)
    inner = instruction("inner", "dot", f32(600, 600), "g", "g", contracting=(1, 1))
    first = instruction("first", "fusion", f32(600, 600), "z", calls=["all"])
    assert found(first, gather("first"), of="first", all=[given, inner]) == FewRead(
        400, "train.py:30"
    )
