"""Gradients that nobody needs: computed again, prepared and not computed, of no parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepscope.schema import names
from stepscope.tables.parts.gradients import (
    NeedlessGradients,
    differentiates_gradients,
    repeated_gradients,
    unclaimed_gradients,
    unused_graph,
)
from stepscope.tables.traits.updates import after_model
from tests.profiles import event
from tests.profiles.drawing import Drawn
from tests.unit.tables.account.drawn import Letters, accounted, host


def forward(number: int, name: str = "mm", args: str = "{}") -> Drawn:
    """A forward op that autograd numbers."""
    return event(f"aten/{name}:{name}", **{names.SEQUENCE_NUMBER: number}, args=args)


def backward(number: int, name: str = "autograd/MmBackward0:MmBackward0") -> Drawn:
    """What computes the gradient of the forward op with that number."""
    return event(name, **{names.SEQUENCE_NUMBER: number}, args='{"Fwd thread id": 1}')


def evaluates(name: str, number: int = 1) -> Drawn:
    return backward(number, f"autograd::engine::evaluate_function: {name}")


TWICE = "autograd/MmBackwardBackward0:MmBackwardBackward0"


# ------------------------------------------------------------------ computed again


def repeated(*rows: str, **letters: Any) -> NeedlessGradients | None:
    one = host(*rows, **letters)
    return repeated_gradients(one, accounted(one))


def test_a_backward_pass_for_each_loss_repeats_what_the_losses_share() -> None:
    heads = {letter: backward(10 + at) for at, letter in enumerate("abcdef")}
    again = repeated("sa.sb.sc..sd.se.sf..", s=backward(1), **heads)
    assert again is not None
    # Of three runs of 100 µs in each step two are again.
    assert (again.time_ms, again.ops, again.times) == (0.2, 2, 3.0)
    assert again.longest == "autograd/MmBackward0:MmBackward0"


@pytest.mark.parametrize(
    ("rows", "letters"),
    [
        # A penalty on gradients is not a mistake: it needs the first pass again.
        (["s.h.s.....s.h.s....."], {"h": backward(2, TWICE)}),
        # A force is the gradient of an energy; of most ops' gradients no name says it.
        (["s.h.s.....s.h.s.....", "..i.........i......."], {"h": backward(5), "i": forward(5)}),
    ],
    ids=["named", "by an op within"],
)
def test_a_gradient_of_a_gradient_repeats_nothing(rows: list[str], letters: Letters) -> None:
    assert repeated(*rows, s=backward(1), **letters) is None


def test_an_op_within_a_backward_pass_has_a_gradient_itself() -> None:
    """Forces are gradients of an energy, and are trained on: of most ops no name says so."""
    rows = ("fs.h......fs.h......", ".i.........i........")
    one = host(*rows, f=forward(1), s=backward(1), h=backward(5), i=forward(5))
    assert differentiates_gradients(one)


# ------------------------------------------------------------------ of no parameter


def unclaimed(*rows: str, update: str = "Adam", **letters: Any) -> tuple[float, int] | None:
    """Ops and updates: f is forward, w a gradient, g what ends in a parameter, O the update."""
    usual: Letters = {
        "f": forward(1, args='{"Fwd thread id": 0}'),
        "w": evaluates("MmBackward0"),
        "g": "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
        "O": f"Optimizer.step#{update}.step",
        "a": "aten/addcdiv_:addcdiv_",
        "m": "aten/mul_:mul_",
        "p": "aten/add_:add_",
        "r": "aten/relu_:relu_",
        "h": evaluates("TanhBackwardBackward0", 7),
    }
    one = host(*rows, **usual | letters)
    found = unclaimed_gradients(one, accounted(one))
    if found is None:
        return None
    # Half of each backward pass, as no shape tells which half.
    assert found.time_ms == pytest.approx(0.2) and not found.function
    assert found.longest == "autograd::engine::evaluate_function: MmBackward0"
    return found.ops, found.updated


ONE_UPDATE = ("ffwgwg.O-.ffwgwg.O-.", ".......a.........a..")


def test_what_ends_in_more_parameters_than_are_updated_is_for_nobody() -> None:
    assert unclaimed(*ONE_UPDATE) == (2, 1)


def test_points_at_which_gradients_are_differentiated_are_no_parameters() -> None:
    """A residual of an equation: its points have a gradient, too, which costs next to nothing."""
    assert unclaimed("ffwhgg.O-.ffwhgg.O-.", ONE_UPDATE[1]) is None


def test_momentum_is_no_update_of_another_parameter() -> None:
    """SGD adds to the momentum it multiplied, and to the parameter."""
    momentum = ("ffwgwg.O--ffwgwg.O--", ".......mpp.......mpp")
    assert unclaimed(*momentum, update="SGD") == (2, 1)
    assert unclaimed(ONE_UPDATE[0], ".......pp........pp.", update="SGD") is None


@pytest.mark.parametrize("together", ["_foreach_addcdiv_", "_fused_adam_"])
def test_how_many_are_updated_at_once_is_not_known(together: str) -> None:
    assert unclaimed(*ONE_UPDATE, a=f"aten/{together}:{together}") is None


def test_what_a_closure_runs_is_no_update() -> None:
    """Lightning's optimizers call the model: its forward ops change things in place, too."""
    # An in-place op of the forward pass, then as many updates as parameters.
    assert unclaimed("O---------O---------", ".ffwgwgaa..ffwgwgaa.") is None
    lerp = "aten/lerp_:lerp_"
    assert unclaimed("O---------O---------", "rffwgwgar.rffwgwgar.", a=lerp) == (2, 1)


