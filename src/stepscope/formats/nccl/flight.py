"""A dump of PyTorch's flight recorder as a ``Space``: every call of a collective, as an instant.

The times in a dump are when the program called (``time_created_ns``) and when a watchdog looked
whether the GPU had begun or ended; none of them is how long anything took, so no event has a
length. ``duration_ms``, which is there with ``TORCH_NCCL_ENABLE_TIMING``, is kept as a stat.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import by_place, coded_rows
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.format import Input
from stepscope.formats.json_parts import Parts
from stepscope.formats.packed import CodedTexts
from stepscope.formats.pickled import loaded, named_rows
from stepscope.formats.python_frames import FrameTexts
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.line_parts import stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.formats.xspace.written import space_of
from stepscope.limits import current
from stepscope.schema import names

TITLE: Final = "a dump of NCCL's flight recorder"
_LACKS: Final = (
    "Imported from a dump of NCCL's flight recorder. It has who called which collective and when, "
    "and nothing that ran: no kernels, ops and steps."
)
_VERSION: Final = re.compile(rb'version"?[^\d"]{1,16}?"?([12]\.\d{1,3})')
_DIGITS: Final = re.compile(r"\d{1,9}")
_MOST_RANKS: Final = 1 << 20
_MAX_DIMENSIONS: Final = 64
_REACH_NS: Final = 1 << 51  # 26 days
_NONE: Final = -1


def writer_of(first: bytes) -> str:
    """Who wrote a dump, by its first bytes."""
    found = _VERSION.search(first)
    return f"PyTorch (flight recorder {found[1].decode()})" if found else "PyTorch"


def open_dump(pieces: Input, *, file: str) -> Space:
    """The calls in a dump; those of a rank that never called any are none.

    Args:
        pieces: The file: a pickle or JSON.
        file: Name for reports.

    Raises:
        FormatError: It is not a dump.
    """
    calls = _Calls()
    value, rows, lost, damage = _value(pieces, file, calls)
    if not isinstance(value, dict) or not {"entries", "pg_config", "pg_status"} & set(value):
        raise FormatError(TITLE, "it has neither entries nor pg_config", file=file)
    plane = PlaneWriter(names.FLIGHT_PLANE)
    calls.write(plane, rows, _groups(value.get("pg_config")))
    host = PlaneWriter(names.HOST_PLANE)
    host.stat(names.IMPORTED, _LACKS)
    host.stat(names.WRITTEN_BY, "PyTorch")
    return space_of([host, plane], warnings=list(_warnings(damage, lost)))


def _warnings(damage: str, lost: int) -> Iterator[str]:
    if damage:
        yield f"The text cannot be read to its end ({damage}): calls are missing."
    if lost:
        yield f"{lost:,} entries lack a time, or are none; they are left out."


def _value(pieces: Input, file: str, calls: _Calls) -> tuple[Any, I64, int, str]:
    """What the file holds, the rows of its calls, how many entries are none, why it ended early."""
    rest = iter(pieces)
    first = next(rest, b"")
    text = chain((first,), rest)
    if first[:1] == b"\x80":
        value = loaded(text, title=TITLE, file=file, replace=calls.take)
        entries = value.get("entries") if isinstance(value, dict) else None
        rows, others = named_rows(entries if isinstance(entries, list) else [], len(calls))
        return value, rows, others, ""
    found: dict[str, Any] = {}
    lost = 0
    parts = Parts(text, frozenset({(), ("entries",)}))
    for path, value in parts:
        if path == ("entries", "*"):
            found[path[0]] = []
            lost += not isinstance(value, dict) or calls.take(value) is None
        elif len(path) == 1:
            found[path[0]] = value
    return found, np.arange(len(calls)), lost, parts.damage


def _groups(config: Any) -> dict[str, tuple[str, str]]:
    """Description and ranks of each process group, by its name."""
    found: dict[str, tuple[str, str]] = {}
    for key, one in config.items() if isinstance(config, dict) else ():
        if isinstance(one, dict):
            name = text_of(one.get("name")) or text_of(key)
            ranks = one.get("ranks")
            current().spend("work", len(ranks) if isinstance(ranks, (str, list)) else 0)
            found[name] = text_of(one.get("desc")), ranks_text(ranks)
    return found


def ranks_text(ranks: Any) -> str:
    """Ranks of a group as "0-3,8"; a dump has them as a text of a list, or as the list."""
    if isinstance(ranks, str):
        numbers = [int(one) for one in _DIGITS.findall(ranks[: 8 * _MOST_RANKS])]
    elif isinstance(ranks, list):
        numbers = [one for one in ranks if type(one) is int and 0 <= one < _MOST_RANKS]
    else:
        return ""
    used = np.unique(np.asarray(numbers, np.int64))
    if not len(used):
        return ""
    cuts = np.flatnonzero(np.diff(used) != 1) + 1
    runs = [(int(one[0]), int(one[-1])) for one in np.split(used, cuts)]
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


class _Calls:
    """Calls as columns, in the order in which the file has them; each is named by its row."""

    def __init__(self) -> None:
        self._numbers = {name: array("q") for name in _NUMBERS}
        self._texts = {name: _TextColumn() for name in (_NAME, *_TEXTS)}
        self._frames = FrameTexts()

    def __len__(self) -> int:
        return len(self._numbers[_CREATED])

    def take(self, one: dict[Any, Any]) -> int | None:
        """The row of an entry of the dump; None for what is none, or has no time."""
        created = whole(one.get(_CREATED))
        if created <= 0 or "entries" in one:
            return None
        named = one.get("process_group")
        named = list(named[:2]) if isinstance(named, (list, tuple)) else []
        is_p2p = one.get("is_p2p") is True
        number = one.get("p2p_seq_id" if is_p2p else "collective_seq_id", one.get("seq_id"))
        said_ms = one.get("duration_ms")
        length_ms = said_ms if isinstance(said_ms, (int, float)) else float(_NONE)
        elements, sizes = _sizes(one.get("input_sizes"))
        dtypes = one.get("input_dtypes")
        frames = one.get("frames")
        shown = list(self._frames.of(frames)) if isinstance(frames, list) else []
        line = next((text for text, is_own in shown if is_own), shown[0][0] if shown else "")
        length_us = round(length_ms * 1000) if 0 <= length_ms < 1e12 else _NONE
        current().spend("text", sum(len(text) for text, _ in shown))
        numbers = (created, whole(number), elements, int(is_p2p), length_us)
        texts = (
            text_of(one.get("profiling_name")) or "collective",
            text_of(named[0] if named else one.get("pg_id")),
            text_of(named[1]) if len(named) > 1 else "",
            "",
            text_of(one.get("state")),
            sizes,
            " ".join(map(text_of, dtypes[:64])) if isinstance(dtypes, (list, tuple)) else "",
            line,
            "\n".join(text for text, _ in shown),
        )
        row = len(self)
        for values, value in zip(self._numbers.values(), numbers, strict=True):
            values.append(value)
        for column, text in zip(self._texts.values(), texts, strict=True):
            column.append(text)
        return row

    def write(self, plane: PlaneWriter, rows: I64, groups: dict[str, tuple[str, str]]) -> None:
        """The calls of some rows, a line for each process group."""
        if not len(rows):
            return
        numbers = {name: np.asarray(one, np.int64)[rows] for name, one in self._numbers.items()}
        texts = {name: one.of(rows) for name, one in self._texts.items()}
        self._numbers.clear()
        self._texts.clear()
        _describe(texts, groups)
        created = numbers.pop(_CREATED)
        middle = int(np.sort(created)[len(created) // 2])
        start = np.clip(created, middle - _REACH_NS, middle + _REACH_NS)
        metadata = _ids(texts.pop(_NAME), plane.name)
        ids = {name: _ids(one, plane.text) for name, one in texts.items()}
        group, description = texts[names.PROCESS_GROUP], texts[names.GROUP_DESCRIPTION]
        of_line = (ids[one].astype(np.int64) for one in _LINE)
        _, place = coded_rows(*of_line)
        for row, mine in enumerate(_rows_by_place(place), 1):
            stats = [Stat(names.COLLECTIVE_NUMBER, numbers[names.COLLECTIVE_NUMBER][mine])]
            for name, column in ids.items():
                stats += stat_of(name, column[mine], column[mine] > 0, is_text=True)
            for name in (names.ELEMENTS, names.KERNEL_US):
                stats += stat_of(name, numbers[name][mine], numbers[name][mine] >= 0)
            is_p2p = numbers[names.IS_P2P][mine]
            stats += stat_of(names.IS_P2P, is_p2p, is_p2p > 0)
            said = (one[int(mine[0])] for one in (group, description))
            label = " · ".join(one for one in said if one) or "process group"
            plane.line(row, label, metadata=metadata[mine], start_ns=start[mine], stats=stats)


class _TextColumn:
    """A text of each call, each distinct one kept once."""

    def __init__(self) -> None:
        self._codes: dict[str | None, int] = {}
        self._column = array("i")

    def append(self, text: str) -> None:
        self._column.append(self._codes.setdefault(text, len(self._codes)))

    def of(self, rows: I64) -> CodedTexts:
        """The texts of some calls."""
        return CodedTexts(list(self._codes), np.asarray(self._column, np.int32)[rows])


def _describe(texts: dict[str, CodedTexts], groups: dict[str, tuple[str, str]]) -> None:
    """Fill in the description where a call has none, and ranks, by its group."""
    group, own = texts[names.PROCESS_GROUP], texts[names.GROUP_DESCRIPTION]
    (of_group, of_own), inverse = coded_rows(
        group.codes.astype(np.int64), own.codes.astype(np.int64)
    )
    known = [
        (groups.get(group.distinct[one] or "", ("", "")), own.distinct[other])
        for one, other in zip(of_group.tolist(), of_own.tolist(), strict=True)
    ]
    codes = inverse.astype(np.int32)
    descriptions: list[str | None] = [said or description for (description, _), said in known]
    ranks: list[str | None] = [said for (_, said), _ in known]
    texts[names.GROUP_DESCRIPTION] = CodedTexts(descriptions, codes)
    texts[names.GROUP_RANKS] = CodedTexts(ranks, codes)


def _rows_by_place(place: I64) -> Iterator[I64]:
    """The rows of each place, the place that comes first in the file first."""
    _, first = np.unique(place, return_index=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    for _, mine in by_place(rank[place], np.arange(len(place))):
        yield mine


#: What tells the lines of calls apart.
_LINE: Final = (names.PROCESS_GROUP, names.GROUP_DESCRIPTION)
_CREATED: Final = "time_created_ns"
_NAME: Final = "profiling_name"
_NUMBERS: Final = (
    _CREATED,
    names.COLLECTIVE_NUMBER,
    names.ELEMENTS,
    names.IS_P2P,
    names.KERNEL_US,
)
_TEXTS: Final = (
    names.PROCESS_GROUP,
    names.GROUP_DESCRIPTION,
    names.GROUP_RANKS,
    names.CALL_STATE,
    names.MESSAGE_SIZES,
    names.MESSAGE_TYPES,
    names.TF_OP,
    names.SOURCE_STACK,
)


def _ids(column: CodedTexts, number: Callable[[str], int]) -> NDArray[np.int32]:
    """Numbers of texts, given in the order in which they are met; 0 for none."""
    used, first, inverse = np.unique(column.codes, return_index=True, return_inverse=True)
    ids = np.zeros(len(used), np.int32)
    for at in np.argsort(first).tolist():
        text = column.distinct[used[at]]
        ids[at] = number(text) if text else 0
    return ids[inverse]


def _sizes(value: Any) -> tuple[int, str]:
    """Elements of all inputs together, -1 where unknown, and their shapes as text."""
    if not isinstance(value, (list, tuple)):
        return _NONE, ""
    total, shapes = 0, []
    for one in value[:64]:
        if not isinstance(one, (list, tuple)) or len(one) > _MAX_DIMENSIONS:
            return _NONE, ""
        size = 1
        for dim in one:
            size *= max(whole(dim), 0)
        total += size
        shapes.append(f"[{', '.join(str(whole(dim)) for dim in one)}]")
    return (total if total < 1 << 62 else _NONE), " ".join(shapes)


def text_of(value: Any) -> str:
    """A text of the file, or a number as text; "" for anything else."""
    if isinstance(value, str):
        return value[:1000]
    return str(value) if type(value) is int and abs(value) < 1 << 63 else ""


def whole(value: Any) -> int:
    """A number of the file, which may be text; -1 for what is none, or of no 64 bits."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    is_one = type(value) is int and -(1 << 63) <= value < 1 << 63
    return value if is_one else _NONE
