"""The account of the mean step, as the tool tells it."""

from __future__ import annotations

import pytest

from stepscope.analysis.step_account import TOOL, StepAccount, step_account
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import draw, event, nth, space
from tests.profiles.drawing import Drawn


def found(picture: str, **events: Drawn) -> StepAccount:
    """Two steps of 1 ms, 100 µs a character."""
    step = event("train", step_num=nth, _r=1)
    planes = draw(picture, unit_us=100, S=step, **events)
    return step_account(Profile("s", (Host("h", decode(space(*planes))),)))


PREPARES = """
/host:CPU
  python   S---------S---------
  "        A----.....A----.....
  "        .....F--......F--...
  tf_pool  .....OO........OO...
"""
EVENTS = {
    "A": event("$train.py:12 prepare"),
    "F": event("FunctionRun"),
    "O": event("a/MatMul:MatMul"),
}


def test_parts_and_owners_both_sum_to_the_step() -> None:
    one = found(PREPARES, **EVENTS)
    assert one.step_time_ms == pytest.approx(1.0)
    assert sum(one.parts["time_ms"]) == pytest.approx(1.0)
    assert sum(one.owners["time_ms"]) == pytest.approx(1.0)
    assert sum(one.parts["step_frac"]) == pytest.approx(1.0)


def test_the_headline_names_the_largest_part() -> None:
    one = found(PREPARES, **EVENTS)
    assert one.headline == "prepare takes 50% of each 1 ms step."
    first = next(iter(one.parts.records()))
    assert (first.kind, first.function, first.file, first.line) == (
        "python", "prepare", "train.py", 12,
    )  # fmt: skip
    assert one.busy_ms == pytest.approx(0.2)


def test_it_says_what_was_recorded() -> None:
    one = found(PREPARES, **EVENTS)
    assert (one.has_python, one.has_events, one.is_window) == (True, True, False)


def test_a_recording_without_steps_is_accounted_for_as_a_whole() -> None:
    one = found(
        """
        /host:CPU
          python   A----......
          tf_pool  ......OO...
        """,
        **EVENTS,
    )
    assert one.is_window
    assert one.step_count >= 1
    assert sum(one.parts["step_frac"]) == pytest.approx(1.0)


def test_without_events_there_is_nothing_to_account_for() -> None:
    empty = Profile("s", (Host("h", decode(space())),))
    assert TOOL.available(empty) is not None
    assert step_account(empty).step_count == 0
