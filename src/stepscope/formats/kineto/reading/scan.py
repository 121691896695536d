"""A JSON trace, piece by piece, into columns: neither its text nor its objects are ever whole.

The text comes in pieces (inflated where need be). The keys beside the events are parsed by
``json``; the events are read by a compiled kernel (``columns/json_kernel.py``), which cares about
JSON's grammar alone: any layout, any order of keys, the list of events first or last.
"""

from __future__ import annotations

import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import one_of
from stepscope.formats.kineto.reading.categories import ARROWS_TO_BACKWARD
from stepscope.formats.kineto.reading.event_rows import EventRows, OwnValues, ValueRows
from stepscope.formats.kineto.reading.texts import TraceTexts, lenient_json
from stepscope.kernels import core
from stepscope.records import dataclass

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]

#: Keys of ``args`` whose values hardly repeat: rows of their own, as numbers.
OWN_KEYS: Final = (
    "External id", "external id", "correlation", "Record function id", "Sequence number",
    "Addr", "Bytes", "Total Allocated", "Total Reserved", "Python id", "Python parent id",
    "bytes", "graph node id", "Seq", "ptr", "size",
    "wait_on_cuda_event_record_corr_id", "memory bandwidth (GB/s)",
)  # fmt: skip
#: Keys whose numbers repeat from event to event, like texts.
CHAIN_KEYS: Final = (
    "device", "context", "stream", "queued", "registers per thread", "shared memory",
    "blocks per SM", "warps per SM", "est. achieved occupancy %", "priority", "cbid", "cid",
    "Fwd thread id", "Device Type", "Device Id", "Group size", "Rank", "In msg nelems",
    "Out msg nelems", "graph id", "Python module id", "Python thread", "hsa_queue", "channel",
    "Process Group Name", "Src Rank", "Dst Rank", "Global rank start", "Global rank stride",
    "wait_on_stream", "sort_index", "num_warps", "num_stages",
)  # fmt: skip
#: Keys that say nothing another does not.
DROPPED_KEYS: Final = ("Ev Idx", "Profiler Event Index", "External ts", "external ts")

_EVENTS: Final = "traceEvents"
_EMPTY: Final = b" \t\r\n,\0"
_EVENTS_KEY: Final = re.compile(rb'"traceEvents"\s*:\s*\[')
_BASE_KEY: Final = re.compile(rb'"baseTimeNanoseconds"\s*:\s*"?(\d{1,20})')
_BASE: Final = "baseTimeNanoseconds"
_KEY: Final = re.compile(rb'"((?:[^"\\]|\\.){0,1000})"\s*:\s*', re.DOTALL)
_BLANK: Final = re.compile(rb"[\s,\x00]*")
_PIECE_BYTES: Final = 1 << 20
_LONGEST_HEAD_BYTES: Final = 64 << 20
_TAIL_BYTES: Final = 1 << 16
_EVENT_ROWS: Final = 1 << 15
_VALUE_ROWS: Final = 1 << 18
_TOKENS: Final = 1 << 19
_COLUMNS: Final = {
    "phase": np.uint8,
    "flags": np.uint8,
    "category": np.int32,
    "name": np.int32,
    "pid": np.int32,
    "tid": np.int32,
    "ident": np.int64,
    "chain": np.int32,
    "values": np.int32,
    "start": np.int64,
    "duration": np.int64,
}
_VALUES: Final = {"key": np.int32, "kind": np.uint8, "number": np.int64}
_ARROWS: Final = tuple(map(ord, "stf"))
#: ``flags``: whether there is a start and a duration, and whether it is in ps instead of ns.
HAS_START: Final = 1
HAS_DURATION: Final = 2
START_IN_PS: Final = 4
DURATION_IN_PS: Final = 8
#: A slice written as a begin and an end: of two equal ones the first to begin holds the other.
HAS_END: Final = 16


