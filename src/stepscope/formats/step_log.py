"""Step logs (``stepscope record --steps-log``, ``stepscope.init(log=…)``): a line per chunk.

A line is ``{"stepscope_steps":1,"crc":"…","chunk":{…},"rows":{…},"values":{…},"devices":{…}}``.
``chunk`` is the summary, ``rows`` has a column per quantity, ``values`` row and mean of the values
of the program, ``devices`` readings such as power, and energy in J since the chunk before.
The checksum is the CRC-32 of the text after it. A process appends whole lines, so only the last one
is broken if the process writes on or was killed.

Beside it lies a file of summaries (``SUMMARY``), 64 bytes per chunk: 1,000 ranks of 100,000 steps
have 4 GB of lines, and 320 MB of summaries.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepscope.errors import FormatError
from stepscope.formats.format import Format, Identity, Input, Peek
from stepscope.formats.kineto.recognise import identity
from stepscope.limits import current, json_value
from stepscope.records import dataclass
from stepscope.schema import names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stepscope.columns.space import Space
    from stepscope.formats.xspace.plane_writer import PlaneWriter

#: Ending of the files of summaries.
SUMMARY_ENDING: Final = ".stepsums"
#: A chunk: times since 1970, steps before it, sums over its steps, and the processor time of its
#: process since the chunk before. A cut record lacks the mark.
SUMMARY: Final = np.dtype(
    [
        ("begin_ns", "<i8"),
        ("end_ns", "<i8"),
        ("first", "<i8"),
        ("sum_us", "<i8"),
        ("wait_us", "<i8"),
        ("cpu_us", "<i8"),
        ("memory", "<i8"),
        ("steps", "<i4"),
        ("mark", "<u4"),
    ]
)
_MARK: Final = 0x53544550
_ENDING: Final = re.compile(r"\.(steps|steplog|log|jsonl|json)(\.gz)?$", re.IGNORECASE)
_CHECKSUM_END: Final = len(names.STEP_LOG_HEAD) + len('"01234567",')
# No writer of ours makes a longer line.
_MOST_LINE_BYTES: Final = 1 << 20
_COLUMNS: Final = ("steps", "begin_us", "sum_us", "max_us", "wait_us")
_PROCESS: Final = ("host", "rank", "process")
_US: Final = 1000
# Larger numbers are no times in µs, nor counts of steps; larger begins are after the year 2100.
_MOST_NUMBER: Final = 1 << 46
_MOST_BEGIN_NS: Final = 1 << 62


def _promises(name: str) -> bool:
    return bool(_ENDING.search(name))


def _starts(first: bytes) -> bool:
    return first.startswith(names.STEP_LOG_HEAD)


def _whose(name: str, first: bytes) -> Identity:
    return identity(_ENDING.sub("", name), b"")


def _writer(file: Peek) -> str:
    return "Stepscope"


def _open(pieces: Input, file: str) -> Space:
    log, broken = _Log(), 0
    for line in _lines(pieces):
        chunk = chunk_of(line)
        if chunk is None:
            broken += 1
        else:
            log.add(chunk)
    if not log.processes:
        raise FormatError(
            "a step log without steps",
            "None of its lines is whole.",
            file=file,
            hint="Run the program until its first steps have ended.",
        )
    notes = []
    if broken:
        lines = "line is" if broken == 1 else "lines are"
        notes.append(f"{broken:,} {lines} broken and left out: their steps are missing.")
    if missing := log.missing_steps():
        notes.append(
            f"{missing:,} steps are missing: the log had no room for them, or lost their lines."
        )
    hosts = dict.fromkeys(host for host, *_ in log.processes if host)
    from stepscope.formats.xspace.written import space_of

    return space_of([log.plane(), *log.steps_plane()], warnings=notes, hostnames=hosts)


def _lines(pieces: Input) -> Iterator[bytes]:
    """The lines, a torn last one included; of one without an end only its first bytes."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from filter(None, whole)
        rest = rest[:_MOST_LINE_BYTES]
    if rest:
        yield rest


