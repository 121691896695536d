"""A loop within the step, in words."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.advice.evidence.turns import NO_LOOP, loop_within, of_loop
from stepscope.advice.parts.changes import LOOPED
from stepscope.result import Finding, Place
from stepscope.tables.parts.turns import Turns

LOOP = Turns(
    ops="2 aten/linear, aten/silu", op_count=3, times=8, places=1, after="aten/sort",
    before="", within="loss", is_same_size=True, is_layers=False, is_training=True, step_frac=0.72,
    ops_frac=0.9,
)  # fmt: skip
FOUND = Finding(
    rule="largest-part", severity="info", saving_ms=2.0, saving_high_ms=3.0, confidence=0.5,
    message="It takes.", measured={}, evidence=(), actions=("Do this.",),
)  # fmt: skip


def host(loop: Turns | None, source: str = "markers") -> Any:
    return SimpleNamespace(turns=loop, step_source=source)


def test_what_a_loop_runs_is_said_with_its_share() -> None:
    loop = loop_within(host(LOOP))
    assert loop.sentence == (
        " 8 times in a row the step runs the same 3 ops on the same sizes "
        "(2 aten/linear, aten/silu), within loss, after aten/sort: with their gradients they take "
        "72% of the step."
    )
    told = loop.behind(FOUND)
    assert told.message == "It takes." + loop.sentence
    assert told.actions[1:] == ("Do this.",)
    assert "one call over all of them" in told.actions[0]


def test_what_lies_between_ops_is_not_theirs() -> None:
    plain = replace(
        LOOP, op_count=1, places=2, after="", within="", is_same_size=False, is_training=False,
        ops_frac=0.1,
    )  # fmt: skip
    assert loop_within(host(plain, "window")).sentence == (
        " 8 times in a row, at 2 places, the program runs the same op (2 aten/linear, aten/silu): "
        "with what lies between them they take 72% of the program."
    )


def test_layers_are_looked_at_last() -> None:
    told = loop_within(host(replace(LOOP, is_layers=True))).behind(FOUND)
    assert told.actions[0] == "Do this."
    assert "model's layers" in told.actions[1]


def account(**said: Any) -> Any:
    parts = SimpleNamespace(records=lambda: [SimpleNamespace(kind="unrecorded", step_frac=0.1)])
    plain = {
        "has_python": False,
        "has_device": False,
        "is_window": False,
        "step_count": 5,
        "step_error_ms": 0.0,
    }
    return SimpleNamespace(**plain | {"step_time_ms": 100.0, "parts": parts} | said)


def test_a_loop_without_a_line_is_a_finding_of_its_own() -> None:
    """72 of 100 ms; of the 10 of which nothing was recorded its share goes with it."""
    found = of_loop(host(LOOP), account(), "largest-part")
    assert found is not None
    assert found.title == "A loop of the same 3 ops takes 72% of the step"
    assert found.saving_low_ms == pytest.approx(LOOPED.least * 72.0)
    assert found.saving_high_ms == pytest.approx(80.0)
    assert "nothing was recorded but" not in found.message
    assert found.place == Place(op="aten/linear")
    between = of_loop(host(replace(LOOP, ops_frac=0.4)), account(), "largest-part")
    assert between is not None
    assert "Ops take 40% of the loop: for the rest nothing was recorded" in between.message
    few = of_loop(host(replace(LOOP, times=4)), account(), "largest-part")
    assert few is not None
    assert float(few.measured["worth_ms"]) < float(found.measured["worth_ms"])


def test_layers_and_loops_whose_line_is_known_are_no_finding() -> None:
    assert of_loop(host(replace(LOOP, is_layers=True)), account(), "largest-part") is None
    assert of_loop(host(LOOP), account(has_device=True), "largest-part") is None
    assert of_loop(host(LOOP), account(has_python=True), "largest-part") is None
    assert of_loop(host(LOOP), account(is_window=True), "largest-part") is None
    assert of_loop(host(None), account(), "largest-part") is None
    series = replace(LOOP, op_count=66, step_frac=0.9)
    assert of_loop(host(series), account(), "largest-part") is None


def test_a_known_line_says_more() -> None:
    placed = replace(FOUND, place=Place("step", "train.py", 3, ""))
    assert loop_within(host(LOOP)).behind(placed) == placed
    assert loop_within(host(None)) is loop_within(None) is NO_LOOP
    assert NO_LOOP.behind(FOUND) == FOUND


def part(**known: Any) -> Any:
    told = {"kind": "framework", "file": "", "function": "", "made_of": "", "step_frac": 0.5}
    return SimpleNamespace(**(told | known))


def test_a_loop_elsewhere_tells_what_a_backward_pass_is_of() -> None:
    loop = loop_within(host(replace(LOOP, function="Cell.forward", file="/a/rnn.py", line=7)))
    assert "(2 aten/linear, aten/silu), mostly in Cell.forward at rnn.py:7: with" in loop.sentence
    assert loop.tells(part())
    assert loop.tells(part(file="rnn.py", function="main"))
    assert not loop.tells(part(file="rnn.py", function="Cell.forward"))
    assert not loop.tells(part(file="rnn.py", function="main", made_of="Cell.forward 60%"))
    assert not loop.tells(part(file="rnn.py", function="main", step_frac=0.8))
    assert not loop.tells(part(kind="input"))
    assert not NO_LOOP.tells(part())