@dataclass
class TraceDamage:
    """What was wrong with a text, each kind counted.

    Attributes:
        lost: Events that could not be read.
        repaired: Events read in spite of quotes or backslashes that were not escaped.
        words: Values that are not JSON (``inf``, ``N/A``), taken as unknown.
        times: Times that are not numbers or out of range.
        garbage: Places between events with other bytes.
        head: Values beside the events that could not be read.
        is_cut: Whether the text ends before its list of events does.
        after: Bytes after the end of the text, as of a second one.
    """

    lost: int = 0
    repaired: int = 0
    words: int = 0
    times: int = 0
    garbage: int = 0
    head: int = 0
    is_cut: bool = False
    after: int = 0


@dataclass
class Scanned:
    """The events of a trace as columns, and what its numbers stand for.

    Attributes:
        head: The keys beside the events.
        texts: Every distinct text; columns hold their numbers, -1 for none;
            ``ident`` is the number of an arrow itself.
        columns: phase, flags, category, name, pid, tid, ident, chain, values (how many values
            of its own an event has), start, duration (ns), each in the narrowest integers.
        arrows: How many arrows there are of each category (by its text) that no reader follows:
            they are not among the events.
        own: Values with rows of their own, by kind (``event_rows``).
        before, link_key, link_text: The chains' links; -1 ends a chain.
        damage: What was wrong.
    """

    head: dict[str, Any]
    texts: TraceTexts
    columns: dict[str, NDArray[Any]]
    arrows: dict[int, int]
    own: dict[int, OwnValues]
    before: I32
    link_key: I32
    link_text: I32
    damage: TraceDamage

    def __len__(self) -> int:
        return len(self.columns["phase"])


def scan(pieces: Iterable[bytes]) -> Scanned:
    """The events of a trace whose text comes in pieces.

    Raises:
        ValueError: It holds no list of events.
    """
    return _Scan(iter(pieces)).run()


