"""Pods whose stragglers can be pointed at in the drawing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.analysis.pod_viewer import LABELS, TOOL, Options, PodViewer, pod_viewer
from stepscope.errors import UsageError
from stepscope.formats.xspace import decode
from stepscope.tables.collectives.operations import collectives
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.workers.steps import WORKER_PARTS, worker_steps
from tests.kernels import examples
from tests.profiles import gpu, line, no_events, parse, space, stream, worked_example
from tests.profiles import host as host_plane
from tests.profiles.model import EventLike


def profile(*hosts: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(hosts)))


def view(*hosts: bytes, **options: int) -> PodViewer:
    return pod_viewer(profile(*hosts), Options(**options))


def training(
    *compute: float,
    slowest: float = 300.0,
    steps: range = range(3),
    clock: float = 0.0,
) -> bytes:
    """One host, a device per ``compute`` µs: compute from 100 on, then an all-reduce to the end.

    Every step (1000 µs) the all-reduce ends 200 µs after ``slowest`` µs of compute anywhere.
    """
    main: list[EventLike] = []
    streams: list[list[EventLike]] = [[] for _ in compute]
    for place, step in enumerate(steps):
        base = 1000.0 * place + clock
        main.append(("train", base, 900.0, {"step_num": step, "_r": 1}))
        main.append(("IteratorGetNext", base + 5, 80.0))
        for device, spent in enumerate(compute):
            begin, end = base + 100 + spent, base + 100 + slowest + 200
            streams[device] += [
                ("sgemm", base + 100, spent, {"correlation_id": 10 * place + device}),
                ("ncclDevKernel_AllReduce_Sum_f32", begin, end - begin, {"correlation_id": 7}),
            ]
    planes = [gpu(index, stream(7, *events)) for index, events in enumerate(streams)]
    return space(host_plane(line("python", *main)), *planes)


def test_each_device_has_its_own_parts() -> None:
    found = view(training(300.0, 100.0))
    first, second = list(found.workers.rows())
    assert (first["device"], second["device"]) == ("/device:GPU:0", "/device:GPU:1")
    assert first["device_work_ms"] == pytest.approx(0.3)
    assert second["device_work_ms"] == pytest.approx(0.1)
    assert (first["waited_ms"], first["transfer_ms"]) == (0, pytest.approx(0.2))
    assert second["waited_ms"] == pytest.approx(0.2)
    assert second["transfer_ms"] == pytest.approx(0.2)


def test_a_device_that_ran_nothing_within_a_step_is_left_out_and_named() -> None:
    main = line("python", *[("train", 1000.0 * n, 900.0, {"step_num": n, "_r": 1}) for n in (0, 1)])
    busy = gpu(0, stream(7, *[("sgemm", 1000.0 * n, 800.0) for n in (0, 1)]))
    late = gpu(1, stream(7, ("sgemm", 5000.0, 800.0)))
    found = view(space(host_plane(main), busy, late))
    assert [row["device"] for row in found.workers.rows()] == ["/device:GPU:0"]
    assert found.bottleneck == "Device compute"
    (note,) = found.diagnostics
    assert (note.slug, "/device:GPU:1" in note.message) == ("device-outside-steps", True)


def reduced(*arrivals: tuple[float, float]) -> bytes:
    """Eight steps of 900 µs on two devices, whose all-reduces begin at these times.

    ``arrivals`` are (first device, second device) in µs from the begin of the recording; both
    end 200 µs after the later.
    """
    main = line(
        "python", *[("train", 1000.0 * n, 900.0, {"step_num": n, "_r": 1}) for n in range(8)]
    )
    name = "ncclDevKernel_AllReduce_Sum_f32"
    devices = [
        gpu(at, stream(7, *[(name, own[at], max(own) + 200 - own[at]) for own in arrivals]))
        for at in (0, 1)
    ]
    return space(host_plane(main), *devices)


EVEN = [(1000.0 * n + 100, 1000.0 * n + 100) for n in range(8)]


def test_collectives_outside_of_the_steps_make_nobody_wait_in_them() -> None:
    found = view(reduced(*EVEN, (20_000.0, 28_000.0)))
    assert list(found.workers["caused_wait_ms"]) == [0, 0]
    assert found.straggler is None
    (row,) = found.collective_table.rows()
    assert (row["occurrences"], row["skew_max_ms"]) == (8, 0)


def test_waits_in_steps_that_are_not_counted_are_nobody_s() -> None:
    # The first of more than five steps is left out of means; this one waits 400 µs for device 1.
    found = view(reduced((100.0, 500.0), *EVEN[1:]))
    assert list(found.workers["caused_wait_ms"]) == [0, 0]
    assert found.straggler is None
    (row,) = found.collective_table.rows()
    assert (row["occurrences"], row["skew_max_ms"]) == (8, pytest.approx(0.4))


def test_what_a_worker_costs_the_others_is_of_a_counted_step() -> None:
    # Six of eight steps count, and in two of these device 1 is 300 µs late.
    late = [(at, other + 300 * (n in (0, 3, 4))) for n, (at, other) in enumerate(EVEN)]
    found = view(reduced(*late))
    assert list(found.workers["caused_wait_ms"]) == [0, pytest.approx(0.1)]
    assert list(found.workers["waited_ms"]) == [pytest.approx(0.1), 0]


@pytest.mark.parametrize(("computes_us", "saves_us"), [(250.0, 250.0), (450.0, 50.0), (100, 300)])
def test_what_compute_hides_of_a_collective_costs_nothing(
    computes_us: float, saves_us: float
) -> None:
    """Device 1 is 300 µs late: without, its partner would be done when its own compute is."""
    name = "ncclDevKernel_AllReduce_Sum_f32"
    main = line("python", ("train", 0.0, 900.0, {"step_num": 0, "_r": 1}))
    early = gpu(0, stream(7, ("sgemm", 100.0, computes_us)), stream(8, (name, 100.0, 500.0)))
    late = gpu(1, stream(8, (name, 400.0, 200.0)))
    found = view(space(host_plane(main), early, late))
    assert list(found.workers["caused_wait_ms"]) == [0, pytest.approx(saves_us / 1000)]


def test_waits_at_the_same_time_on_two_streams_cost_once() -> None:
    """Device 1 comes 300 µs late to two exchanges that device 0 waits for at once."""
    names = "ncclDevKernel_AllReduce_Sum_f32", "ncclDevKernel_AllGather"
    main = line("python", ("train", 0.0, 900.0, {"step_num": 0, "_r": 1}))
    early, late = (
        gpu(at, *[stream(7 + n, (name, start, 600.0 - start)) for n, name in enumerate(names)])
        for at, start in ((0, 100.0), (1, 400.0))
    )
    found = view(space(host_plane(main), early, late))
    assert list(found.workers["caused_wait_ms"]) == [0, pytest.approx(0.3)]


def test_one_rank_of_many_does_not_know_how_long_it_waits() -> None:
    name = "ncclDevKernel_AllReduce_Sum_f32"
    main = line("python", ("train", 0.0, 900.0, {"step_num": 0, "_r": 1}))
    found = view(space(host_plane(main), gpu(0, stream(7, (name, 100.0, 200.0)))))
    assert np.isnan(found.workers["waited_ms"]).all()
    assert list(found.workers["transfer_ms"]) == [pytest.approx(0.2)]
    assert [one.slug for one in found.diagnostics] == ["waits-unknown"]


def test_files_that_begin_at_different_times_are_not_clocks_apart() -> None:
    """A rank's file begins with its first event; its clock is as the others."""
    first, second = training(300.0), training(100.0, clock=7_000.0)
    hosts = []
    for name, data, origin_us in (("h0", first, 7_000), ("h1", second, 0)):
        host = profile(data).hosts[0]
        moved = replace(host.space, origin_ns=host.space.origin_ns + origin_us * 1000)
        hosts.append(Host(name, moved))
    found = pod_viewer(Profile("s", tuple(hosts)))
    assert list(found.workers["waited_ms"]) == [0, pytest.approx(0.2)]
    assert found.diagnostics == ()


