"""The slices of a trace as the writers of planes look at them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct_codes, one_of
from stepscope.formats.kineto.reading.categories import KIND
from stepscope.formats.kineto.reading.texts import whole as whole_of
from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.packed import narrow
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.line_parts import stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.records import dataclass

I32 = NDArray[np.int32]
Bool = NDArray[np.bool_]
_OF_THE_PROCESS: Final = ("op", "annotation", "runtime", "python")
#: Numbers that planes tell in stats of their own, in names or by order.
_READ_ELSEWHERE: Final = frozenset(
    {
        "External id",
        "external id",
        "correlation",
        "Record function id",
        "Sequence number",
        "Python id",
        "Python parent id",
        "bytes",
        "graph node id",
        "memory bandwidth (GB/s)",
    }
)
_MOST_OTHERS: Final = 40
_FEW_ROWS: Final = 1024
_THREAD_NAME: Final = re.compile(r"thread -?\d+ \((.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class CodedIds:
    """What rows have by a column that repeats: nothing is kept per row but that column.

    Attributes:
        code: A number per row, -1 for none.
        ids: By number, or by place in ``used``; the last is that of -1.
        used: The numbers that have an id, ascending; None if ``ids`` has every number's.
    """

    code: NDArray[Any]
    ids: I32
    used: I64 | None = None

    def of(self, rows: NDArray[np.integer[Any]]) -> I32:
        """The ids of some of the rows; of those that nobody announced, that of -1."""
        # 64 bits: codes have as few as they need, and the number of ids may be one too many.
        last = np.int64(len(self.ids) - 1)
        if not last:
            return np.full(len(rows), self.ids[0])
        code = self.code[rows]
        if self.used is not None:
            at, is_used = _places(self.used, code)
            code = np.where(is_used, at, last)
        found: I32 = self.ids[np.minimum(code, last)]
        return found

    def stat(self, name: str, rows: NDArray[np.integer[Any]]) -> list[Stat]:
        """A stat whose values are texts of these ids, of the rows that have one."""
        ids = self.of(rows)
        return stat_of(name, ids, ids > 0, is_text=True)


def coded_ids(code: NDArray[Any], rows: I64, number: Callable[[int], int]) -> CodedIds:
    """Ids by code, asked once for each code that these rows have."""
    codes = code[rows]
    if len(codes) < _FEW_ROWS:
        # A table of all codes for each of many devices would have devices times codes.
        few = sorted(set(codes.tolist()) - {-1})
        of_none = number(-1) if -1 in codes else 0
        return CodedIds(
            code, np.asarray([*map(number, few), of_none], np.int32), np.asarray(few, np.int64)
        )
    used, place = distinct_codes(codes)
    ids = np.zeros(len(place), np.int32)
    ids[used] = np.asarray([number(one) for one in used.tolist()], np.int32)
    return CodedIds(code, ids)


@dataclass(frozen=True, slots=True, eq=False)
class RowNumbers:
    """Numbers that some slices have.

    Attributes:
        rows: The slices, ascending.
        values: The number of each.
    """

    rows: NDArray[np.int32]
    values: NDArray[Any]

    def stat(self, name: str, wanted: NDArray[np.integer[Any]]) -> list[Stat]:
        """A stat of those of the wanted slices, which ascend, that have a number."""
        mine: NDArray[np.int32] = wanted.astype(np.int32, copy=False)
        # The fewer are looked for among the more: many lines cost no more than one.
        if len(self.rows) <= len(mine):
            at, has = _places(mine, self.rows)
            at, values = at[has], self.values[has]
        else:
            at, has = _places(self.rows, mine)
            at, values = np.flatnonzero(has), self.values[at[has]]
        return [Stat(name, values, at.astype(np.int32))] if len(at) else []


def row_numbers(rows: NDArray[np.integer[Any]], values: NDArray[Any]) -> RowNumbers:
    """Numbers of slices in any order; of two that one slice has, the last counts."""
    order = np.argsort(rows, kind="stable")
    rows = rows[order].astype(np.int32)
    last = np.append(rows[1:] != rows[:-1], True)[: len(rows)]
    values = values[order[last]]
    return RowNumbers(rows[last], values if values.dtype.kind == "f" else narrow(values))


def _places(among: NDArray[np.integer[Any]], wanted: NDArray[np.integer[Any]]) -> tuple[I64, Bool]:
    """Where each wanted number stands among others, both ascending, and whether it does."""
    at = np.searchsorted(among, wanted)
    if not len(among):
        return at, np.zeros(len(at), bool)
    at[at == len(among)] = 0
    return at, among[at] == wanted


class Slices:
    """Columns of a trace's slices, and what their numbers stand for.

    Attributes:
        names, places: What ``name`` and ``place`` count.
        process: The pid of the recorded process; 0 when nothing of it was recorded.
        args: Their arguments.
    """

    def __init__(self, trace: Trace) -> None:
        self.names: list[str] = trace.names
        self.places: list[tuple[Any, Any]] = trace.places
        self.args = trace.args
        columns = trace.slices
        self.name, self.place, self.kind = columns["name"], columns["place"], columns["kind"]
        self.start_ns, self.duration_ns = columns["start_ns"], columns["duration_ns"]
        self.start_rest_ps = columns["start_rest_ps"]
        self.duration_rest_ps = columns["duration_rest_ps"]
        self.external, self.correlation = columns["external"], columns["correlation"]
        self._thread_names = trace.thread_names
        self._others: list[tuple[str, RowNumbers]] | None = None
        self.process = self.main_process()

    def __len__(self) -> int:
        return len(self.name)

    def is_kind(self, *kinds: str) -> Bool:
        """Which slices are of one of these kinds."""
        return one_of(self.kind, [KIND[kind] for kind in kinds])

    def rows(self, *kinds: str) -> I64:
        """The rows of these kinds."""
        return np.flatnonzero(self.is_kind(*kinds))

    def of_name(self, test: Callable[[str], bool]) -> Bool:
        """Which slices have a name that passes a test; it is asked once per name."""
        passes = np.asarray([test(name) for name in self.names] or [False], dtype=bool)
        found: Bool = passes[self.name]
        return found

    def thread(self, place: int) -> tuple[int, str]:
        """Id and name of the line of a thread."""
        pid, tid = self.places[place]
        number = whole(tid)
        if number and number == self.process:
            return number, "python"  # as TensorFlow calls the main thread
        said = self._thread_names.get((pid, tid), "")
        found = _THREAD_NAME.fullmatch(said)
        name = found[1] if found else said
        return number, name or f"thread {number}"

    def name_ids(self, plane: PlaneWriter, rows: I64, rename: Callable[[str], str]) -> CodedIds:
        """Ids of the names of slices on a plane.

        Args:
            plane: Whose names they are to be.
            rows: The slices that will be asked about.
            rename: What a name becomes; the old one is then shown, but for annotations of ours.
        """

        def number(code: int) -> int:
            old = self.names[code]
            new = rename(old)
            is_coded = new != old and not old.endswith("#")
            return plane.name(new, display=old if is_coded else "")

        return coded_ids(self.name, rows, number)

    def text_ids(
        self, plane: PlaneWriter, code: NDArray[Any], rows: I64, text: Callable[[int], str]
    ) -> CodedIds:
        """Ids of texts on a plane (0: none).

        Args:
            plane: Whose texts they are to be.
            code: A number per row, -1 for none.
            rows: The rows that will be asked about.
            text: What a number means; it is asked once per number, "" is none.
        """

        def number(one: int) -> int:
            said = text(one) if one >= 0 else ""
            return plane.text(said) if said else 0

        return coded_ids(code, rows, number)

    def other_numbers(self, rows: NDArray[np.integer[Any]]) -> list[Stat]:
        """Stats of what some slices say in numbers that nothing else has read."""
        if self._others is None:
            found = self.args.others(_READ_ELSEWHERE)
            self._others = [
                (key, row_numbers(owners, values))
                for key, owners, values in islice(found, _MOST_OTHERS)
            ]
        return [stat for key, numbers in self._others for stat in numbers.stat(key, rows)]

    def main_process(self) -> int:
        """The pid of the first thread whose calls were recorded; 0 without any."""
        for place in np.unique(self.place[self.rows(*_OF_THE_PROCESS)]).tolist():
            pid = self.places[place][0]
            if isinstance(pid, int) and pid > 0:
                return pid
        return 0


def match(known: I64, wanted: I64) -> tuple[I64, Bool]:
    """For each wanted number the place of its last equal in ``known``, and whether it has one."""
    if not len(known):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known[order], wanted, side="right") - 1
    found = order[np.maximum(at, 0)]
    return found, (at >= 0) & (known[found] == wanted)


def unsigned(numbers: NDArray[Any]) -> NDArray[Any]:
    """The numbers as unsigned ones of the same width, which is how links are written."""
    return numbers.view(f"u{numbers.dtype.itemsize}")


def whole(value: object) -> int:
    """A number of the file; 0 for what is none."""
    return whole_of(value, 0)
