"""The binary files of Python's own sampler (``python -m profiling.sampling run --binary``).

A header, the samples, a table of texts, a table of frames, a footer. A sample says how its thread's
stack differs from the one before, innermost frame first. Layout: CPython's
``InternalDocs/profiling_binary_format.md``, version 2.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Final, TypeVar

import numpy as np

from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.format import Input, Peek
from stepscope.formats.stacks.samples import (
    ROOT,
    SampledThread,
    StackFrame,
    Stacks,
    durations,
    to_space,
    within_reach,
)
from stepscope.limits import current
from stepscope.records import dataclass, field

T = TypeVar("T")

TITLE: Final = "a profile of Python's sampler"
_LACKS: Final = (
    "Imported from a binary profile of Python's profiling.sampling. Times are of the machine's "
    "clock since it started: when it was recorded is not in the file."
)
#: The first bytes, on machines of either byte order.
MAGICS: Final = {b"HCAT": "<", b"TACH": ">"}
HEADER: Final = "4sI4BQQQIQQII"
HEADER_BYTES, FOOTER_BYTES = 64, 32
_VERSION: Final = 2
_REPEAT, _FULL, _SUFFIX, _POP_PUSH = range(4)
_ZSTD: Final = 1
_REPLAY: Final = "Convert it: python -m profiling.sampling replay --gecko -o a.json FILE."


def open_file(pieces: Input, *, file: str) -> Space:
    """The samples of all threads; raises ``FormatError`` where there are none."""
    data = b"".join(pieces)
    header = Header.of(data[:HEADER_BYTES])
    if header is None:
        raise FormatError(TITLE, "its header is cut", file=file)
    if header.version != _VERSION:
        raise FormatError(
            TITLE, f"its version is {header.version}, not {_VERSION}", file=file, hint=_REPLAY
        )
    stacks = Stacks(TITLE, _LACKS)
    frames = _frames(data, header, stacks)
    packed = data[HEADER_BYTES : max(header.texts_at, HEADER_BYTES)]
    samples = _inflated(packed, file) if header.compression == _ZSTD else packed
    reader = _Samples(samples, header, stacks, frames)
    reader.read()
    if reader.is_broken or header.texts_at > len(data):
        stacks.warnings.append("The file is broken or cut: samples are missing.")
    if reader.unknown:
        stacks.warnings.append(f"{reader.unknown:,} frames are not in the file's table.")
    for (number, interpreter), one in reader.threads.items():
        start = within_reach(np.asarray(one.times_us, np.int64) * 1000)
        order = np.argsort(start, kind="stable")
        start, node = start[order], np.asarray(one.nodes, np.int64)[order]
        name = f"thread {number}" + (f" of interpreter {interpreter}" if interpreter else "")
        length = durations(start, header.interval_us * 1000)
        stacks.threads.append(SampledThread(number & ((1 << 63) - 1), name, start, length, node))
    return to_space(stacks, file=file)


def writer_of(file: Peek) -> str:
    """Which Python wrote a file; "" where its header is cut."""
    header = Header.of(file.at(0, HEADER_BYTES))
    return "" if header is None else f"Python {header.python} (profiling.sampling)"


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of itself.

    Attributes:
        order: Byte order, as ``struct`` has it.
        version: Of the format.
        python: Version of the interpreter.
        start_us: When sampling began, on the machine's clock.
        interval_us: Between two samples.
        texts_at, frames_at: Where the tables begin.
        compression: How the samples are stored.
    """

    order: str
    version: int
    python: str
    start_us: int
    interval_us: int
    texts_at: int
    frames_at: int
    compression: int

    @classmethod
    def of(cls, data: bytes) -> Header | None:
        """The header in a file's first bytes; None where it is none."""
        order = MAGICS.get(data[:4])
        if order is None or len(data) < HEADER_BYTES:
            return None
        (_, version, major, minor, micro, _, start, interval, _, _, texts, frames, packing, _) = (
            struct.unpack(order + HEADER, data)
        )
        longest = 1 << 50
        return cls(
            order,
            version,
            f"{major}.{minor}.{micro}",
            min(start, longest),
            min(interval, longest),
            texts,
            frames,
            packing,
        )


