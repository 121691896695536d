"""Gradients that a step computes more than once: by autograd's numbers."""

from __future__ import annotations

from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.parts.gradients import NeedlessGradients, repeated_gradients
from tests.profiles import event
from tests.profiles.drawing import Drawn
from tests.unit.tables.account.test_account import host


def found(thread: str, **events: Drawn) -> NeedlessGradients | None:
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


def test_a_backward_pass_for_each_loss_repeats_what_the_losses_share() -> None:
    again = found("sa.sb.sc..sd.se.sf..", s=node(1), **_HEADS)
    assert again is not None
    # Of three runs of 100 µs in each step two are again.
    assert (again.time_ms, again.ops, again.times) == (0.2, 2, 3.0)
    assert again.longest == "autograd/MmBackward0:MmBackward0"


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
