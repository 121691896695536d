"""The account of a step whose Python was looked at now and then, not traced."""

from __future__ import annotations

from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.core.profile import Host
from tests.profiles import event, nth
from tests.profiles.drawing import Drawn
from tests.unit.tables.account.test_account import host


def busy(*threads: str, **more: Drawn) -> Host:
    """Three steps that call forward and then post; what a look saw is drawn until the next."""
    drawn = "\n          ".join(f'"           {one}' for one in threads)
    return host(
        f"""
        /host:CPU
          python      S---------S---------S---------
          {drawn}
        {names.PYTHON_SAMPLES_PLANE}
          MainThread  T----------------------------.
          "           ..F-----P---F-----P---F-----P-
        """,
        T=event("$train.py:40 main"),
        F=event("$train.py:12 forward"),
        P=event("$train.py:30 post"),
        O=event("aten/mm:mm", sequence_number=7 + nth, args="{}"),
        **more,
    )


def functions(one: Host, name: str) -> set[str]:
    """Where the program was in all the time of an op."""
    found = account(one)
    assert found is not None
    return {owner.function for owner in owners(found) if owner.name == name}


def test_an_op_is_called_from_where_the_first_look_within_it_finds_the_program() -> None:
    """Each begins while "post" is the last that was seen, and lasts until "forward" is."""
    assert functions(busy(".O-----...O------..O------...."), "aten/mm") == {"forward"}


def test_an_op_that_nobody_looked_at_is_where_the_program_was_seen_last() -> None:
    assert functions(busy("...OO........OO........OO....."), "aten/mm") == {"forward"}


def test_a_gradient_is_of_the_line_that_a_look_within_its_forward_op_found() -> None:
    one = gradients(".O---.....O---................", ".........B.......B............")
    assert functions(one, "MmBackward0") == {"forward"}


def test_a_gradient_whose_forward_op_nobody_looked_at_is_where_backward_is() -> None:
    """The op runs while "post" is the last that was seen, which may be over by then."""
    one = gradients("..........O.........O.........", ".............B--.......B--....")
    assert functions(one, "MmBackward0") == {"forward"}


def gradients(forward: str, backward: str) -> Host:
    numbered = {"sequence_number": 7 + nth, "args": '{"Fwd thread id": 1}'}
    return busy(forward, backward, B=event("MmBackward0:MmBackward0", **numbered))