class _Scan:
    """The state of one pass over a text."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._data = b""
        self._at = 0
        self._is_final = False
        self._head: dict[str, Any] = {}
        self._damage = TraceDamage()
        self._found_events = False
        self._block = {name: np.empty(_EVENT_ROWS, kind) for name, kind in _COLUMNS.items()}
        self._value_block = {name: np.empty(_VALUE_ROWS, kind) for name, kind in _VALUES.items()}
        self._events = EventRows(_COLUMNS)
        self._values = ValueRows()
        self._arrows: dict[int, int] = {}
        known = (*OWN_KEYS, *CHAIN_KEYS, *DROPPED_KEYS)
        classes = [1] * len(OWN_KEYS) + [2] * len(CHAIN_KEYS) + [3] * len(DROPPED_KEYS)
        kinds = (np.uint8, np.int32, np.int32, np.int32, np.int32)
        self._tokens = tuple(np.empty(_TOKENS, kind).data for kind in kinds)
        self._scanner = core.json.EventScanner(self._tokens)
        self._reader = core.json_values.ValueReader(
            np.asarray(classes, np.uint8).data, int.from_bytes(os.urandom(8), "big") >> 1
        )
        self._arena = np.empty(0, np.uint8)
        self._begin = np.zeros(1, np.int64)
        self._hashes = np.empty(0, np.uint64)
        self._links = [np.empty(0, np.int32) for _ in range(3)]
        self._more_texts()
        self._more_chains()
        self._fresh_rows()
        for key in known:
            self._intern(key)
        self._followed = [self._intern(name) for name in sorted(ARROWS_TO_BACKWARD)]

    def _intern(self, text: str) -> int:
        number: int = self._reader.text(memoryview(json.dumps(text).encode()))
        return number

    def run(self) -> Scanned:
        """The whole text."""
        self._top()
        if not self._found_events:
            raise ValueError("it holds no traceEvents")
        self._keep_rows()
        damage = self._damage
        scanner, reader = self._scanner, self._reader
        damage.lost, damage.repaired, damage.garbage = (
            scanner.lost,
            scanner.repaired,
            scanner.garbage,
        )
        damage.words, damage.times = reader.words, reader.times
        size = int(self._begin[reader.texts])
        texts = TraceTexts(self._arena[:size].tobytes(), self._begin[: reader.texts + 1].copy())
        self._arena, self._hashes = np.empty(0, np.uint8), np.empty(0, np.uint64)
        before, link_key, link_text = (links[: reader.chains].copy() for links in self._links)
        # Room for what is read next is given up before columns are joined, which takes as much.
        del scanner, reader, self._scanner, self._reader, self._tokens, self._links
        del self._block, self._value_block
        self._data = b""
        return Scanned(
            self._head,
            texts,
            self._events.columns(),
            self._arrows,
            self._values.by_kind(),
            before,
            link_key,
            link_text,
            damage,
        )

    # --- the text ---------------------------------------------------------------------------

    def _more(self) -> bool:
        """Read on and drop what comes before the place; False at the end."""
        if self._is_final:
            return False
        piece = next(self._pieces, None)
        if piece is None:
            self._is_final = True
            self._data, self._at = self._data[self._at :], 0
            return False
        parts: list[bytes | memoryview] = [memoryview(self._data)[self._at :], piece]
        size = len(parts[0]) + len(piece)
        # Short pieces are joined: an event at their edge is read again.
        while size < _PIECE_BYTES and (piece := next(self._pieces, None)) is not None:
            parts.append(piece)
            size += len(piece)
        self._data, self._at = b"".join(parts), 0
        return True

    def _blank(self) -> int:
        """The next byte that is neither white space nor a comma; -1 at the end."""
        while True:
            found = _BLANK.match(self._data, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._data):
                return self._data[self._at]
            if not self._more():
                return -1

    def _top(self) -> None:
        if self._blank() == 0xEF:
            while len(self._data) - self._at < len(BOM_UTF8) and self._more():
                pass  # the mark may go on in the next piece
            self._at = min(self._at + len(BOM_UTF8), len(self._data))
        first = self._blank()
        if first == ord("["):
            self._at += 1
            self._read_events()
            self._found_events = self._reader.row >= 0 or self._events.count > 0
            self._count_after()
            return
        if first == ord("{"):
            self._at += 1
        while (byte := self._blank()) != -1 and byte != ord("}"):
            if not self._member():
                return
        self._at += byte != -1
        self._count_after()

    def _count_after(self) -> None:
        """Count what follows the whole text; a crash may leave zeros there."""
        while not self._damage.is_cut:
            rest = self._data[self._at :]
            self._damage.after += len(rest if self._damage.after else rest.lstrip(_EMPTY))
            self._at = len(self._data)
            if not self._more():
                return

    def _member(self) -> bool:
        """One key of the outermost object, and its value; False if nothing more can be read."""
        found = _KEY.match(self._data, self._at)
        while found is None or found.end() + 1 >= len(self._data):
            if len(self._data) - self._at > _LONGEST_HEAD_BYTES or not self._more():
                break
            found = _KEY.match(self._data, self._at)
        if found is None:
            return self._search()
        key = found[1].decode("utf-8", "replace")
        begin = found.end()
        if key == _EVENTS and self._data[begin : begin + 1] == b"[":
            self._at = begin + 1
            self._read_events()
            return True
        end = self._value_end(begin - self._at)
        if end < 0:
            return self._search()
        try:
            self._head[key] = lenient_json(self._data[self._at + begin - found.start() : end])
        except ValueError:
            self._damage.head += 1
        self._at = end
        return True

    def _value_end(self, offset: int) -> int:
        """Where the value ends that begins this many bytes from here; negative if nowhere."""
        while True:
            begin = self._at + offset
            end: int = self._scanner.skip(
                memoryview(self._data), begin, len(self._data), self._is_final
            )
            if end >= 0 and (end < len(self._data) or self._is_final):
                return end
            if end < -1 or len(self._data) - begin > _LONGEST_HEAD_BYTES or not self._more():
                return end

    def _search(self) -> bool:
        """Go on at the list of events, wherever it is: what comes before it is not JSON."""
        self._damage.head += 1
        while True:
            found = _EVENTS_KEY.search(self._data, self._at)
            if found is not None:
                self._at = found.end()
                self._read_events()
                return True
            base = _BASE_KEY.search(self._data, self._at)
            if base is not None:
                self._head.setdefault(_BASE, int(base[1]))
            self._at = max(self._at, len(self._data) - _TAIL_BYTES)
            if not self._more():
                return False

    # --- the events -------------------------------------------------------------------------

    def _read_events(self) -> None:
        self._found_events = True
        scanner = self._scanner
        while True:
            data = memoryview(self._data)
            scanner.scan(data, self._at, len(self._data), self._is_final)
            self._at = scanner.at
            self._read_values(data)
            if scanner.reason == 1:
                return
            if scanner.reason == 0:
                if self._is_final:
                    break
                self._more()
        self._damage.is_cut = True
        base = _BASE_KEY.search(self._data, max(0, len(self._data) - _TAIL_BYTES))
        if base is not None:
            self._head.setdefault(_BASE, int(base[1]))

    def _read_values(self, data: memoryview) -> None:
        """The tokens that were found; rows that are whole make room for the next."""
        reader, tokens = self._reader, self._scanner.tokens
        reader.token = 0
        more = {1: self._keep_rows, 2: self._more_texts, 3: self._more_chains}
        while True:
            reader.fill(data, self._tokens, tokens)
            if reader.reason == 0:
                return
            more[reader.reason]()

    def _keep_rows(self) -> None:
        """Keep the block's events, but for arrows to devices: calls and correlations say the same.

        They are a third of the events of most files.
        """
        count, block = self._reader.row + 1, self._block
        values = {
            name: column[: self._reader.value_row] for name, column in self._value_block.items()
        }
        category = block["category"][:count]
        left_out = one_of(block["phase"][:count], _ARROWS) & ~np.isin(category, self._followed)
        for one, times in zip(*np.unique(category[left_out], return_counts=True), strict=True):
            self._arrows[int(one)] = self._arrows.get(int(one), 0) + int(times)
        row = (np.cumsum(~left_out, dtype=np.int32) - 1) + self._events.count
        owner = np.repeat(row.astype(np.int32), block["values"][:count])
        if left_out.any():
            is_kept = np.repeat(~left_out, block["values"][:count])
            owner, values = owner[is_kept], {name: one[is_kept] for name, one in values.items()}
        self._values.keep(values["key"], values["kind"], values["number"], owner)
        self._events.keep(block, np.flatnonzero(~left_out))
        self._fresh_rows()

    def _fresh_rows(self) -> None:
        columns = [*self._block.values(), *self._value_block.values()]
        reals = self._value_block["number"].view(np.float64)
        self._reader.room_for_events(tuple(one.data for one in (*columns, reals)))

    def _more_texts(self) -> None:
        """Twice the room for texts, and never less than the longest event could need."""
        count = max(2 * len(self._hashes), 1 << 14)
        self._arena = _grown(self._arena, 2 * len(self._arena) + (4 << 20))
        self._begin = _grown(self._begin, count + 1)
        self._hashes = _grown(self._hashes, count)
        self._reader.room_for_texts(
            self._arena.data, self._begin.data, self._hashes.data, _slots(count)
        )

    def _more_chains(self) -> None:
        count = max(2 * len(self._links[0]), 1 << 14)
        self._links = [_grown(links, count) for links in self._links]
        before, keys, texts = self._links
        self._reader.room_for_chains(before.data, keys.data, texts.data, _slots(count))


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    grown = np.empty(size, array.dtype)
    grown[: len(array)] = array
    return grown


def _slots(count: int) -> memoryview:
    """An empty table of places, half of which will be taken at most; a power of two."""
    return np.full(2 * count, -1, np.int32).data
