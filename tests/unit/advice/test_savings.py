"""The range of a finding's saving, and the severity that follows it."""

from __future__ import annotations

import re
from dataclasses import replace
from math import nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.advice import RULES
from stepscope.advice.catalogue import effects
from stepscope.advice.savings import ranged, saving_of, upper_bound_ms
from stepscope.analysis.step_account import StepAccount
from stepscope.registry import ChangeClass, Rule
from stepscope.result import Finding, Result
from tests.architecture.tree import ROOT
from tests.unit.advice.made import account, op, part, told

REMOVED, MERGED, SHRUNK, OVERLAPPED = (
    effects()[name] for name in ("removed", "merged", "shrunk", "overlapped")
)


def rule(change: ChangeClass | None = REMOVED, parts: tuple[str, ...] = ("python",)) -> Rule:
    return Rule("prints", lambda _results: iter(()), parts=parts, change=change)


def found(finding: Finding, rule: Rule, *parts: dict[str, Any]) -> Finding:
    results: dict[str, Result] = {"step_account": account(*parts)}
    return ranged(finding, rule, results)


def printing(saving_ms: float | None, **more: Any) -> Finding:
    return Finding("prints", "high", saving_ms, 0.9, "", **more)


def played(time_ms: float, most_ms: float) -> dict[str, Any]:
    return part(time_ms=time_ms, alone_ms=time_ms, typical_ms=time_ms, most_ms=most_ms)


@pytest.mark.parametrize(
    ("saving_ms", "row", "high_ms"),
    [
        # The mean of 10 ms is known to 0.5: the other 4 ms may be a tenth less.
        (4.0, played(4.0, 6.0), 10 * 6.0 / (6.0 + 3.6)),
        (2.0, played(4.0, 6.0), 10 * 3.0 / (3.0 + 6.3)),  # what goes with half of a part
        (0.3, played(0.3, 0.4), 10 * 0.4 / (0.4 + 8.64)),  # a small part promises little more
        (8.0, played(8.0, 9.5), 10 * 9.5 / (9.5 + 0.45)),
        (9.0, played(6.0, 9.0), 10.0),  # nothing saves more than the step
    ],
)
def test_at_most_goes_what_goes_with_the_part(
    saving_ms: float, row: dict[str, Any], high_ms: float
) -> None:
    one = found(printing(saving_ms), rule(), row)
    assert one.saving_high_ms == pytest.approx(high_ms)
    assert one.saving_ms == saving_ms
    assert one.saving_low_ms == pytest.approx(REMOVED.least * saving_ms)


@pytest.mark.parametrize(("saving_ms", "severity"), [(0.1, "info"), (0.5, "medium"), (2.0, "high")])
def test_no_finding_is_graver_than_its_largest_saving(saving_ms: float, severity: str) -> None:
    assert found(printing(saving_ms), rule(), part(time_ms=0.0)).severity == severity


def test_beside_a_device_nothing_is_known_of_what_goes_beyond() -> None:
    (row,) = account(part()).part_list()
    assert upper_bound_ms(account(part()), row, 6.0) > 6.0
    assert upper_bound_ms(replace(account(part()), has_device=True), row, 6.0) == 6.0


def test_the_typical_step_says_what_goes_at_least_and_a_burst_in_few_steps_does_not() -> None:
    played = part(time_ms=4.0, alone_ms=4.0, typical_ms=5.0, most_ms=6.0, steps_frac=1.0)
    rows = [*account(played, part(**{**played, "steps_frac": 0.4})).part_list()]
    steady, burst = (saving_of(account(played), row, REMOVED, 0.9) for row in rows)
    least = REMOVED.least
    assert (steady.low_ms, burst.low_ms) == pytest.approx((5.0 * least, 4.0 * least))
    assert steady.low_ms <= steady.expected_ms <= steady.high_ms


def with_error(found: StepAccount, error_ms: float) -> StepAccount:
    return replace(found, step_error_ms=error_ms)


