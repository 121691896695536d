"""Products that start right after a one-hot op on its thread are one part with it."""

from __future__ import annotations

import pytest

from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.parts.one_hot_products import LOOK_UP
from stepscope.tables.parts.parts import parts
from stepscope.tables.parts.programs import compiled_parts
from tests.profiles import event
from tests.unit.tables.account.test_account import host

CALL = "StatefulPartitionedCall"
NAMES = {
    "H": f"{CALL}/bag/codes:OneHot",
    "P": f"{CALL}/bag/look/MatMul:_MklMatMul",
    "G": f"{CALL}/gradient_tape/bag/look/MatMul/MatMul_1:_MklMatMul",
    "D": f"{CALL}/bag/dense/MatMul:_MklMatMul",
    "E": f"{CALL}/gradient_tape/bag/dense/MatMul/MatMul_1:_MklMatMul",
    "R": f"{CALL}/bag/Relu:Relu",
}


def found(first: str, second: str) -> dict[str, float]:
    """Milliseconds of parts in two steps alike, whose ops run on two threads."""
    one = host(
        f"""
        /host:CPU
          python   S---------S---------
          "        W--------.W--------.
          tf_pool  {first * 2}
          tf_other {second * 2}
        """,
        W=event("BlockHostUntilReady"),
        **{letter: event(name) for letter, name in NAMES.items()},
    )
    made = account(one)
    assert made is not None
    listed = compiled_parts(one, made, owners(made))
    return {part.name: part.total_ps / 1e9 for part in listed if part.kind == "op"}


def test_a_product_right_after_it_goes_with_it_and_so_does_its_gradient() -> None:
    assert found("H-P-DEG-..", "..........") == {
        "OneHot": pytest.approx(1.2),
        "MatMul": pytest.approx(0.4),
    }


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("H-R-P-DE..", "..........", "another op comes first"),
        ("H-......DE", "...P-.....", "it is on another thread"),
        ("H-..P-..DE", "..........", "it starts later: 0.2 ms"),
    ],
)
def test_other_products_stay_products(first: str, second: str, why: str) -> None:
    assert found(first, second)["OneHot"] == pytest.approx(0.4), why


def test_what_looks_rows_up_says_more_than_the_line_it_is_on() -> None:
    """A product with one-hot rows and its gradient are most of one line."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        W--------.W--------.
          tf_pool  PPPGG.....PPPGG.....
        """,
        W=event("BlockHostUntilReady"),
        **{letter: event(name) for letter, name in NAMES.items()},
    )
    made = account(one)
    assert made is not None
    listed = owners(made)
    ops = [owner for owner in listed if owner.kind == "op"]
    lines = {id(owner): ("aggregate", "net.py", "9") for owner in ops}
    alone = parts(made, listed, lines)
    assert {part.name for part in alone if part.kind == "line"} == {"aggregate"}
    joined = parts(made, listed, lines, joined=dict.fromkeys(lines, LOOK_UP))
    assert {part.name: part.total_ps for part in joined if part.kind in ("op", "line")} == {
        "one_hot": pytest.approx(2 * 5e8)
    }
