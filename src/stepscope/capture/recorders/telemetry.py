"""The machine: processors, memory, disks, network and GPUs as counters.

The sources are in ``capture/telemetry``. They are opened and read on a thread of their own, so
that neither ``start`` nor the program waits for a driver.
"""

from __future__ import annotations

import math
from array import array

import numpy as np

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Note, Recorded
from stepscope.capture.runtime.ticker import Ticker
from stepscope.capture.telemetry import Metric, MetricSource, open_sources
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema import names


class Telemetry:
    """Recorder ``telemetry``."""

    name = "telemetry"
    goes_on = True

    def __init__(self) -> None:
        self._ticker: Ticker | None = None
        self._readings = _Readings()

    def unavailable(self) -> str | None:
        """Never: a source that is missing leaves its counters out."""
        return None

    def start(self, options: ProfilerOptions) -> None:
        """Begin to read; nothing happens at 0 Hz."""
        self._readings, self._ticker = _Readings(), None
        if options.telemetry_hz > 0:
            self._ticker = Ticker("telemetry", options.telemetry_hz, self._readings.take)
            self._ticker.start()

    def collect(self) -> Recorded:
        """End and write the readings as counters."""
        ticker, readings = self._stop()
        if ticker is None or not readings.counters:
            return Recorded()
        notes = []
        if ticker.error is not None:
            message = f"Telemetry ended early: {ticker.error!r}."
            notes.append(Note("telemetry-ended", "warning", message))
        notes += [
            Note("telemetry-source", "info", f"Telemetry lacks {text}.") for text in readings.failed
        ]
        plane = readings.plane()
        return Recorded(plane.xspace(), plane.events, tuple(notes))

    def drop(self) -> None:
        """End and forget."""
        self._stop()

    def _stop(self) -> tuple[Ticker | None, _Readings]:
        ticker, self._ticker = self._ticker, None
        readings, self._readings = self._readings, _Readings()
        if ticker is not None:
            ticker.stop()
            readings.close()
        return ticker, readings


class _Readings:
    """Values of each counter with their times."""

    def __init__(self) -> None:
        self.counters: dict[Metric, tuple[array[int], array[float]]] = {}
        self.failed: list[str] = []
        self._sources: list[MetricSource] | None = None

    def take(self, now_ns: int, late_ns: int) -> None:
        """Read every source once."""
        if self._sources is None:
            self._sources, self.failed = open_sources()
        for source in self._sources:
            for counter, value in source.read(now_ns):
                if not math.isfinite(value):
                    continue
                series = self.counters.get(counter)
                if series is None:
                    series = self.counters[counter] = array("q"), array("d")
                series[0].append(now_ns)
                series[1].append(value)

    def close(self) -> None:
        """Close the sources."""
        for source in self._sources or ():
            source.close()
        self._sources = None

    def plane(self) -> PlaneWriter:
        """The counters as events of one line, each named after its counter."""
        plane = PlaneWriter(names.TELEMETRY_PLANE)
        metadata, times, values = [], [], []
        for counter, (when, value) in self.counters.items():
            stats = {names.COUNTER_UNIT: counter.unit} if counter.unit else None
            number = plane.name(counter.name, stats=stats)
            metadata.append(np.full(len(when), number, np.int64))
            times.append(np.frombuffer(when, np.int64))
            values.append(np.frombuffer(value, np.float64))
        plane.line(
            0,
            names.COUNTER_LINE,
            metadata=np.concatenate(metadata),
            start_ns=np.concatenate(times),
            stats=[Stat(names.COUNTER_VALUE, np.concatenate(values))],
        )
        return plane
