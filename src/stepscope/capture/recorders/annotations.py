"""Annotations of a process in which no framework records them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Recorded
from stepscope.capture.tracing import Emitter, KeptAnnotations
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema import names

_MAIN: Final = "python"


class AnnotationRecorder:
    """``Trace``, ``step`` and ``annotate`` on lines of ``/host:CPU``, one a thread."""

    name = "annotations"

    def __init__(self) -> None:
        self._kept = KeptAnnotations()

    def unavailable(self) -> str | None:
        """Always there."""
        return None

    def start(self, options: ProfilerOptions) -> None:
        """Nothing to do: annotations arrive through ``annotation()``."""

    def annotation(self) -> Emitter:
        """Annotations kept here."""
        return self._kept.emit

    def step(self, name: str, number: int, start_ns: int, end_ns: int) -> None:
        """A step of the calling thread has ended."""
        self._kept.step(name, number, start_ns, end_ns)

    def collect(self) -> Recorded:
        """What was annotated since the last time."""
        taken = self._kept.take()
        if not taken:
            return Recorded()
        plane = PlaneWriter(names.HOST_PLANE)
        main = threading.main_thread().native_id
        for thread, rows in taken.items():
            label = _MAIN if thread == main else f"{self._kept.names[thread]}/{thread}"
            plane.line(
                thread,
                label,
                metadata=plane.names(row[0] for row in rows),
                start_ns=np.asarray([row[1] for row in rows], np.int64),
                duration_ns=np.asarray([row[2] for row in rows], np.int64),
                stats=_stats(plane, [row[3] for row in rows]),
            )
        return Recorded(plane.xspace(), plane.events)

    def drop(self) -> None:
        """Forget what was annotated."""
        self._kept.take()


def _stats(plane: PlaneWriter, rows: list[Mapping[str, Any]]) -> list[Stat]:
    """The values of a line's annotations, one stat for each name and type of value."""
    found: dict[tuple[str, type, bool], tuple[list[int], list[Any]]] = {}
    for row, metadata in enumerate(rows):
        for key, value in metadata.items():
            kind, kept, is_text = _typed(plane, value)
            at, values = found.setdefault((key, kind, is_text), ([], []))
            at.append(row)
            values.append(kept)
    return [
        Stat(key, np.asarray(values, kind), np.asarray(at, np.int64), is_text=is_text)
        for (key, kind, is_text), (at, values) in found.items()
    ]


def _typed(plane: PlaneWriter, value: Any) -> tuple[type, int | float, bool]:
    """Kind of array, value in it, whether it is a text's id; other than numbers become text."""
    if isinstance(value, (bool, int, np.integer)) and -(1 << 63) <= int(value) < 1 << 63:
        return np.int64, int(value), False
    if isinstance(value, (float, np.floating)):
        return np.float64, float(value), False
    return np.int64, plane.text(str(value)), True
