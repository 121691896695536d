"""A planted fault is reported; a whole profile is called whole."""

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.recording.completeness import (
    NO_DEVICE_EVENTS,
    HostCompleteness,
    completeness,
)
from tests.profiles import worked_example
from tests.profiles.model import Event, environment, gpu, host, line, space, stream


def check(data: bytes) -> tuple[HostCompleteness, set[str]]:
    found = completeness(Host("h", decode(data)))
    return found, {one.slug for one in found.diagnostics}


def test_a_whole_profile_is_complete() -> None:
    found, slugs = check(worked_example(gpu=True))
    assert found.verdict == "complete"
    assert slugs == {"edge-steps"}


def test_a_cut_file_is_damaged_and_says_where() -> None:
    data = worked_example(gpu=True)
    found, slugs = check(data[: len(data) // 2])
    assert found.verdict == "damaged"
    assert "damaged-file" in slugs
    assert "byte" in found.diagnostics[0].message


def test_a_recording_that_was_never_ended_says_so() -> None:
    steps = host(line("python", *(Event("train", 10 * i, 9, {"step_num": i}) for i in range(9))))
    begun, ended = {"profile_start_time": 5 * 10**18}, {"profile_stop_time": 6 * 10**18}
    found, slugs = check(space(steps, environment(**begun)))
    assert found.verdict == "partial" and "never-ended" in slugs
    for whole in (space(steps, environment(**begun, **ended)), space(steps)):
        found, slugs = check(whole)
        assert found.verdict == "complete" and "never-ended" not in slugs


def test_lost_kernels() -> None:
    launches = [Event("cuLaunchKernel", 10 * i, 2, {"correlation_id": i}) for i in range(40)]
    kernels = [Event("k", 10 * i + 5, 2, {"correlation_id": i}) for i in range(38)]
    found, slugs = check(space(host(line("python", *launches)), gpu(0, stream(7, *kernels))))
    assert found.verdict == "partial"
    assert "launches-without-kernel" in slugs


def test_calls_that_start_nothing_are_no_launches_without_a_kernel() -> None:
    """PyTorch's recorder numbers waits, questions and allocations as it numbers launches."""
    calls = ["cudaStreamSynchronize", "cudaEventQuery", "cudaMalloc", "hipGetDevice"]
    idle = [Event(calls[i % 4], 10 * i + 5, 2, {"correlation_id": 100 + i}) for i in range(40)]
    launches = [Event("cudaLaunchKernel", 10 * i, 2, {"correlation_id": i}) for i in range(40)]
    kernels = [Event("k", 10 * i + 3, 5, {"correlation_id": i}) for i in range(40)]
    data = space(host(line("python", *launches, *idle)), gpu(0, stream(7, *kernels)))
    _found, slugs = check(data)
    assert "launches-without-kernel" not in slugs


def test_fills_of_nothing_and_calls_of_other_interfaces_lose_no_kernel() -> None:
    """They are numbered as launches are, and leave nothing on a device."""
    calls = ["cudaMemsetAsync", "cudaMemcpyAsync", "recordEvent", "gif_merge"]
    none = [Event(calls[i % 4], 10 * i + 5, 2, {"correlation_id": 100 + i}) for i in range(40)]
    launches = [Event("cudaLaunchKernel", 10 * i, 2, {"correlation_id": i}) for i in range(40)]
    kernels = [Event("k", 10 * i + 3, 5, {"correlation_id": i}) for i in range(40)]
    whole, slugs = check(space(host(line("python", *launches, *none)), gpu(0, stream(7, *kernels))))
    assert whole.verdict == "complete" and "launches-without-kernel" not in slugs
    _cut, slugs = check(
        space(host(line("python", *launches, *none)), gpu(0, stream(7, *kernels[:30])))
    )
    assert "launches-without-kernel" in slugs


def test_kernels_without_a_launch_do_not_spoil_the_verdict() -> None:
    launches = [Event("cuLaunchKernel", 10 * i, 2, {"correlation_id": i}) for i in range(20)]
    kernels = [Event("k", 10 * i + 5, 2, {"correlation_id": i}) for i in range(40)]
    found, slugs = check(space(host(line("python", *launches)), gpu(0, stream(7, *kernels))))
    assert found.verdict == "complete"
    assert "kernels-without-launch" in slugs


def test_devices_on_which_nothing_was_recorded() -> None:
    found, slugs = check(space(host(line("python", ("e", 0, 1))), gpu(0), gpu(1)))
    assert found.verdict == "partial"
    assert "no-device-events" in slugs


def test_some_silent_devices_are_only_mentioned() -> None:
    found, slugs = check(space(gpu(0, stream(7, ("k", 0, 1))), gpu(1)))
    assert found.verdict == "complete"
    assert "idle-devices" in slugs


def test_the_recorders_own_words_are_passed_on() -> None:
    found, slugs = check(space(host(line("p", ("e", 0, 1))), errors=["CUPTI: no privilege"]))
    assert found.verdict == "partial"
    assert slugs >= {"recorder-error"}
    assert found.diagnostics[0].message == "CUPTI: no privilege"


def test_less_detail_is_a_note() -> None:
    data = worked_example(gpu=True) + space(environment(_less_detail="No shapes from 2 s on."))
    found, slugs = check(data)
    assert found.verdict == "complete"
    assert "less-detail" in slugs


def test_dropped_events_are_counted() -> None:
    data = space(host(line("p", ("e", 0, 1)), stats={"dropped_traces": 1234}))
    found, _slugs = check(data)
    assert any("1,234 events" in one.message for one in found.diagnostics)
    assert "dropped-events" not in check(space(host(stats={"dropped_traces": -1})))[1]


def test_events_days_away_are_a_wrong_clock() -> None:
    day_us = 86_400 * 1e6
    data = space(host(line("p", ("a", 0, 1)), line("q", ("b", 60 * day_us, 1))))
    assert "clock-skew" in check(data)[1]


@pytest.mark.parametrize(
    ("name", "said", "unsaid"),
    [
        ("aten::mm", "profiler.step()", "tf.profiler"),
        ("PyClient::Defragment", "jax.profiler.StepTraceAnnotation", "profiler.step()"),
        ("work", "tf.profiler.experimental.Trace", ""),
    ],
)
def test_steps_are_to_be_marked_by_the_recorded_framework(
    name: str, said: str, unsaid: str
) -> None:
    found, slugs = check(space(host(line("python", Event(name, 0, 5)))))
    assert "no-steps" in slugs
    text = next(one.message for one in found.diagnostics if one.slug == "no-steps")
    assert said in text and (not unsaid or unsaid not in text)


def test_launches_none_of_which_ran_anything_that_was_recorded() -> None:
    launches = [Event("cudaLaunchKernel", 10 * i, 2, {"correlation_id": i + 1}) for i in range(5)]
    waits = [Event("cudaStreamSynchronize", 100, 2, {"correlation_id": 9})]
    found, slugs = check(space(host(line("python", *launches, *waits))))
    assert found.verdict == "partial" and NO_DEVICE_EVENTS in slugs
    assert "5 kernels were launched and none was recorded" in found.diagnostics[0].message
    found, slugs = check(space(host(line("python", *waits))))
    assert NO_DEVICE_EVENTS not in slugs


def test_a_device_of_which_only_waits_were_recorded_ran_nothing_that_is_known() -> None:
    launches = [Event("cudaLaunchKernel", 10 * i, 2, {"correlation_id": i + 1}) for i in range(5)]
    waits = line("Synchronization", Event("Event Sync", 60, 5))
    found, slugs = check(space(host(line("python", *launches)), gpu(0, waits)))
    assert found.verdict == "partial" and NO_DEVICE_EVENTS in slugs


@pytest.mark.parametrize(
    ("scale", "doubted"),
    [(1e-6, "seconds"), (1e-3, "milliseconds"), (1.0, ""), (1e3, "nanoseconds")],
)
@pytest.mark.parametrize("step_us", [15_000.0, 40_000.0])
def test_times_of_another_unit_are_doubted(scale: float, doubted: str, step_us: float) -> None:
    ranges = [
        Event(name, at * step_us * scale, length * step_us * scale)
        for at in range(30)
        for name, length in (("step", 0.9), ("forward", 0.6))
    ]
    found, slugs = check(space(host(line("main", *ranges), stats={"_program_ranges": 1})))
    assert ("implausible-times" in slugs) == bool(doubted)
    if doubted:
        assert found.verdict == "partial"
        assert any(f"written in {doubted}?" in one.message for one in found.diagnostics)
