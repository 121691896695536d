"""Python spread over the functions below one call is that call's part."""

from __future__ import annotations

from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.parts.grouping import Part, below_calls, parts
from stepscope.tables.parts.shares import made_of
from tests.profiles import event
from tests.unit.tables.account.test_account import host


def joined(*lines: str) -> list[Part]:
    """Parts of two steps of 2 ms: ``A`` augments, by flip, shift and noise; ``T`` is the rest."""
    text = "\n          ".join(f'"        {one}' for one in lines)
    one = host(
        f"""
        /host:CPU
          python   S-------------------S-------------------
          {text}
        """,
        L=event("$train.py:50 main"),
        B=event("$train.py:8 batch"),
        A=event("$augment.py:40 augment"),
        F=event("$augment.py:10 flip"),
        H=event("$augment.py:20 shift"),
        N=event("$augment.py:30 noise"),
        T=event("$train.py:30 step"),
        V=event("$array.py:615 _value"),
        W=event("$threading.py:600 wait"),
    )
    found = account(one)
    assert found is not None
    listed = owners(found)
    return below_calls(found, parts(found, listed), listed)


def python_of(found: list[Part]) -> dict[str, float]:
    """Milliseconds of the parts that are Python, but for the rest of the step."""
    kinds = ("python", "library")
    return {
        one.name: round(one.total_ps / 1e9, 6)
        for one in found
        if one.kind in kinds and one.name != "step"
    }


LOOP = "L---------------------------------------"


def test_functions_below_one_call_are_one_part() -> None:
    """Of each 2 ms, flip, shift and noise have 300 µs each: augment has 900."""
    found = joined(
        LOOP,
        "B--------TTTTTTTTTTTB--------TTTTTTTTTTT",
        "A--------...........A--------...........",
        "F--H--N--...........F--H--N--...........",
    )
    assert python_of(found) == {"augment": 1.8}
    (one,) = (one for one in found if one.name == "augment")
    assert one.around is not None
    assert (one.around.file, one.around.line) == ("augment.py", 40)
    assert [(share.name, share.site.line) for share in made_of(one)] == [
        ("flip", 10),
        ("shift", 20),
        ("noise", 30),
    ]
    assert found == sorted(found, key=lambda each: -each.total_ps)


def test_a_function_with_most_of_it_stays_by_itself() -> None:
    found = joined(
        LOOP,
        "B--------TTTTTTTTTTTB--------TTTTTTTTTTT",
        "A--------...........A--------...........",
        "F-----H-N...........F-----H-N...........",
    )
    assert python_of(found) == {"flip": 1.2, "shift": 0.4, "noise": 0.2}


def test_a_call_that_mostly_runs_ops_is_not_named_for_its_python() -> None:
    """Half of it waits for values; what Python it has is in three functions."""
    found = joined(
        LOOP,
        "A-------------------A-------------------",
        "F--H--N--V----------F--H--N--V----------",
    )
    assert python_of(found) == {"flip": 0.6, "shift": 0.6, "noise": 0.6}
    assert all(one.around is None for one in found)


def test_time_that_waits_is_not_joined() -> None:
    found = joined(
        LOOP,
        "B--------TTTTTTTTTTTB--------TTTTTTTTTTT",
        "A--------...........A--------...........",
        "WF--H-N--...........WF--H-N--...........",
    )
    (whole,) = (one for one in found if one.name == "augment" and one.around is not None)
    assert round(whole.total_ps / 1e9, 6) == 1.6


def test_a_program_with_one_function_has_its_part() -> None:
    found = joined(
        LOOP,
        "B--------TTTTTTTTTTTB--------TTTTTTTTTTT",
        "F--------...........F--------...........",
    )
    assert python_of(found) == {"flip": 1.8}