class _Bytes:
    """Reads numbers; raises ``IndexError`` at the end."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self._data, self.at, self.end = data, at, min(end, len(data))

    @property
    def left(self) -> int:
        return self.end - self.at

    def taken(self, count: int) -> bytes:
        if count > self.left:
            raise IndexError
        begin, self.at = self.at, self.at + count
        return self._data[begin : self.at]

    def number(self) -> int:
        """A number of seven bits a byte."""
        found = shift = 0
        while self.at < self.end and shift < 70:
            byte = self._data[self.at]
            self.at += 1
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
            shift += 7
        raise IndexError

    def signed(self) -> int:
        found = self.number()
        return found >> 1 ^ -(found & 1)


def _frames(data: bytes, header: Header, stacks: Stacks) -> list[int]:
    """The code of each frame of the table, as far as it goes."""
    footer = data[-FOOTER_BYTES:] if len(data) >= HEADER_BYTES + FOOTER_BYTES else bytes(8)
    texts_count, frames_count = struct.unpack_from(header.order + "II", footer)
    inside = _Bytes(data, header.texts_at, header.frames_at)
    texts = list(
        _entries(
            min(texts_count, len(data)),
            lambda: inside.taken(inside.number()).decode("utf-8", "replace"),
        )
    )
    table = _Bytes(data, header.frames_at, len(data))

    def frame() -> int:
        path, name = table.number(), table.number()
        line, *_ = (table.signed() for _ in range(4))
        table.taken(1)
        said, place = (texts[one] if one < len(texts) else "" for one in (name, path))
        return stacks.code(StackFrame(said, place, line if 0 < line < 1 << 31 else 0))

    return list(_entries(min(frames_count, len(data)), frame))


def _entries(count: int, read: Callable[[], T]) -> Iterator[T]:
    """So many entries of a table, or as many as there are."""
    for _ in range(count):
        try:
            entry = read()
        except IndexError:
            return
        yield entry


@dataclass
class _Thread:
    """A thread so far: the last sample's time, the nodes of its stack, outermost first, and all."""

    last_us: int
    path: list[int] = field(default_factory=list)
    times_us: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)

    def sampled(self, delta_us: int) -> None:
        """The stack as it is, so long after the sample before."""
        self.last_us += min(delta_us, 1 << 40)
        self.times_us.append(self.last_us)
        self.nodes.append(self.path[-1] if self.path else ROOT)


class _Samples:
    """Reads the samples.

    Attributes:
        threads: By number and interpreter.
        unknown: Frames that are not in the table.
        is_broken: Whether the samples end early.
    """

    def __init__(self, data: bytes, header: Header, stacks: Stacks, frames: list[int]) -> None:
        self._in, self._header = _Bytes(data, 0, len(data)), header
        self._tree, self._frames = stacks.tree, frames
        self.threads: dict[tuple[int, int], _Thread] = {}
        self.unknown = 0
        self.is_broken = False

    def read(self) -> None:
        """All samples, as far as they go."""
        head = struct.Struct(self._header.order + "QIB")
        while self._in.left:
            try:
                number, interpreter, kind = head.unpack(self._in.taken(head.size))
                thread = self.threads.setdefault(
                    (number, interpreter), _Thread(self._header.start_us)
                )
                self._record(thread, kind)
            except IndexError:
                self.is_broken = True
                return

    def _record(self, thread: _Thread, kind: int) -> None:
        if kind == _REPEAT:
            for _ in range(self._in.number()):
                delta = self._in.number()
                self._in.taken(1)
                thread.sampled(delta)
            return
        delta = self._in.number()
        self._in.taken(1)
        if kind == _FULL:
            kept = 0
        elif kind == _SUFFIX:
            kept = self._in.number()
        elif kind == _POP_PUSH:
            kept = max(len(thread.path) - self._in.number(), 0)
        else:
            raise IndexError
        del thread.path[kept:]
        for code in reversed(list(self._pushed(self._in.number()))):
            above = thread.path[-1] if thread.path else ROOT
            thread.path.append(self._tree.below(above, code) if code >= 0 else above)
        thread.sampled(delta)

    def _pushed(self, count: int) -> Iterator[int]:
        """The frames that a stack has more, innermost first; -1 for one that is unknown."""
        if count > self._in.left:
            raise IndexError
        for _ in range(count):
            number = self._in.number()
            is_known = number < len(self._frames)
            self.unknown += not is_known
            yield self._frames[number] if is_known else -1


def _inflated(data: bytes, file: str) -> bytes:
    """Samples that are stored in Zstandard's format, which Python reads since 3.14."""
    if find_spec("compression") is None:
        raise FormatError(
            TITLE,
            "its samples are compressed with Zstandard, which this Python cannot read",
            file=file,
            hint=f"Open it with Python 3.14 or later, or record with --compression none. {_REPLAY}",
        )
    zstd = import_module("compression.zstd")
    try:
        budget = current()
        most = budget.allowed("inflated") - budget.read_bytes
        found: bytes = zstd.ZstdDecompressor().decompress(data, most + 1)
        budget.read(len(found))
    except zstd.ZstdError as error:
        raise FormatError(TITLE, f"its samples do not inflate: {error}", file=file) from error
    return found
