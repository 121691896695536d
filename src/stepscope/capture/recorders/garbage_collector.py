"""Garbage collections: when Python's cyclic collector ran, on which thread, and for how long.

A collection stops the program: no Python code runs meanwhile. One of the oldest generation walks
all objects.
"""

from __future__ import annotations

import gc
import threading
import time
from array import array

import numpy as np

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Recorded
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema import names


class GarbageCollector:
    """Recorder ``garbage_collector``."""

    name = "garbage_collector"

    def __init__(self) -> None:
        self._rows = array("q")  # thread, begin, length, generation, collected; each five
        self._begin_ns = 0
        self._is_on = False

    def unavailable(self) -> str | None:
        """Only where Python does not report collections (PyPy)."""
        if not hasattr(gc, "callbacks"):
            return "This Python does not report its garbage collections (gc.callbacks)."
        return None

    def start(self, options: ProfilerOptions) -> None:
        """Begin to listen, where Python is recorded at all."""
        self._rows, self._begin_ns = array("q"), 0
        if options.sample_hz > 0 and not self._is_on:
            self._is_on = True
            gc.callbacks.append(self._called)

    def collect(self) -> Recorded:
        """End, and write the collections."""
        self._stop()
        rows, self._rows = self._rows, array("q")
        if not rows:
            return Recorded()
        plane = PlaneWriter(names.GARBAGE_PLANE)
        alive = {one.native_id: one.name for one in threading.enumerate()}
        table = np.frombuffer(rows, np.int64).reshape(-1, 5)
        for thread in np.unique(table[:, 0]).tolist():
            mine = table[table[:, 0] == thread]
            generations = mine[:, 3].tolist()
            plane.line(
                thread,
                alive.get(thread, f"thread {thread}"),
                metadata=plane.names(f"{names.COLLECTION} {one}" for one in generations),
                start_ns=mine[:, 1],
                duration_ns=mine[:, 2],
                stats=[
                    Stat(names.GC_GENERATION, mine[:, 3]),
                    Stat(names.GC_COLLECTED, mine[:, 4]),
                ],
            )
        return Recorded(plane.xspace(), plane.events)

    def drop(self) -> None:
        """End and forget."""
        self._stop()
        self._rows = array("q")

    def forked(self) -> None:
        """A child process is not recorded."""
        self.drop()

    def _stop(self) -> None:
        if self._is_on:
            self._is_on = False
            gc.callbacks.remove(self._called)

    def _called(self, phase: str, info: dict[str, int]) -> None:
        """Called by the collector, on the thread that collects, at its begin and at its end."""
        if phase == "start":
            self._begin_ns = time.time_ns()
        elif self._begin_ns:
            begin_ns, self._begin_ns = self._begin_ns, 0
            length_ns = time.time_ns() - begin_ns
            thread = threading.get_native_id()
            row = (thread, begin_ns, length_ns, info["generation"], info["collected"])
            self._rows.extend(row)
