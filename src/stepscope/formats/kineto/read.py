"""Kineto's trace JSON as columns in order of time: what ran when and where, of which kind."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct_codes
from stepscope.formats.kineto import categories
from stepscope.formats.kineto.args import NONE, EventArgs
from stepscope.formats.kineto.categories import KIND, OTHER
from stepscope.formats.kineto.scan import (
    DURATION_IN_PS,
    HAS_DURATION,
    HAS_START,
    START_IN_PS,
    Scanned,
    TraceDamage,
    scan,
)
from stepscope.formats.kineto.texts import TraceTexts, lenient_json, whole
from stepscope.formats.packed import narrow
from stepscope.kernels.memory import give_back

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
Bool = NDArray[np.bool_]
#: A process and a thread, or a device and a stream, as the file names them.
ThreadKey = tuple[Any, Any]

_PIECE_BYTES: Final = 4 << 20
_UNFINISHED: Final = b'"finished": false'
_ADDRESS: Final = b'"Addr": '
_PHASE: Final = b'"ph": "'
_RANGE: Final = b'"ph": "X"'
_NAMED: Final = re.compile(rb'"name": ("(?:[^"\\]|\\.)*")')
_PLANES: Final = ("/device:", "/host:")
# Processes of TensorFlow 1's timelines are devices, and no planes.
_OF_SESSION: Final = (" Compute", " Tensors")
_NAMES: Final = 5
_MEMORY: Final = "[memory]"
_PLAIN_NUMBER: Final = re.compile(r"-?\d{1,18}")
# A time of exactly 0 where all others are hours away was never taken.
_HOURS_NS: Final = 3_600_000_000_000
_NO_REST: Final = np.zeros(1, np.int16)
_SLICE, _COUNTER, _META = ord("X"), ord("C"), ord("M")
_INSTANTS: Final = tuple(map(ord, "iIRn"))
_BEGIN, _END = ord("B"), ord("E")
# Ranges that are on no thread, of which each has an id: as written now, and long ago.
_ASYNC_BEGINS, _ASYNC_ENDS = (ord("b"), ord("S")), (ord("e"), ord("F"))
_ASYNC: Final = "async"
_ARROWS: Final = tuple(map(ord, "stf"))
_FLOW_BEGIN, _FLOW_END = ord("s"), ord("f")


@dataclass
class Trace:
    """A recording as columns.

    Attributes:
        head: The keys beside the events (``deviceProperties``, versions …).
        names: Event names; ``slices["name"]`` counts them.
        places: (pid, tid) pairs; ``slices["place"]`` counts them.
        slices: name, place, kind (of ``categories.KINDS``), category (of ``categories``),
            start_ns, duration_ns (absolute; what they leave of a ps is start_rest_ps and
            duration_rest_ps), external, correlation (-1: none). In order of time, containers
            before their contents.
        args: Arguments of the slices.
        memory: place, start_ns, address, bytes (negative: freed), allocated, reserved (-1: not
            said), device, device_type.
        flows: place, start_ns, id, is_end of forward-backward arrows.
        counters: place, name, start_ns, and a series and value each.
        thread_names, process_names: By place, and by pid.
        categories: Every category with the number of its events, arrows among them.
        texts: Every distinct text of the file.
        damage: What was wrong with it.
        lost: Events that made no sense: not JSON, or without name, phase or time.
        untimed: Events whose time the recorder did not take.
        negative: Events that end before they begin.
        unpaired: Begins without an end, and ends without a begin; they are left out.
        unshown: How many events there are of each phase that has no place here.
    """

    head: dict[str, Any] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    places: list[ThreadKey] = field(default_factory=list)
    slices: dict[str, NDArray[Any]] = field(default_factory=dict)
    args: EventArgs = field(init=False)
    memory: dict[str, NDArray[Any]] = field(default_factory=dict)
    flows: dict[str, NDArray[Any]] = field(default_factory=dict)
    counters: dict[str, NDArray[Any]] = field(default_factory=dict)
    thread_names: dict[ThreadKey, str] = field(default_factory=dict)
    process_names: dict[Any, str] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    category_names: list[str] = field(default_factory=list)
    texts: TraceTexts = field(init=False)
    damage: TraceDamage = field(default_factory=TraceDamage)
    lost: int = 0
    untimed: int = 0
    negative: int = 0
    unpaired: int = 0
    unshown: dict[str, int] = field(default_factory=dict)

    @property
    def has_planes(self) -> bool:
        """Whether processes are called like planes: a viewer derived the trace from an XSpace."""
        listed = self.process_names.values()
        return any(one.startswith(_PLANES) and not one.endswith(_OF_SESSION) for one in listed)


def unfinished(path: Path) -> tuple[str, ...]:
    """Names of ranges that had not ended when the recording did, each once; at most some.

    Looks for the mark alone, a second for ten million events.
    """
    found: dict[str, None] = {}
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        at = text.find(_UNFINISHED)
        while at >= 0 and len(found) < _NAMES:
            # Allocations, which have no end, say it as well; there are many.
            if text.rfind(_ADDRESS, at - len(_ADDRESS) - 24, at) < 0:
                begin = text.rfind(_PHASE, 0, at)
                if text[begin : begin + len(_RANGE)] == _RANGE:
                    name = _NAMED.search(text, begin, at)
                    found[lenient_json(name[1]) if name else "an op"] = None
            at = text.find(_UNFINISHED, at + 1)
    return tuple(found)


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
        base = whole(scanned.head.get("baseTimeNanoseconds"), 0)
        flags = columns["flags"]
        self._start, self._start_rest = _to_ns(columns.pop("start"), (flags & START_IN_PS) > 0)
        self._length, self._length_rest = _to_ns(
            columns.pop("duration"), (flags & DURATION_IN_PS) > 0
        )
        self._has_time: Bool = (flags & HAS_START) > 0
        self._drop_untimed(base)
        if base:
            self._start += base
        self._place_of = self._places(columns["pid"], columns["tid"])

    def read(self) -> Trace:
        """All kinds of events."""
        columns, trace = self._scanned.columns, self._trace
        self._close_ranges()
        self._close_async()
        phase, named = columns["phase"], self._named()
        self._count_categories()
        good = named & self._has_time
        is_memory = self._is_memory(phase) & good
        is_instant = np.isin(phase, _INSTANTS) & good & ~is_memory
        is_slice = (phase == _SLICE) & good
        self._memory(np.flatnonzero(is_memory))
        self._flows(np.flatnonzero(np.isin(phase, (_FLOW_BEGIN, _FLOW_END)) & self._has_time))
        self._counters(np.flatnonzero((phase == _COUNTER) & good))
        self._metadata(np.flatnonzero(phase == _META))
        self._slices(np.flatnonzero(is_slice | is_instant).astype(np.int32))
        timed = np.isin(phase, (_SLICE, _COUNTER, *_INSTANTS))
        # XLA ends its lists with an empty object, so that each event may have a comma behind it.
        empty = (phase == 0) & (columns["flags"] == 0) & (columns["values"] == 0)
        empty &= (columns["name"] < 0) & (columns["pid"] < 0) & (columns["chain"] < 0)
        known = (_SLICE, _COUNTER, _META, *_INSTANTS, *_ARROWS, _BEGIN, _END)
        others = phase[(phase != 0) & ~np.isin(phase, (*known, *_ASYNC_BEGINS, *_ASYNC_ENDS))]
        for code, count in zip(*(one.tolist() for one in np.unique(others, return_counts=True)),
                               strict=True):  # fmt: skip
            trace.unshown[chr(code)] = count
        trace.lost += int((timed & ~good).sum() + ((phase == 0) & ~empty).sum()) - trace.untimed
        self._scanned.columns.clear()
        return trace

    def _close_ranges(self) -> None:
        """Begins and ends (phases B and E), which other writers use, become slices."""
        phase = self._scanned.columns["phase"]
        rows = np.flatnonzero(np.isin(phase, (_BEGIN, _END)) & self._has_time)
        if not len(rows):
            return
        self._pair(rows, self._place_of[rows], phase[rows] == _BEGIN)

    def _close_async(self) -> None:
        """Begins and ends of what is on no thread: pairs by process, category and id.

        They get a place of their own for each process, beside its threads.
        """
        columns = self._scanned.columns
        phase = columns["phase"]
        rows = np.flatnonzero(np.isin(phase, (*_ASYNC_BEGINS, *_ASYNC_ENDS)) & self._has_time)
        if not len(rows):
            return
        keys = (columns["pid"][rows], columns["category"][rows], columns["ident"][rows])
        group = np.unique(np.stack(keys).astype(np.int64), axis=1, return_inverse=True)[1].ravel()
        begin = self._pair(rows, group, np.isin(phase[rows], _ASYNC_BEGINS))
        used, inverse = np.unique(self._place_of[begin], return_inverse=True)
        places = self._trace.places
        found = []
        for place in used.tolist():
            mine = (places[place][0], _ASYNC)
            if mine not in places:
                places.append(mine)
            found.append(places.index(mine))
        self._place_of[begin] = np.asarray(found or [0], np.int64)[inverse]

    def _pair(self, rows: I64, group: NDArray[Any], begins: Bool) -> I64:
        """Make slices of the begins whose ends are there; rows of those slices.

        Args:
            rows: Begins and ends.
            group: What each belongs to: they nest within it.
            begins: Which are begins.
        """
        by_time = np.lexsort((rows, self._start[rows], group))
        order, group, begins = rows[by_time], group[by_time], begins[by_time]
        depth = np.cumsum(np.where(begins, 1, -1)) + ~begins
        # Of one group and depth, each begin is followed by its end.
        nested = np.lexsort((np.arange(len(order)), depth, group))
        first, second = nested[:-1], nested[1:]
        pairs = begins[first] & ~begins[second] & (depth[first] == depth[second])
        pairs &= group[first] == group[second]
        begin: I64 = order[first[pairs]]
        end = order[second[pairs]]
        columns = self._scanned.columns
        columns["phase"][begin] = _SLICE
        self._length[begin] = self._start[end] - self._start[begin]
        rest = self._start_rest[end] - self._start_rest[begin]
        if (rest != self._length_rest[begin]).any():
            self._length_rest = self._length_rest.copy()
            self._length_rest[begin] = rest
        columns["flags"][begin] |= HAS_DURATION
        self._trace.unpaired += len(rows) - 2 * len(begin)
        return begin

    def _named(self) -> Bool:
        """Which events have a name: a string."""
        name = self._scanned.columns["name"]
        used, place = distinct_codes(name)
        are_texts = [self._texts.raw(number)[:1] == b'"' for number in used.tolist()]
        found: Bool = np.asarray(are_texts or [False])[place][name]
        return found

    def _drop_untimed(self, base: int) -> None:
        """Times of exactly 0 are unknown where no other is near."""
        is_zero = self._has_time & (self._start == 0)
        is_zero &= self._scanned.columns["phase"] != _META
        if not is_zero.any():
            return
        others = self._start[self._has_time & (self._start != 0)]
        if len(others) and abs(int(np.median(others))) > _HOURS_NS:
            self._has_time &= ~is_zero
            self._trace.untimed = int(is_zero.sum())

    def _places(self, pid: NDArray[Any], tid: NDArray[Any]) -> I32:
        """The place of each event; equal numbers are one, however they are written."""
        pairs = pid.astype(np.int64)
        pairs += 1
        pairs *= len(self._texts) + 1
        pairs += tid
        pairs += 1
        used, inverse = np.unique(pairs, return_inverse=True)
        found: list[ThreadKey] = []
        for pair in used.tolist():
            first, second = divmod(pair, len(self._texts) + 1)
            found.append((self._id(first - 1), self._id(second - 1)))
        # Not in order of sight, so that the order of the events and their keys does not matter.
        self._trace.places = sorted(set(found), key=lambda one: [(str(type(id)), id) for id in one])
        index = {place: number for number, place in enumerate(self._trace.places)}
        return np.asarray([index[place] for place in found] or [0], np.int32)[inverse]

    def _id(self, number: int) -> Any:
        value = self._texts.value(number)
        if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value):
            return int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return 0 if number < 0 else value if isinstance(value, (int, str)) else str(value)

    def _count_categories(self) -> None:
        codes, counts = np.unique(self._scanned.columns["category"], return_counts=True)
        found = {
            self._texts.string(code): count
            for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
        }
        for code, count in self._scanned.arrows.items():
            name = self._texts.string(code)
            found[name] = found.get(name, 0) + count
        self._trace.categories = dict(sorted(found.items()))

    def _is_memory(self, phase: NDArray[np.uint8]) -> Bool:
        number = self._texts.find(_MEMORY)
        found: Bool = np.isin(phase, _INSTANTS) & (self._scanned.columns["name"] == number)
        return found

    def _slices(self, rows: I32) -> None:
        """The slices; times of all events are given up on the way."""
        trace, columns = self._trace, self._scanned.columns
        timed = (columns["flags"][rows] & HAS_DURATION) > 0
        trace.negative = int((timed & (self._length[rows] < 0)).sum())
        np.maximum(self._length, 0, out=self._length)
        self._length[rows[~timed]] = 0
        rows = self._in_time(rows)
        found = trace.slices
        found["duration_ns"] = narrow(self._length[rows])
        self._length = self._length[:0].copy()
        found["start_ns"] = self._start[rows]
        self._start = self._start[:0].copy()
        for name, rest in (("start", self._start_rest), ("duration", self._length_rest)):
            is_zero = not rest.flags.writeable
            found[f"{name}_rest_ps"] = rest[: len(rows)] if is_zero else rest[rows]
        found["place"] = narrow(self._place_of[rows])
        found["kind"], found["category"] = self._kinds(rows)
        found["name"] = self._names(rows)
        args = trace.args = EventArgs(self._scanned, rows)
        found["external"] = narrow(args.numbers("External id", "external id"))
        said = narrow(args.numbers("correlation"))  # ROCm's old recorders say External id only
        found["correlation"] = said if (said >= 0).any() else found["external"]
        self._move_annotations()

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
        kind[columns["phase"][rows] != _SLICE] = KIND[OTHER]
        return kind, narrow(place)[category]

    def _in_time(self, rows: I32) -> I32:
        """The slices by time, containers first, however the file orders them.

        Only of those that a viewer derived from planes the file's order tells which of two equal
        spans holds the other.
        """
        start = self._start[rows]
        rows = rows[np.argsort(start, kind="stable")]
        start = self._start[rows]
        same = np.zeros(len(rows), bool)
        same[1:] = start[1:] == start[:-1]
        tied = np.flatnonzero(same | np.append(same[1:], False))
        if len(tied):
            some = rows[tied]
            if self._trace.has_planes:
                rows[tied] = some[np.lexsort((some, -self._length[some], self._start[some]))]
                return rows
            names = self._scanned.columns["name"][some]
            used, inverse = np.unique(names, return_inverse=True)
            raw = [self._texts.raw(number) for number in used.tolist()]
            rank = np.empty(len(raw), np.int64)
            rank[sorted(range(len(raw)), key=raw.__getitem__)] = np.arange(len(raw))
            number = EventArgs(self._scanned, some).numbers("External id", "correlation")
            kind = self._kinds(some)[0]
            keys = (rank[inverse], number, kind, -self._length[some], self._start[some])
            rows[tied] = some[np.lexsort(keys)]
        return rows

    def _move_annotations(self) -> None:
        """Annotations that 2021's files have among the ops."""
        slices = self._trace.slices
        marks = [name.startswith(categories.ANNOTATIONS) for name in self._trace.names]
        is_mark = np.asarray(marks or [False], bool)[slices["name"]]
        slices["kind"][is_mark & (slices["kind"] == KIND["op"])] = KIND["annotation"]

    def _memory(self, rows: I64) -> None:
        rows = rows[np.argsort(self._start[rows], kind="stable")]
        args = EventArgs(self._scanned, rows)
        size = np.zeros(len(rows), np.int64)
        at, values = args.rows("Bytes")
        size[at] = values
        device_type = args.numbers("Device Type")
        self._trace.memory = {
            "place": self._place_of[rows],
            "start_ns": self._start[rows],
            "address": args.numbers("Addr"),
            "bytes": size,
            "allocated": args.numbers("Total Allocated"),
            "reserved": args.numbers("Total Reserved"),
            "device": args.numbers("Device Id"),
            "device_type": np.where(device_type == NONE, 0, device_type),
        }

    def _flows(self, rows: I64) -> None:
        columns = self._scanned.columns
        wanted = [
            number
            for number in np.unique(columns["category"][rows]).tolist()
            if self._texts.string(number) in categories.ARROWS_TO_BACKWARD
        ]
        rows = rows[np.isin(columns["category"][rows], wanted)]
        self._trace.flows = {
            "place": self._place_of[rows],
            "start_ns": self._start[rows],
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
                "start_ns": self._start[rows][[row for row, _, _ in found]],
                "value": np.asarray([value for _, _, value in found], np.float64),
                "label": np.asarray([_label(names[row], key) for row, key, _ in found], object),
            }
            if found
            else {}
        )

    def _metadata(self, rows: I64) -> None:
        """Names of processes and threads."""
        trace, columns = self._trace, self._scanned.columns
        args = EventArgs(self._scanned, rows)
        for place, number, name in zip(
            self._place_of[rows].tolist(),
            columns["name"][rows].tolist(),
            args.values("name", np.arange(len(rows))),
            strict=True,
        ):
            if not isinstance(name, str):
                continue
            what = self._texts.string(number)
            if what == "thread_name":
                trace.thread_names[trace.places[place]] = name
            elif what == "process_name":
                trace.process_names[trace.places[place][0]] = name


def _to_ns(time: NDArray[Any], is_ps: Bool) -> tuple[I64, NDArray[np.int16]]:
    """Times as the nearest ns, and what is left of those that are known to the ps."""
    time = time.astype(np.int64, copy=False)
    rows = np.flatnonzero(is_ps)
    # Hardly a file has any: then all are the same zero, which cannot be written.
    rest = np.zeros(len(time), np.int16) if len(rows) else np.broadcast_to(_NO_REST, len(time))
    if len(rows):
        exact = time[rows]
        time[rows] = exact // 1000 + (exact % 1000 >= 500)
        rest[rows] = exact - time[rows] * 1000
    return time, rest


def _label(name: str, key: str) -> str:
    return name if key in ("value", name) else f"{name}: {key}"
