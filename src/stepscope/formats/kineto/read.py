"""Kineto's trace JSON into columns, piece by piece: about 3 µs and 100 bytes an event.

Kineto writes one event after the other in a fixed layout, so the text can be cut between events
and parsed in pieces of some megabytes: the JSON objects of a piece are gone before the next one
is read. Text laid out differently is parsed whole.
"""

from __future__ import annotations

import gc
import json
import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from stepscope.formats.kineto.launches import kernel_details, launch_key, memcpy_details
from stepscope.formats.xspace.event_bytes import I64

_PIECE_BYTES: Final = 4 << 20
_CUT: Final = b"\n  },\n  {"
_BEGIN: Final = b'"traceEvents":'
_UNFINISHED: Final = b'"finished": false'
_ADDRESS: Final = b'"Addr": '
_PHASE: Final = b'"ph": "'
_RANGE: Final = b'"ph": "X"'
_NAMED: Final = re.compile(rb'"name": ("(?:[^"\\]|\\.)*")')
_NAMES: Final = 5
NONE: Final = -1

# Categories by what they mean; the second spelling is that of 2021.
CATEGORIES: Final = {
    "cpu_op": "op",
    "Operator": "op",
    "user_annotation": "annotation",
    "python_function": "python",
    "cuda_runtime": "runtime",
    "cuda_driver": "runtime",
    "Runtime": "runtime",
    "xpu_runtime": "runtime",
    "mtia_runtime": "runtime",
    "privateuse1_runtime": "runtime",
    "privateuse1_driver": "runtime",
    "overhead": "overhead",
    "kernel": "kernel",
    "Kernel": "kernel",
    "gpu_memcpy": "copy",
    "Memcpy": "copy",
    "gpu_memset": "copy",
    "Memset": "copy",
    "gpu_user_annotation": "scope",
}
KINDS: Final = tuple(dict.fromkeys(CATEGORIES.values()))
_KIND: Final = {kind: number for number, kind in enumerate(KINDS)}
_KIND_OF: Final = {category: _KIND[kind] for category, kind in CATEGORIES.items()}
_WITH_CORRELATION: Final = frozenset({_KIND["runtime"], _KIND["kernel"], _KIND["copy"]})


class Index(dict[Any, int]):
    """Numbers in order of first sight."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


@dataclass
class Columns:
    """Growing columns of one kind of record: a list of arrays each."""

    parts: dict[str, list[I64]] = field(default_factory=dict)

    def add(self, **columns: Any) -> None:
        """Append one piece, all columns of one length."""
        for name, values in columns.items():
            self.parts.setdefault(name, []).append(np.asarray(values, dtype=np.int64))

    def __getitem__(self, name: str) -> I64:
        parts = self.parts.get(name, ())
        if len(parts) > 1:
            self.parts[name] = [np.concatenate(parts)]
        return self.parts[name][0] if parts else np.empty(0, np.int64)


@dataclass
class Trace:
    """A recording as columns.

    Attributes:
        head: What stands beside the events (``deviceProperties``, versions …).
        names: Event names; ``slices["name"]`` counts them.
        places: (pid, tid) pairs; ``slices["place"]`` counts them.
        texts: Texts of shapes and launches; ``slices["text"]`` counts them.
        slices: name, place, kind (of ``KINDS``), start_ns, duration_ns (absolute), external,
            correlation, text (-1: none).
        memory: place, start_ns, address, bytes (negative: freed), allocated, reserved (-1: not
            said), device, device_type.
        flows: place, start_ns, id, is_end of forward-backward arrows.
        thread_names: By place.
        lost: Events that made no sense.
    """

    head: dict[str, Any] = field(default_factory=dict)
    names: Index = field(default_factory=Index)
    places: Index = field(default_factory=Index)
    texts: Index = field(default_factory=Index)
    slices: Columns = field(default_factory=Columns)
    memory: Columns = field(default_factory=Columns)
    flows: Columns = field(default_factory=Columns)
    thread_names: dict[tuple[Any, Any], str] = field(default_factory=dict)
    lost: int = 0


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
                    found[json.loads(name[1]) if name else "an op"] = None
            at = text.find(_UNFINISHED, at + 1)
    return tuple(found)


def read(path: Path) -> Trace:
    """The recording in a file.

    Raises:
        ValueError: It is no trace JSON.
    """
    trace = Trace()
    reader = _Reader(trace)
    with path.open("rb") as file, _without_collector():
        head = b""
        while _BEGIN not in head:
            piece = file.read(_PIECE_BYTES)
            if not piece:
                raise ValueError("it holds no traceEvents")
            head += piece
        before, _, rest = head.partition(_BEGIN)
        trace.head = _head(before)
        reader.base_ns = _whole(trace.head.get("baseTimeNanoseconds"))
        rest = rest.lstrip()[1:]  # the bracket
        was_cut = False
        while True:
            cut = rest.rfind(_CUT)
            if cut >= 0:
                was_cut = True
                reader.take_text(rest[: cut + 4])
                rest = rest[cut + 6 :]
            piece = file.read(_PIECE_BYTES)
            if not piece:
                break
            rest += piece
    if was_cut:
        last, tail = _parted(rest)
        reader.take_text(last)
    else:
        tail = _whole_text(path)
        reader.take(tail.pop("traceEvents", []))
    for key, value in tail.items():
        trace.head.setdefault(key, value)
    if not reader.base_ns:
        # Files that went through another program may have it behind the events.
        _move(trace, _whole(trace.head.get("baseTimeNanoseconds")))
    return trace


def _whole_text(path: Path) -> dict[str, Any]:
    """The file parsed at once, for layouts other than Kineto's own."""
    with _without_collector():
        found = json.loads(path.read_bytes(), strict=False)
    if not isinstance(found, dict) or not isinstance(found.get("traceEvents"), list):
        raise ValueError("its traceEvents are no list")
    return found


