"""What launched each event of a device: the call, the ranges around it, and the op they make."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.columns import coded_rows, innermost, nest
from stepscope.formats.launched.ranges import Ranges
from stepscope.formats.launched.recorded import I64, NONE, Bool, HostEvents, LaunchedRecording
from stepscope.formats.xspace.line_parts import by_place

_NO_PART: Final = re.compile(r"[^\w.-]+")
_ANY_TYPE: Final = re.compile(r"[a-z_][a-z0-9_]*")
_ASCII_TYPE: Final = re.compile(r"[A-Z_]\w*", re.ASCII)
_NUMBER: Final = re.compile(r"[_.-]?\d+$")
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

    def of(self, launch: I64) -> I64:
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


class Scopes:
    """The ranges of all threads, and which of them are around a moment of a thread.

    Args:
        recorded: The recording.
        ranges: What its range names say.
    """

    def __init__(self, recorded: LaunchedRecording, ranges: Ranges) -> None:
        tables = [one for one in recorded.host if one.kind == "range"]
        self._ranges = ranges
        self._name = _joined(tables, "name")
        self._thread = _joined(tables, "thread")
        self._start = _joined(tables, "start_ns")
        self._end = self._start + _joined(tables, "duration_ns")
        self._op = self._ops()

    def around(self, wanted: Bool, thread: I64, time_ns: I64) -> I64:
        """For each moment the innermost of the wanted ranges around it, ``NONE`` for none.

        Args:
            wanted: Which names count, by code.
            thread: Where to look.
            time_ns: When; a range is around its own begin, but not its end.
        """
        found = np.full(len(time_ns), NONE, np.int64)
        rows = np.flatnonzero(wanted[self._name]) if len(self._name) else self._name
        of_thread = dict(by_place(self._thread, rows))
        for where, asked in by_place(thread, np.arange(len(time_ns))):
            own = of_thread.get(where)
            if own is not None:
                at = innermost(self._start[own], self._end[own], time_ns[asked])
                found[asked] = np.where(at >= 0, own[at], NONE)
        return found

    def name_of(self, row: I64) -> I64:
        """The code of each range's name; ``NONE`` stays."""
        return np.where(row >= 0, np.append(self._name, NONE)[row], NONE)

    def ops(self, thread: I64, time_ns: I64) -> tuple[I64, list[str]]:
        """The op at each moment of a thread: a code, ``NONE`` outside of any, and their texts."""
        every = np.ones(len(self._ranges.labels), bool)
        row = self.around(every, thread, time_ns)
        codes, texts = self._op
        return np.where(row >= 0, np.append(codes, NONE)[row], NONE), texts

    def _ops(self) -> tuple[I64, list[str]]:
        """The op that a range makes of what is launched in it: a framework's, or its path."""
        chain = np.full(len(self._name), NONE, np.int64)
        parent = self._parents()
        pairs: list[tuple[int, int]] = []
        counts, is_op = self._ranges.counts, self._ranges.is_op
        depth = np.zeros(len(self._name), np.int64)
        has = parent >= 0
        # Chains are made level by level, the outermost ranges first.
        for _ in range(_DEEPEST):
            deeper = np.where(has, depth[parent] + 1, 0)
            if (deeper == depth).all():
                break
            depth = deeper
        for level in range(int(depth.max(initial=0)) + 1):
            rows = np.flatnonzero(depth == level)
            before = np.where(has[rows], chain[parent[rows]], NONE)
            name = self._name[rows]
            # An op says by itself what it is; steps and epochs do not belong to what runs in them.
            before = np.where(is_op[name], NONE, before)
            (outers, inners), inverse = coded_rows(before, name)
            codes = []
            for outer, code in zip(outers.tolist(), inners.tolist(), strict=True):
                if counts[code]:
                    pairs.append((outer, code))
                    codes.append(len(pairs) - 1)
                else:
                    codes.append(outer)
            chain[rows] = np.asarray(codes, np.int64)[inverse] if codes else chain[rows]
        return chain, [self._text(pairs, code) for code in range(len(pairs))]

    def _parents(self) -> I64:
        """The range around each range, ``NONE`` for the outermost."""
        parent = np.full(len(self._name), NONE, np.int64)
        for _, rows in by_place(self._thread, np.arange(len(self._name))):
            start, length = self._start[rows], self._end[rows] - self._start[rows]
            line = np.asarray([0, len(rows)], np.int64)
            inner = nest(start, length, line).parent.astype(np.int64)
            parent[rows] = np.where(inner >= 0, rows[inner], NONE)
        return parent

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


def _joined(tables: list[HostEvents], column: str) -> I64:
    return np.concatenate([np.zeros(0, np.int64), *(getattr(one, column) for one in tables)])
