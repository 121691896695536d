"""The devices' planes: kernels, copies and waits by stream, and what was counted meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.kineto.links import LABELS, Origin
from stepscope.formats.launched.host_plane import PlaneTexts, stats_of
from stepscope.formats.launched.links import LaunchCalls, Scopes
from stepscope.formats.launched.ranges import Ranges
from stepscope.formats.launched.recorded import (
    I64,
    NONE,
    Bool,
    DeviceWork,
    LaunchedRecording,
    NamedValues,
    by_row,
)
from stepscope.formats.launched.recorded import Counter as DeviceCounter
from stepscope.formats.xspace.line_parts import stat_of
from stepscope.formats.xspace.merged_line import MergedLine, Rows, TablePart, places
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat, Value
from stepscope.schema import names

_CONTENT: Final = {"kernel": "Compute", "graph": "Compute", "set": "Memset", "copy": ""}
_WAITS: Final = names.DERIVED_LINE_COUNT // 2


def device_planes(
    recorded: LaunchedRecording, ranges: Ranges, scopes: Scopes, calls: LaunchCalls
) -> Iterator[PlaneWriter]:
    """A plane per device.

    Args:
        recorded: The recording.
        ranges: What its range names say.
        scopes: Its ranges.
        calls: Its calls that launched something.
    """
    tables = [_Table(one, recorded, ranges, scopes, calls) for one in recorded.device if len(one)]
    numbers = {stream.device for stream in recorded.streams}
    numbers |= {one.device for one in recorded.counters if one.device >= 0} | set(recorded.facts)
    counters: dict[int, list[DeviceCounter]] = {}
    for counter in recorded.counters:
        counters.setdefault(counter.device, []).append(counter)
    line_names = _line_names(recorded)
    for number in sorted(numbers):
        plane = PlaneWriter(f"{names.GPU_PLANE}{number}", id=number + 1)
        for key, value in recorded.facts.get(number, {}).items():
            plane.stat(key, value)
        _write_streams(plane, number, recorded, tables, line_names)
        _write_counters(plane, counters.get(number, ()))
        yield plane


class _Table:
    """One table of device events with what links say of them."""

    def __init__(
        self,
        events: DeviceWork,
        recorded: LaunchedRecording,
        ranges: Ranges,
        scopes: Scopes,
        calls: LaunchCalls,
    ) -> None:
        self.events = events
        self.is_work = events.kind != "wait"
        call = calls.of(events.launch)
        known = call >= 0
        thread = np.where(known, np.append(calls.thread, NONE)[call], NONE)
        start = np.where(known, np.append(calls.start_ns, 0)[call], 0)
        op, ops = scopes.ops(thread, start)
        hlo = _hlo(recorded, ranges, scopes, thread, start) if self.is_work else []
        # XLA says which instruction a kernel belongs to, which is more than its scope.
        if hlo:
            op = np.where(hlo[0].has, NONE, op)
        origin = np.where(known, Origin.OUTSIDE, Origin.UNRECORDED)
        origin[~known & self._is_early(known)] = Origin.BEFORE
        if events.kind == "graph":
            origin[:] = Origin.GRAPH
        origin = np.where(op >= 0, NONE, origin)
        self._columns = [*events.columns, *(one.narrowed() for one in hlo)]
        # Tools group by op, so what has none is grouped by the reason.
        has_hlo = hlo[0].has if hlo else np.zeros(len(events), bool)
        named = np.where(op >= 0, op, origin + len(ops))
        of_op = [
            NamedValues(names.TF_OP, named, ~has_hlo, is_text=True),
            NamedValues(
                names.LAUNCH_ORIGIN, origin + len(ops), (origin >= 0) & ~has_hlo, is_text=True
            ),
        ]
        self._of_op = [one.narrowed() for one in of_op if self.is_work]
        self._op_texts = [*ops, *(LABELS.get(one, "") for one in Origin)]
        #: Rows of each stream, by device.
        self.streams: dict[int, list[tuple[int, Rows]]] = {}
        for row, rows in places(events.stream).items():
            self.streams.setdefault(recorded.streams[row].device, []).append((row, rows))

    def _is_early(self, known: Bool) -> Bool:
        """Events without a call that ran before the first of their stream with one."""
        if not known.any():
            return np.zeros(len(known), bool)
        start, stream = self.events.start_ns, self.events.stream
        first = np.full(int(stream.max()) + 1, int(start[known].min()))
        used = np.unique(stream[known])
        own = np.full(len(first), np.iinfo(np.int64).max)
        np.minimum.at(own, stream[known], start[known])
        first[used] = own[used]
        early: Bool = start < first[stream]
        return early

    def part(
        self, plane: PlaneWriter, texts: PlaneTexts, names_of: list[str], rows: Rows
    ) -> TablePart:
        """Some of the events, all of one line.

        Args:
            plane: Where they go.
            texts: Ids of the recording's texts on it.
            names_of: These texts.
            rows: Which events.
        """
        events = self.events
        op_texts = PlaneTexts(plane, self._op_texts)

        def describe(rows: NDArray[Any]) -> tuple[NDArray[Any], list[Stat]]:
            launch = events.launch[rows].astype(np.uint64)
            return self._ids(plane, names_of, rows), [
                *stat_of(names.CORRELATION_ID, launch, launch > 0),
                *stats_of(self._columns, rows, texts),
                *stats_of(self._of_op, rows, op_texts),
            ]

        said = (*self._columns, *self._of_op)
        count = int((events.launch[rows] > 0).sum()) + sum(int(one.has[rows].sum()) for one in said)
        return TablePart(rows, events.start_ns, events.duration_ns, describe, count)

    def _ids(self, plane: PlaneWriter, texts: list[str], rows: NDArray[Any]) -> I64:
        """Ids of the names of some rows."""
        display = self.events.display
        shown = np.full(len(rows), NONE) if display is None else display[rows]

        def name(pair: list[int]) -> int:
            return plane.name(texts[pair[0]], display=texts[pair[1]] if pair[1] >= 0 else "")

        return by_row((self.events.name[rows].astype(np.int64), shown.astype(np.int64)), name)


def _hlo(
    recorded: LaunchedRecording, ranges: Ranges, scopes: Scopes, thread: I64, start: I64
) -> list[NamedValues]:
    """The HLO instruction and program around each launch, where XLA marked them."""
    found = []
    for key in (names.HLO_OP, names.HLO_MODULE, names.PROGRAM_ID):
        wanted = ranges.has(key)
        if not wanted.any():
            continue
        name = scopes.names_around(wanted, thread, start)
        has = name >= 0
        said = {code: ranges.values[code][key] for code in np.unique(name[has]).tolist()}
        if all(isinstance(value, int) for value in said.values()) and key == names.PROGRAM_ID:
            values = np.asarray([said.get(code, 0) for code in name.tolist()], np.int64)
            found.append(NamedValues(key, values, has))
        else:
            text = {code: recorded.texts.code(str(value)) for code, value in said.items()}
            values = np.asarray([text.get(code, NONE) for code in name.tolist()], np.int64)
            found.append(NamedValues(key, values, has, is_text=True))
    return found if found and found[0].name == names.HLO_OP else []


def _write_streams(
    plane: PlaneWriter,
    number: int,
    recorded: LaunchedRecording,
    tables: list[_Table],
    line_names: list[tuple[int, str]],
) -> None:
    """A line for each stream's work, and one for what it waited for."""
    lines: dict[tuple[int, bool], list[TablePart]] = {}
    content: dict[int, dict[str, None]] = {}
    names_of = recorded.texts.list
    texts = PlaneTexts(plane, names_of)
    for table in tables:
        events = table.events
        for stream, rows in table.streams.get(number, ()):
            if table.is_work:
                words = content.setdefault(stream, {})
                kinds = [_CONTENT[events.kind]]
                if events.kind == "copy":
                    kinds = sorted({names_of[code] for code in np.unique(events.name[rows])})
                words.update(dict.fromkeys(kinds))
            part = table.part(plane, texts, names_of, rows)
            lines.setdefault((stream, table.is_work), []).append(part)
    for (stream, is_work), parts in sorted(lines.items(), key=lambda one: one[0]):
        line, label = line_names[stream]
        if is_work:
            name = f"Stream #{label}({','.join(content[stream])})"
            plane.add(MergedLine(plane, line, name, parts))
        else:
            derived = names.DERIVED_LINE_ID + _WAITS + line % _WAITS
            plane.add(MergedLine(plane, derived, f"{names.WAIT_LINES[0]} #{label}", parts))


def _line_names(recorded: LaunchedRecording) -> list[tuple[int, str]]:
    """Number and label of each stream's line: its own number, except where processes share it."""
    found = []
    copies: Counter[tuple[int, int]] = Counter()
    for one in recorded.streams:
        copy = copies[one.device, one.number]
        copies[one.device, one.number] += 1
        number = one.number if copy == 0 else (copy << 20) + one.number
        found.append((max(number, 0), f"{one.number}" + (f" [{one.process}]" if copy else "")))
    return found


def _write_counters(plane: PlaneWriter, counters: Iterable[DeviceCounter]) -> None:
    for at, one in enumerate(counters):
        facts: dict[str, Value] = {names.COUNTER_UNIT: one.unit} if one.unit else {}
        plane.line(
            names.DERIVED_LINE_ID + at % _WAITS,
            names.COUNTER_LINE,
            metadata=np.full(len(one.time_ns), plane.name(one.name, stats=facts)),
            start_ns=one.time_ns,
            stats=[Stat(names.COUNTER_VALUE, one.value)],
        )
