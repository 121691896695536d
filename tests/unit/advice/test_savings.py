"""The range of a finding's saving, and the severity that follows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepscope.advice import RULES
from stepscope.advice.evidence.changes import REMOVED, SHRUNK
from stepscope.advice.evidence.savings import beyond, saving_of
from stepscope.advice.savings import ranged
from stepscope.registry import ChangeClass, Rule
from stepscope.result import Finding, Result
from tests.unit.advice.test_largest_part import account, op, part


def rule(change: ChangeClass | None = REMOVED, parts: tuple[str, ...] = ("python",)) -> Rule:
    return Rule("prints", lambda _results: iter(()), parts=parts, change=change)


def found(finding: Finding, rule: Rule, *parts: dict[str, Any]) -> Finding:
    results: dict[str, Result] = {"step_account": account(*parts)}
    return ranged(finding, rule, results)


def printing(saving_ms: float | None, **more: Any) -> Finding:
    return Finding("prints", "high", saving_ms, 0.9, "", **more)


def test_at_least_what_changes_of_its_class_take_away_and_at_most_what_goes_with_the_part() -> None:
    played = part(time_ms=4.0, alone_ms=4.0, typical_ms=4.0, most_ms=6.0)
    one = found(printing(4.0), rule(), played, op("MatMul", 5.0))
    assert one.saving_low_ms == pytest.approx(REMOVED.least * 4.0)
    # Of the 4 ms that are left of 10, half of 6 of 10 may go as well.
    assert one.saving_ms == 4.0
    assert one.saving_high_ms == pytest.approx(6.0 + 0.5 * 0.6 * 4.0)
    assert one.assumption == REMOVED.assumption


def test_what_goes_with_half_of_a_part_is_half_of_what_goes_with_it() -> None:
    played = part(time_ms=4.0, alone_ms=4.0, typical_ms=4.0, most_ms=6.0)
    most = 3.0 + 0.5 * 0.3 * 7.0
    assert found(printing(2.0), rule(), played).saving_high_ms == pytest.approx(most)


def test_parts_of_other_kinds_widen_nothing() -> None:
    one = found(printing(2.0), rule(parts=("input",)), part(most_ms=9.0))
    assert one.saving_high_ms == 2.0


def test_nothing_saves_more_than_the_step() -> None:
    one = found(printing(8.0), rule(), part(time_ms=8.0, most_ms=9.5))
    assert one.saving_high_ms == pytest.approx(9.5 + 0.5 * 0.95 * 0.5)
    assert found(printing(9.0), rule(), part(time_ms=6.0, most_ms=9.0)).saving_high_ms == 10.0


def test_what_a_rule_knows_better_stays() -> None:
    one = found(printing(4.0, saving_low_ms=1.0, assumption="it rains"), rule(SHRUNK), part())
    assert (one.saving_low_ms, one.assumption) == (1.0, "it rains")


def test_without_a_class_half_of_it_may_go() -> None:
    assert found(printing(4.0), rule(None, ())).saving_low_ms == 2.0
    assert found(printing(4.0), rule(None, ())).assumption == ""


def test_no_finding_is_graver_than_its_largest_saving() -> None:
    assert found(printing(0.1), rule(), part(time_ms=0.0)).severity == "info"
    assert found(printing(0.5), rule(), part(time_ms=0.0)).severity == "medium"
    assert found(printing(2.0), rule(), part(time_ms=0.0)).severity == "high"


def test_what_saves_no_time_has_no_range() -> None:
    one = printing(None)
    assert found(one, rule(), part()) is one


def test_a_small_part_promises_little_more_than_itself() -> None:
    played = part(time_ms=0.3, alone_ms=0.3, typical_ms=0.3, most_ms=0.4)
    high = found(printing(0.3), rule(), played).saving_high_ms
    assert high == pytest.approx(0.4 + 0.5 * 0.04 * 9.6)


def test_beside_a_device_nothing_is_known_of_what_goes_beyond() -> None:
    (row,) = account(part()).parts.records()
    assert beyond(account(part()), row, 6.0) > 6.0
    assert beyond(replace(account(part()), has_device=True), row, 6.0) == 6.0


def test_the_typical_step_says_what_goes_at_least_and_a_burst_in_few_steps_does_not() -> None:
    played = part(time_ms=4.0, alone_ms=4.0, typical_ms=5.0, most_ms=6.0, steps_frac=1.0)
    rows = [*account(played, part(**{**played, "steps_frac": 0.4})).parts.records()]
    steady, burst = (saving_of(account(played), row, 0.8, 0.9) for row in rows)
    assert (steady.low_ms, burst.low_ms) == pytest.approx((4.0, 3.2))
    assert steady.low_ms <= steady.expected_ms <= steady.high_ms


def test_every_rule_that_saves_time_says_what_that_assumes() -> None:
    without = {rule.id for rule in RULES if rule.change is None}
    # The largest part names the class of each part; the others save memory, or nothing.
    assert without == {
        "memory-near-limit", "memory-fragmentation", "memory-growth", "incomplete-profile",
        "largest-part", "hung-collective", "memory-at-peak",
    }  # fmt: skip
