"""A loop within the step, in words."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from stepscope.advice.evidence.turns import NO_LOOP, loop_within
from stepscope.result import Finding, Place
from stepscope.tables.account.turns import Turns

LOOP = Turns(
    ops="2 aten/linear, aten/silu", op_count=3, times=8, is_same_size=True, is_layers=False,
    is_training=True, step_frac=0.72, ops_frac=0.9,
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
        " 8 times in a row the step runs the same 3 ops, on the same sizes "
        "(2 aten/linear, aten/silu): with their gradients 72% of it."
    )
    told = loop.behind(FOUND)
    assert told.message == "It takes." + loop.sentence
    assert told.actions[1:] == ("Do this.",)
    assert "one call over all of them" in told.actions[0]


def test_what_lies_between_ops_is_not_theirs() -> None:
    plain = replace(LOOP, op_count=1, is_same_size=False, is_training=False, ops_frac=0.1)
    assert loop_within(host(plain, "window")).sentence == (
        " 8 times in a row the program runs the same op (2 aten/linear, aten/silu): "
        "with what lies between them 72% of it."
    )


def test_layers_are_looked_at_last() -> None:
    told = loop_within(host(replace(LOOP, is_layers=True))).behind(FOUND)
    assert told.actions[0] == "Do this."
    assert "model's layers" in told.actions[1]


def test_a_known_line_says_more() -> None:
    placed = replace(FOUND, place=Place("step", "train.py", 3, ""))
    assert loop_within(host(LOOP)).behind(placed) == placed
    assert loop_within(host(None)) is loop_within(None) is NO_LOOP
    assert NO_LOOP.behind(FOUND) == FOUND
