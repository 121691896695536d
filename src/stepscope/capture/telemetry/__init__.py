"""Sources of telemetry, one file each: counters of the machine and its devices.

A source is opened once (None where it does not exist here) and read at every tick. It gives
``(counter, value)`` for what it could read and leaves out what it could not: a counter that is
not available has no value, never 0.
"""

from __future__ import annotations

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
    "stepscope.capture.telemetry.nvidia:open_source",
    "stepscope.capture.telemetry.amd:open_source",
    "stepscope.capture.telemetry.torch_memory:open_source",
)


def open_sources() -> tuple[list[MetricSource], list[str]]:
    """The sources of this machine, and why others could not be opened."""
    opened, failed = [], []
    for line in SOURCES:
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
