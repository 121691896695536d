"""Steps and their attribution on profiles whose answers can be worked out by hand."""

import numpy as np
import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.attribution import PARTS, HostSteps, steps
from stepscope.tables.steps.session import session_steps
from tests.profiles import async_gpu, draw, event, nth, overlapping_streams, worked_example
from tests.profiles.model import Event, gpu, host, line, space, stream, u

US = 1_000_000


def steps_of(data: bytes) -> HostSteps:
    found = steps(Host("h", decode(data)))
    assert found is not None
    return found


def mean_us(found: HostSteps) -> dict[str, float]:
    """Mean of each part over the kept steps, zeros left out."""
    means = {part: float(found.parts_ps[part][found.kept].mean()) / US for part in PARTS}
    return {part: value for part, value in means.items() if value}


def assert_parts_sum(found: HostSteps) -> None:
    total = np.sum([found.parts_ps[part] for part in PARTS], axis=0)
    assert np.array_equal(total, found.duration_ps)


def test_the_worked_example_on_the_cpu() -> None:
    found = steps_of(worked_example())
    assert mean_us(found) == {"input": 200, "host_compute": 500, "other": 200}
    assert found.kept.tolist() == [False, *[True] * 6, False]
    assert set(found.duration_ps.tolist()) == {900 * US}
    assert_parts_sum(found)


def test_the_worked_example_on_the_gpu_is_right_where_the_incumbent_is_not() -> None:
    """Reference §14.2: XProf says 0.29 ms, no input and 0.18 ms of compute."""
    found = steps_of(worked_example(gpu=True))
    assert mean_us(found) == {
        "device_compute_32": 150,
        "input": 200,
        "host_to_device": 30,
        "kernel_launch": 700 - 200 - 150 - 30,
        "other": 200,
    }
    busy = found.busy_ps[1][found.kept] / found.duration_ps[found.kept]
    assert busy.tolist() == pytest.approx([0.2] * 6)
    assert_parts_sum(found)


def test_a_step_whose_work_was_not_recorded_to_its_end_is_not_one_of_no_time() -> None:
    """The loop is 300 µs ahead of the device, and the recording ends with the loop."""
    planes = draw(
        """
        /host:CPU
          python      S--S--S--S--S--S--S--
          "           L..L..L..L..L..L..L
        /device:GPU:0
          Stream #7   .K----K----K----K----
        """,
        unit_us=100,
        S=event("train", step_num=nth, _r=1),
        L=event("cuLaunchKernel", correlation_id=nth),
        K=event("sgemm", correlation_id=nth),
    )
    found = steps_of(space(*planes))
    assert found.runs_behind
    assert found.kept.tolist() == [False, True, True, False, False, False, False]
    assert found.duration_ps[found.kept].tolist() == [500 * US] * 2
    assert "4 steps at the end, whose work was not recorded to its end." in found.left_out


@pytest.mark.parametrize(("ends_late_us", "lasts_us"), [(150, 10_150), (9, 10_000)])
def test_a_long_wait_in_a_step_does_not_hide_that_its_work_is_done_after_it(
    ends_late_us: float, lasts_us: float
) -> None:
    """A replayed graph: 200 µs of work, launched at the end of 10 ms. 9 µs of it do not count."""
    begins_us = 10_000 + ends_late_us - 200
    data = space(
        host(
            line(
                "python",
                Event("serve", 0, 10_000, {"step_num": 0, "_r": 1}),
                Event("hipGraphLaunch", 9_700, 50, {"correlation_id": u(7)}),
            )
        ),
        gpu(0, stream(7, Event("sgemm", begins_us, 200, {"correlation_id": u(7)}))),
    )
    found = steps_of(data)
    assert found.duration_ps.tolist() == [lasts_us * US]
    assert found.runs_behind is (ends_late_us > 20)


@pytest.mark.parametrize(("begins_us", "lasts_us"), [(8_000, 10_000), (2_500, 12_500)])
def test_a_first_step_begins_when_devices_are_done_with_what_came_before(
    begins_us: float, lasts_us: float
) -> None:
    """A replay waits 7.5 ms, more than the 2 ms the host needs: not idle, but the step before's.

    One that waits for 2 ms may wait for this host as well.
    """
    replay = Event("hipGraphLaunch", 500, 50, {"correlation_id": u(7)})
    if begins_us < 8_000:
        replay = Event("hipGraphLaunch", 1_500, 50, {"correlation_id": u(7)})
    data = space(
        host(line("python", Event("serve", 0, 2_000, {"step_num": 0, "_r": 1}), replay)),
        gpu(0, stream(7, Event("sgemm", begins_us, 10_000, {"correlation_id": u(7)}))),
    )
    found = steps_of(data)
    assert found.runs_behind
    assert found.duration_ps.tolist() == [lasts_us * US]


