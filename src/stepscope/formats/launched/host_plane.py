"""The host's plane: ranges, ops, steps, calls of the runtime, allocations; a line per thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import by_place
from stepscope.formats.launched.links import LaunchCalls, Scopes
from stepscope.formats.launched.ranges import Ranges
from stepscope.formats.launched.recorded import (
    I64,
    NONE,
    HostEvents,
    Ints,
    LaunchedRecording,
    MemoryEvents,
    NamedValues,
)
from stepscope.formats.xspace.line_parts import stat_of
from stepscope.formats.xspace.merged_line import MergedLine, Rows, TablePart, places
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
    lines: dict[int, list[TablePart]] = {}
    for table in recorded.host:
        writer.add(table, lines)
    for allocations in recorded.allocations:
        writer.add_allocations(allocations, scopes, calls, lines)
    main = _main_thread(recorded)
    same = Counter(one.number for one in recorded.threads)
    process = {one: place for place, one in enumerate(_processes(recorded), 1)}
    for row, parts in lines.items():
        name, thread = _line_name(recorded, row, main), recorded.threads[row]
        # A number of the line's own: with its process where those of threads collide.
        is_shared = same[thread.number] > 1
        number = thread.number + ((process[thread.process] << _THREAD_BITS) if is_shared else 0)
        plane.add(MergedLine(plane, number, name, parts))
    return plane


class PlaneTexts:
    """Ids that texts have on a plane, given out when a text is first used.

    Args:
        plane: Whose ids.
        texts: By code.
    """

    def __init__(self, plane: PlaneWriter, texts: Sequence[str]) -> None:
        self._plane = plane
        self._texts = texts
        self._ids = np.zeros(0, np.int32)

    def ids(self, codes: Ints) -> NDArray[np.int32]:
        """The ids of some texts."""
        if len(self._ids) < len(self._texts):
            self._ids = np.append(self._ids, np.zeros(len(self._texts) - len(self._ids), np.int32))
        found = self._ids[codes]
        if not found.all():
            new = np.unique(codes[found == 0])
            self._ids[new] = self._plane.texts(self._texts[code] for code in new.tolist())
            found = self._ids[codes]
        return found


class _Writer:
    """Puts tables of events on lines of threads; what a name says is decided once."""

    def __init__(self, recorded: LaunchedRecording, ranges: Ranges, plane: PlaneWriter) -> None:
        self._recorded = recorded
        self._names = recorded.texts.list
        self._texts = PlaneTexts(plane, self._names)
        self._ranges = ranges
        self._plane = plane

    def add(self, table: HostEvents, lines: dict[int, list[TablePart]]) -> None:
        """The events of a table."""
        ids, of_names = self._ids(table), self._range_values(table)

        def describe(rows: NDArray[Any]) -> tuple[NDArray[Any], list[Stat]]:
            name = table.name[rows]
            said = [
                NamedValues(one.name, one.values[name], one.has[name], one.is_text)
                for one in of_names
            ]
            found = stats_of(said, slice(None), self._texts)
            found += stats_of(table.columns, rows, self._texts)
            if len(table.launch):
                launch = table.launch[rows].astype(np.uint64)
                found += stat_of(names.CORRELATION_ID, launch, launch > 0)
            return ids[name], found

        for row, mine in places(table.thread).items():
            name = table.name[mine]
            count = sum(int(one.has[name].sum()) for one in of_names)
            count += sum(int(one.has[mine].sum()) for one in table.columns)
            count += int((table.launch[mine] > 0).sum()) if len(table.launch) else 0
            part = TablePart(mine, table.start_ns, table.duration_ns, describe, count)
            lines.setdefault(row, []).append(part)

    def _ids(self, table: HostEvents) -> NDArray[np.int32]:
        """The id of each name of the table on the plane, by code."""
        ids = np.zeros(len(self._names), np.int32)
        for code in _used(table.name, len(ids)):
            if table.kind == "range":
                shown = self._ranges.shown[code]
                ids[code] = self._plane.name(self._ranges.labels[code], display=shown)
            else:
                ids[code] = self._plane.name(self._names[code])
        return ids

    def _range_values(self, table: HostEvents) -> list[NamedValues]:
        """What follows from a range's name, by code: the step's number, the values in it."""
        if table.kind != "range":
            return []
        step = self._ranges.step
        is_step = step >= 0
        found = [
            NamedValues(names.STEP_NUM, step, is_step),
            NamedValues(names.ROOT_LEVEL, np.ones(len(step), np.int64), is_step),
        ]
        said = {code: self._ranges.values[code] for code in _used(table.name, len(step))}
        for key in dict.fromkeys(key for values in said.values() for key in values):
            if key == names.STEP_NUM:
                continue
            having = {code: values[key] for code, values in said.items() if key in values}
            has = np.zeros(len(step), bool)
            has[list(having)] = True
            # One stat has one type: a number that another range writes as text is a text.
            is_text = any(isinstance(value, str) for value in having.values())
            by_code = np.zeros(len(step), np.int64)
            for code, value in having.items():
                by_code[code] = self._recorded.texts.code(str(value)) if is_text else value
            found.append(NamedValues(key, by_code, has, is_text))
        return found

    def add_allocations(
        self,
        table: MemoryEvents,
        scopes: Scopes,
        calls: LaunchCalls,
        lines: dict[int, list[TablePart]],
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
        allocator = NamedValues(names.ALLOCATOR_NAME, table.allocator, every, is_text=True)
        columns = [
            NamedValues(names.REQUESTED_BYTES, size, every),
            NamedValues(names.ALLOCATION_BYTES, size, every),
            NamedValues(names.ADDRESS, table.address, table.address > 0),
            NamedValues(names.BYTES_ALLOCATED, held, every),
            NamedValues(names.PEAK_BYTES_IN_USE, peak, every),
        ]
        of_op = NamedValues(names.TF_OP, op, op >= 0, is_text=True)
        op_texts = PlaneTexts(self._plane, ops)

        def describe(rows: NDArray[Any]) -> tuple[NDArray[Any], list[Stat]]:
            found = stats_of([allocator, *columns], rows, self._texts)
            return code[rows], [*found, *stats_of([of_op], rows, op_texts)]

        none = np.broadcast_to(np.int64(0), len(table))
        for row, mine in places(thread).items():
            count = sum(int(one.has[mine].sum()) for one in (allocator, *columns, of_op))
            part = TablePart(mine, table.time_ns, none, describe, count)
            lines.setdefault(row, []).append(part)


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


def stats_of(columns: Iterable[NamedValues], rows: Rows, texts: PlaneTexts) -> list[Stat]:
    """What some rows carry.

    Args:
        columns: Of numbers or texts.
        rows: Which.
        texts: What codes of texts stand for.
    """
    found = []
    for one in columns:
        at = np.flatnonzero(one.has[rows]).astype(np.int32)
        if len(at):
            values = one.values[rows][at]
            if one.is_text:
                values = texts.ids(values)
            found.append(Stat(one.name, values, at, one.is_text))
    return found


def _used(codes: Ints, count: int) -> list[int]:
    """The distinct ones of some codes below a number."""
    seen = np.zeros(count, bool)
    seen[codes] = True
    used: list[int] = np.flatnonzero(seen).tolist()
    return used


def _main_thread(recorded: LaunchedRecording) -> int:
    """The thread that launches most, which viewers expect to be called ``python``; -1 for none."""
    threads = [one.thread[one.launch > 0] for one in recorded.host if len(one.launch)]
    launching = np.concatenate([np.zeros(0, np.int64), *threads])
    launching = launching[launching >= 0]
    return int(np.bincount(launching).argmax()) if len(launching) else NONE


def _processes(recorded: LaunchedRecording) -> list[int]:
    return list(dict.fromkeys(one.process for one in recorded.threads))


def _line_name(recorded: LaunchedRecording, row: int, main: int) -> str:
    one = recorded.threads[row]
    own = one.name or f"thread {one.number}"
    if main < 0 or one.process == recorded.threads[main].process:
        is_main = row == main and ("python" in own.lower() or not one.name)
        return "python" if is_main else own
    return f"{one.process}/{own}"
