"""What launched each event of a device: the call, the ranges around it, and the op they make."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import coded_rows, innermost, nest
from stepscope.formats.launched.ranges import Ranges
from stepscope.formats.launched.recorded import (
    I64,
    NONE,
    Bool,
    HostEvents,
    Ints,
    LaunchedRecording,
)
from stepscope.formats.xspace.merged_line import Rows, places
from stepscope.formats.xspace.plane_writer import in_order
from stepscope.records import dataclass

_NO_PART: Final = re.compile(r"[^\w.-]+")
_ANY_TYPE: Final = re.compile(r"[a-z_][a-z0-9_]*")
_ASCII_TYPE: Final = re.compile(r"[A-Z_]\w*", re.ASCII)
_NUMBER: Final = re.compile(r"[_.-]?\d{1,20}$")
_DEEPEST: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class LaunchCalls:
    """The calls that launched something, one for each launch number, sorted by it.

    Attributes:
        launch, thread, start_ns: Of each call.
    """

    launch: I64
    thread: I64
    start_ns: I64

    def of(self, launch: Ints) -> I64:
        """The call of each launch number, ``NONE`` where none was recorded."""
        if not len(self.launch):
            return np.full(len(launch), NONE, np.int64)
        at = np.minimum(np.searchsorted(self.launch, launch), len(self.launch) - 1)
        return np.where((self.launch[at] == launch) & (launch > 0), at, NONE)


def calls_of(recorded: LaunchedRecording) -> LaunchCalls:
    """The calls of a recording; of several with one number the outermost."""
    tables = [one for one in recorded.host if one.kind == "call" and len(one.launch)]
    if not tables:
        empty = np.zeros(0, np.int64)
        return LaunchCalls(empty, empty, empty)
    launch = np.concatenate([one.launch for one in tables])
    thread = np.concatenate([one.thread for one in tables])
    start = np.concatenate([one.start_ns for one in tables])
    order = np.lexsort((start, launch))
    order = order[launch[order] > 0]
    first = np.ones(len(order), bool)
    first[1:] = launch[order][1:] != launch[order][:-1]
    kept = order[first]
    return LaunchCalls(launch[kept], thread[kept], start[kept])


@dataclass(frozen=True, slots=True, eq=False)
class _ThreadRanges:
    """The ranges of one thread, by start, the outer before the inner.

    Attributes:
        start_ns, end_ns, name: Of each.
        parent: The range around each, ``NONE`` for the outermost.
        op: The op that each makes of what is launched in it, ``NONE`` for none.
    """

    start_ns: I64
    end_ns: I64
    name: Ints
    parent: Ints
    op: Ints

    def around(self, time_ns: I64) -> I64:
        """The innermost range around each moment, ``NONE`` for none."""
        at: I64 = np.searchsorted(self.start_ns, time_ns, side="right") - 1
        while True:
            over = np.flatnonzero(at >= 0)
            over = over[self.end_ns[at[over]] <= time_ns[over]]
            if not len(over):
                return at
            at[over] = self.parent[at[over]]


class Scopes:
    """The ranges of all threads, and which of them are around a moment of a thread.

    Args:
        recorded: The recording.
        ranges: What its range names say.
    """

    def __init__(self, recorded: LaunchedRecording, ranges: Ranges) -> None:
        self._ranges = ranges
        self._pairs: list[tuple[int, int]] = []
        self._codes: dict[tuple[int, int], int] = {}
        parts: dict[int, list[tuple[HostEvents, Rows]]] = {}
        for table in recorded.host:
            if table.kind == "range":
                for thread, rows in places(table.thread).items():
                    parts.setdefault(thread, []).append((table, rows))
        self._of_thread = {thread: self._ranges_of(own) for thread, own in parts.items()}
        self._op_texts = [self._text(self._pairs, code) for code in range(len(self._pairs))]

    def names_around(self, wanted: Bool, thread: Ints, time_ns: I64) -> I64:
        """For each moment the name of the innermost of the wanted ranges around it.

        Args:
            wanted: Which names count, by code.
            thread: Where to look.
            time_ns: When; a range is around its own begin, but not its end.

        Returns: Codes, ``NONE`` for none.
        """
        found = np.full(len(time_ns), NONE, np.int64)
        for where, asked in places(thread).items():
            own = self._of_thread.get(where)
            if own is not None:
                rows = np.flatnonzero(wanted[own.name])
                at = innermost(own.start_ns[rows], own.end_ns[rows], time_ns[asked])
                names = np.append(own.name[rows], NONE)
                found[asked] = names[at]
        return found

    def ops(self, thread: Ints, time_ns: I64) -> tuple[I64, list[str]]:
        """The op at each moment of a thread: a code, ``NONE`` outside of any, and their texts."""
        found = np.full(len(time_ns), NONE, np.int64)
        for where, asked in places(thread).items():
            own = self._of_thread.get(where)
            if own is not None:
                found[asked] = np.append(own.op, NONE)[own.around(time_ns[asked])]
        return found, self._op_texts

    def _ranges_of(self, parts: list[tuple[HostEvents, Rows]]) -> _ThreadRanges:
        start = _joined([table.start_ns[rows] for table, rows in parts]).astype(
            np.int64, copy=False
        )
        length = _joined([table.duration_ns[rows] for table, rows in parts]).astype(np.int64)
        name = _joined([table.name[rows] for table, rows in parts])
        order = in_order(start, length)
        if order is not None:
            start, length, name = start[order], length[order], name[order]
        nesting = nest(start, length, np.asarray([0, len(start)], np.int64))
        depth = np.minimum(nesting.depth, _DEEPEST).astype(np.int8)
        op = self._ops(name, nesting.parent, depth)
        return _ThreadRanges(start, start + length, name, nesting.parent, op)

    def _ops(self, name: Ints, parent: Ints, depth: Ints) -> Ints:
        """The op that each range makes of what is launched in it: a framework's, or its path."""
        chain = np.full(len(name), NONE, np.int32)
        counts, is_op = self._ranges.counts, self._ranges.is_op
        # Chains are made level by level, the outermost ranges first.
        for _, rows in sorted(places(depth).items()):
            names, around = name[rows], parent[rows]
            before = np.where(around >= 0, chain[around], NONE)
            # An op says by itself what it is; steps and epochs do not belong to what runs in them.
            before = np.where(is_op[names], NONE, before)
            (outers, inners), inverse = coded_rows(before, names)
            codes = [
                self._code((outer, code)) if counts[code] else outer
                for outer, code in zip(outers.tolist(), inners.tolist(), strict=True)
            ]
            chain[rows] = np.asarray(codes, np.int32)[inverse]
        return chain

    def _code(self, pair: tuple[int, int]) -> int:
        """The code of a range within a chain; a new one where nothing was there before."""
        code = self._codes.get(pair)
        if code is None:
            code = self._codes[pair] = len(self._pairs)
            self._pairs.append(pair)
        return code

    def _text(self, pairs: list[tuple[int, int]], code: int) -> str:
        """A chain of ranges as an op: ``forward/layer_3/attention:attention``."""
        if self._ranges.is_op[pairs[code][1]]:
            return self._ranges.labels[pairs[code][1]]
        parts: list[str] = []
        while code >= 0 and len(parts) < _DEEPEST:
            code, name = pairs[code]
            label = self._ranges.labels[name]
            if self._ranges.is_op[name]:
                parts.append(label.partition(":")[0])
                break
            parts.append(_NO_PART.sub("_", label).strip("_.-") or "range")
        parts.reverse()
        path = "/".join(parts)
        return f"{path}:{_type(path, _NUMBER.sub('', path.rpartition('/')[2]))}"


def _type(path: str, name: str) -> str:
    """The name of a range as the type of an op, in a spelling that every reader takes for one."""
    plain = re.sub(r"[.-]", "_", name)
    if _ANY_TYPE.fullmatch(plain) or (path.isascii() and _ASCII_TYPE.fullmatch(plain)):
        return plain
    return plain.lower() if _ANY_TYPE.fullmatch(plain.lower()) else "range"


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