def test_what_came_before_may_be_recorded_and_then_is_the_first_step_s_wait() -> None:
    """A kernel without its launch runs first: when the device becomes free is known."""
    replay = Event("hipGraphLaunch", 500, 50, {"correlation_id": u(7)})
    earlier = Event("sgemm", 100, 3_000, {"correlation_id": u(3)})
    later = Event("sgemm", 8_000, 10_000, {"correlation_id": u(7)})
    data = space(
        host(line("python", Event("serve", 0, 2_000, {"step_num": 0, "_r": 1}), replay)),
        gpu(0, stream(7, earlier, later)),
    )
    assert steps_of(data).duration_ps.tolist() == [18_000 * US]


def test_events_of_a_line_need_no_order_of_time() -> None:
    fetches = [Event("IteratorGetNext", at, 0) for at in (100, 200, 0)]
    found = steps_of(space(host(line("python", *fetches))))
    assert (np.diff(found.start_ps) >= 0).all()


def test_devices_that_run_behind_define_the_step() -> None:
    found = steps_of(async_gpu())
    assert found.runs_behind
    # The period is 400 µs although the host's own step takes 300.
    assert found.duration_ps[1:].tolist() == [400 * US] * 5
    assert mean_us(found)["device_compute_32"] == 200
    assert_parts_sum(found)


def test_overlapping_streams_are_counted_once() -> None:
    found = steps_of(overlapping_streams())
    assert_parts_sum(found)
    parts = mean_us(found)
    assert parts["device_compute_32"] + parts["collectives"] == 400
    assert parts["device_compute_32"] == 300, "compute hides communication"


def test_tf_data_threads_run_beside_the_step() -> None:
    data = space(
        host(
            line(
                "python", *[Event("train", 100 * i, 90, {"step_num": i, "_r": 1}) for i in range(3)]
            ),
            line("tf_data_private_threadpool/7", ("decode:DecodeJpeg", 0, 300)),
            line("tf_Compute/8", *[Event("a/MatMul:MatMul", 100 * i + 10, 50) for i in range(3)]),
        )
    )
    assert mean_us(steps_of(data)) == {"host_compute": 50, "other": 40}


def test_the_wait_for_input_counts_on_any_thread() -> None:
    data = space(
        host(
            line(
                "python", *[Event("train", 100 * i, 90, {"step_num": i, "_r": 1}) for i in range(3)]
            ),
            line(
                "tf_data_iterator_get_next/7",
                *[Event("IteratorGetNextOp::DoCompute", 100 * i + 10, 60) for i in range(3)],
            ),
        )
    )
    assert mean_us(steps_of(data)) == {"input": 60, "other": 30}


def test_pytorch_steps() -> None:
    data = space(
        host(line("python", *[Event(f"ProfilerStep#{i + 7}", 100 * i, 95) for i in range(4)]))
    )
    found = steps_of(data)
    assert found.markers.num.tolist() == [7, 8, 9, 10]
    assert found.markers.source == "markers"


@pytest.mark.parametrize("before", [1, 2, 4])
def test_a_mark_in_which_nothing_ran_is_no_step(before: int) -> None:
    """A loop that ends before the profiler's schedule leaves the mark of a step that never was."""
    marks = [Event(f"ProfilerStep#{i}", 100 * i, 95) for i in range(before)]
    ops = [Event("aten::mm", 100 * i + 5, 80) for i in range(before)]
    stub = Event(f"ProfilerStep#{before}", 100 * before, 9)
    found = steps_of(space(host(line("python", *marks, stub, *ops))))
    assert found.kept.tolist() == [True] * before + [False]
    assert "nothing ran" in found.left_out[-1]


def test_a_short_last_step_with_work_is_a_step() -> None:
    marks = [Event("ProfilerStep#0", 0, 95), Event("ProfilerStep#1", 100, 30)]
    ops = [Event("aten::mm", 5, 80), Event("aten::mm", 105, 20)]
    assert steps_of(space(host(line("python", *marks, *ops)))).kept.all()


