"""Gradients of parameters that no optimizer updates: counted, and by shape where it is recorded."""

from __future__ import annotations

import pytest

from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.parts.gradients import NeedlessGradients, unclaimed_gradients
from tests.profiles import event
from tests.profiles.drawing import Drawn
from tests.unit.tables.account.test_account import host


def found(
    thread: str, below: str = "", calls: str = "", update: str = "Adam", **events: Drawn
) -> NeedlessGradients | None:
    """Two steps of 1 ms: f is forward, w a gradient, g what ends in a parameter, O the update."""
    python = f'\n          "        {calls}' if calls else ""
    rows = "".join(f'\n          "        {row}' for row in below.split())
    one = host(
        f"""
        /host:CPU
          python   S---------S---------{python}
          "        {thread}{rows}
        """,
        **{
            "f": event("aten/mm:mm", **{names.SEQUENCE_NUMBER: 1}, args='{"Fwd thread id": 0}'),
            "w": node("MmBackward0"),
            "g": event("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"),
            "O": event(f"Optimizer.step#{update}.step"),
            "E": event("$train.py:30 Teacher.forward"),
        }
        | events,
    )
    made = account(one)
    assert made is not None
    return unclaimed_gradients(one, made)


def node(name: str, number: int = 1) -> Drawn:
    """What evaluates the gradient of the forward op with that number."""
    numbered = {names.SEQUENCE_NUMBER: number}
    return event(
        f"autograd::engine::evaluate_function: {name}", **numbered, args='{"Fwd thread id": 1}'
    )


def op(name: str) -> Drawn:
    return event(f"aten/{name}:{name}")


ADD, MUL = op("add_"), op("mul_")


def test_what_ends_in_more_parameters_than_are_updated_is_for_nobody() -> None:
    some = found("ffwgwg.O-.ffwgwg.O-.", ".......a.........a..", a=op("addcdiv_"))
    assert some is not None
    assert (some.ops, some.updated) == (2, 1)
    # Half of the 400 µs of each backward pass, as no shape tells which half.
    assert some.time_ms == 0.2
    assert some.longest == "autograd::engine::evaluate_function: MmBackward0"
    assert not some.function


def test_points_at_which_gradients_are_differentiated_are_no_parameters() -> None:
    """A residual of an equation: its points have a gradient, too, which costs next to nothing."""
    twice = node("TanhBackwardBackward0", 7)
    assert found("ffwhgg.O-.ffwhgg.O-.", ".......a.........a..", a=op("addcdiv_"), h=twice) is None


def test_momentum_is_no_update_of_another_parameter() -> None:
    """SGD adds to the momentum it multiplied, and to the parameter."""
    some = found("ffwgwg.O--ffwgwg.O--", ".......maa.......maa", update="SGD", a=ADD, m=MUL)
    assert some is not None and (some.ops, some.updated) == (2, 1)
    plain = found("ffwgwg.O-.ffwgwg.O-.", ".......aa........aa.", update="SGD", a=ADD, m=MUL)
    assert plain is None


@pytest.mark.parametrize("together", ["_foreach_addcdiv_", "_fused_adam_"])
def test_how_many_are_updated_at_once_is_not_known(together: str) -> None:
    assert found("ffwgwg.O-.ffwgwg.O-.", ".......a.........a..", a=op(together)) is None


def test_what_a_closure_runs_is_no_update() -> None:
    """Lightning's optimizers call the model: its forward ops change things in place, too."""
    # An in-place op of the forward pass, then as many updates as parameters.
    whole = found("O---------O---------", ".ffwgwgaa..ffwgwgaa.", a=op("addcdiv_"))
    assert whole is None
    some = found("O---------O---------", "bffwgwgab.bffwgwgab.", a=op("lerp_"), b=op("relu_"))
    assert some is not None and (some.ops, some.updated) == (2, 1)


def test_an_update_that_is_not_recorded_counts_nothing() -> None:
    """A recording that ends in a closure has the forward ops of a step, and not its update."""
    assert found("....wgwg..wgwgO-----", "..............bffff.", b=op("relu_")) is None
