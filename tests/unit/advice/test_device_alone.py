"""A recording of the device and its runtime's calls alone: nobody asked PyTorch for its ops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.unit.advice.asking import Asked
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
    found.advice()[0]


def test_where_ops_were_recorded_nobody_is_told_to(tmp_path: Path) -> None:
    found = Asked(profile(tmp_path, launches(8, 50_000, "aten::mul")))
    assert all("no op, no range" not in one.message for one in found.advice())


def test_nothing_is_said_of_parts_below_a_hundredth(tmp_path: Path) -> None:
    """Of what little was recorded launches have most, and of the recording next to nothing."""
    advice = Asked(profile(tmp_path, launches(8, 50_000))).advice()
    assert not any("takes 0%" in one.title for one in advice)
