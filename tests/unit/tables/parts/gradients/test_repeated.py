"""Gradients that a step computes more than once: by autograd's numbers, or TensorFlow's names."""

from __future__ import annotations

import pytest

from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.parts.gradients import RepeatedGradients, repeated_gradients
from tests.profiles import event
from tests.profiles.drawing import Drawn
from tests.unit.tables.account.test_account import host


def found(thread: str, **events: Drawn) -> RepeatedGradients | None:
    """Two steps of 1 ms."""
    one = host(
        f"""
        /host:CPU
          python   S---------S---------
          "        {thread}
        """,
        **events,
    )
    made = account(one)
    assert made is not None
    return repeated_gradients(one, made)


def node(number: int, name: str = "MmBackward0") -> Drawn:
    """A node of autograd, which computes the gradient of the forward op with that number."""
    numbered = {names.SEQUENCE_NUMBER: number}
    return event(f"autograd/{name}:{name}", **numbered, args='{"Fwd thread id": 1}')


def test_each_gradient_once_in_each_step_is_none_again() -> None:
    """The numbers go on from step to step; the same in two steps are two runs of a loop."""
    assert found("ffa.b.....ffa.b.....", a=node(1), b=node(2), f=event("aten/mm:mm")) is None


def test_a_backward_pass_for_each_loss_repeats_what_the_losses_share() -> None:
    again = found("sa.sb.sc..sd.se.sf..", s=node(1), **_HEADS)
    assert again is not None
    # Of three runs of 100 µs in each step two are again.
    assert (again.time_ps, again.ops, again.times) == (400_000_000, 4, 3.0)
    assert again.op == "autograd/MmBackward0:MmBackward0"


_HEADS = {letter: node(10 + at) for at, letter in enumerate("abcdef")}


def test_the_gradient_of_a_gradient_needs_the_first_pass_again() -> None:
    """A penalty on gradients is not a mistake."""
    twice = {"s": node(1), "h": node(2, "MmBackwardBackward0")}
    assert found("s.h.s.....s.h.s.....", **twice) is None


def test_what_runs_within_a_backward_pass_and_has_a_gradient_is_a_gradient_too() -> None:
    """A force is the gradient of an energy; of most ops' gradients no name says it."""
    inner = event("aten/mm:mm", **{names.SEQUENCE_NUMBER: 5})
    twice = {"s": node(1), "h": node(5), "i": inner}
    assert found('s.h.s.....s.h.s.....\n  "  i.........i.........', **twice) is None


def of_tape(path: str, kind: str) -> Drawn:
    return event(f"gradient_tape/{path}:{kind}")


def test_tensorflow_counts_on_where_a_function_asks_again() -> None:
    """Everything of the layer that the tape computes again counts, its inputs' gradients too."""
    again = found(
        "wvxy......wvxy......",
        w=of_tape("trunk/conv/Conv2D/Conv2DBackpropFilter", "Conv2DBackpropFilter"),
        v=of_tape("trunk/conv/Conv2D/Conv2DBackpropFilter_1", "Conv2DBackpropFilter"),
        x=of_tape("trunk/conv/Conv2D/Conv2DBackpropInput", "Conv2DBackpropInput"),
        y=of_tape("trunk/conv/Conv2D/Conv2DBackpropInput_1", "Conv2DBackpropInput"),
    )
    assert again is not None
    assert (again.time_ps, again.ops, again.times) == (400_000_000, 4, 2.0)


def test_the_gradient_of_an_input_may_be_asked_for_twice() -> None:
    """A generator and a discriminator that share a function both go back through the latter."""
    twice = {
        "w": of_tape("critic/conv/Conv2D/Conv2DBackpropFilter", "Conv2DBackpropFilter"),
        "x": of_tape("critic/conv/Conv2D/Conv2DBackpropInput", "Conv2DBackpropInput"),
        "y": of_tape("critic/conv/Conv2D/Conv2DBackpropInput_1", "Conv2DBackpropInput"),
    }
    assert found("wxy.......wxy.......", **twice) is None


def test_a_layer_that_is_called_twice_has_a_gradient_for_each_call() -> None:
    """TensorFlow numbers the forward op then, not the gradient."""
    siamese = {
        "w": of_tape("twin/conv/Conv2D/Conv2DBackpropFilter", "Conv2DBackpropFilter"),
        "v": of_tape("twin/conv/Conv2D_1/Conv2DBackpropFilter", "Conv2DBackpropFilter"),
    }
    assert found("wv........wv........", **siamese) is None


@pytest.mark.parametrize("scope", ["", "encoder/", "encoder/block_2/"])
def test_below_a_scope_of_several_ops_a_number_tells_one_from_the_next(scope: str) -> None:
    """Three convolutions that no layer names have three gradients, not one three times."""
    plain = {
        "w": of_tape(f"{scope}Conv2DBackpropFilter", "Conv2DBackpropFilter"),
        "v": of_tape(f"{scope}Conv2DBackpropFilter_1", "Conv2DBackpropFilter"),
        "u": of_tape(f"{scope}Conv2DBackpropFilter_2", "Conv2DBackpropFilter"),
    }
    assert found("wvu.......wvu.......", **plain) is None


def test_a_product_has_a_gradient_of_each_factor() -> None:
    """Both have one name; the third and fourth of a function are those of the second pass."""
    again = found(
        "bmnclo....bmnclo....",
        b=of_tape("dense/BiasAdd/BiasAddGrad", "BiasAddGrad"),
        m=of_tape("dense/MatMul/MatMul", "MatMul"),
        n=of_tape("dense/MatMul/MatMul_1", "MatMul"),
        c=of_tape("dense/BiasAdd/BiasAddGrad_1", "BiasAddGrad"),
        l=of_tape("dense/MatMul/MatMul_2", "MatMul"),
        o=of_tape("dense/MatMul/MatMul_3", "MatMul"),
    )
    assert again is not None
    assert (again.ops, again.times) == (6, 2.0)


def test_names_of_strangers_may_be_long() -> None:
    """Each is read a few times, however many scopes, digits or tapes it seems to have."""
    for part in ("a/", "_1", "gradient_tape/", "Backward", ":", "w"):
        assert found("x.y.......x.y.......", x=event(part * 50_000), y=event("b" * 99)) is None