def test_transfers_behind_compute_are_told_from_those_the_step_waits_for() -> None:
    devices = [
        gpu(
            index,
            stream(7, ("sgemm", 100.0, 300.0)),
            stream(8, ("ncclDevKernel_AllReduce_Sum_f32", 200.0, 300.0)),
        )
        for index in range(2)
    ]
    marker = host_plane(line("python", ("train", 0.0, 900.0, {"step_num": 0, "_r": 1})))
    found = view(space(marker, *devices))
    # Of 300 µs of transfer 200 run beside the kernel, which ends at 400.
    assert list(found.workers["transfer_ms"]) == pytest.approx([0.1, 0.1])
    assert list(found.workers["hidden_transfer_ms"]) == pytest.approx([0.2, 0.2])


def test_the_straggler_is_named_with_its_cause() -> None:
    found = view(training(100.0, 300.0, 100.0))
    straggler = found.straggler
    assert straggler is not None
    assert (straggler.host, straggler.device, straggler.worker) == ("h0", "/device:GPU:1", 1)
    assert straggler.caused_wait_ms == pytest.approx(0.2)
    assert straggler.step_frac == pytest.approx(0.2 / 0.9)
    assert straggler.last_frac == 1
    assert straggler.cause == "Device compute"
    assert straggler.cause_ms == pytest.approx(0.2)


