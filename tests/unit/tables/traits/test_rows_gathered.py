"""Products of rows that were gathered of a table with fewer."""

from __future__ import annotations

import pytest

from stepscope.tables.traits.rows_gathered import RowsGathered, rows_gathered
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program, shape
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

HERE = [("/work/train.py", 70, "messages")]
S32 = 4
TABLE = instruction("table", "parameter", f32(50, 64), parameter_number=0)
W = instruction("w", "parameter", f32(64, 32), parameter_number=1)
AT = instruction("at", "parameter", shape(S32, 200), parameter_number=2)
EDGES = instruction("edges", "parameter", f32(200, 64), parameter_number=3)


def gather(rows: int = 200, of: str = "table") -> Instruction:
    return instruction("rows", "gather", f32(rows, 64), of, "at", stack=HERE)


def dot(of: str) -> Instruction:
    return instruction("dot.1", "dot", f32(200, 32), of, "w")


def found(*entry: Instruction, **bodies: list[Instruction]) -> RowsGathered | None:
    proto = program("jit_step", [TABLE, W, AT, EDGES, *entry], bodies=bodies)
    name = entry[-1].name
    thread = line("tf_XLAEigen", (name, 0.0, 10.0, {"hlo_op": name, "program_id": u(7)}))
    (one,) = profile(metadata_plane(("jit_step", 7, proto)), host(thread)).hosts
    return rows_gathered(one, int(one.space.lines[-1].begin))


def test_rows_are_multiplied_that_a_table_has_once() -> None:
    assert found(gather(), dot("rows")) == RowsGathered(200, 50, "train.py:70", False)


def test_a_change_of_type_lies_between() -> None:
    narrow = instruction("narrow", "convert", f32(200, 64), "rows")
    assert found(gather(), narrow, dot("narrow")) == RowsGathered(200, 50, "train.py:70", False)


def test_both_ends_of_an_edge_are_put_together() -> None:
    both = instruction("both", "concatenate", f32(200, 128), "rows", "edges")
    assert found(gather(), both, dot("both")) == RowsGathered(200, 50, "train.py:70", True)


def test_it_is_gathered_and_multiplied_within_fusions() -> None:
    table = instruction("a", "parameter", f32(50, 64), parameter_number=0)
    at = instruction("b", "parameter", shape(S32, 200), parameter_number=1)
    inner = instruction("inner", "gather", f32(200, 64), "a", "b", stack=HERE)
    first = instruction("first", "fusion", f32(200, 64), "table", "at", calls=["takes"])
    given = instruction("c", "parameter", f32(200, 64), parameter_number=0)
    weights = instruction("d", "parameter", f32(64, 32), parameter_number=1)
    product = instruction("product", "dot", f32(200, 32), "c", "d")
    second = instruction("second", "fusion", f32(200, 32), "first", "w", calls=["works"])
    bodies = {"takes": [table, at, inner], "works": [given, weights, product]}
    assert found(first, second, **bodies) == RowsGathered(200, 50, "train.py:70", False)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ([gather(100), dot("rows")], "each row is taken twice in the mean"),
        ([dot("edges")], "nothing is gathered"),
        (
            [gather(), instruction("squared", "multiply", f32(200, 64), "rows", "edges"),
             dot("squared")],
            "what is multiplied differs from row to row",
        ),
        ([gather(), instruction("other", "negate", f32(200, 64), "rows")], "no product"),
    ],
)  # fmt: skip
def test_else_nothing_is_said(entry: list[Instruction], why: str) -> None:
    assert found(*entry) is None, why
