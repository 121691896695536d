"""The devices' planes: kernels, copies and waits by stream, and what was counted meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.formats.kineto.links import LABELS, Origin
from stepscope.formats.launched.host_plane import chosen, written
from stepscope.formats.launched.links import LaunchCalls, Scopes
from stepscope.formats.launched.ranges import Ranges
from stepscope.formats.launched.recorded import (
    I64,
    NONE,
    DeviceWork,
    LaunchedRecording,
    NamedValues,
)
from stepscope.formats.xspace.line_parts import LineParts, by_place
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
    for number in sorted(numbers):
        plane = PlaneWriter(f"{names.GPU_PLANE}{number}", id=number + 1)
        for key, value in recorded.facts.get(number, {}).items():
            plane.stat(key, value)
        _write_streams(plane, number, recorded, tables)
        _write_counters(plane, number, recorded)
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
        op, self._ops = scopes.ops(thread, start)
        hlo = self._hlo(recorded, ranges, scopes, thread, start) if self.is_work else []
        # XLA says which instruction a kernel belongs to, which is more than its scope.
        if hlo:
            op = np.where(hlo[0].has, NONE, op)
        self._op = op
        self._hlo_columns = hlo
        origin = np.where(known, Origin.OUTSIDE, Origin.UNRECORDED)
        origin[~known & self._is_early(known)] = Origin.BEFORE
        if events.kind == "graph":
            origin[:] = Origin.GRAPH
        self._origin = np.where(op >= 0, NONE, origin)

    def _hlo(
        self, recorded: LaunchedRecording, ranges: Ranges, scopes: Scopes, thread: I64, start: I64
    ) -> list[NamedValues]:
        """The HLO instruction and program around each launch, where XLA marked them."""
        found = []
        for key in (names.HLO_OP, names.HLO_MODULE, names.PROGRAM_ID):
            wanted = ranges.has(key)
            if not wanted.any():
                continue
            name = scopes.name_of(scopes.around(wanted, thread, start))
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

    def _is_early(
        self, known: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Events without a call that ran before the first of their stream with one."""
        if not known.any():
            return np.zeros(len(known), bool)
        start, stream = self.events.start_ns, self.events.stream
        first = np.full(int(stream.max()) + 1, int(start[known].min()))
        used = np.unique(stream[known])
        own = np.full(len(first), np.iinfo(np.int64).max)
        np.minimum.at(own, stream[known], start[known])
        first[used] = own[used]
        early: np.ndarray[tuple[int], np.dtype[np.bool_]] = start < first[stream]
        return early

    def metadata(self, plane: PlaneWriter, texts: list[str], rows: I64) -> I64:
        """Ids of the names of some rows."""
        display = self.events.display
        shown = np.full(len(rows), NONE) if display is None else display[rows]
        pairs = np.stack([self.events.name[rows], shown])
        used, inverse = np.unique(pairs, axis=1, return_inverse=True)
        ids = [
            plane.name(texts[name], display=texts[other] if other >= 0 else "")
            for name, other in used.T.tolist()
        ]
        return np.asarray(ids, np.int64)[inverse.ravel()]

    def columns(self, plane: PlaneWriter, texts: list[str]) -> list[NamedValues]:
        """Everything said of the events, with texts as ids on a plane."""
        events = self.events
        labels = [LABELS.get(one, "") for one in Origin]
        # Tools group by op, so what has none is grouped by the reason.
        code = np.where(self._op >= 0, self._op, self._origin + len(self._ops))
        has_hlo = self._hlo_columns[0].has if self._hlo_columns else np.zeros(len(events), bool)
        said = [
            NamedValues(names.CORRELATION_ID, events.launch.astype(np.uint64), events.launch > 0),
            *(written(plane, texts, one) for one in (*events.columns, *self._hlo_columns)),
        ]
        if self.is_work:
            op = NamedValues(names.TF_OP, code, ~has_hlo, is_text=True)
            origin = NamedValues(
                names.LAUNCH_ORIGIN, self._origin, (self._origin >= 0) & ~has_hlo, is_text=True
            )
            said += [written(plane, [*self._ops, *labels], op), written(plane, labels, origin)]
        return said


def _write_streams(
    plane: PlaneWriter, number: int, recorded: LaunchedRecording, tables: list[_Table]
) -> None:
    """A line for each stream's work, and one for what it waited for."""
    lines: dict[tuple[int, bool], LineParts] = {}
    content: dict[int, dict[str, None]] = {}
    on_device = np.asarray([one.device == number for one in recorded.streams] or [False], bool)
    texts = recorded.texts.list
    for table in tables:
        events = table.events
        rows = np.flatnonzero(on_device[events.stream])
        columns = table.columns(plane, texts) if len(rows) else []
        for stream, mine in by_place(events.stream, rows):
            if table.is_work:
                words = content.setdefault(stream, {})
                kinds = [_CONTENT[events.kind]]
                if events.kind == "copy":
                    kinds = sorted({texts[code] for code in np.unique(events.name[mine]).tolist()})
                words.update(dict.fromkeys(kinds))
            lines.setdefault((stream, table.is_work), LineParts()).add(
                table.metadata(plane, texts, mine),
                events.start_ns[mine],
                events.duration_ns[mine],
                chosen(columns, mine),
            )
    for (stream, is_work), part in sorted(lines.items()):
        line, label = _line_of(recorded, stream)
        if is_work:
            part.write(plane, line, f"Stream #{label}({','.join(content[stream])})")
        else:
            derived = names.DERIVED_LINE_ID + _WAITS + line % _WAITS
            part.write(plane, derived, f"Synchronization #{label}")


def _line_of(recorded: LaunchedRecording, row: int) -> tuple[int, str]:
    """Number and label of a stream's line: its own number where no other process has the same."""
    one = recorded.streams[row]
    same = [
        at
        for at, other in enumerate(recorded.streams)
        if (other.device, other.number) == (one.device, one.number)
    ]
    copy = same.index(row)
    number = one.number if copy == 0 else (copy << 20) + one.number
    return max(number, 0), f"{one.number}" if copy == 0 else f"{one.number} [{one.process}]"


def _write_counters(plane: PlaneWriter, number: int, recorded: LaunchedRecording) -> None:
    for at, one in enumerate(one for one in recorded.counters if one.device == number):
        facts: dict[str, Value] = {names.COUNTER_UNIT: one.unit} if one.unit else {}
        plane.line(
            names.DERIVED_LINE_ID + at % _WAITS,
            names.COUNTER_LINE,
            metadata=np.full(len(one.time_ns), plane.name(one.name, stats=facts)),
            start_ns=one.time_ns,
            stats=[Stat(names.COUNTER_VALUE, one.value)],
        )