def test_a_host_is_named_whose_devices_are_late_together() -> None:
    early, late = training(100.0, 100.0), training(300.0, 300.0)
    straggler = view(early, late, early).straggler
    assert straggler is not None
    assert (straggler.host, straggler.device) == ("h1", "")
    # Its two devices arrive together, 200 µs after those of the other hosts.
    assert straggler.caused_wait_ms == pytest.approx(0.2)
    assert straggler.last_frac == 1
    assert straggler.cause == "Device compute"
    assert straggler.cause_ms == pytest.approx(0.2)
    assert "h1 (all 2 devices)" in straggler.message


def test_even_workers_have_no_straggler() -> None:
    found = view(training(300.0, 300.0))
    assert found.straggler is None
    assert found.collective_table["skew_mean_ms"] == [0]
    assert found.collective_table["transfer_mean_ms"] == [pytest.approx(0.2)]


def test_skew_is_separated_from_transfer() -> None:
    (row,) = view(training(300.0, 100.0, 200.0)).collective_table.rows()
    assert (row["occurrences"], row["workers"]) == (3, 3)
    assert row["skew_mean_ms"] == pytest.approx(0.2)
    assert row["skew_max_ms"] == pytest.approx(0.2)
    assert row["transfer_mean_ms"] == pytest.approx(0.2)
    assert row["waited_ms"] == pytest.approx(3 * (0.2 + 0.1))
    assert (row["last_worker"], row["last_frac"]) == (0, 1)


def test_hosts_with_offset_clocks_meet_in_their_collectives() -> None:
    shifted = 7_654_321.0
    apart = view(training(300.0), training(100.0, clock=shifted))
    waits = list(apart.workers["waited_ms"])
    assert waits == [0, pytest.approx(0.2)]
    assert apart.straggler is not None
    assert apart.straggler.host == "h0"
    assert [one.slug for one in apart.diagnostics] == ["clock-offset"]


def test_unequal_step_counts_are_aligned_by_number() -> None:
    early, late = training(300.0, steps=range(0, 5)), training(100.0, steps=range(2, 9))
    found = view(early, late)
    assert found.step_nums == (2, 3, 4)
    assert len(found.pod) == 3 * 2
    assert list(found.workers["waited_ms"]) == [0, pytest.approx(0.2)]