def test_an_update_that_is_not_recorded_counts_nothing() -> None:
    """A recording that ends in a closure has the forward ops of a step, and not its update."""
    assert unclaimed("....wgwg..wgwgO-----", "..............rffff.") is None


def test_a_backward_pass_without_any_step_of_an_optimizer_is_nobodys() -> None:
    """As in a file that lost the steps."""
    none = np.zeros(0, np.int64)
    assert (
        len(after_model(host("..w.......", steps=1, w=evaluates("MmBackward0")), none, none)) == 0
    )


# ------------------------------------------------------------------ prepared and not computed


def unused(*rows: str, **letters: Any) -> NeedlessGradients | None:
    """V and W are forward ops without a gradient; f is one with its gradient b."""
    usual: Letters = {
        "v": forward(1, "v"),
        "w": forward(2, "w"),
        "f": forward(3, "f"),
        "b": backward(3, "aten/b:b"),
        "E": "$train.py:30 evaluate",
    }
    one = host(*rows, **usual | letters)
    return unused_graph(one, accounted(one))


def test_inference_that_records_gradients_has_none_at_all() -> None:
    graph = unused("vvww......vvww......")
    assert graph is not None and graph.is_all and graph.time_ms == 0.2


def test_it_is_where_most_of_its_time_is_called_from() -> None:
    graph = unused("....vvvff.bb..vvvff.bb..", "...E----.....E----......")
    assert graph is not None and graph.place is not None
    assert (graph.place.function, graph.place.line) == ("evaluate", 30)


def test_an_op_that_drops_one_of_its_parts_is_used_for_the_others() -> None:
    """A product transposes its factor to decide how to multiply, and may not need that."""
    rows = ("M----.bb..M----.bb..", "t.mm......t.mm......")
    graph = unused(*rows, M=forward(1, "matmul"), t=forward(1, "mT"), m=forward(3))
    assert graph is not None and (graph.time_ms, graph.longest) == (0.1, "aten/mT:mT")


@pytest.mark.parametrize(
    ("rows", "letters"),
    [
        # torch.compile traces with tensors that hold nothing: no gradient is ever asked for.
        (
            ["ffC----.bbffC----.bb", "...vvv......vvv....."],
            {"C": "_compile.compile_inner (dynamo_timed)"},
        ),
        # Sharded models register what follows the gradients; the recording ends before them.
        (
            ["vvwwR.....vvwwR....."],
            {"R": "torch/RegisterPostBackwardFunction:RegisterPostBackwardFunction"},
        ),
        # Early recordings number ops, and do not tell the forward thread of a gradient.
        (
            ["vvww.bb...vvww.bb..."],
            {"b": event("autograd::engine::evaluate_function: MmBackward", args="{}")},
        ),
    ],
    ids=["traced", "to come", "whose it is not said"],
)
def test_other_forward_ops_are_not_unused(rows: list[str], letters: Letters) -> None:
    assert unused(*rows, **letters) is None
