"""gil-contention: whom it names, what it promises, and when it is silent or cannot tell."""

from __future__ import annotations

import pytest

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.registry import Silence
from tests.unit.advice.test_largest_part import account, first, op, part, told


def test_threads_that_hold_the_lock_for_a_part_of_their_time_may_cost_more_unrecorded() -> None:
    rival = {
        "thread": "feeder-1",
        "function": "parse",
        "file": "train.py",
        "line": 7,
        "busy_frac": 0.4,
        "loop_waits": False,
        "count": 4,
        "takes_turns": True,
    }
    found = first(account(part(kind="framework", time_ms=3.0), op("Conv2D", 5.0), rivals=[rival]))
    assert found.rule == "gil-contention"
    # A sampler lets threads take turns more often than Python does by itself.
    assert found.saving_low_ms == pytest.approx(0.3 * 0.4 * 3.0)
    assert found.saving_high_ms == pytest.approx(0.4 / 0.75 * 10.0)


def test_without_python_nothing_is_known_of_the_lock() -> None:
    blind = account(part())
    object.__setattr__(blind, "has_python", False)
    checked = {one.rule: one for one in told(blind).checked}
    assert checked["gil-contention"].outcome == "unknown"
    assert "No Python function was recorded" in checked["gil-contention"].reason


def test_a_loop_that_only_waits_for_others_needs_no_lock() -> None:
    rival = {
        "thread": "t-9", "function": "render", "file": "serve.py", "line": 42, "busy_frac": 0.7,
        "loop_waits": True,
    }  # fmt: skip
    call = "threading.Thread._wait_for_tstate_lock"
    waits = part(kind="library", first=call, first_kind="library", first_frac=0.9, time_ms=9.0)
    checked = {one.rule: one for one in told(account(waits, rivals=[rival])).checked}
    assert checked["gil-contention"].outcome == "silent"


def test_a_loop_that_waits_for_the_threads_answer_is_not_in_its_way() -> None:
    rival = {
        "thread": "server", "function": "Featurizer.__call__", "file": "text.py", "line": 27,
        "busy_frac": 0.98, "loop_waits": True,
    }  # fmt: skip
    asks = part(
        kind="library", time_ms=8.5, first="socket.SocketIO.readinto", first_kind="library",
        name="classify", function="classify",
    )  # fmt: skip
    found = account(asks, part(kind="framework", time_ms=1.5), rivals=[rival])
    rule = next(rule for rule in RULES if rule.id == "gil-contention")
    (answer,) = rule.check(Results({"step_account": found}))
    assert isinstance(answer, Silence)