def test_where_nothing_is_recorded_in_any_step_the_last_one_counts() -> None:
    marks = [Event("ProfilerStep#0", 0, 95), Event("ProfilerStep#1", 100, 30)]
    assert steps_of(space(host(line("python", *marks)))).kept.all()


def test_steps_are_taken_from_jit_calls_when_none_is_marked() -> None:
    calls = [Event("PjitFunction(step)", 100 * i, 20) for i in range(5)]
    others = [Event("PjitFunction(norm)", 100 * i + 30, 5) for i in range(5)]
    found = steps_of(space(host(line("python", *calls, *others))))
    assert found.markers.source == "framework"
    assert "calls of step" in found.markers.explanation
    assert found.duration_ps.tolist()[:4] == [100 * US] * 4
    # The recording does not show where the fifth ends.
    assert found.kept.tolist() == [True] * 4 + [False]


def test_steps_are_inferred_from_kernels_that_repeat() -> None:
    kernels = [
        Event(name, 100 * i + shift, 20, {"correlation_id": u(10 * i + shift)})
        for i in range(8)
        for name, shift in (("forward", 0), ("backward", 30), ("update", 60))
    ]
    found = steps_of(space(host(line("python")), gpu(0, stream(7, *kernels))))
    assert found.markers.source == "inferred"
    assert found.duration_ps.tolist()[:7] == [100 * US] * 7
    assert not found.kept[7]
    assert found.markers.confidence < 0.9


def test_irregular_work_is_accounted_for_as_a_whole() -> None:
    gaps = [0, 10, 400, 410, 2000, 2001, 9000, 9100]
    kernels = [Event("k", at, 1) for at in gaps]
    found = steps_of(space(gpu(0, stream(7, *kernels))))
    assert found.markers.is_window
    assert found.duration_ps.tolist() == [9101 * US]
    assert mean_us(found)["device_compute_32"] == 8


def test_an_unmarked_step_number_is_no_step() -> None:
    data = space(host(line("python", ("Checkpoint", 0, 10, {"step_num": 3}))))
    found = steps(Host("h", decode(data)))
    assert found is not None
    assert found.markers.is_window


def test_hosts_align_by_step_number_and_the_slowest_counts() -> None:
    from stepscope.tables.core.profile import Profile

    def one(first: int, length: float) -> bytes:
        marks = [
            Event("train", length * i, length, {"step_num": first + i, "_r": 1}) for i in range(4)
        ]
        return space(host(line("python", *marks)))

    hosts = (Host("a", decode(one(0, 50))), Host("b", decode(one(1, 80))))
    found = session_steps(Profile("s", hosts))
    assert found is not None
    assert found.num.tolist() == [1, 2, 3]
    assert found.duration_ps.tolist() == [80 * US] * 3
    assert found.host.tolist() == [1, 1, 1]


@pytest.mark.parametrize("thread", ["python", "pt_gloo", "31415"])
def test_exchanges_of_processes_have_the_time_that_nothing_else_has(thread: str) -> None:
    planes = draw(
        f"""
        /host:CPU
          main     S---------S---------
          "        OOOOOO....OOOO......
          {thread:8} ...AAAAA....AAAAAA..
        """,
        unit_us=100,
        S=event("train", step_num=nth, _r=1),
        O=event("aten/mm:mm"),
        A=event("gloo:all_reduce"),
    )
    found = steps_of(space(*planes))
    assert mean_us(found) == {"collectives": 300, "host_compute": 500, "other": 200}
    assert_parts_sum(found)


def test_a_call_that_waits_for_an_exchange_is_one_in_any_range() -> None:
    planes = draw(
        """
        /host:CPU
          main     S---------S---------
          "        R-------..R-----....
          "        .CCCOOO....CCOOO....
        """,
        unit_us=100,
        S=event("train", step_num=nth, _r=1),
        R=event("FSDP::pre_forward"),
        C=event("c10d/_allgather_base_:_allgather_base_"),
        O=event("aten/mm:mm"),
    )
    found = steps_of(space(*planes))
    assert mean_us(found) == {"collectives": 250, "host_compute": 450, "other": 300}
    assert_parts_sum(found)