def test_collectives_that_never_ran_at_once_are_not_matched() -> None:
    """Two process groups of one device each: same kernel, same order, not the same collective."""
    main = [("train", 0.0, 900.0, {"step_num": 0, "_r": 1})]
    first = gpu(0, stream(7, ("ncclAllReduce", 100.0, 50.0, {"correlation_id": 1})))
    second = gpu(1, stream(7, ("ncclAllReduce", 500.0, 50.0, {"correlation_id": 2})))
    found = view(space(host_plane(line("python", *main)), first, second))
    assert found.mismatched_collectives == 1
    assert len(found.collective_table) == 0
    assert list(found.workers["transfer_ms"]) == [pytest.approx(0.05)] * 2
    assert np.isnan(found.workers["waited_ms"]).all()
    assert [one.slug for one in found.diagnostics] == ["waits-unknown", "collectives-not-matched"]


def test_a_host_without_steps_hides_nobody() -> None:
    found = view(training(300.0), no_events(), training(100.0))
    assert list(found.workers["host"]) == ["h0", "h2"]
    assert [one.where for one in found.diagnostics] == ["h1"]


def test_cpu_hosts_are_workers_too() -> None:
    found = view(worked_example(), worked_example())
    assert list(found.workers["device"]) == ["CPU", "CPU"]
    assert found.workers["step_time_ms"] == pytest.approx([0.9, 0.9])
    assert found.bottleneck == "Host compute"
    assert found.straggler is None


def test_the_longest_steps_are_named_where_nothing_is_collective() -> None:
    slow, fast = cpu_steps(900.0), cpu_steps(500.0)
    found = view(fast, slow, fast).straggler
    assert found is not None
    assert (found.host, found.last_frac) == ("h1", None)
    assert found.caused_wait_ms == pytest.approx(0.4)
    assert found.cause == "Input wait"


def cpu_steps(length: float) -> bytes:
    events: list[EventLike] = []
    for step in range(3):
        base = length * step
        events += [
            ("train", base, length, {"step_num": step, "_r": 1}),
            ("IteratorGetNext", base + 10, length - 300),
        ]
    return space(host_plane(line("python", *events)))


def test_one_step_can_be_asked_for() -> None:
    found = view(training(300.0, 100.0), step=1)
    assert list(found.pod["step_num"]) == [1, 1]
    with pytest.raises(UsageError, match="0 to 2"):
        view(training(300.0), step=3)


def test_without_steps_it_says_how_to_record_them() -> None:
    unavailable = TOOL.available(profile(no_events()))
    assert unavailable is not None
    assert "step_num" in unavailable.record


def test_devices_that_ran_once_do_not_multiply_steps() -> None:
    message = parse(worked_example(steps=3_000))
    for number in range(300):
        plane = message.planes.add(name=f"/device:GPU:{number}")
        plane.event_metadata[1].id, plane.event_metadata[1].name = 1, "gemm"
        added = plane.lines.add(id=1, name="Stream #1")
        added.events.add(metadata_id=1, offset_ps=10**9 * number, duration_ps=10**6)
    found = view(message.SerializeToString())
    assert 0 < len(found.workers) < 100
    assert len(found.pod) == len(found.workers) * 3_000
    (left_out,) = [one for one in found.diagnostics if one.slug == "device-outside-steps"]
    assert f"and {300 - len(found.workers) - 10} more" in left_out.message


def test_every_part_has_a_label() -> None:
    assert set(LABELS) == set(WORKER_PARTS)


@settings(deadline=None, max_examples=examples(30))
@given(st.lists(st.integers(1, 300), min_size=1, max_size=4))
def test_parts_sum_to_the_step_and_waits_to_the_skew(compute: list[int]) -> None:
    opened = profile(training(*map(float, compute), slowest=float(max(compute))))
    found = worker_steps(opened)
    assert found is not None
    total = np.sum([found.parts_ps[part] for part in WORKER_PARTS], axis=0)
    assert (total == found.duration_ps).all()
    meeting = collectives(opened)
    wait = [1_000_000 * (max(compute) - spent) for spent in compute]
    expected = np.repeat(wait, 3) if len(compute) > 1 else np.zeros(3)
    assert (meeting.wait_ps == expected).all()
