"""The timeline's tracks, lanes, names and axis, on profiles small enough to check by hand."""

from __future__ import annotations

import math

import pytest

from stepscope.analysis.memory_profile import memory_profile
from stepscope.formats.xspace import decode
from stepscope.limits import MAX_NAME_CHARS
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline import LaneRange, Timeline, Track, tile, timeline
from tests.profiles import (
    Event,
    Line,
    async_gpu,
    environment,
    gpu,
    host,
    hostile_names,
    line,
    negative_thread_ids,
    no_events,
    overlapping_streams,
    plane,
    space,
    stream,
    worked_example,
)
from tests.profiles.memory import Heap


def opened(*spaces: bytes) -> Timeline:
    hosts = tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(spaces))
    return timeline(Profile("s", hosts))


def track(found: Timeline, name: str) -> Track:
    return next(one for one in found.tracks if one.name == name)


def names_on(found: Timeline, one: Track) -> list[str]:
    return [found.names[int(one.labels.name[code])] for code in one.code]


def whole(found: Timeline, width_px: int = 1000) -> tuple[int, int]:
    """(slices, events) of everything on one screen."""
    begin, end = found.span()
    made = tile(found, [LaneRange(one.id) for one in found.tracks], begin, end + 1, width_px)
    return len(made.event), int(made.count.sum())


def test_devices_come_before_threads_and_streams_after_what_is_derived_from_them() -> None:
    found = opened(worked_example(gpu=True))
    assert [(s.kind, s.name) for s in found.sections] == [
        ("device", "/device:GPU:0"),
        ("host", "/host:CPU"),
    ]
    kinds = [found.tracks[i].kind for i in found.sections[0].tracks]
    assert kinds[0] == "steps" and kinds[-1] == "stream"
    assert [found.tracks[i].name for i in found.sections[1].tracks] == ["python", "tf_exec"]


def test_threads_that_share_a_name_carry_their_ids() -> None:
    calls = plane("/device:CUSTOM:Python calls", line("python", ("$train.py:3 step", 0, 9), id=12))
    threads = host(
        line("python", ("a", 0, 9), id=12),
        line("python", ("b", 0, 9), id=7),
        line("saver", ("c", 0, 9), id=8),
        line("saver", id=9),
        line("pool", ("d", 0, 9), id=5),
        line("pool", ("e", 0, 9), id=5),
    )
    found = opened(
        space(threads, calls, gpu(0, stream(1, ("k", 0, 1))), gpu(1, stream(1, ("k", 0, 1))))
    )
    assert {one.name for one in found.tracks if one.line >= 0} == {
        *("python 7", "python 12", "saver", "pool", "pool (2)", "Stream #1(Compute)"),
    }


def test_derived_steps_are_the_steps_and_ids_stay_unique() -> None:
    found = opened(worked_example(gpu=True))
    steps = next(one for one in found.tracks if one.kind == "steps")
    assert steps.derived and len(steps) == 8
    ids = [one.first_event + i for one in found.tracks for i in range(len(one.start_ps))]
    assert len(ids) == len(set(ids)) and max(ids) < found.events
    for one in found.tracks:
        assert found.track_of(one.first_event)[0] is one


