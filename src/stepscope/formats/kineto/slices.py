"""The slices of a trace as the writers of planes look at them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.kineto.categories import KIND
from stepscope.formats.kineto.event_rows import distinct_codes
from stepscope.formats.kineto.read import Trace
from stepscope.formats.kineto.texts import whole as whole_of
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.line_parts import stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat

I32 = NDArray[np.int32]
Bool = NDArray[np.bool_]
_OF_THE_PROCESS: Final = ("op", "annotation", "runtime")
#: Numbers that planes tell in stats of their own, in names or by order.
_READ_ELSEWHERE: Final = frozenset(
    {
        "External id", "external id", "correlation", "Record function id", "Sequence number",
        "Python id", "Python parent id", "bytes", "graph node id", "memory bandwidth (GB/s)",
    }
)  # fmt: skip
_MOST_OTHERS: Final = 40
_THREAD_NAME: Final = re.compile(r"thread -?\d+ \((.*)\)", re.DOTALL)


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
        self._others: list[tuple[str, NDArray[np.int32], NDArray[Any]]] | None = None
        self.process = self._main_process()

    def __len__(self) -> int:
        return len(self.name)

    def is_kind(self, *kinds: str) -> Bool:
        """Which slices are of one of these kinds."""
        found: Bool = np.isin(self.kind, [KIND[kind] for kind in kinds])
        return found

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

    def renamed(
        self, plane: PlaneWriter, rows: I64, rename: Callable[[str], str], into: I32
    ) -> None:
        """Put the ids of the rows' names on a plane into ``into``.

        Args:
            plane: Whose names they are to be.
            rows: Which slices.
            rename: What a name becomes; the old one is then shown, but for annotations of ours.
            into: One id per slice.
        """
        mine = self.name[rows]
        used, place = distinct_codes(mine)
        ids = []
        for code in used.tolist():
            old = self.names[code]
            new = rename(old)
            is_coded = new != old and not old.endswith("#")
            ids.append(plane.name(new, display=old if is_coded else ""))
        if ids:
            into[rows] = np.asarray(ids, np.int32)[place][mine]

    def text_ids(
        self, plane: PlaneWriter, code: NDArray[Any], rows: I64, text: Callable[[int], str]
    ) -> I32:
        """Per slice the id of a text on a plane (0: none).

        Args:
            plane: Whose texts they are to be.
            code: A number per slice, -1 for none.
            rows: Which slices.
            text: What a number means; it is asked once per number, "" is none.
        """
        found = np.zeros(len(self), np.int32)
        mine = code[rows]
        used, place = distinct_codes(mine)
        texts = [text(number) if number >= 0 else "" for number in used.tolist()]
        ids = [plane.text(one) if one else 0 for one in texts]
        if ids:
            found[rows] = np.asarray(ids, np.int32)[place][mine]
        return found

    def other_numbers(self, rows: NDArray[np.integer[Any]]) -> list[Stat]:
        """Stats of what some slices say in numbers that nothing else has read."""
        if self._others is None:
            self._others = []
            for key, owners, values in self.args.others(_READ_ELSEWHERE):
                order = np.argsort(owners, kind="stable")
                self._others.append((key, owners[order].astype(np.int32), values[order]))
                if len(self._others) == _MOST_OTHERS:
                    break
        found: list[Stat] = []
        for key, known, values in self._others:
            at = np.searchsorted(known, rows, side="right") - 1
            has = (at >= 0) & (known[np.maximum(at, 0)] == rows)
            found += stat_of(key, values[at], has)
        return found

    def _main_process(self) -> int:
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
