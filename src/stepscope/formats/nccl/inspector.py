"""A log of NCCL's Inspector as a ``Space``: each collective with its time on the GPU.

A log is JSON objects one after the other. When a collective ran is in it with
``NCCL_INSPECTOR_DUMP_VERBOSE=1`` alone; else only when it was written down, and those written
together are placed one after the other before that moment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from stepscope.columns import by_place
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.format import Input
from stepscope.formats.json_parts import Parts
from stepscope.formats.nccl.flight import text_of, whole
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.formats.xspace.written import space_of
from stepscope.limits import json_value
from stepscope.schema import names

TITLE: Final = "a log of NCCL's Inspector"
_LACKS: Final = (
    "Imported from a log of NCCL's Inspector. It has collectives alone, by default those of 8 KiB "
    "and more: no other kernels, ops and steps."
)
_VERSION: Final = re.compile(rb'"inspector_output_format_version"\s*:\s*"([\w.]{1,20})"')
_GATHERS: Final = re.compile("gather|scatter", re.IGNORECASE)
_REACH_US: Final = 1 << 41  # 25 days
_LONGEST_US: Final = 1 << 40
_MOST_PROCESSES: Final = 1 << 10
_MOST_RANKS: Final = 1 << 20
_MOST_BYTES: Final = 1 << 42


def writer_of(first: bytes) -> str:
    """Who wrote a log, by its first bytes."""
    found = _VERSION.search(first)
    return f"NCCL Inspector {found[1].decode()}" if found else "NCCL Inspector"


def open_log(pieces: Input, *, file: str) -> Space:
    """The collectives in a log.

    Args:
        pieces: The file.
        file: Name for reports.

    Raises:
        FormatError: It is not a log, or has no collective.
    """
    log = _Log()
    parts = Parts(pieces, frozenset())
    for record in parts.documents():
        log.add(record)
    if not log.count:
        raise FormatError(
            TITLE,
            parts.damage or "it has no collectives",
            file=file,
            hint="The Inspector omits small messages and those that it cannot time on the GPU.",
        )
    host = PlaneWriter(names.HOST_PLANE)
    host.stat(names.IMPORTED, _LACKS)
    return space_of([host, *log.planes()], warnings=list(log.warnings(parts.damage)))


class _Log:
    """Records as columns, in the order of the file."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, ...]] = []
        self._said: dict[str, int] = {}
        self._processes: dict[tuple[str, int], int] = {}
        self._communicators: dict[tuple[int, str, str], int] = {}
        self._unknown = self._untimed = self._on_cpu = 0

    @property
    def count(self) -> int:
        """Collectives so far."""
        return len(self._rows)

    def add(self, record: Any) -> None:
        """One record; what is none is counted."""
        one = _Record.of(record)
        if one is None:
            self._unknown += 1
            return
        process = self._processes.setdefault(one.process, len(self._processes))
        if process >= _MOST_PROCESSES:
            self._unknown += 1
            return
        line = self._communicators.setdefault(
            (process, one.communicator, one.group), len(self._communicators)
        )
        said = self._said.setdefault(one.arguments(), len(self._said))
        self._untimed += one.start_us < 0
        self._on_cpu += "cpu" in one.source
        self._rows.append((line, said, one.number, one.start_us, one.dumped_us, one.length_us))

    def planes(self) -> Iterator[PlaneWriter]:
        """A plane for each process, which has one GPU to NCCL, a line for each communicator."""
        line, said, number, start, dumped, length = np.asarray(self._rows, np.int64).T
        start = np.where(start >= 0, start, _before(line, number, dumped, length))
        middle = int(np.sort(start)[len(start) // 2])
        start = np.clip(start, middle - _REACH_US, middle + _REACH_US)
        texts = list(self._said)
        of_process = np.asarray([one[0] for one in self._communicators])
        labels = list(self._communicators)
        for process in range(len(self._processes)):
            plane = PlaneWriter(f"{names.GPU_PLANE}{process}", id=process + 1)
            for row, mine in by_place(line, np.flatnonzero(of_process[line] == process)):
                used, inverse = np.unique(said[mine], return_inverse=True)
                called = [json_value(texts[code])["Collective name"] for code in used.tolist()]
                metadata = plane.names(f"nccl:{one}" for one in called)[inverse]
                arguments = plane.texts(texts[code] for code in used.tolist())[inverse]
                _, communicator, group = labels[row]
                plane.line(
                    row + 1,
                    f"Stream #{row + 1}({group or communicator or 'communicator'})",
                    metadata=metadata,
                    start_ns=start[mine] * 1000,
                    duration_ns=length[mine] * 1000,
                    stats=[
                        Stat(names.COLLECTIVE_NUMBER, number[mine]),
                        Stat(names.ARGUMENTS, arguments, is_text=True),
                    ],
                )
            yield plane

    def warnings(self, damage: str) -> Iterator[str]:
        """What a reader of numbers must know."""
        if damage:
            yield f"The text cannot be read to its end ({damage}): collectives are missing."
        if self._untimed:
            yield (
                f"When {self._untimed:,} collectives ran is not in the log, only how long: they "
                "stand one after the other before the moment they were written down. "
                "NCCL_INSPECTOR_DUMP_VERBOSE=1 writes their times."
            )
        if self._on_cpu:
            yield f"{self._on_cpu:,} collectives were timed on the CPU, launch included."
        if self._unknown:
            yield f"{self._unknown:,} records are not collectives; they are left out."


def _before(line: I64, number: I64, dumped: I64, length: I64) -> I64:
    """Starts of collectives that end, one after the other, when they were written down."""
    order = np.lexsort((number, dumped, line))
    after = np.cumsum(length[order][::-1])[::-1]  # from each to the end of all
    is_last = np.ones(len(order), bool)
    same = (line[order][1:] == line[order][:-1]) & (dumped[order][1:] == dumped[order][:-1])
    is_last[:-1] = ~same
    last = np.flatnonzero(is_last)[np.searchsorted(np.flatnonzero(is_last), np.arange(len(order)))]
    beyond = np.append(after, 0)[last + 1]
    start = np.empty(len(order), np.int64)
    start[order] = dumped[order] - (after - beyond)
    return start


class _Record:
    """A collective, or a message from one rank to another, of one communicator."""

    def __init__(self, header: dict[str, Any], metadata: dict[str, Any]) -> None:
        self.process = text_of(metadata.get("hostname")), whole(metadata.get("pid"))
        self.communicator = text_of(header.get("id"))
        name = text_of(header.get("comm_name"))
        self.group = "" if name == "unknown" else name
        self.ranks = min(max(whole(header.get("n_ranks")), 0), _MOST_RANKS)
        self.dumped_us = whole(metadata.get("dump_timestamp_us"))
        self.collective = self.source = ""
        self.number = self.bytes = self.length_us = self.start_us = -1

    @classmethod
    def of(cls, record: Any) -> _Record | None:
        """The record of an object of the log; None for what is none."""
        parts = [record.get(key) for key in ("header", "metadata")] if _is(record) else []
        if not parts or not all(map(_is, parts)):
            return None
        one = cls(*parts)
        for prefix in ("coll", "p2p"):
            found = record.get(f"{prefix}_perf")
            if _is(found):
                one._take(prefix, found)
        is_one = one.collective and 0 <= one.length_us < _LONGEST_US and one.dumped_us > 0
        return one if is_one else None

    def _take(self, prefix: str, found: dict[str, Any]) -> None:
        self.collective = text_of(found.get(prefix)).lower()
        self.number = whole(found.get(f"{prefix}_sn"))
        self.length_us = whole(found.get(f"{prefix}_exec_time_us"))
        self.source = text_of(found.get(f"{prefix}_timing_source"))
        self.bytes = min(max(whole(found.get(f"{prefix}_msg_size_bytes")), 0), _MOST_BYTES)
        rate = found.get(f"{prefix}_algobw_gbs")
        is_gather = _GATHERS.search(self.collective) is not None
        if is_gather and isinstance(rate, (int, float)) and 0 <= rate < _MOST_BYTES:
            self._set_message(rate * 1e3 * self.length_us)
        times = found.get("event_trace_ts")
        if isinstance(times, dict):
            self.start_us = whole(times.get(f"{prefix}_start_ts"))

    def _set_message(self, moved: float) -> None:
        """Of what all give to all the message is everybody's: the bandwidth tells which it is."""
        everybodys = self.bytes * max(self.ranks, 1)
        if abs(moved - everybodys) < abs(moved - self.bytes):
            self.bytes = everybodys

    def arguments(self) -> str:
        """What recordings of PyTorch say of a collective, as JSON."""
        return json.dumps(
            {
                "Collective name": self.collective,
                "Group size": self.ranks,
                "In msg nelems": self.bytes,
                "Out msg nelems": self.bytes,
                "dtype": "Byte",
                "Process Group Name": self.communicator,
                "Process Group Description": self.group,
                **({"Timing": self.source} if self.source else {}),
            }
        )


def _is(value: Any) -> bool:
    return isinstance(value, dict)
