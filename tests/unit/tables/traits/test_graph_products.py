"""Cheaper orders of products in TensorFlow's graphs, as our recorder noted these."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.traits.graph_products import graph_order
from stepscope.tables.traits.product_order import ProductOrder
from tests.profiles import space
from tests.profiles.model import environment, host, line

PLAIN = [False, False]
LARGE, NARROW = [300, 300], [300, 24]
#: 300 × 300 × (300 + 24) multiplications against 300 × 24 × (300 + 300).
ORDER = ProductOrder(29_160_000, 6.75, ((300, 300), (300, 300)), (300, 24), "")


def made(
    *readers: list[Any], of: str = "square", shapes: tuple[list[int], ...] = (LARGE, LARGE)
) -> list[Any]:
    return [of, [*shapes], PLAIN, [*readers]]


def by(
    other: list[int], name: str = "last", side: int = 0, sums: int = 0, turned: list[bool] = PLAIN
) -> list[Any]:
    return [name, side, other, turned, sums]


def recorded(message: bytes) -> Host:
    thread = line("tf_Compute", ("net/MatMul", 10.0, 5.0))
    return Host("h", decode(space(host(thread), environment(graph_products=message))))


def order(*listed: Any, of: str = "square", share: float = 1.0) -> ProductOrder | None:
    one = recorded(json.dumps(listed).encode())
    return graph_order(one, {f"StatefulPartitionedCall/{of}": share})


def test_a_matrix_times_itself_meets_a_narrow_one_after_that() -> None:
    assert order(made(by(NARROW))) == ORDER


def test_what_is_as_wide_as_the_matrix_is_as_dear_in_any_order() -> None:
    assert order(made(by([300, 290]))) is None


@pytest.mark.parametrize(
    ("side", "other", "turned"),
    [
        (1, [24, 300], PLAIN),
        (0, [24, 300], [False, True]),
        (0, NARROW, [True, False]),
        (1, NARROW, [True, False]),
    ],
)
def test_it_may_be_turned_and_multiplied_from_either_side(
    side: int, other: list[int], turned: list[bool]
) -> None:
    found = order(made(by(other, side=side, turned=turned)))
    assert found is not None and found.times == 6.75


def test_each_of_a_batch_has_a_matrix_of_its_own() -> None:
    found = order(made(by([12, 300, 24]), shapes=([12, 300, 300], [12, 300, 300])))
    assert found is not None
    assert (found.times, found.multiplications) == (6.75, 12 * 29_160_000)
    # A batch whose size the graph leaves open is the same batch.
    assert order(made(by([-1, 300, 24]), shapes=([-1, 300, 300], [-1, 300, 300]))) is not None


def test_one_matrix_for_a_batch_meets_all_of_it() -> None:
    """12 × 24 columns: 300 + 288 against 2 × 288."""
    assert order(made(by([12, 300, 24]))) is None
    found = order(made(by([4, 300, 6])))
    assert found is not None and found.times == 6.75
    assert order(made(by([-1, 300, 6]))) is None


def test_a_sum_lies_between() -> None:
    found = order(made(by(NARROW, sums=1)))
    assert found is not None and found.times == pytest.approx(29.16 / (4.32 + 2.16))


def test_powers_of_a_matrix_go_together() -> None:
    """The cube is cheaper in the other order, and without it the square is."""
    square = made(by(NARROW), by(LARGE, "cube"))
    cube = made(by(NARROW), of="cube")
    assert order(square) is None
    found = order(square, cube)
    # 300 + 48 against 2 × 48.
    assert found is not None and found.times == pytest.approx(348 / 96)
    assert order(square, cube, of="cube") == ORDER


def test_what_only_the_next_power_reads_besides_is_named_with_it() -> None:
    wide = made(by([300, 240]), by(LARGE, "cube"))
    cube = made(by(NARROW), of="cube")
    assert order(wide, cube) == ORDER


def test_few_of_the_ops_say_nothing_of_the_rest() -> None:
    assert order(made(by(NARROW)), share=0.1) is None
    assert order(made(by(NARROW)), of="other") is None


@pytest.mark.parametrize(
    "said",
    [
        7,
        "text",
        ["square"],
        made(by([-1, -1])),
        made(by([300])),
        made(by([1 << 50, 24])),
        made(by(NARROW, side=2)),
        made(by([400, 24])),
        made(by(NARROW), shapes=(LARGE,)),
        ["square", None, None, None],
        made(["last"]),
        made(["last", 0, NARROW, {}, 0]),
        made(by(NARROW, sums=float("inf"))),  # type: ignore[arg-type]
    ],
)
def test_damage_says_nothing_and_hides_no_other(said: Any) -> None:
    assert order(said) is None
    assert order(said, made(by(NARROW), of="other"), of="other") == ORDER


@given(st.binary(max_size=60))
def test_any_bytes_are_read(message: bytes) -> None:
    graph_order(recorded(message), {"a": 1.0})


NUMBERS = st.lists(st.integers(-3, 1 << 62) | st.none(), max_size=5)
READER = st.tuples(
    st.text(max_size=2), st.integers(-1, 3), NUMBERS, st.lists(st.booleans(), max_size=3),
    st.integers(-2, 1 << 70),
)  # fmt: skip
PRODUCT = st.tuples(
    st.text(max_size=2), st.lists(NUMBERS, max_size=3), st.lists(st.booleans(), max_size=3),
    st.lists(READER, max_size=4),
)  # fmt: skip


@given(st.lists(PRODUCT, max_size=4))
def test_any_numbers_are_read(listed: list[Any]) -> None:
    graph_order(recorded(json.dumps(listed).encode()), {"a": 1.0, "": 0.5})
