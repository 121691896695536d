"""Programs of which one row of a product is read, by an index that they are given."""

from __future__ import annotations

import pytest

from stepscope.tables.traits.rows_read import RowRead, row_read
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program, shape
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

HERE = [("/work/decode.py", 28, "next_token")]
S32 = 4
X = instruction("x", "parameter", f32(96, 64), parameter_number=0)
W = instruction("w", "parameter", f32(64, 500), parameter_number=1)
AT = instruction("at", "parameter", shape(S32), parameter_number=2)
BIAS = instruction("bias", "parameter", f32(500), parameter_number=3)
DOT = instruction("dot.1", "dot", f32(96, 500), "x", "w")


def read(of: str, opcode: str = "dynamic-slice", rows: int = 1) -> Instruction:
    return instruction("row", opcode, f32(rows, 500), of, "at", stack=HERE)


def found(*entry: Instruction, back: bool = False, **bodies: list[Instruction]) -> RowRead | None:
    last = [instruction("back", "negate", f32(), "at", op_name="jit(f)/transpose(jvp())/neg")]
    listed = [X, W, AT, BIAS, DOT, *entry, *(last if back else ())]
    proto = program("jit_next_token", listed, bodies=bodies)
    thread = line("tf_XLAEigen", ("dot.1", 0.0, 10.0, {"hlo_op": "dot.1", "program_id": u(7)}))
    (one,) = profile(metadata_plane(("jit_next_token", 7, proto)), host(thread)).hosts
    return row_read(one, int(one.space.lines[-1].begin))


def test_one_row_of_a_product_is_read() -> None:
    assert found(read("dot.1")) == RowRead(96, "decode.py:28")


def test_a_bias_and_a_change_of_shape_lie_between() -> None:
    wide = instruction("wide", "broadcast", f32(96, 500), "bias")
    added = instruction("added", "add", f32(96, 500), "dot.1", "wide")
    turned = instruction("turned", "bitcast", f32(96, 500), "added")
    assert found(wide, added, turned, read("turned")) == RowRead(96, "decode.py:28")


def test_it_is_read_within_a_fusion() -> None:
    given = instruction("given", "parameter", f32(96, 500), parameter_number=0)
    index = instruction("index", "parameter", shape(S32), parameter_number=1)
    inner = instruction("inner", "dynamic-slice", f32(1, 500), "given", "index", stack=HERE)
    fusion = instruction("fusion", "fusion", f32(1, 500), "dot.1", "at", calls=["body"])
    assert found(fusion, body=[given, index, inner]) == RowRead(96, "decode.py:28")


@pytest.mark.parametrize(
    ("reads", "why"),
    [
        (read("dot.1", "slice"), "a class token is at the same place in each call"),
        (read("dot.1", rows=48), "half of the rows are read"),
        (read("x"), "what the program is given was computed elsewhere"),
    ],
)
def test_else_nothing_is_said(reads: Instruction, why: str) -> None:
    assert found(reads) is None, why


def test_a_step_that_trains_needs_all_rows_for_their_gradients() -> None:
    assert found(read("dot.1"), back=True) is None