def test_runs_of_one_op_become_one_framework_op_and_a_step_ends_them() -> None:
    op, other = {"tf_op": "net/dense/MatMul:MatMul"}, {"tf_op": "net/out/Add:Add"}
    found = opened(
        space(
            host(
                line(
                    "python",
                    Event("train", 0, 100, {"step_num": 0, "_r": 1}),
                    Event("train", 100, 100, {"step_num": 1, "_r": 1}),
                )
            ),
            gpu(
                0,
                stream(
                    7,
                    ("sgemm", 10, 10, op),
                    ("sgemm", 25, 10, op),
                    ("add", 40, 5, other),
                    ("sgemm", 110, 10, op),
                ),
            ),
        )
    )
    ops = track(found, "Framework Ops")
    assert names_on(found, ops) == ["MatMul", "Add", "MatMul"]
    assert (ops.start_ps // 10**6).tolist() == [10, 40, 110]
    assert (ops.duration_ps // 10**6).tolist() == [25, 5, 10]
    scopes = track(found, "Framework Name Scope")
    assert sorted(set(names_on(found, scopes))) == ["dense", "net", "out"]
    assert found.pyramid(scopes).lanes == 2


def test_the_whole_recording_in_place_of_steps_is_not_drawn_as_one() -> None:
    found = opened(space(host(line("python", ("a/MatMul:MatMul", 0, 10)))))
    assert [one.kind for one in found.tracks if one.kind == "steps"] == []
    assert found.events > 0


def test_recorded_tracks_are_not_derived_again() -> None:
    found = opened(
        space(
            gpu(0, stream(7, ("k", 0, 5)), line("Steps", ("0", 0, 5)), line("XLA Ops", ("x", 0, 5)))
        )
    )
    assert [one.kind for one in found.tracks if one.kind in ("steps", "ops")] == ["steps", "ops"]
    assert not any(one.derived for one in found.tracks if one.kind in ("steps", "ops"))


def test_hosts_lie_on_one_axis_by_their_clocks() -> None:
    first = space(host(line("python", ("a", 0, 5), timestamp_ns=1_000_000)))
    second = space(host(line("python", ("b", 0, 5), timestamp_ns=1_000_500)))
    found = opened(first, second)
    assert found.axis.aligned_by == "clock"
    assert [found.span_of(one)[0] for one in found.tracks] == [0, 500_000]


BEGAN_NS = 1_700_000_000_000_000_000


def recorded_at(begin_unix_ns: int, timestamp_ns: int) -> bytes:
    return space(
        host(line("python", ("a", 0, 5), timestamp_ns=timestamp_ns)),
        environment(profile_start_time=begin_unix_ns),
    )


def test_hosts_that_count_from_their_own_begin_lie_apart_by_when_that_was() -> None:
    found = opened(recorded_at(BEGAN_NS + 2000, 30), recorded_at(BEGAN_NS, 10))
    assert (found.axis.aligned_by, found.axis.origin_ns) == ("clock", BEGAN_NS + 10)
    assert [found.span_of(one)[0] for one in found.tracks] == [2_020_000, 0]


def test_hosts_whose_events_carry_unix_time_need_no_begin() -> None:
    found = opened(recorded_at(BEGAN_NS, BEGAN_NS + 50), recorded_at(BEGAN_NS + 7, 3))
    assert (found.axis.aligned_by, found.axis.origin_ns) == ("clock", BEGAN_NS + 10)
    assert [found.span_of(one)[0] for one in found.tracks] == [40_000, 0]


@pytest.mark.parametrize("begin", [-5, (1 << 63) - 1])
def test_a_begin_that_is_no_time_is_not_believed(begin: int) -> None:
    assert opened(recorded_at(begin, 10)).axis.origin_ns == 10


def test_one_host_that_noted_no_begin_leaves_all_on_the_clocks_of_their_files() -> None:
    silent = space(host(line("python", ("b", 0, 5), timestamp_ns=20)))
    found = opened(recorded_at(BEGAN_NS, 10), silent)
    assert (found.axis.aligned_by, found.axis.origin_ns) == ("clock", 10)
    assert [found.span_of(one)[0] for one in found.tracks] == [0, 10_000]


def test_hosts_with_unrelated_clocks_begin_together_and_it_is_said() -> None:
    first = space(host(line("python", ("a", 3, 5), timestamp_ns=10**18)))
    second = space(host(line("python", ("b", 7, 5), timestamp_ns=10**12)))
    found = opened(first, second)
    assert found.axis.aligned_by == "first event"
    assert [found.span_of(one)[0] for one in found.tracks] == [0, 0]


def test_odd_threads_and_events_draw() -> None:
    for data in (negative_thread_ids(), hostile_names(), overlapping_streams(), async_gpu()):
        found = opened(data)
        shown = sum(len(one) for one in found.tracks)
        assert whole(found)[1] == shown > 0


def test_nothing_to_draw_is_an_empty_timeline() -> None:
    found = opened(no_events())
    assert found.span() == (0, 0) and whole(found) == (0, 0)


def test_ten_thousand_depths_and_a_long_name_draw() -> None:
    depth = 10_000
    nested = [
        Event("f" * 100_000 if i == 5 else f"f{i % 7}", i, 2 * (depth - i)) for i in range(depth)
    ]
    found = opened(space(host(Line("python", tuple(nested)))))
    assert found.pyramid(found.tracks[0]).lanes == depth
    slices, events = whole(found)
    assert slices == events == depth
    assert max(map(len, found.names)) <= MAX_NAME_CHARS


def test_events_of_one_instant_each_have_a_lane() -> None:
    found = opened(space(host(line("python", *[("tick", 5, 0)] * 20, ("after", 6, 1)))))
    begin, _end = found.span()
    made = tile(found, [LaneRange(0)], begin, begin + 1, 100)
    assert made.count.tolist() == [1] * 20
    assert len(set(made.event.tolist())) == 20


def test_aggregated_events_have_no_place_in_time() -> None:
    found = opened(space(host(line("python", ("a", 0, 5), Event("many", 0, 50, occurrences=9)))))
    assert len(found.tracks[0]) == 1 and found.span() == (0, 5_000_000)


def test_python_calls_have_their_own_section() -> None:
    calls = line("main", ("$a.py:1 f", 0, 9), ("$b.py:2 g", 1, 2), id=1)
    found = opened(space(host(calls, line("tf", ("op", 0, 1), id=2))))
    assert [(s.kind, s.name) for s in found.sections] == [
        ("host", "/host:CPU"),
        ("python", "Python calls"),
    ]


def test_allocators_become_counters_that_hold_their_value() -> None:
    def at(us: int, used: int) -> Event:
        stats = {"allocator_name": "GPU_0_bfc", "bytes_allocated": used}
        return Event("MemoryAllocation", us, 0, stats)

    found = opened(space(host(line("python", at(1, 100), at(2, 300), at(9, 50)))))
    counter = track(found, "Memory in use: GPU_0_bfc")
    assert counter.counter is not None and counter.counter.value.tolist() == [100, 300, 50]
    made = tile(found, [LaneRange(counter.id)], 5_000_000, 12_000_000, 100).counters
    assert made.last.tolist() == [300, 50] and made.x[0] == 0
    rough = tile(found, [LaneRange(counter.id)], 0, 1 << 40, 1).counters
    assert (rough.least.tolist(), rough.most.tolist(), rough.last.tolist()) == ([50], [300], [50])


def test_memory_in_use_is_the_same_number_as_in_the_memory_profile() -> None:
    heap = Heap("tpu_0", stack=512)
    heap.take(10, 0xA, 1000)
    heap.take(20, 0xB, 2000)
    data = space(host(line("python", *heap.events)))
    counter = track(opened(data), "Memory in use: tpu_0").counter
    whole = memory_profile(Profile("s", (Host("h", decode(data)),))).timeline
    assert counter is not None
    assert counter.value.tolist() == list(whole["in_use_bytes"]) == [512 + 1024, 512 + 1024 + 2048]


def test_hardware_counters_under_their_own_name_are_drawn() -> None:
    """CUPTI's periodic samples have no ``counter_value``, but a stat named after the metric."""
    samples = [Event("SM active", us, 0, {"sm__cycles_active.avg": us / 2}) for us in (1, 4)]
    found = opened(space(gpu(0, line("_counters_", *samples))))
    counter = track(found, "SM active").counter
    assert counter is not None and counter.value.tolist() == [0.5, 2.0]
    assert counter.time_ps.tolist() == [1_000_000, 4_000_000]


def test_a_sample_that_is_no_number_hides_no_other() -> None:
    samples = [
        Event("load", us, 0, {"counter_value": value})
        for us, value in ((1, 5.0), (2, math.nan), (3, 9.0))
    ]
    found = opened(space(gpu(0, line("_counters_", *samples))))
    whole = tile(found, [LaneRange(track(found, "load").id)], 0, 1 << 40, 1).counters
    assert (whole.least.tolist(), whole.most.tolist(), whole.last.tolist()) == ([5], [9], [9])


def test_the_fingerprint_follows_the_recording() -> None:
    one, other = worked_example(), worked_example(steps=9)
    assert opened(one).fingerprint == opened(one).fingerprint != opened(other).fingerprint
