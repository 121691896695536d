"""Where the program was, by samples of its stack: each shows what runs until the next."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.schema import names
from stepscope.tables.account.owners import name_at, owners
from stepscope.tables.core.profile import Host
from tests.profiles import event, nth
from tests.unit.tables.account.drawn import Letters, accounted, host

CALLS: Letters = {
    "T": "$train.py:40 main",
    "F": "$train.py:12 forward",
    "P": "$train.py:30 post",
    "O": event("aten/mm:mm", sequence_number=7 + nth, args="{}"),
    "B": event("MmBackward0:MmBackward0", sequence_number=7 + nth, args='{"Fwd thread id": 1}'),
    "N": "aten/add:add",
    "L": "Python sampling lateness",
}


def seen(loop: list[str], *samples: str, steps: int = 3, looks: str = "", **more: str) -> Host:
    """Steps of a loop whose thread is sampled below ``main``, at ``looks`` if they are noted."""
    rows = [*loop, names.PYTHON_SAMPLES_PLANE, f"MainThread  T{'-' * (len(samples[0]) - 1)}"]
    rows += [*samples, *([f"{names.COUNTER_LINE}  {looks}"] if looks else [])]
    return host(*rows, steps=steps, **CALLS | more)


def functions(one: Host, name: str) -> dict[str, float]:
    """Milliseconds of an op by the functions that it is of."""
    spent: dict[str, float] = {}
    for owner in owners(accounted(one)):
        if owner.name == name:
            spent[owner.function] = round(spent.get(owner.function, 0.0) + owner.total_ps / 1e9, 6)
    return spent


CALLED = "..F-----P---F-----P---F-----P-"


@pytest.mark.parametrize(
    ("loop", "op"),
    [
        # Each begins while "post" is the last that was seen, and lasts until "forward" is.
        ([".O-----...O------..O------...."], "aten/mm"),
        # A gradient is of the line that a sample within its forward op found.
        ([".O---.....O---................", ".........B.......B............"], "MmBackward0"),
    ],
)
def test_an_op_is_called_from_where_the_first_sample_within_it_finds_the_program(
    loop: list[str], op: str
) -> None:
    assert functions(seen(loop, CALLED), op).keys() == {"forward"}


def test_brief_c_code_is_time_of_the_function_that_calls_it() -> None:
    """A loop of Python that takes a sine is seen in the sine, where it gives the GIL up."""
    stack = ("F-----------------------------", "..B--B----L-B--B----L-B--B----")
    one = seen(["." * 30], *stack, B="$math sin", L="$math fsum")
    listed = {(owner.name, owner.function) for owner in owners(accounted(one)) if owner.name}
    assert listed == {("forward", "forward"), ("math.fsum", "forward")}


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        # In one step "post" was seen before the op, and nothing within it.
        ([*["P-F---"] * 3, "P-----", *["P-F---"] * 4], {"forward": 1.2}),
        # Another op of its name was seen there.
        ([*["P-F---"] * 4, "F-P---", "P-----", *["P-F---"] * 3], {"forward": 1.0, "post": 0.4}),
        # Few samples say nothing of an op that none of them found.
        ([*["P-F---"] * 2, "P-----", "P-F---"], {"forward": 0.6, "post": 0.2}),
    ],
    ids=["many elsewhere", "one there", "few"],
)
def test_an_op_without_a_sample_is_where_others_of_its_name_were_seen(
    samples: list[str], expected: dict[str, float]
) -> None:
    steps = len(samples)
    assert functions(seen([".O-..." * steps], "".join(samples), steps=steps), "aten/mm") == expected


def test_an_op_between_two_samples_of_one_line_is_where_others_of_its_name_were_seen() -> None:
    """Samples far apart see the same line in two iterations of a loop."""
    samples = [*["P-F---"] * 6, "P-----", *["P-F---"] * 2]
    looks = "".join(["L.L.L."] * 6 + ["L...L."] + ["L.L.L."] * 2)
    one = seen([".O-..." * 9], "".join(samples), steps=9, looks=looks)
    assert "post" not in functions(one, "aten/mm")


@pytest.mark.parametrize(
    ("samples", "forward_ms"),
    [
        # What was seen before a gap is of the op before it, and may end with that.
        ("F-----P---F-----P---F-----P---", 0.3),
        # The sample that found "post" in the first two steps found "forward" in the third.
        ("F----P---F----P-----F---------", None),
    ],
)
def test_a_gap_is_where_the_first_sample_within_it_or_another_such_gap_finds_the_program(
    samples: str, forward_ms: float | None
) -> None:
    one = seen([".OO......N.OO......N.OO......N"], samples)
    assert functions(one, "post") == {"post": 1.8}
    assert forward_ms is None or functions(one, "forward") == {"forward": forward_ms}


@pytest.mark.parametrize(
    ("begin", "end", "function"), [(3, 4, "forward"), (6, 8, "forward"), (9, 10, "")]
)
def test_what_two_samples_next_to_a_span_saw_ran_in_between(
    begin: int, end: int, function: str
) -> None:
    looks = "..L..L..L...L...L...L...L...L."
    one = seen(["." * 31], "..F---------P-----------------", steps=1, looks=looks)
    frames = accounted(one).frames
    assert frames is not None
    (call,) = frames.seen_around(np.asarray([begin * 10**8]), np.asarray([end * 10**8])).tolist()
    assert (name_at(frames, call).function if call >= 0 else "") == function
