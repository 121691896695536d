"""Idle time is explained cause by cause, and the causes sum to it."""

import pytest

from stepscope.analysis.device_idle import TOOL, Options, device_idle
from stepscope.analysis.overview_page import overview_page
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.core.waits import is_wait_for_device
from stepscope.tables.device.driver_calls import is_device_allocation
from tests.profiles import (
    Kind,
    async_gpu,
    draw,
    event,
    gpu,
    host,
    line,
    nth,
    overlapping_streams,
    plane,
    space,
    stream,
    worked_example,
)


def profile(data: bytes) -> Profile:
    return Profile("s", (Host("h", decode(data)),))


def waiting_steps() -> Profile:
    """Three steps of 1 ms: input 100–300, launch 300–400, kernel 400–700, a wait 500–800."""
    return profile(
        space(
            *draw(
                """
                /host:CPU
                  python      S---------S---------S---------
                  "           .I-L.W--...I-L.W--...I-L.W--..
                /device:GPU:0
                  Stream #7   ....K--.......K--.......K--...
                """,
                unit_us=100,
                S=event("train", step_num=nth, _r=1),
                I=event("IteratorGetNext"),
                L=event("cuLaunchKernel", correlation_id=nth + 100),
                W=event("cudaStreamSynchronize"),
                K=event("sgemm", correlation_id=nth + 100),
            )
        )
    )


def test_idle_time_is_explained_by_what_the_host_did() -> None:
    found = device_idle(waiting_steps())
    causes = dict(zip(found.causes["cause"], found.causes["idle_ms"], strict=True))
    assert found.step_time_ms == pytest.approx(1.0)
    assert found.idle_ms == pytest.approx(0.7)
    # Of each step's 700 idle µs: input 200, launch 100, the wait's last 100, 300 nothing.
    assert causes == pytest.approx(
        {
            "input": 0.2,
            "kernel_launch": 0.1,
            "host_compute": 0.0,
            "wait": 0.1,
            "other": 0.3,
            "copy": 0.0,
            "allocation": 0.0,
            "compilation": 0.0,
            "other_device": 0.0,
            "queued": 0.0,
            "python": 0.0,
        }
    )


def test_work_that_is_launched_but_does_not_start_is_not_blamed_on_python() -> None:
    """Python runs all the time; the kernel is launched at 200 µs and begins at 600."""
    found = device_idle(
        profile(
            space(
                *draw(
                    """
                    /host:CPU
                      python      S---------S---------
                      "           .L........L.........
                    /device:GPU:0
                      Stream #7   ......K---......K---
                    /device:CUSTOM:Python calls
                      python      P-------------------
                    """,
                    unit_us=100,
                    S=event("train", step_num=nth, _r=1),
                    L=event("cuLaunchKernel", correlation_id=nth + 100),
                    K=event("sgemm", correlation_id=nth + 100),
                    P=event("$train.py:3 loop"),
                )
            )
        )
    )
    causes = {one.cause: one.idle_ms for one in found.causes.records() if one.idle_ms}
    # Of 600 idle µs in the first step: 100 before the launch, 100 launching, 400 until it starts.
    # The second step launches at its begin, so it has 500 until the start.
    assert causes == pytest.approx({"queued": 0.45, "kernel_launch": 0.1, "python": 0.05})
    assert set(found.gaps["meanwhile"]) == {"Launched, not started"}


def test_gaps_that_open_in_a_wait_are_told_apart() -> None:
    found = device_idle(waiting_steps())
    # The wait overlaps its kernel for 200 µs. Gaps: 0–400 (not after a wait), 700–1400, 1700–2400
    # and 2700–3000 (after one): 1700 µs over three steps.
    assert found.blocked_ms == pytest.approx(0.2)
    assert found.after_wait_ms == pytest.approx(1.7 / 3)
    assert list(found.gaps["duration_us"]) == pytest.approx([700, 700, 400, 300])
    assert list(found.gaps["after_wait"]) == [True, True, False, True]
    assert list(found.gaps["ended_by"]) == ["sgemm", "sgemm", "sgemm", ""]
    longest = "Nothing recorded"
    assert list(found.gaps["meanwhile"]) == [longest, longest, "Waiting for input", longest]
    (wait,) = found.waits.rows()
    assert (wait["call"], wait["per_step"]) == ("cudaStreamSynchronize", 1.0)


def test_allocations_are_told_from_launches() -> None:
    """A call that gets memory has a correlation id as a launch has, and lies in a larger span."""
    found = device_idle(
        profile(
            space(
                host(
                    line(
                        "python",
                        ("train", 0, 1000, {"step_num": 0, "_r": 1}),
                        ("aten::empty", 50, 300),
                        ("cudaMalloc", 100, 200, {"correlation_id": 5}),
                        ("cudaLaunchKernel", 380, 20, {"correlation_id": 6}),
                    )
                ),
                gpu(0, stream(7, ("sgemm", 400, 600, {"correlation_id": 6}))),
            )
        )
    )
    causes = dict(zip(found.causes["cause"], found.causes["idle_ms"], strict=True))
    assert causes["allocation"] == pytest.approx(0.2)
    assert causes["host_compute"] == pytest.approx(0.1)
    assert causes["kernel_launch"] == pytest.approx(0.02)
    assert causes["other"] == pytest.approx(0.08)
    assert list(found.allocations.rows()) == [
        {"call": "cudaMalloc", "per_step": 1.0, "total_ms": 0.2, "spread_frac": 1.0}
    ]