@given(st.floats(0, 10), st.floats(0, 10), st.floats(0, 20))
def test_the_most_is_its_share_of_steps_whose_rest_is_shorter(
    most_ms: float, less_ms: float, error_ms: float
) -> None:
    found = with_error(account(part()), error_ms)
    (row,) = found.part_list()
    reached = upper_bound_ms(found, row, most_ms)
    assert most_ms <= reached + 1e-9
    assert reached <= 10.0 + 1e-9
    assert upper_bound_ms(found, row, min(less_ms, most_ms)) <= reached + 1e-9
    # Played out: the step's rest by so much shorter, and the share taken of 10 ms.
    rest = (10.0 - most_ms) * (1 - min(2 * error_ms / 10.0, 1.0))
    if most_ms > 0:
        assert reached == pytest.approx(most_ms / (most_ms + rest) * 10.0)


def test_a_range_that_is_most_of_the_step_is_no_promise() -> None:
    wide = printing(9.0, saving_low_ms=1.0, measured={"a_ms": 1.0, "step_after_ms": 1.0})
    one = found(wide, rule(parts=()))
    assert (one.saving_ms, one.saving_low_ms, one.saving_high_ms) == (None, None, None)
    assert found(replace(wide, saving_low_ms=2.5), rule(parts=())).saving_ms == 9.0
    # Without the account of the step no range is too wide.
    assert ranged(printing(9.0, saving_low_ms=0.1), rule(parts=()), {}).saving_ms == 9.0


@pytest.mark.parametrize(
    ("recording_ms", "low_ms"),
    [
        (nan, 6.0),
        # 4 ms of a step of 8 without the recorder: as much as 5 of 10.
        (2.0, 5.0),
        # A range may not become so wide that it says nothing.
        (5.0, 2.0),
    ],
)
def test_a_wait_for_input_holds_what_recording_it_took(recording_ms: float, low_ms: float) -> None:
    of = replace(account(part(kind="input", time_ms=6.0)), recording_ms=recording_ms)
    # As of a part that was played already.
    wait = printing(7.0, saving_low_ms=6.0, saving_high_ms=9.0, measured={"part_ms": 7.0})
    one = ranged(wait, rule(parts=("input",)), {"step_account": of})
    assert one.saving_low_ms == pytest.approx(low_ms)
    assert one.saving_high_ms == 9.0
    other = ranged(wait, rule(parts=("python",)), {"step_account": of})
    assert other.saving_low_ms == 6.0


def first_part(*parts: dict[str, Any]) -> Finding:
    advice = told(account(*parts))
    return next(one for one in advice.findings if one.rule == "largest-part")


@pytest.mark.parametrize(
    ("family", "effect"),
    [
        ("sort", REMOVED),  # it is known what does the same
        ("clip", SHRUNK),
        ("while", MERGED),  # a loop of a compiled program works in fewer iterations, too
    ],
)
def test_an_op_saves_what_its_effect_takes_away(family: str, effect: ChangeClass) -> None:
    one = first_part(op(family, 6.0))
    assert one.saving_low_ms == pytest.approx(effect.least * 6.0)
    assert one.assumption == effect.assumption


def test_what_a_model_is_made_of_mostly_leaves_its_neighbours() -> None:
    """Of the 2 ms that the replay shows to go with 4 ms of products, a share of 0.3 does."""
    (row,) = account(op("MatMul", 4.0, typical_ms=4.0, alone_ms=4.0, most_ms=6.0)).part_list()
    of = with_error(account(part()), 0.0)
    assert saving_of(of, row, SHRUNK, 0.7).high_ms == pytest.approx(4.0 + SHRUNK.beside * 2.0)
    assert saving_of(of, row, REMOVED, 0.7).high_ms == pytest.approx(6.0)


def test_every_rule_that_saves_time_says_what_that_assumes() -> None:
    without = {rule.id for rule in RULES if rule.change is None}
    # The largest part names the class of each part; the others save memory, or nothing.
    assert without == {
        "memory-near-limit", "memory-fragmentation", "memory-growth", "incomplete-profile",
        "largest-part", "hung-collective", "memory-at-peak", "slow-start", "between-steps",
    }  # fmt: skip


