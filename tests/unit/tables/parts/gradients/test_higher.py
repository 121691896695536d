"""Whether a program asks for gradients of gradients."""

from __future__ import annotations

from stepscope.schema import names
from stepscope.tables.parts.gradients import differentiates_gradients
from tests.profiles import event
from tests.profiles.drawing import Drawn
from tests.unit.tables.account.test_account import host


def node(number: int, name: str = "MmBackward0") -> Drawn:
    """A node of autograd, which computes the gradient of the forward op with that number."""
    numbered = {names.SEQUENCE_NUMBER: number}
    return event(f"autograd/{name}:{name}", **numbered, args='{"Fwd thread id": 1}')


def asks(thread: str, below: str, **events: Drawn) -> bool:
    one = host(
        f"""
        /host:CPU
          python   S---------S---------
          "        {thread}
          "        {below}
        """,
        f=event("aten/mm:mm", **{names.SEQUENCE_NUMBER: 1}),
        **events,
    )
    return differentiates_gradients(one)


INNER = event("aten/mm:mm", **{names.SEQUENCE_NUMBER: 5})


def test_an_op_within_a_backward_pass_has_a_gradient_itself() -> None:
    """Forces are gradients of an energy, and are trained on: of most ops no name says so."""
    assert asks("fs.h......fs.h......", ".i.........i........", s=node(1), h=node(5), i=INNER)
