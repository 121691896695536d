"""What samplers of stacks write: speedscope, Firefox, collapsed, pprof, perf, Python's binary.

Each is a file here that fills ``samples.Stacks``; what they have in common is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from stepscope.formats.format import Format, Input, Peek
from stepscope.schema.xspace import Wire
from stepscope.wire.read import fields

if TYPE_CHECKING:
    from stepscope.columns.space import Space

_HEAD_BYTES: Final = 1 << 14
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"
# A field 1 of two numbers: a type of samples. A plane of an XSpace has a text as its second field.
# Some writers put when and how often they looked before it.
_PPROF: Final = re.compile(
    rb"(?:[\x48\x50\x60\x70][\x80-\xff]{0,9}[\0-\x7f]){0,4}"
    rb"\n[\4-\x0a]\x08[\x80-\xff]{0,3}[\0-\x7f]\x10[\x80-\xff]{0,3}[\0-\x7f]"
)
# Fields of a profile; of those that begin with an id, which besides numbers they have.
_PROFILE_FIELDS: Final = {
    **dict.fromkeys((1, 2, 3, 4, 5, 6, 11), Wire.LEN),
    **dict.fromkeys((7, 8, 9, 10, 12, 13, 14, 15), Wire.VARINT),
}
_STRUCTURES: Final[dict[int, frozenset[int]]] = {
    3: frozenset(),
    4: frozenset({Wire.LEN}),
    5: frozenset(),
}
# Tags of what may come first besides a type of samples: a mapping, location, function or text,
# and when and how often the writer looked.
_PPROF_BEGINS: Final = (b"\x1a", b"\x22", b"\x2a", b"\x32", b"\x48", b"\x50", b"\x60", b"\x70")
_STACKS_PER_OTHER: Final = 5
# "python 4711/4712 [003] 12.345678:   10000 cycles:", and a frame below it.
PERF_HEAD: Final = re.compile(
    r"(?:(?P<process>\d{1,10})/)?(?P<thread>\d{1,10})\s{1,16}(?:\[\d{1,6}\]\s{1,16})?"
    r"(?P<whole>\d{1,10})\.(?P<part>\d{1,9}):"
)
PERF_FRAME: Final = re.compile(r"\s{1,64}[0-9a-f]{1,16} \S")


def _named(pattern: str) -> Callable[[str], bool]:
    wanted = re.compile(pattern, re.IGNORECASE)
    return lambda name: bool(wanted.search(name))


def _opened_by(module: str) -> Callable[[Input, str], Space]:
    """The reader of a file of this folder, imported when a recording is opened."""

    def open_file(pieces: Input, file: str) -> Space:
        reader: Space = import_module(f"{__name__}.{module}").open_file(pieces, file=file)
        return reader

    return open_file


def _is_speedscope(first: bytes) -> bool:
    is_object = first.lstrip(_BLANK)[:1] == b"{"
    return is_object and (
        b"speedscope.app/file-format-schema" in first
        or (b'"profiles"' in first and b'"shared"' in first)
    )


def _is_gecko(first: bytes) -> bool:
    keys = (b'"meta"', b'"interval"')
    return first.lstrip(_BLANK)[:1] == b"{" and all(key in first for key in keys)


def _is_pprof(first: bytes) -> bool:
    if _PPROF.match(first):
        return True
    return first[:1] in _PPROF_BEGINS and _reads_as_profile(memoryview(first))


def _reads_as_profile(view: memoryview) -> bool:
    """Whether a message without a type of samples at its begin has fields of a profile alone.

    A mapping, a location or a function must be among the first: they begin with an id, and other
    recordings have texts in these fields.
    """
    has_structure = False
    try:
        for one in fields(view):
            if _PROFILE_FIELDS.get(one.number) != one.wire:
                return False
            if one.number in _STRUCTURES:
                inner = list(fields(view, one.payload, one.end))
                wires = {part.wire for part in inner} - {Wire.VARINT}
                if not inner or inner[0].number != 1 or wires - _STRUCTURES[one.number]:
                    return False
                has_structure = True
    except ValueError:  # the first bytes end inside a field
        pass
    return has_structure


def _is_collapsed(first: bytes) -> bool:
    """Whole lines of "main;step;forward 12", at least one of them with a caller.

    Remarks do not count, and few lines may be something else: the reader says how many.
    """
    if b"\0" in first:
        return False
    lines = first.split(b"\n")
    has_caller, stacks, others = False, 0, 0
    for line in map(bytes.strip, lines[:-1] if len(lines) > 1 else lines):
        if not line or line.startswith((b"#", b"//")):
            continue
        stack, _, count = line.rpartition(b" ")
        is_stack = count.isdigit() and bool(stack.strip(b"; "))
        stacks, others = stacks + is_stack, others + (not is_stack)
        has_caller |= is_stack and b";" in stack
    return has_caller and _STACKS_PER_OTHER * others <= stacks


def _is_perf(first: bytes) -> bool:
    lines = first.decode("utf-8", "replace").split("\n")[:256]
    return any(
        PERF_FRAME.match(frame) and head[:1].strip() and PERF_HEAD.search(head[:512])
        for head, frame in pairwise(lines)
    )


def _is_tachyon(first: bytes) -> bool:
    # Four letters in either order, and a version: 0 in three of its four bytes.
    version = first[4:8]
    return first[:4] in (b"HCAT", b"TACH") and len(version) == 4 and version.count(0) == 3


def _writer_of_tachyon(file: Peek) -> str:
    from stepscope.formats.stacks.tachyon import writer_of

    return writer_of(file)


def _said_by(pattern: bytes, *, with_tail: bool = False) -> Callable[[Peek], str]:
    """Who wrote a file by what it says of that near its begin, or its end."""
    wanted = re.compile(pattern)

    def writer(file: Peek) -> str:
        text = file.at(0, _HEAD_BYTES)
        if with_tail:
            text += file.tail(_HEAD_BYTES)
        found = wanted.search(text)
        said = [one.decode("utf-8", "replace") for one in found.groups() if one] if found else []
        return " ".join(said)

    return writer


def _nobody(_: Peek) -> str:
    return ""


def _format(
    module: str,
    title: str,
    names: str,
    starts: Callable[[bytes], bool],
    writer: Callable[[Peek], str] = _nobody,
) -> Format:
    return Format(
        id=module.replace("_", "-"),
        title=title,
        head_bytes=_HEAD_BYTES,
        promises=_named(names),
        starts=starts,
        open=_opened_by(module),
        writer=writer,
    )


FORMATS: Final = (
    _format(
        "speedscope",
        "speedscope profile",
        r"\.json(\.gz)?$",
        _is_speedscope,
        _said_by(rb'"exporter"\s*:\s*"([\w .@+-]{1,80})"', with_tail=True),
    ),
    _format(
        "gecko",
        "Firefox profile",
        r"\.json(\.gz)?$",
        _is_gecko,
        _said_by(rb'"product"\s*:\s*"([\w .+-]{1,80})"'),
    ),
    _format(
        "tachyon",
        "profile of Python's sampler",
        r"\.bin$",
        _is_tachyon,
        _writer_of_tachyon,
    ),
    _format("pprof", "pprof profile", r"(\.pprof|\.pb|\.prof)(\.gz)?$", _is_pprof),
    _format(
        "perf_script",
        "perf script output",
        r"(\.perf|\.txt|\.script|\.data\.txt)(\.gz)?$",
        _is_perf,
        _said_by(rb"# (perf) version : ([\w.+-]{1,40})"),
    ),
    _format(
        "collapsed",
        "collapsed stacks",
        r"\.(collapsed|folded|stacks?|raw|txt)(\.gz)?$",
        _is_collapsed,
    ),
)