def test_some_of_what_goes_with_a_part_always_goes_with_some_changes() -> None:
    """A fifth of the 6 ms between the 4 of the part and the 10 that go at most."""
    supplied = ChangeClass(1.0, "batches are ready", gains=0.2)
    one = found(printing(4.0, saving_high_ms=10.0), rule(supplied, ()), part())
    assert one.saving_low_ms == one.saving_ms == pytest.approx(5.2)
    played = account(op("mm", 4.0, most_ms=9.0))
    (row,) = played.part_list()
    of_part = saving_of(played, row, supplied, 1.0)
    assert of_part.low_ms == pytest.approx(4.0 + 0.2 * (of_part.high_ms - 4.0))
    assert of_part.expected_ms == of_part.low_ms


def steady(*parts: dict[str, Any]) -> StepAccount:
    return with_error(account(*parts), 0.0)


def in_function(name: str, time_ms: float, function: str, **more: Any) -> dict[str, Any]:
    took = {key: time_ms for key in ("time_ms", "alone_ms", "typical_ms", "most_ms")}
    return part(
        **{"kind": "op", "name": name, "file": "net.py", "function": function} | took | more
    )


@pytest.mark.parametrize(
    ("around", "least_ms", "most_ms"),
    [
        # Who finds that one product of ``score`` is not needed may need none of ``score``.
        ([("score", 3.0), ("score", 2.0), ("forward", 4.0)], 3.0, 5.0),
        ([("main", 4.0), ("main", 5.8)], 4.0, 4.0),  # all of the step is not left out
    ],
)
def test_at_most_the_whole_function_goes_that_an_op_is_in(
    around: list[tuple[str, float]], least_ms: float, most_ms: float
) -> None:
    of = steady(*(in_function("matmul", time_ms, function) for function, time_ms in around))
    saved = saving_of(of, next(iter(of.part_list())), SHRUNK, 0.7)
    assert (saved.low_ms, saved.high_ms) == pytest.approx((SHRUNK.least * least_ms, most_ms))


def test_what_a_function_calls_goes_with_it() -> None:
    """``load`` makes the model again: its own 2 ms go, and the 5 ms of what it calls."""
    reading = in_function("load", 2.0, "load", kind="library")
    making = in_function("normal", 5.0, "Model.__init__", caller="net.py:40 load")
    of = steady(reading, making, in_function("copy", 1.0, "serve", caller="net.py:9 main"))
    rows = {row.function: row for row in of.part_list()}
    assert saving_of(of, rows["load"], REMOVED, 0.95).high_ms == pytest.approx(7.0)
    assert saving_of(of, rows["Model.__init__"], SHRUNK, 0.7).high_ms == pytest.approx(5.0)


@pytest.mark.parametrize(("waits_ms", "hides_ms"), [(8.0, 2.0), (2.0, 2.0), (5.0, 5.0)])
def test_what_workers_make_is_hidden_by_no_more_than_the_rest(
    waits_ms: float, hides_ms: float
) -> None:
    """A pool that works for 8 of 10 ms was said to save 8: it still works as long."""
    of = steady(
        in_function("result", waits_ms, "main", kind="library"),
        in_function("matmul", 10.0 - waits_ms, "step"),
    )
    waiting = next(row for row in of.part_list() if row.function == "main")
    found = saving_of(of, waiting, OVERLAPPED, 0.6)
    assert found.high_ms == pytest.approx(hides_ms)
    assert found.low_ms == pytest.approx(OVERLAPPED.least * hides_ms)


def test_the_documented_shares_are_those_of_the_effects() -> None:
    page = (ROOT / "docs" / "advice.md").read_text("utf-8")
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| (\d+) % \| [^|]+ \|$", page, re.MULTILINE)
    shares = {name: round(100 * effect.least) for name, effect in effects().items()}
    assert {name: int(least) for name, least in rows} == shares
