"""NVIDIA GPUs through NVML (the package ``nvidia-ml-py``), where both are there.

GPUs are numbered as NVML and ``nvidia-smi`` number them, whatever CUDA_VISIBLE_DEVICES says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stepscope.capture.telemetry import Metric, Reading

# Reasons for a lower clock that cost speed: power cap, slowdown by heat or by power brake.
_THROTTLES = (
    "nvmlClocksThrottleReasonSwPowerCap",
    "nvmlClocksThrottleReasonHwSlowdown",
    "nvmlClocksThrottleReasonSwThermalSlowdown",
    "nvmlClocksThrottleReasonHwThermalSlowdown",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown",
)


def open_source() -> NvmlSource | None:
    """The source where the package is installed and the driver has at least one GPU."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None  # no driver here
    count = pynvml.nvmlDeviceGetCount()
    if not count:
        pynvml.nvmlShutdown()
        return None
    return NvmlSource(pynvml, count)


_Getter = Callable[[], Iterable[Reading]]


class NvmlSource:
    """See the module.

    Args:
        nvml: The module, initialised.
        count: Number of GPUs.
    """

    def __init__(self, nvml: Any, count: int) -> None:
        self._nvml = nvml
        self._getters: list[_Getter] = []
        for index in range(count):
            self._getters += _getters(nvml, nvml.nvmlDeviceGetHandleByIndex(index), f"GPU {index}")

    def close(self) -> None:
        """End NVML for this user of it."""
        self._nvml.nvmlShutdown()

    def read(self, now_ns: int) -> Iterable[Reading]:
        """What each GPU can tell; unsupported counters are not requested again."""
        for getter in tuple(self._getters):
            try:
                yield from getter()
            except self._nvml.NVMLError:
                self._getters.remove(getter)


def _getters(nvml: Any, gpu: Any, label: str) -> list[_Getter]:
    """One call to NVML each, so that what a GPU lacks costs nothing else."""

    def one(name: str, unit: str, get: Callable[[], float], scale: float = 1.0) -> _Getter:
        counter = Metric(f"{label} {name}", unit)
        return lambda: [(counter, get() * scale)]

    def utilization() -> Iterable[Reading]:
        found = nvml.nvmlDeviceGetUtilizationRates(gpu)
        yield Metric(f"{label} busy", "%"), float(found.gpu)
        yield Metric(f"{label} memory controller busy (util)", "%"), float(found.memory)

    def throttled() -> float:
        reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)
        return float(any(reasons & getattr(nvml, name, 0) for name in _THROTTLES))

    def clock(kind: int) -> Callable[[], float]:
        return lambda: float(nvml.nvmlDeviceGetClockInfo(gpu, kind))

    return [
        utilization,
        one("memory used", "bytes", lambda: float(nvml.nvmlDeviceGetMemoryInfo(gpu).used)),
        one("SM clock", "MHz", clock(nvml.NVML_CLOCK_SM)),
        one("memory clock", "MHz", clock(nvml.NVML_CLOCK_MEM)),
        one("power", "W", lambda: float(nvml.nvmlDeviceGetPowerUsage(gpu)), 1e-3),
        # Since the driver was loaded.
        one("energy", "J", lambda: float(nvml.nvmlDeviceGetTotalEnergyConsumption(gpu)), 1e-3),
        one(
            "temperature",
            "°C",
            lambda: float(nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU)),
        ),
        one("throttled", "", throttled),
    ]
