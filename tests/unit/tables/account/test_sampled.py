"""The account of a step whose Python was looked at now and then, not traced."""

from __future__ import annotations

import numpy as np

from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import name_at, owners
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


def test_brief_c_code_is_time_of_the_function_that_calls_it() -> None:
    """A loop of Python that takes a sine is seen in the sine, where it gives the GIL up."""
    one = host(
        f"""
        /host:CPU
          python      S---------S---------S---------
        {names.PYTHON_SAMPLES_PLANE}
          MainThread  T----------------------------.
          "           F----------------------------.
          "           ..B--B----L-B--B----L-B--B---.
        """,
        T=event("$train.py:40 main"),
        F=event("$train.py:12 forward"),
        B=event("$math sin"),
        L=event("$math fsum"),
    )
    found = account(one)
    assert found is not None
    assert {(owner.name, owner.function) for owner in owners(found) if owner.name} == {
        ("forward", "forward"),
        ("math.fsum", "forward"),
    }


def often(*seen: str) -> list[tuple[str, int]]:
    """Functions that an op of 0.2 ms in each step is in, and how many of them."""
    count = len(seen)
    one = host(
        f"""
        /host:CPU
          python      {"S-----" * count}
          "           {".O-..." * count}
        {names.PYTHON_SAMPLES_PLANE}
          MainThread  T{"-" * (6 * count - 1)}
          "           {"".join(seen)}
        """,
        T=event("$train.py:40 main"),
        F=event("$train.py:12 forward"),
        P=event("$train.py:30 post"),
        O=event("aten/mm:mm"),
    )
    found = account(one)
    assert found is not None
    listed = [one for one in owners(found) if one.name == "aten/mm"]
    return sorted((one.function, round(one.total_ps / 2e8)) for one in listed)


def test_an_op_is_not_where_no_op_of_its_name_was_seen_if_many_were() -> None:
    """In one step "post" was seen before the op, and nothing within it."""
    assert often(*["P-F---"] * 3, "P-----", *["P-F---"] * 4) == [("forward", 6)]


def test_an_op_may_be_where_another_of_its_name_was_seen() -> None:
    assert often(*["P-F---"] * 4, "F-P---", "P-----", *["P-F---"] * 3) == [
        ("forward", 5),
        ("post", 2),
    ]


def test_few_looks_say_nothing_of_an_op_that_none_of_them_found() -> None:
    assert often(*["P-F---"] * 2, "P-----", "P-F---") == [("forward", 3), ("post", 1)]


def test_a_gradient_is_of_the_line_that_a_look_within_its_forward_op_found() -> None:
    one = gradients(".O---.....O---................", ".........B.......B............")
    assert functions(one, "MmBackward0") == {"forward"}


def gradients(forward: str, backward: str) -> Host:
    numbered = {"sequence_number": 7 + nth, "args": '{"Fwd thread id": 1}'}
    return busy(forward, backward, B=event("MmBackward0:MmBackward0", **numbered))


def unsaid(*seen: str) -> dict[tuple[str, str], float]:
    """Milliseconds by kind and function, ops aside, of three steps with a gap of 0.6 ms each.

    ``seen`` are the looks at the program, below ``main``.
    """
    drawn = "\n          ".join(f'"           {one}' for one in seen)
    one = host(
        f"""
        /host:CPU
          python      S---------S---------S---------
          "           .OO......N.OO......N.OO......N
        {names.PYTHON_SAMPLES_PLANE}
          MainThread  T----------------------------.
          {drawn}
        """,
        T=event("$train.py:40 main"),
        P=event("$train.py:30 post"),
        F=event("$train.py:12 forward"),
        D=event("$json/__init__.py:183 dumps"),
        O=event("aten/mm:mm"),
        N=event("aten/add:add"),
    )
    found = account(one)
    assert found is not None
    spent: dict[tuple[str, str], float] = {}
    for owner in owners(found):
        if owner.kind != "op":
            key = (owner.kind, owner.function)
            spent[key] = round(spent.get(key, 0.0) + owner.total_ps / 1e9, 6)
    return spent


def test_a_gap_is_from_its_begin_on_where_the_first_look_within_it_finds_the_program() -> None:
    """What was seen before it is of the op before it, and may end with that."""
    spent = unsaid("F-----P---F-----P---F-----P---")
    assert spent[("python", "post")] == 1.8
    assert spent[("python", "forward")] == 0.3  # before the ops


def test_a_gap_without_a_look_is_where_those_between_the_same_ops_are() -> None:
    """The look that found "post" in the first two steps found "forward" in the third."""
    spent = unsaid("F----P---F----P-----F---------")
    assert spent[("python", "post")] == 1.8


def counted(thread: str, looks: str) -> Host:
    """One step of 3 ms whose looks are all noted, each drawn as a letter."""
    return host(
        f"""
        /host:CPU
          python      S------------------------------
        {names.PYTHON_SAMPLES_PLANE}
          MainThread  T-----------------------------.
          "           {thread}
          {names.COUNTER_LINE}  {looks}
        """,
        T=event("$train.py:40 main"),
        F=event("$train.py:12 forward"),
        P=event("$train.py:30 post"),
        L=event("Python sampling lateness"),
    )


def around(one: Host, begin: float, end: float) -> str:
    """The function that looks next to a span both saw, in tenths of a millisecond; "" none."""
    found = account(one)
    assert found is not None and found.frames is not None
    at = np.asarray([begin, end]) * 1e8
    (call,) = found.frames.seen_around(*(one[None] for one in at.astype(np.int64))).tolist()
    return name_at(found.frames, call).function if call >= 0 else ""


def test_what_two_looks_next_to_a_span_saw_ran_in_between() -> None:
    one = counted("..F---------P-----------------", "..L..L..L...L...L...L...L...L.")
    assert around(one, 3, 4) == "forward"
    assert around(one, 6, 8) == "forward"
    assert around(one, 9, 10) == ""


def test_an_op_between_two_looks_at_one_line_is_where_others_of_its_name_were_seen() -> None:
    """Looks far apart see the same line in two turns of a loop."""
    steps = [*["P-F---"] * 6, "P-----", *["P-F---"] * 2]
    looks = [*["L.L.L."] * 6, "L...L.", *["L.L.L."] * 2]
    one = host(
        f"""
        /host:CPU
          python      {"S-----" * 9}
          "           {".O-..." * 9}
        {names.PYTHON_SAMPLES_PLANE}
          MainThread  T{"-" * 53}
          "           {"".join(steps)}
          {names.COUNTER_LINE}  {"".join(looks)}
        """,
        T=event("$train.py:40 main"),
        F=event("$train.py:12 forward"),
        P=event("$train.py:30 post"),
        O=event("aten/mm:mm"),
        L=event("Python sampling lateness"),
    )
    assert "post" not in functions(one, "aten/mm")
