"""Sources of telemetry, one file each: counters of the machine and its devices.

A source is opened once (None where it does not exist here) and read at every tick. It gives
``(counter, value)`` for what it could read and leaves out what it could not: a counter that is
not available has no value, never 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Final, NamedTuple, Protocol, cast


class Metric(NamedTuple):
    """The name and unit of a value."""

    name: str
    unit: str


Reading = tuple[Metric, float]


class MetricSource(Protocol):
    """Something that can be read many times a second."""

    def read(self, now_ns: int) -> Iterable[Reading]:
        """The values of this moment; rates are over the time since the reading before."""
        ...

    def close(self) -> None:
        """Release its resources."""
        ...


# "module:function"; the function opens a source, or gives None where there is none.
SOURCES: Final[tuple[str, ...]] = (
    "stepscope.capture.telemetry.proc:open_source",
    "stepscope.capture.telemetry.other_systems:open_source",
    "stepscope.capture.telemetry.rapl:open_source",
    "stepscope.capture.telemetry.nvidia:open_source",
    "stepscope.capture.telemetry.amd:open_source",
    "stepscope.capture.telemetry.torch_memory:open_source",
)
#: Those that know energy, power, clocks and temperature.
DEVICE_SOURCES: Final = SOURCES[2:5]
_DEVICE_UNITS: Final = frozenset({"J", "W", "MHz", "°C"})
THROTTLED: Final = "throttled"


def open_sources(lines: Iterable[str] | None = None) -> tuple[list[MetricSource], list[str]]:
    """The sources of this machine, and why others could not be opened."""
    opened, failed = [], []
    for line in SOURCES if lines is None else lines:
        module, _, name = line.partition(":")
        try:
            source = cast(
                "Callable[[], MetricSource | None]", getattr(import_module(module), name)
            )()
        except Exception as error:
            failed.append(f"{module.rpartition('.')[2]}: {error!r}")
        else:
            if source is not None:
                opened.append(source)
    return opened, failed


class DeviceReadings:
    """Energy, power, clocks and temperature of processors and GPUs, for the step log.

    A counter of energy that cannot be read has no value.
    """

    def __init__(self) -> None:
        self._sources, _ = open_sources(DEVICE_SOURCES)
        self._joules: dict[str, float] = {}
        self.take()

    def take(self) -> dict[str, float]:
        """Values by name; energy in J since the last time."""
        found: dict[str, float] = {}
        for source in self._sources:
            for metric, value in source.read(time.monotonic_ns()):
                if metric.unit == "J":
                    before = self._joules.get(metric.name)
                    self._joules[metric.name] = value
                    if before is not None and value >= before:
                        found[metric.name] = value - before
                elif metric.unit in _DEVICE_UNITS or metric.name.endswith(THROTTLED):
                    found[metric.name] = value
        return found


class Rates:
    """Growing totals as rates per second; the first reading of a counter gives none."""

    def __init__(self) -> None:
        self._before: dict[Metric, tuple[int, float]] = {}

    def of(self, counter: Metric, now_ns: int, total: float) -> list[Reading]:
        """The rate since the reading before, as no or one reading.

        A total that went back (the counter was reset) gives none.
        """
        before = self._before.get(counter)
        self._before[counter] = now_ns, total
        if before is None or now_ns <= before[0] or total < before[1]:
            return []
        return [(counter, (total - before[1]) * 1e9 / (now_ns - before[0]))]
