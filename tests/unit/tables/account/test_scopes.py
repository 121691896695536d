"""What a compiled program runs in a scope of its own is one part of the step."""

from __future__ import annotations

import pytest

from stepscope.tables.account.account import account
from stepscope.tables.parts.grouping import parts
from tests.profiles import event
from tests.unit.tables.account.test_account import host


def test_rows_of_a_jacobian_are_one_part_whatever_ops_they_are() -> None:
    """Products and sums of pfor, 600 µs of a step, and 100 µs of the network's own."""
    picture = """
        /host:CPU
          python   S---------S---------
          "        W--------.W--------.
          tf_pool  TTAADD.M..TTAADD.M..
        """
    ops = {
        "T": event("gradient_tape/dense/TanhGrad/pfor/Mul:Mul"),
        "A": event("gradient_tape/dense/mul_2/pfor/Sum:Sum"),
        "D": event("gradient_tape/dense/MatMul/pfor/MatMul:MatMul"),
        "M": event("dense/mul:Mul"),
    }
    found = account(host(picture, W=event("BlockHostUntilReady"), **ops))
    assert found is not None
    made = {one.name: one.total_ps / 1e9 for one in parts(found) if one.kind == "op"}
    assert made == {"pfor": pytest.approx(1.2), "Mul": pytest.approx(0.2)}