def parsed(line: bytes) -> dict[str, Any] | None:
    """A line's content; None if it is torn or damaged."""
    text = line[_CHECKSUM_END:]
    checksum = line[len(names.STEP_LOG_HEAD) + 1 : _CHECKSUM_END - 2]
    if not line.startswith(names.STEP_LOG_HEAD) or checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        found = json_value(b"{" + text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A line of a step log.

    Attributes:
        process: Host, rank and number of the process; "" where it is not known.
        first: Steps before it.
        begin_ns: When its first step began, since 1970.
        memory_bytes: Resident memory of the process.
        columns: By name, a value of each row: ``steps`` that were put together, ``begin_us`` since
            ``begin_ns``, and ``sum_us``, ``max_us`` and ``wait_us`` of these steps.
        values: By name, row and mean of a value of the program.
        devices: Readings of devices by name.
    """

    process: tuple[str, ...]
    first: int
    begin_ns: int
    memory_bytes: int
    columns: dict[str, list[int]]
    values: dict[str, dict[int, float]]
    devices: dict[str, float]


def chunk_of(line: bytes) -> Chunk | None:
    """The chunk that a line holds; None if it is torn, damaged, or its numbers cannot be."""
    found = parsed(line) or {}
    try:
        chunk, rows = found["chunk"], found["rows"]
        columns = {name: [int(value) for value in rows[name]] for name in _COLUMNS}
        begin_ns, first, memory = (int(chunk[key]) for key in ("begin_ns", "first", "memory"))
        values = {
            str(name): {int(row): float(value) for row, value in pairs}
            for name, pairs in found.get("values", {}).items()
        }
        devices = {str(name): float(value) for name, value in found.get("devices", {}).items()}
        process = tuple(str(chunk.get(key, "")) for key in _PROCESS)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        return None
    if any(len(column) != len(columns["steps"]) for column in columns.values()):
        return None
    numbers = [first, memory, *(value for column in columns.values() for value in column)]
    if not (0 <= min(numbers) <= max(numbers) <= _MOST_NUMBER and 0 <= begin_ns <= _MOST_BEGIN_NS):
        return None
    return Chunk(process, first, begin_ns, memory, columns, values, devices)


def summary_of(chunk: dict[str, Any]) -> bytes:
    """The summary of a chunk, which is the ``chunk`` of its line.

    Raises:
        KeyError, TypeError, ValueError, OverflowError: It lacks a number, or one does not fit.
    """
    values = (chunk.get("cpu_us", 0) if name == "cpu_us" else chunk[name] for name in _SUMMED)
    return np.array([(*map(int, values), _MARK)], SUMMARY).tobytes()


_SUMMED: Final = (SUMMARY.names or ())[:-1]


def summaries_in(data: bytes) -> NDArray[Any]:
    """The whole records of a file of summaries, in the order of their ends."""
    found = np.frombuffer(data, SUMMARY, len(data) // SUMMARY.itemsize)
    good = (found["mark"] == _MARK) & (found["steps"] > 0) & (found["sum_us"] >= 0)
    good &= (found["begin_ns"] > 0) & (found["end_ns"] <= _MOST_BEGIN_NS)
    found = found if good.all() else found[good]
    is_ordered = (np.diff(found["end_ns"]) >= 0).all()
    return found if is_ordered else found[np.argsort(found["end_ns"], kind="stable")]


class _Log:
    """The rows of all processes of a file.

    Attributes:
        processes: Columns by process; a value of each row.
    """

    def __init__(self) -> None:
        self.processes: dict[tuple[Any, ...], dict[str, list[int]]] = {}
        self._values: dict[tuple[Any, ...], dict[str, dict[int, float]]] = {}

    def add(self, chunk: Chunk) -> None:
        """Take a chunk."""
        count = len(chunk.columns["steps"])
        current().spend("objects", count)
        into = self.processes.setdefault(chunk.process, defaultdict(list))
        values = self._values.setdefault(chunk.process, {})
        known = len(into["steps"])
        noted = {names.STEP_LOG_VALUE + name: rows for name, rows in chunk.values.items()}
        noted |= {names.STEP_LOG_DEVICE + name: {0: one} for name, one in chunk.devices.items()}
        for name, rows_of in noted.items():
            if name not in values and len(values) >= names.STEP_LOG_MOST_NAMES:
                continue
            kept = {row + known: value for row, value in rows_of.items() if 0 <= row < count}
            values.setdefault(name, {}).update(kept)
        steps = chunk.columns["steps"]
        into["number"] += (np.cumsum([0, *steps])[:-1] + chunk.first).tolist()
        into["begin_ns"] += [chunk.begin_ns + begin * _US for begin in chunk.columns["begin_us"]]
        into["memory"] += [chunk.memory_bytes] * count
        for name in ("steps", "sum_us", "max_us", "wait_us"):
            into[name] += chunk.columns[name]

    def missing_steps(self) -> int:
        """Count the steps that the numbers of the written ones leave out."""
        missing = 0
        for columns in self.processes.values():
            number, count = (np.asarray(columns[name], np.int64) for name in ("number", "steps"))
            gap = np.diff(number) - count[:-1]
            # A number that falls is of another process that had the same id.
            missing += int(gap[gap > 0].sum())
        return missing

    def plane(self) -> PlaneWriter:
        """A line per process."""
        from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat

        plane = PlaneWriter(names.STEP_LOG_PLANE)
        name = plane.name("steps")
        for number, (process, columns) in enumerate(self.processes.items(), 1):
            host, rank, pid = process
            stats = [
                Stat(stat, np.asarray(columns[column], np.int64))
                for stat, column in (
                    (names.STEP_NUM, "number"),
                    (names.STEP_LOG_STEPS, "steps"),
                    (names.STEP_LOG_SUM, "sum_us"),
                    (names.STEP_LOG_MAX, "max_us"),
                    (names.STEP_LOG_WAIT, "wait_us"),
                    (names.STEP_LOG_MEMORY, "memory"),
                )
            ]
            stats += [
                Stat(
                    value,
                    np.asarray(list(rows.values()), np.float64),
                    np.asarray(list(rows), np.int64),
                )
                for value, rows in self._values[process].items()
                if rows
            ]
            plane.line(
                number,
                f"rank {rank}" if rank else f"{host} {pid}",
                metadata=np.full(len(columns["steps"]), name),
                start_ns=np.asarray(columns["begin_ns"], np.int64),
                duration_ns=np.asarray(columns["sum_us"], np.int64) * _US,
                stats=stats,
            )
        return plane

    def steps_plane(self) -> Iterator[PlaneWriter]:
        """Steps as markers, for every tool that asks for steps, if each was logged by itself."""
        columns = next(iter(self.processes.values()))
        if len(self.processes) > 1 or max(columns["steps"]) > 1:
            return
        from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat

        plane = PlaneWriter(names.HOST_PLANE)
        count = len(columns["steps"])
        plane.line(
            1,
            "python",
            metadata=np.full(count, plane.name("train")),
            start_ns=np.asarray(columns["begin_ns"], np.int64),
            duration_ns=np.asarray(columns["sum_us"], np.int64) * _US,
            stats=[
                Stat(names.STEP_NUM, np.asarray(columns["number"], np.int64)),
                Stat(names.ROOT_LEVEL, np.ones(count, np.int64)),
            ],
        )
        yield plane


FORMATS = (
    Format(
        id="step-log",
        title="Stepscope step log",
        head_bytes=64,
        promises=_promises,
        starts=_starts,
        open=_open,
        writer=_writer,
        whose=_whose,
    ),
)
