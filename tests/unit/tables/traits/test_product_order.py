"""Products of products that another order makes cheaper."""

from __future__ import annotations

import pytest

from stepscope.tables.traits.product_order import ProductOrder, product_order
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

HERE = [("/work/train.py", 70, "diffuse")]
A = instruction("a", "parameter", f32(400, 400), parameter_number=0)
X = instruction("x", "parameter", f32(400, 20), parameter_number=1)
Y = instruction("y", "parameter", f32(400, 380), parameter_number=2)
W = instruction("w", "parameter", f32(20, 300), parameter_number=3)
SQUARE = instruction("square", "dot", f32(400, 400), "a", "a", contracting=(1, 0), stack=HERE)


def dot(left: str, right: str, *, rows: int = 400, columns: int = 20) -> Instruction:
    """The last product, which has the event."""
    return instruction("last", "dot", f32(rows, columns), left, right, contracting=(1, 0))


def found(
    *entry: Instruction, of: str = "last", bodies: dict[str, list[Instruction]] | None = None
) -> ProductOrder | None:
    proto = program("jit_step", [A, X, Y, W, *entry], bodies=bodies)
    thread = line("tf_XLAEigen", (of, 0.0, 10.0, {"hlo_op": of, "program_id": u(7)}))
    (one,) = profile(metadata_plane(("jit_step", 7, proto)), host(thread)).hosts
    return product_order(one, int(one.space.lines[-1].begin))


#: 400 × 400 × (400 + 20) multiplications against 400 × 20 × (400 + 400).
ORDER = ProductOrder(67_200_000, 10.5, ((400, 400), (400, 400)), (400, 20), "train.py:70")


@pytest.mark.parametrize("of", ["square", "last"])
def test_a_matrix_times_itself_meets_a_narrow_one_after_that(of: str) -> None:
    assert found(SQUARE, dot("square", "x"), of=of) == ORDER


def test_what_is_as_wide_as_the_matrix_is_as_dear_in_any_order() -> None:
    assert found(SQUARE, dot("square", "y", columns=380)) is None


def test_the_narrow_one_first_is_the_cheap_order() -> None:
    first = instruction("first", "dot", f32(400, 20), "a", "x", contracting=(1, 0))
    assert found(first, dot("a", "first")) is None


def test_rows_are_widened_before_a_graphs_matrix_multiplies_them() -> None:
    wide = instruction("wide", "dot", f32(400, 300), "x", "w", contracting=(1, 0), stack=HERE)
    order = found(wide, dot("a", "wide", columns=300))
    # (20 + 400) × 400 × 300 against 20 × 400 × (400 + 300).
    assert order == ProductOrder(50_400_000, 9.0, ((400, 20), (20, 300)), (400, 400), "train.py:70")


def test_a_change_of_type_or_layout_lies_between() -> None:
    turned = instruction("turned", "transpose", f32(400, 400), "square")
    assert found(SQUARE, turned, dot("turned", "x")) == ORDER


def test_what_something_else_reads_has_to_be_made() -> None:
    read = instruction("read", "tanh", f32(400, 400), "square")
    assert found(SQUARE, read, dot("square", "x")) is None


def test_all_that_read_the_product_have_to_be_cheaper_together() -> None:
    many = [
        instruction(f"more{at}", "dot", f32(400, 20), "square", "x", contracting=(1, 0))
        for at in range(30)
    ]
    assert found(SQUARE, *many, dot("square", "x")) is None


def test_a_product_times_itself_has_no_other_order() -> None:
    assert found(SQUARE, dot("square", "square", columns=400)) is None


def test_both_lie_within_fusions() -> None:
    given = instruction("g", "parameter", f32(400, 400), parameter_number=0)
    inner = instruction("inner", "dot", f32(400, 400), "g", "g", contracting=(1, 0), stack=HERE)
    first = instruction("first", "fusion", f32(400, 400), "a", calls=["squares"])
    left = instruction("l", "parameter", f32(400, 400), parameter_number=0)
    right = instruction("r", "parameter", f32(400, 20), parameter_number=1)
    product = instruction("product", "dot", f32(400, 20), "l", "r", contracting=(1, 0))
    last = instruction("last", "fusion", f32(400, 20), "first", "x", calls=["works"])
    bodies = {"squares": [given, inner], "works": [left, right, product]}
    assert found(first, last, bodies=bodies) == ORDER
    assert found(first, last, of="first", bodies=bodies) == ORDER


def test_what_says_no_extents_has_no_order() -> None:
    unsaid = instruction("square", "dot", f32(400, 400), "a", "a")
    assert found(unsaid, dot("square", "x")) is None


TWO = instruction("two", "parameter", f32(1), parameter_number=4)
BEFORE = instruction("before", "parameter", f32(400, 400), parameter_number=5)


def polynomial(opcode: str = "subtract") -> list[Instruction]:
    """2 A A less the polynomial before it, as in Chebyshev's recurrence."""
    spread = instruction("spread", "broadcast", f32(400, 400), "two")
    doubled = instruction("doubled", "multiply", f32(400, 400), "spread", "square")
    less = instruction("less", opcode, f32(400, 400), "doubled", "before")
    return [TWO, BEFORE, SQUARE, spread, doubled, less]


def test_a_sum_with_another_matrix_lies_between() -> None:
    """(2 A A − B) x is 2 A (A x) − B x: 400 × 20 × 800 and 400 × 400 × 20 more."""
    order = found(*polynomial(), dot("less", "x"), of="square")
    assert order is not None
    assert order.times == pytest.approx(67.2e6 / (6.4e6 + 3.2e6))
    assert order.at == "train.py:70"


def test_a_product_of_each_value_with_another_is_not_linear() -> None:
    assert found(*polynomial("multiply"), dot("less", "x"), of="square") is None


def test_a_product_may_end_a_fusion_that_the_next_one_reads() -> None:
    given = instruction("g", "parameter", f32(400, 400), parameter_number=0)
    inner = instruction("inner", "dot", f32(400, 400), "g", "g", contracting=(1, 0), stack=HERE)
    first = instruction("first", "fusion", f32(400, 400), "a", calls=["squares"])
    assert found(first, dot("first", "x"), bodies={"squares": [given, inner]}) == ORDER