@contextmanager
def _without_collector() -> Iterator[None]:
    """The collector walks all objects of the program again and again while many are made."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _head(text: bytes) -> dict[str, Any]:
    try:
        head = json.loads(text + b'"traceEvents": []}', strict=False)
    except ValueError:
        return {}
    return head if isinstance(head, dict) else {}


def _parted(text: bytes) -> tuple[bytes, dict[str, Any]]:
    """The events before the end of their list, and what stands behind it."""
    end = text.rfind(b"\n  ]")
    if end < 0:
        end = text.rfind(b"]")
    if end < 0:
        return text, {}
    try:
        tail = json.loads(b'{"":0' + text[end:].lstrip()[1:], strict=False)
    except ValueError:
        tail = {}
    tail.pop("", None)
    return text[:end], tail


def _move(trace: Trace, base_ns: int) -> None:
    for columns in (trace.slices, trace.memory, trace.flows):
        columns.parts["start_ns"] = [part + base_ns for part in columns.parts.get("start_ns", ())]


class _Reader:
    """Pieces of JSON into the columns of a trace.

    Attributes:
        base_ns: What times count from.
    """

    def __init__(self, trace: Trace) -> None:
        self.base_ns = 0
        self._trace = trace
        self._launches: dict[tuple[Any, ...], int] = {}

    def take_text(self, text: bytes) -> None:
        """One piece: whole events with commas between."""
        text = text.strip().strip(b",")
        if not text:
            return
        try:
            events = json.loads(b"[" + text + b"]", strict=False)
        except ValueError:
            events = list(self._one_by_one(text))
        self.take(events)

    def take(self, events: list[Any]) -> None:
        """Parsed events; those that make no sense are counted and left out."""
        if not _all_make_sense(events):
            events = [one for one in events if self._makes_sense(one)]
        by_phase: dict[str, list[dict[str, Any]]] = {}
        for one in events:
            by_phase.setdefault(one["ph"], []).append(one)
        self._add_slices([one for one in by_phase.get("X", ()) if one.get("cat") in _KIND_OF])
        self._add_memory([one for one in by_phase.get("i", ()) if one["name"] == "[memory]"])
        arrows = by_phase.get("s", []) + by_phase.get("f", [])
        self._add_flows([one for one in arrows if one.get("cat") in ("fwdbwd", "forward_backward")])
        for one in by_phase.get("M", ()):
            if one["name"] == "thread_name":
                name = str((one.get("args") or {}).get("name", ""))
                self._trace.thread_names[one["pid"], one["tid"]] = name

    def _one_by_one(self, text: bytes) -> Iterator[Any]:
        """The events that can be parsed where one of them cannot."""
        # Without the outermost braces, each part is what stands between the braces of one event.
        for body in text.strip()[1:-1].split(_CUT):
            try:
                yield json.loads(b"{" + body + b"}", strict=False)
            except ValueError:
                self._trace.lost += 1

    def _makes_sense(self, one: Any) -> bool:
        good = (
            isinstance(one, dict)
            and isinstance(one.get("name"), str)
            and isinstance(one.get("ph"), str)
            and isinstance(one.get("ts", 0), (int, float))
            and isinstance(one.get("dur", 0), (int, float))
            and isinstance(one.get("pid", 0), (int, str))
            and isinstance(one.get("tid", 0), (int, str))
            and isinstance(one.get("args"), (dict, type(None)))
            and (one["ph"] == "M" or "ts" in one)
        )
        if not good:
            self._trace.lost += 1
        return good

    def _times(self, events: list[dict[str, Any]]) -> I64:
        """Absolute ns; fractions of a µs are exact, also where µs count from 1970."""
        stamps = [one["ts"] for one in events]
        whole = np.asarray([int(stamp) for stamp in stamps], dtype=np.int64)
        rest = np.asarray(stamps, dtype=np.float64) - whole
        return self.base_ns + whole * 1000 + np.rint(rest * 1000).astype(np.int64)

    def _places(self, events: list[dict[str, Any]]) -> list[int]:
        places = self._trace.places
        return [places[one.get("pid", 0), one.get("tid", 0)] for one in events]

    def _add_slices(self, events: list[dict[str, Any]]) -> None:
        if not events:
            return
        names = self._trace.names
        kinds = [_KIND_OF[one["cat"]] for one in events]
        args = [one.get("args") or {} for one in events]
        self._trace.slices.add(
            name=[names[one["name"]] for one in events],
            place=self._places(events),
            kind=kinds,
            start_ns=self._times(events),
            duration_ns=np.rint(
                np.asarray([one.get("dur", 0) for one in events], dtype=np.float64) * 1000
            ),
            external=[
                _whole(one.get("External id", one.get("external id", NONE)), NONE) for one in args
            ],
            correlation=[
                _whole(one.get("correlation", NONE), NONE) if kind in _WITH_CORRELATION else NONE
                for kind, one in zip(kinds, args, strict=True)
            ],
            text=[
                self._text(kind, event["name"], one)
                for kind, event, one in zip(kinds, events, args, strict=True)
            ],
        )

    def _text(self, kind: int, name: str, args: dict[str, Any]) -> int:
        """The text that goes with an event: its shapes, or how it was launched."""
        if kind == _KIND["op"]:
            dims = args.get("Input Dims")
            return self._trace.texts[str(dims)] if dims else NONE
        if kind == _KIND["copy"]:
            size = args.get("bytes")
            details = memcpy_details(name, _whole(size) if size is not None else None, 0)
            return self._trace.texts[details]
        if kind not in (_KIND["kernel"], _KIND["runtime"]):
            return NONE
        key = launch_key(args)
        if key is None:
            return NONE
        known = self._launches.get(key)
        if known is None:
            known = self._launches[key] = self._trace.texts[kernel_details(key)]
        return known

    def _add_memory(self, events: list[dict[str, Any]]) -> None:
        if not events:
            return
        args = [one.get("args") or {} for one in events]

        def column(name: str, absent: int = NONE) -> list[int]:
            return [_whole(one.get(name, absent), absent) for one in args]

        self._trace.memory.add(
            place=self._places(events),
            start_ns=self._times(events),
            address=column("Addr"),
            bytes=column("Bytes", 0),
            allocated=column("Total Allocated"),
            reserved=column("Total Reserved"),
            device=column("Device Id"),
            device_type=column("Device Type", 0),
        )

    def _add_flows(self, events: list[dict[str, Any]]) -> None:
        if not events:
            return
        self._trace.flows.add(
            place=self._places(events),
            start_ns=self._times(events),
            id=[_whole(one.get("id"), NONE) for one in events],
            is_end=[one["ph"] == "f" for one in events],
        )


def _all_make_sense(events: list[Any]) -> bool:
    """The same question for all at once: a third of the cost of asking one by one."""
    numbers, keys = {int, float}, {int, str}
    try:
        return (
            {type(one["name"]) for one in events} <= {str}
            and {type(one["ph"]) for one in events} <= {str}
            and {type(one["ts"]) for one in events} <= numbers
            and {type(one.get("dur", 0)) for one in events} <= numbers
            and {type(one.get("pid", 0)) for one in events} <= keys
            and {type(one.get("tid", 0)) for one in events} <= keys
            and {type(one.get("args")) for one in events} <= {dict, type(None)}
        )
    except (TypeError, KeyError, AttributeError):
        return False


def _whole(value: Any, absent: int = 0) -> int:
    """A number of the file as an int64; ``absent`` for anything else."""
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, int) and value < 2**64:
        return value - 2**64  # addresses are unsigned
    return absent
