"""Traces that a viewer derived from an XSpace: its planes and lines again, by their names.

TensorFlow, JAX and Stepscope export recordings as Chrome traces whose processes are called like
planes (``/device:TPU:0``) and whose threads are called like lines. What the trace lacks, above all
the events beyond the exporter's limit, stays lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from stepscope.columns import by_place
from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.slices import CodedIds, Slices, whole
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.line_parts import stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat

#: Whole numbers that exporters write as texts.
_NUMBERS: Final = frozenset(
    {
        "bytes_accessed",
        "correlation_id",
        "device_duration_ps",
        "device_offset_ps",
        "flops",
        "group_id",
        "model_flops",
        "program_id",
        "run_id",
        "step_num",
    }
)


def is_from_viewer(trace: Trace) -> bool:
    """Whether the trace's processes are planes."""
    return trace.has_planes


def viewer_planes(trace: Trace, slices: Slices) -> Iterator[PlaneWriter]:
    """A plane per process, a line per thread."""
    rows = np.arange(len(slices))
    pids: dict[Any, list[int]] = {}
    for place in range(len(slices.places)):
        pids.setdefault(slices.places[place][0], []).append(place)
    for pid, places in pids.items():
        mine = rows[np.isin(slices.place, places)]
        if not len(mine):
            continue
        name = trace.process_names.get(pid, f"process {pid}")
        plane = PlaneWriter(name, id=whole(name.rpartition(":")[2]) + 1)
        metadata = slices.name_ids(plane, mine, str)
        stats = _Stats(trace, slices, plane, mine)
        for number, (thread, some) in enumerate(_lines(trace, slices, mine)):
            plane.line(
                number + 1,
                thread,
                metadata=metadata.of(some),
                start_ns=slices.start_ns[some],
                duration_ns=slices.duration_ns[some],
                rest_ps=(slices.start_rest_ps[some], slices.duration_rest_ps[some]),
                stats=stats.of(some),
            )
        yield plane


def _lines(trace: Trace, slices: Slices, rows: I64) -> Iterator[tuple[str, I64]]:
    """The lines of a plane with their rows; threads that are parts of one are put together."""
    parts: dict[str, list[I64]] = {}
    for number, (place, some) in enumerate(by_place(slices.place, rows)):
        key = slices.places[place]
        track = trace.tracks.get(key)
        if track is None:
            yield trace.thread_names.get(key, f"thread {number}"), some
        else:
            parts.setdefault(track, []).append(some)
    for track, lanes in parts.items():
        whole_line = np.concatenate(lanes)
        yield track, whole_line[np.argsort(slices.start_ns[whole_line], kind="stable")]


class _Stats:
    """The arguments of one plane's events, each key a stat."""

    def __init__(self, trace: Trace, slices: Slices, plane: PlaneWriter, rows: I64) -> None:
        self._slices = slices
        texts: list[tuple[str, CodedIds]] = []
        numbers: list[tuple[str, I64]] = []
        for key in slices.args.chain_keys():
            code = slices.args.texts(key)
            if not (code[rows] >= 0).any():
                continue
            if key in _NUMBERS:
                used, inverse = np.unique(code, return_inverse=True)
                found = [trace.texts.whole(one) for one in used.tolist()]
                numbers.append((key, np.asarray(found, np.int64)[inverse]))
            else:
                texts.append((key, slices.text_ids(plane, code, rows, trace.texts.string)))
        self._texts, self._numbers = texts, numbers

    def of(self, some: I64) -> list[Stat]:
        """The stats of some of them."""
        found = self._slices.other_numbers(some)
        for key, column in self._texts:
            found += column.stat(key, some)
        for key, values in self._numbers:
            found += stat_of(key, values[some], values[some] >= 0)
        return found
