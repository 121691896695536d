"""Played loops take as long as their parts say."""

from dataclasses import replace

import pytest

from stepscope.analysis.memory_profile import memory_profile
from stepscope.analysis.overview_page import overview_page
from stepscope.analysis.pod_viewer import pod_viewer
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.loops import Collective, Kernel, Loop, copy_to_device, record

KERNEL = Kernel("ampere_sgemm_128x64_nn", 400, "dense/MatMul:MatMul")


def profile(*loops: Loop) -> Profile:
    hosts = record(*loops)
    return Profile("s", tuple(Host(name, decode(data)) for name, data in hosts.items()))


def test_a_host_that_runs_ahead_costs_nothing() -> None:
    page = overview_page(profile(Loop([KERNEL] * 5)))
    assert page.steps.time_ms.mean == pytest.approx(2.0)
    assert page.breakdown_ms["device_compute_32"] == pytest.approx(2.0)


def test_a_host_that_waits_pays_for_every_part() -> None:
    loop = Loop([KERNEL], input_us=50, python_us=30, wait="cudaStreamSynchronize", after_us=20)
    page = overview_page(profile(loop))
    # 50 input, 30 nothing, 4 launch, 400 kernel, 20 nothing.
    assert page.steps.time_ms.mean == pytest.approx(0.504)
    parts = {name: value for name, value in page.breakdown_ms.items() if value}
    assert parts == pytest.approx(
        {"input": 0.05, "kernel_launch": 0.004, "device_compute_32": 0.4, "other": 0.05}
    )


def test_a_blocking_copy_keeps_the_host() -> None:
    loop = Loop([copy_to_device(100, 4096, blocking=True), KERNEL], wait="cudaStreamSynchronize")
    page = overview_page(profile(loop))
    assert page.breakdown_ms["host_to_device"] == pytest.approx(0.1)
    assert page.steps.time_ms.mean == pytest.approx(0.504)


@pytest.mark.parametrize("is_tpu", [False, True])
def test_a_collective_waits_for_the_slowest_device_of_all_hosts(is_tpu: bool) -> None:
    loop = Loop(
        [KERNEL],
        devices=2,
        wait="block_until_ready",
        collective=Collective(100, name="all-reduce.1"),
        is_tpu=is_tpu,
    )
    slow = replace(loop, slower={1: 1.5}, clock_us=12_345.0)
    found = pod_viewer(profile(loop, slow))
    assert found.straggler is not None
    assert (found.straggler.host, found.straggler.worker) == ("host-1", 3)
    assert found.straggler.caused_wait_ms == pytest.approx(0.2)
    assert list(found.workers["transfer_ms"]) == pytest.approx([0.1] * 4)


def test_the_allocator_of_a_device_peaks_in_every_step() -> None:
    found = memory_profile(profile(Loop([KERNEL], heap=(1 << 30, 4 << 30, 0.5))))
    (memory,) = found.memories
    assert (memory.peak_bytes, memory.capacity_bytes) == (1 << 30, 4 << 30)
    assert memory.fragmentation_frac == 0.5