@pytest.mark.parametrize(("early_us", "after"), [(2, True), (20, False)])
def test_a_wait_that_seems_to_end_just_before_its_kernel_does_is_one(
    early_us: float, after: bool
) -> None:
    """The clocks of host and device agree to some microseconds only."""
    found = device_idle(
        profile(
            space(
                host(
                    line(
                        "python",
                        ("train", 0, 1000, {"step_num": 0, "_r": 1}),
                        ("cudaStreamSynchronize", 100, 400 - early_us),
                    )
                ),
                gpu(0, stream(7, ("sgemm", 0, 500))),
            )
        )
    )
    assert list(found.gaps["after_wait"]) == [after]


def test_short_gaps_are_not_listed_but_counted() -> None:
    found = device_idle(waiting_steps(), Options(min_gap_us=600))
    assert len(found.gaps) == 2
    assert found.idle_ms == pytest.approx(0.7)


def test_a_device_that_idles_while_another_works_is_told_so() -> None:
    found = device_idle(
        profile(
            space(
                *draw(
                    """
                    /host:CPU
                      python      S---------
                    /device:GPU:0
                      Stream #7   K-------..
                    /device:GPU:1
                      Stream #7   K---......
                    """,
                    S=event("train", step_num=nth, _r=1),
                    K=event("sgemm"),
                )
            )
        )
    )
    causes = dict(zip(found.causes["cause"], found.causes["idle_ms"], strict=True))
    # GPU 0 idles 2 µs, GPU 1 6 of which GPU 0 works 4; the mean of the two.
    assert causes["other_device"] == pytest.approx(0.002)
    assert causes["other"] == pytest.approx(0.002)
    assert list(found.devices["idle_ms"]) == pytest.approx([0.006, 0.002])


def test_a_device_whose_events_are_in_no_step_is_not_called_idle() -> None:
    """Its clock is off, or it worked at another time: what it did in the steps is unknown."""
    found = profile(
        space(
            *draw(
                """
                /host:CPU
                  python      ....S---------
                /device:GPU:0
                  Stream #7   ....K-------..
                /device:GPU:1
                  Stream #7   K--...........
                """,
                S=event("train", step_num=nth, _r=1),
                K=event("sgemm"),
            )
        )
    )
    assert list(device_idle(found).devices["device"]) == ["/device:GPU:0"]
    assert overview_page(found).device.idle_frac == pytest.approx(0.2)


@pytest.mark.parametrize("data", [worked_example(gpu=True), async_gpu(), overlapping_streams()])
def test_idle_time_is_the_same_as_on_the_overview(data: bytes) -> None:
    shown = overview_page(profile(data)).device.idle_frac
    found = device_idle(profile(data))
    assert found.idle_frac == pytest.approx(shown)
    assert sum(found.causes["idle_ms"]) == pytest.approx(found.idle_ms)


def test_a_device_that_ran_only_enclosing_ops_is_left_out() -> None:
    """A loop encloses what runs in it; where nothing else is recorded nothing is known."""
    kinds = {"%while.1": Kind("while.1", {"hlo_category": "while"})}
    data = space(
        host(line("python", ("train", 0, 1000, {"step_num": 0, "_r": 1}))),
        plane("/device:TPU:0", line("XLA Ops", ("%while.1", 0, 900)), kinds=kinds),
        plane("/device:TPU:1", line("XLA Ops", ("%fusion.1", 0, 900)), id=2),
    )
    assert list(device_idle(profile(data)).devices["device"]) == ["/device:TPU:1"]


def test_a_profile_without_devices_says_why_there_is_nothing() -> None:
    missing = TOOL.available(profile(worked_example()))
    assert missing is not None
    assert "device" in missing.missing


def test_what_is_missing_is_said_exactly() -> None:
    kernel = ("k", 10, 20)
    without_events = TOOL.available(profile(space(gpu(0))))
    marked = line("python", *(("train", at, 90, {"step_num": at}) for at in (100, 200, 300)))
    between = TOOL.available(profile(space(host(marked), gpu(0, stream(1, kernel)))))
    assert without_events is not None and "Nothing" in without_events.missing
    # Without steps the recording as a whole is accounted for.
    assert TOOL.available(profile(space(gpu(0, stream(1, kernel))))) is None
    assert between is not None and between.missing == "No device ran anything in a step."


@pytest.mark.parametrize(
    ("name", "allocates"),
    [
        ("cudaMalloc", True),
        ("cudaFree", True),
        ("hipMalloc", True),
        ("cuMemAlloc_v2", True),
        ("cuMemMap", True),
        ("cudaHostAlloc", True),
        ("DeviceMemAllocator::Alloc", True),
        ("cudaMallocAsync", False),
        ("cuMemcpyHtoDAsync_v2", False),
        ("MemoryAllocation", False),
        ("model/cudaMalloc:Op", False),
    ],
)
def test_calls_that_allocate_are_known_by_name(name: str, allocates: bool) -> None:
    assert is_device_allocation(name) == allocates


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("cuStreamSynchronize", True),
        ("cudaDeviceSynchronize", True),
        ("hipStreamSynchronize", True),
        ("cuMemcpyDtoH_v2", True),
        ("$api.py:3154 block_until_ready", True),
        ("CommonPjRtBuffer::Await", True),
        ("aten::item", True),
        ("cuMemcpyDtoHAsync_v2", False),
        ("cuLaunchKernel", False),
        ("model/item:Cast", False),
    ],
)
def test_calls_that_wait_are_known_by_name(name: str, waits: bool) -> None:
    assert is_wait_for_device(name) == waits
