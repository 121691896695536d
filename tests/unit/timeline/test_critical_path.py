"""The critical path: through launches, streams and waits, by hand; it sums to the stretch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.kernels import core
from stepscope.timeline import Timeline
from stepscope.timeline.critical_path import REASONS, CriticalPath, chains, critical_path
from tests.profiles import gpu, host, line, space, stream
from tests.unit.timeline.test_timeline import opened

US = 10**6

Plan = tuple[list[int], list[int], list[tuple[int, int]]]


def told(found: Timeline, path: CriticalPath) -> list[tuple[str, int, int, str, int]]:
    """Per piece: name, from, to, why, gap before it; in µs."""
    rows = []
    for i in range(len(path)):
        track, index = found.track_of(int(path.event[i]))
        name = found.names[track.labels.name[track.code[index]]]
        times = (int(path.start_ps[i]) // US, int(path.stop_ps[i]) // US)
        rows.append((name, *times, REASONS[path.reason[i]], int(path.gap_ps[i]) // US))
    return rows


Launch = tuple[str, float, float, dict[str, int]]


def launch(name: str, at: float, length: float, number: int) -> Launch:
    return (name, at, length, {"correlation_id": number})


def bound_by_launches() -> Timeline:
    """The host launches late, the device is quick, and the host waits for it in the end."""
    return opened(
        space(
            host(
                line(
                    "main",
                    ("step", 0, 100),
                    launch("cudaLaunchKernel", 10, 5, 1),
                    launch("cudaLaunchKernel", 60, 5, 2),
                    ("cudaStreamSynchronize", 70, 25),
                ),
                line("other", ("busy", 0, 40)),
            ),
            gpu(0, stream(7, launch("first", 20, 10, 1), launch("second", 67, 20, 2))),
        )
    )


def test_it_goes_back_through_the_wait_the_kernel_its_launch_and_the_thread() -> None:
    found = bound_by_launches()
    assert told(found, critical_path(found, 0, 100 * US)) == [
        ("step", 0, 10, "begin", 0),
        ("cudaLaunchKernel", 10, 15, "order", 0),
        ("step", 15, 60, "order", 0),
        ("cudaLaunchKernel", 60, 65, "order", 0),
        ("second", 67, 87, "launch", 2),
        ("cudaStreamSynchronize", 87, 95, "sync", 0),
        ("step", 95, 100, "order", 0),
    ]


def test_slack_is_what_may_be_late() -> None:
    found = bound_by_launches()
    path = critical_path(found, 0, 100 * US)
    slack = {}
    for event in path.pieces_event.tolist():
        track, index = found.track_of(event)
        name = found.names[track.labels.name[track.code[index]]]
        slack[name, int(track.start_ps[index]) // US] = (path.slack_of(event) or 0) // US
    # The first kernel ends at 30; the second begins 2 after its launch, at 67, so 35 are left.
    assert slack == {
        ("step", 0): 0,
        ("cudaLaunchKernel", 10): 0,
        ("first", 20): 35,
        ("cudaLaunchKernel", 60): 0,
        ("second", 67): 0,
        ("cudaStreamSynchronize", 70): 0,
        ("busy", 0): 60,
    }
    assert path.slack_of(10**6) is None


def test_where_the_device_is_busy_to_the_end_it_is_the_path() -> None:
    found = opened(
        space(
            host(
                line(
                    "main",
                    ("step", 0, 100),
                    launch("cudaLaunchKernel", 1, 2, 1),
                    launch("cudaLaunchKernel", 4, 2, 2),
                )
            ),
            gpu(0, stream(7, launch("a", 2, 48, 1), launch("b", 50, 60, 2))),
        )
    )
    assert told(found, critical_path(found, 0, 100 * US)) == [
        ("step", 0, 1, "begin", 0),
        ("a", 2, 50, "launch", 1),
        ("b", 50, 100, "order", 0),
    ]


def test_a_function_of_tensorflow_waits_for_the_ops_of_its_executor() -> None:
    found = opened(
        space(
            host(
                line("python", ("KernelAndDeviceFunc::Run", 5, 90), id=1),
                line("tf_Compute/1", ("MatMul", 10, 30), ("Relu", 40, 45), id=2),
                line("tf_data_iterator", ("Prefetch", 0, 86), id=3),
            )
        )
    )
    assert told(found, critical_path(found, 0, 100 * US)) == [
        ("MatMul", 10, 40, "begin", 10),
        ("Relu", 40, 85, "order", 0),
        ("KernelAndDeviceFunc::Run", 85, 95, "sync", 0),
    ]


def test_a_stretch_without_work_has_none() -> None:
    path = critical_path(bound_by_launches(), 500 * US, 600 * US)
    assert len(path) == 0 and path.slack_of(0) is None


@given(st.data())
def test_work_and_gaps_sum_to_the_stretch_up_to_its_end(data: st.DataObject) -> None:
    def thread(names: str, most: int) -> list[Launch]:
        found = []
        for _ in range(data.draw(st.integers(0, most))):
            at, length = data.draw(st.integers(0, 90)), data.draw(st.integers(0, 30))
            number = data.draw(st.integers(1, 6))
            found.append(launch(data.draw(st.sampled_from(names.split())), at, length, number))
        return found

    found = opened(
        space(
            host(
                line("main", *thread("step cudaLaunchKernel cudaStreamSynchronize", 8), id=1),
                line("tf_Compute", *thread("a b KernelAndDeviceFunc::Run", 5), id=2),
            ),
            gpu(0, stream(7, *thread("k l", 6)), stream(8, *thread("m", 4))),
        )
    )
    begin, end = sorted(data.draw(st.tuples(st.integers(0, 60), st.integers(61, 130))))
    path = critical_path(found, begin * US, end * US)
    if not len(path):
        return
    assert (path.gap_ps >= 0).all() and (path.stop_ps > path.start_ps).all()
    assert int((path.stop_ps - path.start_ps + path.gap_ps).sum()) == path.stop_ps[-1] - begin * US
    assert path.stop_ps[-1] <= end * US
    assert (path.pieces_slack_ps >= 0).all()
    assert all(path.slack_of(event) == 0 for event in np.unique(path.event).tolist())


def test_a_wait_for_a_thread_goes_to_what_that_thread_did() -> None:
    found = opened(
        space(
            host(
                line(
                    "main",
                    ("step", 0, 100),
                    ("$queue.py:154 get", 10, 70),
                    ("cudaLaunchKernel", 85, 5),
                ),
                line("loader", ("read", 0, 40), ("decode", 40, 35), ("$time sleep", 75, 10)),
            )
        )
    )
    assert told(found, critical_path(found, 0, 100 * US)) == [
        ("read", 0, 40, "begin", 0),
        ("decode", 40, 75, "order", 0),
        ("$queue.py:154 get", 75, 80, "sync", 0),
        ("step", 80, 85, "order", 0),
        ("cudaLaunchKernel", 85, 90, "order", 0),
        ("step", 90, 100, "order", 0),
    ]


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
