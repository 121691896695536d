"""The host's plane: ranges, ops, steps, calls of the runtime, allocations; a line per thread."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import coded
from stepscope.formats.launched.links import LaunchCalls, Scopes
from stepscope.formats.launched.ranges import Ranges
from stepscope.formats.launched.recorded import (
    I64,
    NONE,
    HostEvents,
    LaunchedRecording,
    MemoryEvents,
    NamedValues,
)
from stepscope.formats.xspace.line_parts import LineParts, by_place, stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema import names

_THREAD_BITS = 24


def host_plane(
    recorded: LaunchedRecording, ranges: Ranges, scopes: Scopes, calls: LaunchCalls
) -> PlaneWriter:
    """The plane of all threads of all processes."""
    plane = PlaneWriter(names.HOST_PLANE)
    for key, value in {**recorded.host_facts, names.IMPORTED: recorded.origin}.items():
        plane.stat(key, value)
    writer = _Writer(recorded, ranges, plane)
    lines: dict[int, LineParts] = {}
    for table in recorded.host:
        writer.add(table, lines)
    for allocations in recorded.allocations:
        writer.add_allocations(allocations, scopes, calls, lines)
    main = _main_thread(recorded)
    for row, part in lines.items():
        part.write(plane, _line_id(recorded, row), _line_name(recorded, row, main))
    return plane


class _Writer:
    """Puts tables of events on lines of threads; what a name says is decided once."""

    def __init__(self, recorded: LaunchedRecording, ranges: Ranges, plane: PlaneWriter) -> None:
        self._texts = recorded.texts.list
        self._ranges = ranges
        self._plane = plane

    def add(self, table: HostEvents, lines: dict[int, LineParts]) -> None:
        """The events of a table."""
        metadata = self._names(table)
        stats = self._of_names(table) if table.kind == "range" else []
        stats += [self._written(column) for column in table.columns]
        if len(table.launch):
            launch = table.launch.astype(np.uint64)
            stats.append(NamedValues(names.CORRELATION_ID, launch, table.launch > 0))
        for row, mine in by_place(table.thread, np.arange(len(table))):
            lines.setdefault(row, LineParts()).add(
                metadata[mine], table.start_ns[mine], table.duration_ns[mine], chosen(stats, mine)
            )

    def _names(self, table: HostEvents) -> I64:
        used, inverse = coded(table.name)
        if table.kind != "range":
            ids = self._plane.names(self._texts[code] for code in used.tolist())
        else:
            ids = np.asarray(
                [
                    self._plane.name(self._ranges.labels[code], display=self._ranges.shown[code])
                    for code in used.tolist()
                ],
                np.int64,
            )
        return ids[inverse] if len(ids) else inverse

    def _of_names(self, table: HostEvents) -> list[NamedValues]:
        """Stats that follow from a range's name: the step's number, the values in it."""
        step = self._ranges.step[table.name]
        is_step = step >= 0
        found = [
            NamedValues(names.STEP_NUM, step, is_step),
            NamedValues(names.ROOT_LEVEL, np.ones(len(table), np.int64), is_step),
        ]
        used, inverse = coded(table.name)
        said = [self._ranges.values[code] for code in used.tolist()]
        for key in dict.fromkeys(key for values in said for key in values if key != names.STEP_NUM):
            has = np.asarray([key in values for values in said], bool)
            # One stat has one type: a number that another range writes as text is a text.
            is_text = any(isinstance(values.get(key), str) for values in said)
            values = [
                self._plane.text(str(one.get(key, ""))) if is_text else one.get(key, 0)
                for one in said
            ]
            found.append(NamedValues(key, np.asarray(values)[inverse], has[inverse], is_text))
        return found

    def _written(self, column: NamedValues) -> NamedValues:
        """A column whose texts are ids on the plane."""
        return written(self._plane, self._texts, column)

    def add_allocations(
        self, table: MemoryEvents, scopes: Scopes, calls: LaunchCalls, lines: dict[int, LineParts]
    ) -> None:
        """Allocations as instants on the thread that asked for them, with what they left."""
        call = calls.of(table.launch)
        is_known = call >= 0
        thread = np.where(is_known, np.append(calls.thread, 0)[call], 0)
        op, ops = scopes.ops(np.where(is_known, thread, NONE), np.where(is_known, table.time_ns, 0))
        size = np.abs(table.size_bytes)
        held, peak = _held(table)
        every = np.ones(len(table), bool)
        code = np.where(table.size_bytes >= 0, *self._plane.names(names.MEMORY_EVENTS))
        stats = [
            self._written(NamedValues(names.ALLOCATOR_NAME, table.allocator, every, is_text=True)),
            NamedValues(names.REQUESTED_BYTES, size, every),
            NamedValues(names.ALLOCATION_BYTES, size, every),
            NamedValues(names.ADDRESS, table.address, table.address > 0),
            NamedValues(names.BYTES_ALLOCATED, held, every),
            NamedValues(names.PEAK_BYTES_IN_USE, peak, every),
            written(self._plane, ops, NamedValues(names.TF_OP, op, op >= 0, is_text=True)),
        ]
        for row, mine in by_place(thread, np.arange(len(table))):
            lines.setdefault(row, LineParts()).add(
                code[mine], table.time_ns[mine], np.zeros(len(mine), np.int64), chosen(stats, mine)
            )


def _held(table: MemoryEvents) -> tuple[I64, I64]:
    """Bytes each allocator held after each event, and the most so far; never below 0.

    What was taken before the recording is not known, so a running sum may dip below 0: the lowest
    point counts as 0.
    """
    held, peak = np.zeros(len(table), np.int64), np.zeros(len(table), np.int64)
    for _, mine in by_place(table.allocator, np.arange(len(table))):
        mine = mine[np.argsort(table.time_ns[mine], kind="stable")]
        running = np.cumsum(table.size_bytes[mine])
        held[mine] = running - min(int(running.min()), 0)
        peak[mine] = np.maximum.accumulate(held[mine])
    return held, peak


def written(plane: PlaneWriter, texts: list[str], column: NamedValues) -> NamedValues:
    """A column whose texts are ids on a plane; columns of numbers stay.

    Args:
        plane: Whose ids.
        texts: What the column's values count.
        column: Of numbers or texts.
    """
    if not column.is_text:
        return column
    ids = np.zeros(len(column.values), np.int64)
    rows = np.flatnonzero(column.has)
    used, inverse = coded(column.values[rows])
    if len(used):
        ids[rows] = plane.texts(texts[code] for code in used.tolist())[inverse]
    return NamedValues(column.name, ids, column.has, is_text=True)


def chosen(columns: list[NamedValues], rows: NDArray[Any]) -> list[Stat]:
    """The stats of some of the rows."""
    return [
        stat
        for one in columns
        for stat in stat_of(one.name, one.values[rows], one.has[rows], is_text=one.is_text)
    ]


def _main_thread(recorded: LaunchedRecording) -> int:
    """The thread that launches most, which viewers expect to be called ``python``; -1 for none."""
    threads = [one.thread[one.launch > 0] for one in recorded.host if len(one.launch)]
    launching = np.concatenate([np.zeros(0, np.int64), *threads])
    launching = launching[launching >= 0]
    return int(np.bincount(launching).argmax()) if len(launching) else NONE


def _processes(recorded: LaunchedRecording) -> list[int]:
    return list(dict.fromkeys(one.process for one in recorded.threads))


def _line_id(recorded: LaunchedRecording, row: int) -> int:
    """A number of the line's own: the thread's, or one with its process where those collide."""
    one = recorded.threads[row]
    same = sum(other.number == one.number for other in recorded.threads)
    if same == 1:
        return one.number
    return ((_processes(recorded).index(one.process) + 1) << _THREAD_BITS) + one.number


def _line_name(recorded: LaunchedRecording, row: int, main: int) -> str:
    one = recorded.threads[row]
    own = one.name or f"thread {one.number}"
    if main < 0 or one.process == recorded.threads[main].process:
        is_main = row == main and ("python" in own.lower() or not one.name)
        return "python" if is_main else own
    return f"{one.process}/{own}"
