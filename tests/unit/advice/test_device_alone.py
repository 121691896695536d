"""A recording of the device and its runtime's calls alone: nobody asked PyTorch for its ops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.profiles import space
from tests.profiles.model import EventLike, gpu, host, line, stream
from tests.unit.advice.asking import Asked
from tests.unit.advice.test_host_side import asked
from tests.unit.formats.kineto.layout import PID, profile, x


def launches(count: int, gap_us: float, op: str = "") -> list[dict[str, Any]]:
    """Kernels of PyTorch's with gaps before them; with the op around each launch where named."""
    events: list[dict[str, Any]] = []
    for at in range(count):
        ts = at * gap_us
        named = "void at::native::vectorized_elementwise_kernel<4>(int)"
        if op:
            events.append(x("cpu_op", op, ts - 2, 12))
        events.append(x("cuda_runtime", "cudaLaunchKernel", ts, 6, PID, PID, correlation=at + 1))
        events.append(x("kernel", named, ts + 8, 10, 0, 7, device=0, stream=7, correlation=at + 1))
    return events


def test_who_recorded_no_ops_is_told_so_in_pytorchs_words(tmp_path: Path) -> None:
    found = Asked(profile(tmp_path, launches(8, 50_000)))
    assert found.result("overview_page").environment.framework == "PyTorch"
    first = found.advice()[0]
    assert "no op, no range, no Python" in first.message
    assert any("ProfilerActivity.CPU" in action for action in first.actions)
    assert set(first.code) <= {"pytorch"}


def test_where_ops_were_recorded_nobody_is_told_to(tmp_path: Path) -> None:
    found = Asked(profile(tmp_path, launches(8, 50_000, "aten::mul")))
    assert all("no op, no range" not in one.message for one in found.advice())


def test_calls_of_the_system_are_none_of_the_programs_ops() -> None:
    """Nsight Systems records those of a program in C++ beside the runtime's."""
    calls: list[EventLike] = []
    kernels: list[EventLike] = []
    for at in range(4):
        begin = 50_000.0 * at
        calls.append(("cudaLaunchKernel", begin, 6, {"correlation_id": at + 1}))
        calls.append(("mmap64", begin + 20, 5))
        calls.append(("pthread_cond_signal", begin + 30, 3))
        kernels.append(("scale(float*)", begin + 8, 10, {"correlation_id": at + 1}))
    first = asked(space(host(line("python", *calls)), gpu(0, stream(7, *kernels)))).advice()[0]
    assert "no op, no range, no Python" in first.message


def test_nothing_is_said_of_parts_below_a_hundredth(tmp_path: Path) -> None:
    """Of what little was recorded launches have most, and of the recording next to nothing."""
    advice = Asked(profile(tmp_path, launches(8, 50_000))).advice()
    assert not any("takes 0%" in one.title for one in advice)
