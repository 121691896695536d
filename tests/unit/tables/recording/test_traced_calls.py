"""What recording Python's calls costs the steps, and what a reader hears of it."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.recording.traced_calls import traced_calls, tracing
from tests.profiles import space
from tests.profiles.model import line, plane


def recorded(calls: int) -> Host:
    """Two steps of 1 ms, each with so many calls."""
    steps = [("train", 1000 * at, 1000, {"step_num": at, "_r": 1}) for at in (0, 1)]
    made = [
        ("$train.py:9 one", 1000 * at + 900 * nth // calls, 0.1)
        for at in (0, 1)
        for nth in range(calls)
    ]
    return Host(
        "h",
        decode(
            space(
                plane(names.HOST_PLANE, line("main", *steps, id=7)),
                plane(names.PYTHON_CALLS_PLANE, line("MainThread", *made, id=7)),
            )
        ),
    )


def test_the_cost_of_calls_has_its_share_beside_it() -> None:
    """1,000 calls of 0.3 µs are 300 µs of 1 ms."""
    (said,) = traced_calls(recorded(1000))
    assert "that is 0.3 of its 1 ms (30%)" in said.message


def test_no_cost_is_told_that_the_step_cannot_hold() -> None:
    """6,000 calls would take 1.8 ms of a step of 1 ms."""
    (said,) = traced_calls(recorded(6000))
    assert "would be most of its 1 ms" in said.message and "%" not in said.message
    found = tracing(recorded(6000))
    assert found is not None and found.cost_ps == pytest.approx(0.8e9)


def test_few_calls_cost_nothing_worth_a_word() -> None:
    assert traced_calls(recorded(20)) == ()
