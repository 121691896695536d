"""Recorders that number what belongs together by ``External id`` alone."""

from __future__ import annotations

from pathlib import Path

from stepscope.tables.device.events import device_events
from stepscope.tables.torch.launches import launched
from tests.unit.formats.kineto.layout import PID, profile, x


def test_kernels_without_correlation_are_joined_by_external_id(tmp_path: Path) -> None:
    """As ROCm's old recorder writes it: an op's own id is of another series."""
    events = [
        x("cpu_op", "aten::mm", 0, 20, External_id=513),
        x("cuda_runtime", "hipExtModuleLaunchKernel", 5, 3, PID, PID, External_id=25),
        x("cpu_op", "aten::add", 30, 20, External_id=25),
        x("cuda_runtime", "hipLaunchKernel", 35, 3, PID, PID, External_id=26),
        x("kernel", "Cijk_Ailk", 100, 50, 2, 0, External_id=25),
        x("kernel", "elementwise", 150, 50, 2, 0, External_id=26),
    ]
    (host,) = profile(tmp_path, events).hosts
    found = device_events(host)
    assert [found.ops[one].name for one in found.op] == ["aten/mm", "aten/add"]
    assert (launched(host).call >= 0).all()


def test_correlations_count_wherever_there_are_any(tmp_path: Path) -> None:
    events = [
        x("cpu_op", "aten::mm", 0, 20, External_id=9),
        x("cuda_runtime", "cudaLaunchKernel", 5, 3, PID, PID, External_id=9, correlation=4),
        x("kernel", "gemm", 100, 50, 0, 7, External_id=9, device=0, stream=7, correlation=4),
        x("kernel", "lost", 160, 50, 0, 7, External_id=9, device=0, stream=7),
    ]
    (host,) = profile(tmp_path, events).hosts
    assert (launched(host).call >= 0).tolist() == [True, False]
