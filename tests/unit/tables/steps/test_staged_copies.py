"""Copies that the driver stages on the host before it returns."""

from pathlib import Path

import pytest

from stepscope.tables.steps.attribution import found_steps
from tests.unit.formats.kineto.layout import profile, x


def _step(
    number: int, begin: float, call_us: float, way: str, late_us: float = 2.0
) -> list[dict[str, object]]:
    """A kernel of 100 µs, then a copy whose call lasts so long; the device copies 10 µs of it."""
    at = begin + 150 + late_us
    return [
        x("user_annotation", f"ProfilerStep#{number}", begin, 190 + call_us),
        x("cpu_op", "aten::mm", begin + 2, 6.0),
        x("cuda_runtime", "cudaLaunchKernel", begin + 3, 4.0, correlation=10 * number + 1),
        x("kernel", "gemm", begin + 10, 100.0, 0, 7, device=0, stream=7,
          correlation=10 * number + 1),
        x("cpu_op", "aten::copy_", begin + 149, call_us + 2),
        x("cuda_runtime", "cudaMemcpyAsync", begin + 150, call_us, correlation=10 * number + 2),
        x("gpu_memcpy", f"Memcpy {way}", at, 10.0, 0, 7, device=0, stream=7,
          correlation=10 * number + 2, bytes=4096),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("way", "part"),
    [
        ("HtoD (Pageable -> Device)", "host_to_device"),
        ("DtoH (Device -> Pageable)", "output"),
    ],
)
def test_a_call_that_copies_for_long_is_the_copy_and_no_launch(
    tmp_path: Path, way: str, part: str
) -> None:
    events = [one for at in range(4) for one in _step(at, 1000.0 * (at + 1), 400.0, way)]
    steps = found_steps(profile(tmp_path, events).hosts[0])
    assert steps is not None
    # All of the call, within which the device copies for 10 µs.
    assert steps.parts_ps[part].mean() == pytest.approx(400e6)
    assert steps.parts_ps["kernel_launch"].mean() < 20e6


def test_a_short_call_launches_its_copy(tmp_path: Path) -> None:
    way = "HtoD (Pinned -> Device)"
    events = [one for at in range(4) for one in _step(at, 1000.0 * (at + 1), 20.0, way)]
    steps = found_steps(profile(tmp_path, events).hosts[0])
    assert steps is not None
    assert steps.parts_ps["host_to_device"].mean() == pytest.approx(10e6)


def test_a_call_that_waits_for_the_device_first_is_no_copy(tmp_path: Path) -> None:
    """A number read from the device: what ran there before is what the host waits for."""
    way = "DtoH (Device -> Pageable)"
    events = [one for at in range(4) for one in _step(at, 1000.0 * (at + 1), 400.0, way, 380.0)]
    steps = found_steps(profile(tmp_path, events).hosts[0])
    assert steps is not None
    assert steps.parts_ps["output"].mean() == pytest.approx(10e6)
