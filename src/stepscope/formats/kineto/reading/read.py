"""Kineto's trace JSON as columns in order of time: what ran when and where, of which kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import coded, distinct_codes, one_of
from stepscope.formats.kineto.reading import categories
from stepscope.formats.kineto.reading.args import NONE, EventArgs
from stepscope.formats.kineto.reading.categories import KIND, OTHER
from stepscope.formats.kineto.reading.ranges import ASYNC, RANGES, SLICE, RangeEnds
from stepscope.formats.kineto.reading.scan import HAS_DURATION, HAS_END, Scanned, scan
from stepscope.formats.kineto.reading.texts import whole
from stepscope.formats.kineto.reading.times import event_times
from stepscope.formats.kineto.reading.trace import ThreadKey, Trace
from stepscope.formats.packed import narrow
from stepscope.kernels.memory import give_back

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
Bool = NDArray[np.bool_]

_PIECE_BYTES: Final = 4 << 20
_MEMORY: Final = "[memory]"
_PLAIN_NUMBER: Final = re.compile(r"-?\d{1,18}")
_COUNTER, _META = ord("C"), ord("M")
_INSTANTS: Final = tuple(map(ord, "iIRn"))
_ARROWS: Final = tuple(map(ord, "stf"))
_FLOW_BEGIN, _FLOW_END = ord("s"), ord("f")
_KNOWN: Final = (SLICE, _COUNTER, _META, *_INSTANTS, *_ARROWS, *RANGES)


def read(path: Path) -> Trace:
    """The recording in a file that is not compressed.

    Raises:
        ValueError: It is not a JSON trace.
    """
    return read_pieces(_pieces(path))


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


def read_pieces(pieces: Iterable[bytes]) -> Trace:
    """The recording whose text comes in pieces.

    Raises:
        ValueError: It is not a JSON trace.
    """
    scanned = scan(pieces)
    give_back()
    trace = _Reader(scanned).read()
    give_back()
    return trace


class _Reader:
    """From the columns of a scan to those of a trace."""

    def __init__(self, scanned: Scanned) -> None:
        self._scanned = scanned
        self._texts = scanned.texts
        self._trace = Trace(head=scanned.head, damage=scanned.damage, lost=scanned.damage.lost)
        self._trace.texts = scanned.texts
        columns = scanned.columns
        self._times = event_times(columns)
        self._times.drop_zeros(columns["phase"] == _META)
        self._trace.untimed = self._times.untimed
        self._times.start += whole(scanned.head.get("baseTimeNanoseconds"), 0)
        self._place_of = self._places(columns["pid"], columns["tid"])

    def read(self) -> Trace:
        """All kinds of events."""
        columns, trace, has_start = self._scanned.columns, self._trace, self._times.has_start
        nameless = self._texts.find("")
        self._name_numbers()
        RangeEnds(trace, columns, self._times, self._place_of, nameless).close()
        self._count_categories()
        phase = columns["phase"]
        good = self._named() & has_start
        is_memory = self._is_memory(phase) & good
        is_instant = one_of(phase, _INSTANTS) & good & ~is_memory
        is_slice = (phase == SLICE) & good
        self._count_left_out(good)
        self._memory(np.flatnonzero(is_memory))
        self._flows(np.flatnonzero(one_of(phase, (_FLOW_BEGIN, _FLOW_END)) & has_start))
        self._counters(np.flatnonzero((phase == _COUNTER) & good))
        self._metadata(np.flatnonzero(phase == _META))
        self._slices(np.flatnonzero(is_slice | is_instant).astype(np.int32))
        self._scanned.columns.clear()
        return trace

    def _count_left_out(self, good: Bool) -> None:
        """Count what has no place here, and what makes no sense.

        Args:
            good: Which events have a name and a time.
        """
        columns, trace = self._scanned.columns, self._trace
        phase = columns["phase"]
        others = phase[(phase != 0) & ~one_of(phase, _KNOWN)]
        for code, count in zip(
            *(one.tolist() for one in np.unique(others, return_counts=True)), strict=True
        ):
            trace.unshown[chr(code)] = count
        timed = one_of(phase, (SLICE, _COUNTER, *_INSTANTS))
        # XLA ends its lists with an empty object, so that each event may have a comma behind it.
        empty = (phase == 0) & (columns["flags"] == 0) & (columns["values"] == 0)
        empty &= (columns["name"] < 0) & (columns["pid"] < 0) & (columns["chain"] < 0)
        trace.lost += int((timed & ~good).sum() + ((phase == 0) & ~empty).sum()) - trace.untimed

    def _name_numbers(self) -> None:
        """Ranges on no thread whose name is only their number are called what they are of.

        Servers write a range for each request: a thousand names say less than "resnet50".
        """
        columns = self._scanned.columns
        name, category = columns["name"], columns["category"]
        rows = np.flatnonzero(one_of(columns["phase"], ASYNC) & (name >= 0) & (category >= 0))
        used = np.unique(name[rows]).tolist()
        numbers = [number for number in used if self._texts.string(number).isdecimal()]
        own = rows[np.isin(name[rows], numbers)]
        name[own] = category[own]

    def _named(self) -> Bool:
        """Which events have a name: a string."""
        name = self._scanned.columns["name"]
        used, place = distinct_codes(name)
        are_texts = [self._texts.raw(number)[:1] == b'"' for number in used.tolist()]
        found: Bool = np.asarray(are_texts or [False])[place][name]
        return found

    def _places(self, pid: NDArray[Any], tid: NDArray[Any]) -> I32:
        """The place of each event; equal numbers are one, however they are written."""
        (pids, pid_at), (tids, tid_at) = distinct_codes(pid), distinct_codes(tid)
        pairs = pid_at[pid].astype(np.int64)
        pairs *= len(tids)
        pairs += tid_at[tid]
        used, code = coded(pairs)
        found: list[ThreadKey] = [
            (self._id(int(pids[one // len(tids)])), self._id(int(tids[one % len(tids)])))
            for one in used.tolist()
        ]
        # Not in order of sight, so that the order of the events and their keys does not matter.
        self._trace.places = sorted(set(found), key=lambda one: [(str(type(id)), id) for id in one])
        index = {place: number for number, place in enumerate(self._trace.places)}
        return np.asarray([index[place] for place in found] or [0], np.int32)[code]

    def _id(self, number: int) -> Any:
        value = self._texts.value(number)
        if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value):
            return int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return 0 if number < 0 else value if isinstance(value, (int, str)) else str(value)

    def _count_categories(self) -> None:
        category = self._scanned.columns["category"]
        codes, place = distinct_codes(category)
        counts = np.bincount(place[category], minlength=len(codes)).tolist()
        found: dict[str, int] = {}
        for code, count in (
            *zip(codes.tolist(), counts, strict=True),
            *self._scanned.arrows.items(),
        ):
            name = self._texts.string(code)
            found[name] = found.get(name, 0) + count
        self._trace.categories = dict(sorted(found.items()))

    def _is_memory(self, phase: NDArray[np.uint8]) -> Bool:
        number = self._texts.find(_MEMORY)
        found: Bool = one_of(phase, _INSTANTS) & (self._scanned.columns["name"] == number)
        return found

    def _slices(self, rows: I32) -> None:
        """The slices; times of all events are given up on the way."""
        trace, columns = self._trace, self._scanned.columns
        timed = (columns["flags"][rows] & HAS_DURATION) > 0
        length = self._times.length
        trace.negative = int((timed & (length[rows] < 0)).sum())
        np.maximum(length, 0, out=length)
        length[rows[~timed]] = 0
        del length
        rows = self._sort_by_time(rows)
        found = trace.slices
        found["duration_ns"] = narrow(self._times.take_lengths(rows))
        found["start_ns"] = self._times.take_starts(rows)
        found.update(self._times.rests(rows))
        found["place"] = narrow(self._place_of[rows])
        found["kind"], found["category"] = self._kinds(rows)
        found["name"] = self._names(rows)
        args = trace.args = EventArgs(self._scanned, rows)
        found["external"] = narrow(args.numbers("External id", "external id"))
        said = narrow(args.numbers("correlation"))  # ROCm's old recorders say External id only
        found["correlation"] = said if (said >= 0).any() else found["external"]
        self._kinds_by_name()

    def _names(self, rows: I32) -> NDArray[Any]:
        """The name of each slice as a place in ``trace.names``, which are in order of time."""
        name = self._scanned.columns["name"][rows]
        used, place = distinct_codes(name)
        first = np.full(len(used), len(name), np.int32)
        np.minimum.at(first, place[name], np.arange(len(name), dtype=np.int32))
        rank = np.empty(len(used), np.int32)
        by_time = np.argsort(first)
        rank[by_time] = np.arange(len(used), dtype=np.int32)
        self._trace.names = [self._texts.string(number) for number in used[by_time].tolist()]
        return narrow(rank[place])[name] if len(used) else np.zeros(0, np.int32)

    def _kinds(self, rows: I32) -> tuple[NDArray[np.int8], NDArray[Any]]:
        """The kind of each slice, and its category as a place in ``trace.category_names``."""
        columns = self._scanned.columns
        category = columns["category"][rows]
        used, place = distinct_codes(category)
        names = [self._texts.string(number) for number in used.tolist()]
        kinds = [KIND[categories.CATEGORIES.get(name, OTHER)] for name in names]
        self._trace.category_names = names
        kind = np.asarray(kinds or [0], np.int8)[place][category]
        # An instant is not work, whatever its category.
        kind[columns["phase"][rows] != SLICE] = KIND[OTHER]
        return kind, narrow(place)[category]

    def _sort_by_time(self, rows: I32) -> I32:
        """The slices by time, containers first, however the file orders them.

        Only of begins and ends, and of what a viewer derived from planes, the file's order tells
        which of two equal spans holds the other.
        """
        start = self._times.start[rows]
        rows = rows[np.argsort(start, kind="stable")]
        start = self._times.start[rows]
        same = np.zeros(len(rows), bool)
        same[1:] = start[1:] == start[:-1]
        tied = np.flatnonzero(same | np.append(same[1:], False))
        if len(tied):
            some = rows[tied]
            start, length = self._times.start[some], self._times.length[some]
            if self._trace.has_planes:
                rows[tied] = some[np.lexsort((some, -length, start))]
                return rows
            names = self._scanned.columns["name"][some]
            used, inverse = np.unique(names, return_inverse=True)
            raw = [self._texts.raw(number) for number in used.tolist()]
            rank = np.empty(len(raw), np.int64)
            rank[sorted(range(len(raw)), key=raw.__getitem__)] = np.arange(len(raw))
            number = EventArgs(self._scanned, some).numbers("External id", "correlation")
            kind = self._kinds(some)[0]
            has_end = (self._scanned.columns["flags"][some] & HAS_END) > 0
            keys = (rank[inverse], number, kind, np.where(has_end, some, -1), -length, start)
            rows[tied] = some[np.lexsort(keys)]
        return rows

    def _kinds_by_name(self) -> None:
        """What names tell better than categories: 2021's annotations, and waits of MTIA."""
        trace, slices = self._trace, self._trace.slices
        marks = [name.startswith(categories.ANNOTATIONS) for name in trace.names]
        is_mark = np.asarray(marks or [False], bool)[slices["name"]]
        slices["kind"][is_mark & (slices["kind"] == KIND["op"])] = KIND["annotation"]
        if categories.MTIA in trace.category_names:
            code = trace.category_names.index(categories.MTIA)
            rows = np.flatnonzero((slices["category"] == code) & (slices["kind"] == KIND["kernel"]))
            kinds = [KIND[categories.mtia_kind(name)] for name in trace.names]
            slices["kind"][rows] = np.asarray(kinds, np.int8)[slices["name"][rows]]

    def _memory(self, rows: I64) -> None:
        rows = rows[np.argsort(self._times.start[rows], kind="stable")]
        args = EventArgs(self._scanned, rows)
        size = np.zeros(len(rows), np.int64)
        at, values = args.rows("Bytes")
        size[at] = values
        device_type = args.numbers("Device Type")
        self._trace.memory = {
            "place": self._place_of[rows],
            "start_ns": self._times.start[rows],
            "address": args.numbers("Addr"),
            "bytes": size,
            "allocated": args.numbers("Total Allocated"),
            "device": args.numbers("Device Id"),
            "device_type": np.where(device_type == NONE, 0, device_type),
        }

    def _flows(self, rows: I64) -> None:
        columns = self._scanned.columns
        wanted = [
            number
            for number in distinct_codes(columns["category"][rows])[0].tolist()
            if self._texts.string(number) in categories.ARROWS_TO_BACKWARD
        ]
        rows = rows[np.isin(columns["category"][rows], wanted)]
        self._trace.flows = {
            "place": self._place_of[rows],
            "start_ns": self._times.start[rows],
            "id": columns["ident"][rows].astype(np.int64),
            "is_end": (columns["phase"][rows] == _FLOW_END).astype(np.int64),
        }

    def _counters(self, rows: I64) -> None:
        """Each series of each counter event."""
        args = EventArgs(self._scanned, rows)
        found: list[tuple[int, str, float]] = []
        names = [self._texts.string(n) for n in self._scanned.columns["name"][rows].tolist()]
        found = list(args.series())
        self._trace.counters = (
            {
                "place": self._place_of[rows][[row for row, _, _ in found]],
                "start_ns": self._times.start[rows][[row for row, _, _ in found]],
                "value": np.asarray([value for _, _, value in found], np.float64),
                "label": np.asarray([_label(names[row], key) for row, key, _ in found], object),
            }
            if found
            else {}
        )

    def _metadata(self, rows: I64) -> None:
        """Names of processes and threads."""
        trace, columns = self._trace, self._scanned.columns
        args, every = EventArgs(self._scanned, rows), np.arange(len(rows))
        for place, number, name, track in zip(
            self._place_of[rows].tolist(),
            columns["name"][rows].tolist(),
            args.values("name", every),
            args.values("track", every),
            strict=True,
        ):
            if not isinstance(name, str):
                continue
            what = self._texts.string(number)
            if what == "thread_name":
                trace.thread_names[trace.places[place]] = name
                if isinstance(track, str):
                    trace.tracks[trace.places[place]] = track
            elif what == "process_name":
                trace.process_names[trace.places[place][0]] = name


def _label(name: str, key: str) -> str:
    return name if key in ("value", name) else f"{name}: {key}"
