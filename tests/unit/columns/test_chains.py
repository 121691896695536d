"""Chains of activities, against a simulation that delays each of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.columns.chains import chains
from stepscope.kernels import core

Plan = tuple[list[int], list[int], list[tuple[int, int]]]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Starts, ends, and pairs of what waits for what."""
    count = draw(st.integers(1, 9))
    starts = [draw(st.integers(0, 40)) for _ in range(count)]
    ends = [start + draw(st.integers(1, 15)) for start in starts]
    possible = [(a, b) for a in range(count) for b in range(count) if ends[a] <= starts[b]]
    pairs = draw(st.lists(st.sampled_from(possible), max_size=20)) if possible else []
    return starts, ends, pairs


def simulated(plan: Plan, delayed: int, by: int) -> list[int]:
    """Ends of all activities where one of them ends later: each starts when it may."""
    starts, ends, pairs = plan
    found = list(ends)
    for one in sorted(range(len(starts)), key=lambda each: starts[each]):
        holders = [before for before, after in pairs if after == one]
        start = starts[one]
        if holders:
            gap = starts[one] - max(ends[before] for before in holders)
            start = max(found[before] for before in holders) + gap
        found[one] = start + ends[one] - starts[one] + (by if one == delayed else 0)
    return found


def found_in(plan: Plan, last: int) -> tuple[list[int], list[int], list[int]]:
    starts, ends, pairs = plan
    before, after = (np.asarray([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    got = chains(np.asarray(starts, np.int64), np.asarray(ends, np.int64), before, after, last)
    return got.held_by.tolist(), got.slack_ps.tolist(), got.way.tolist()


@given(plans(), st.integers(0, 8))
def test_slack_is_exactly_the_delay_that_the_end_does_not_feel(plan: Plan, which: int) -> None:
    _starts, ends, _pairs = plan
    last = which % len(ends)
    _held, slack, way = found_in(plan, last)
    allowed = [max(end, ends[last]) for end in ends]

    def in_time(one: int, by: int) -> bool:
        found = simulated(plan, one, by)
        return all(end <= most for end, most in zip(found, allowed, strict=True))

    for one in range(len(ends)):
        assert in_time(one, slack[one])
        assert not in_time(one, slack[one] + 1)
    assert all(slack[one] == 0 for one in way)


@given(plans())
def test_the_way_goes_back_through_what_ended_last(plan: Plan) -> None:
    _starts, ends, pairs = plan
    last = max(range(len(ends)), key=lambda each: ends[each])
    held, _slack, way = found_in(plan, last)
    assert way[0] == last
    for one, holder in zip(way, [*way[1:], None], strict=True):
        before = [a for a, b in pairs if b == one]
        if holder is None:
            assert not before and held[one] == -1
        else:
            assert pairs[held[one]] == (holder, one)
            assert ends[holder] == max(ends[a] for a in before)


def test_impossible_plans_are_refused() -> None:
    one = np.asarray([0, 5], np.int64)
    none = np.empty(0, np.int64)
    with pytest.raises(ValueError, match="no time"):
        chains(one, np.asarray([0, 6], np.int64), none, none, 0)
    pair = np.asarray([0], np.int64), np.asarray([1], np.int64)
    with pytest.raises(ValueError, match="after its start"):
        chains(one, np.asarray([6, 7], np.int64), *pair, 1)


def test_the_kernels_source_runs_as_python() -> None:
    plain = core.plain("wait_kernel")
    way = np.empty(3, np.int64)
    assert plain.way_back(np.asarray([-1, 0, 1], np.int64), 2, way) == 3
    assert way.tolist() == [2, 1, 0]
    latest = np.asarray([9, 9], np.int64)
    pair = (np.asarray([0], np.int64), np.asarray([1], np.int64), np.asarray([4], np.int64))
    plain.latest_ends(*pair, latest)
    assert latest.tolist() == [5, 9]
