"""The answer in a sentence or two: what it calls each outcome, and how it writes numbers."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
import pytest

from stepscope.comparison.comparison import PartRow
from stepscope.comparison.verdict import headline, tail_sentence
from stepscope.result import Table
from stepscope.tables.steps.statistics import (
    ChangeOutcome,
    Difference,
    StepSample,
    difference,
    tail_difference,
)

NO_PARTS = Table.empty(PartRow)


def part(name: str, delta_ms: float, significant: str) -> dict[str, Any]:
    numbers = dict.fromkeys(PartRow.__annotations__, 0.0)
    texts = {"kind": "input", "where": "", "type": "", "matched": ""}
    own = {"name": name, "delta_ms": delta_ms, "significant": significant}
    return numbers | texts | own


def parts(*rows: dict[str, Any]) -> Table[PartRow]:
    return Table(PartRow, {name: [row[name] for row in rows] for name in PartRow.__annotations__})


@pytest.mark.parametrize(
    ("before_ms", "after_ms", "said"),
    [
        (500.0, 999.7, "500 → 1,000 ms per step (99 % interval +500 to +500 ms)"),
        (1.0, 999.2, "1.00 → 999 ms per step (99 % interval +998 to +998 ms)"),
        (0.0304, 1000.2, "0.0304 → 1,000 ms per step (99 % interval +1,000 to +1,000 ms)"),
    ],
)
def test_a_step_of_about_a_second_has_no_exponent(
    before_ms: float, after_ms: float, said: str
) -> None:
    delta = after_ms - before_ms
    change = Difference(before_ms, after_ms, delta, delta, "slower")
    assert said in headline(change, NO_PARTS, NO_PARTS, (10, 10))


@pytest.mark.parametrize(
    ("after_ms", "said"),
    [(25.0, "150.0 % slower: "), (35.0, "3.50 times as long: "), (1887.0, "189 times as long: ")],
)
def test_much_slower_steps_are_so_many_times_as_long(after_ms: float, said: str) -> None:
    delta = after_ms - 10
    change = Difference(10.0, after_ms, delta, delta, "slower")
    assert headline(change, NO_PARTS, NO_PARTS, (10, 10)).startswith(said)


def test_equal_unknown_separated_and_few_are_told_apart() -> None:
    intervals: dict[ChangeOutcome, tuple[float, float]] = {
        "equal": (-0.1, 0.1),
        "unknown": (-5.0, 5.0),
        "separated": (nan, nan),
    }
    said = {
        outcome: headline(Difference(10, 11, *interval, outcome), NO_PARTS, NO_PARTS, (3, 4))
        for outcome, interval in intervals.items()
    }
    assert said["equal"].startswith("No change beyond ±2 %: 10.0 → 11.0 ms")
    assert said["unknown"].startswith("Cannot tell whether the step changed")
    assert said["separated"].startswith("Separated, too few steps to test")
    assert "3 and 4 steps, 6 needed" in said["separated"]
    few = headline(Difference(10, 11, nan, nan, "unknown"), NO_PARTS, NO_PARTS, (3, 4))
    assert few.startswith("Too few steps to tell")


def test_parts_that_changed_are_named_although_the_step_may_not_have() -> None:
    rows = parts(part("compute", -2.8, "yes"), part("input", 3.0, "unknown"),
                 part("copies", 1.0, "separated"))  # fmt: skip
    said = headline(Difference(10, 11, -5, 5, "unknown"), NO_PARTS, rows, (9, 9))
    assert "Changed: compute −2.80 ms. Changed in every step: copies +1.00 ms." in said


def test_a_slower_tail_has_a_sentence_of_its_own() -> None:
    chance = np.random.default_rng(1)
    times = 10 + chance.normal(size=(2, 100)) / 10
    times[1, 5::10] *= 3
    runs = StepSample.of(times[0]), StepSample.of(times[1])
    said = tail_sentence(difference(*runs), tail_difference(*runs), runs)
    assert said.startswith(" The tail is slower: with outliers 9.99 → 12.0 ms per step")
    assert "95th percentile 10." in said
    same = runs[0], runs[0]
    assert not tail_sentence(difference(*same), tail_difference(*same), same)
