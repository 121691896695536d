"""A dump of PyTorch's flight recorder as a ``Space``: every call of a collective, as an instant.

The times in a dump are when the program called (``time_created_ns``) and when a watchdog looked
whether the GPU had begun or ended; none of them is how long anything took, so no event has a
length. ``duration_ms``, which is there with ``TORCH_NCCL_ENABLE_TIMING``, is kept as a stat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import numpy as np

from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.format import Input
from stepscope.formats.json_parts import Parts
from stepscope.formats.pickled import loaded
from stepscope.formats.python_frames import shown_frames
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.line_parts import by_place, stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.formats.xspace.written import space_of
from stepscope.schema import names

TITLE: Final = "a dump of NCCL's flight recorder"
_LACKS: Final = (
    "Imported from a dump of NCCL's flight recorder. It has who called which collective and when, "
    "and nothing that ran: no kernels, ops and steps."
)
_VERSION: Final = re.compile(rb'version"?[^\d"]{1,16}?"?([12]\.\d{1,3})')
_DIGITS: Final = re.compile(r"\d{1,9}")
_MOST_RANKS: Final = 1 << 20
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
    value, damage = _value(pieces, file)
    if not isinstance(value, dict) or not {"entries", "pg_config", "pg_status"} & set(value):
        raise FormatError(TITLE, "it has neither entries nor pg_config", file=file)
    found = value.get("entries")
    entries = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    calls = _Calls(_groups(value.get("pg_config")))
    for one in entries:
        calls.add(one)
    plane = PlaneWriter(names.FLIGHT_PLANE)
    calls.write(plane)
    host = PlaneWriter(names.HOST_PLANE)
    host.stat(names.IMPORTED, _LACKS)
    lost = len(found) - len(entries) if isinstance(found, list) else 0
    return space_of([host, plane], warnings=list(_warnings(damage, lost + calls.untimed)))


def _warnings(damage: str, lost: int) -> Iterator[str]:
    if damage:
        yield f"The text cannot be read to its end ({damage}): calls are missing."
    if lost:
        yield f"{lost:,} entries lack a time, or are none; they are left out."


def _value(pieces: Input, file: str) -> tuple[Any, str]:
    """What the file holds, and why it ended early."""
    rest = iter(pieces)
    first = next(rest, b"")
    text = chain((first,), rest)
    if first[:1] == b"\x80":
        return loaded(text, title=TITLE, file=file), ""
    found: dict[str, Any] = {}
    entries: list[Any] = []
    parts = Parts(text, frozenset({(), ("entries",)}))
    for path, value in parts:
        if path == ("entries", "*"):
            entries.append(value)
        elif len(path) == 1:
            found[path[0]] = value
    if entries:
        found["entries"] = entries
    return found, parts.damage


def _groups(config: Any) -> dict[str, tuple[str, str]]:
    """Description and ranks of each process group, by its name."""
    found: dict[str, tuple[str, str]] = {}
    for key, one in config.items() if isinstance(config, dict) else ():
        if isinstance(one, dict):
            name = text_of(one.get("name")) or text_of(key)
            found[name] = text_of(one.get("desc")), ranks_text(one.get("ranks"))
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
    """Calls as columns, in the order of the dump."""

    def __init__(self, groups: dict[str, tuple[str, str]]) -> None:
        self._groups = groups
        self._numbers: list[tuple[int, ...]] = []
        self._texts: list[tuple[str, ...]] = []
        self.untimed = 0

    def add(self, one: dict[Any, Any]) -> None:
        """One entry of the dump."""
        created = whole(one.get("time_created_ns"))
        if created <= 0:
            self.untimed += 1
            return
        named = one.get("process_group")
        named = list(named) if isinstance(named, (list, tuple)) else []
        group = text_of(named[0] if named else one.get("pg_id"))
        description, ranks = self._groups.get(group, ("", ""))
        description = text_of(named[1]) if len(named) > 1 and named[1] else description
        is_p2p = one.get("is_p2p") is True
        number = one.get("p2p_seq_id" if is_p2p else "collective_seq_id", one.get("seq_id"))
        said_ms = one.get("duration_ms")
        length_ms = said_ms if isinstance(said_ms, (int, float)) else float(_NONE)
        elements, sizes = _sizes(one.get("input_sizes"))
        dtypes = one.get("input_dtypes")
        frames = one.get("frames")
        shown = list(shown_frames(frames)) if isinstance(frames, list) else []
        line = next((text for text, is_own in shown if is_own), shown[0][0] if shown else "")
        self._numbers.append(
            (
                created, whole(number), elements, int(is_p2p),
                round(length_ms * 1000) if 0 <= length_ms < 1e12 else _NONE,
            )
        )  # fmt: skip
        self._texts.append(
            (
                text_of(one.get("profiling_name")) or "collective", group, description, ranks,
                text_of(one.get("state")), sizes,
                " ".join(map(text_of, dtypes)) if isinstance(dtypes, (list, tuple)) else "", line,
                "\n".join(text for text, _ in shown),
            )
        )  # fmt: skip

    def write(self, plane: PlaneWriter) -> None:
        """The calls, a line for each process group."""
        table = np.asarray(self._numbers, np.int64).reshape(-1, 5).T
        created, number, elements, is_p2p, length_us = table
        if not len(created):
            return
        middle = int(np.sort(created)[len(created) // 2])
        start = np.clip(created, middle - _REACH_NS, middle + _REACH_NS)
        name, group, *others = zip(*self._texts, strict=True)
        metadata = plane.names(name)
        lines = list(dict.fromkeys(zip(group, others[0], strict=True)))
        code = {one: row for row, one in enumerate(lines)}
        place = np.asarray([code[one] for one in zip(group, others[0], strict=True)], np.int64)
        texts = [
            (key, _ids(plane, column)) for key, column in zip(_TEXTS, (group, *others), strict=True)
        ]
        for row, mine in by_place(place, np.arange(len(created))):
            stats = [Stat(names.COLLECTIVE_NUMBER, number[mine])]
            for key, column in texts:
                stats += stat_of(key, column[mine], column[mine] > 0, is_text=True)
            for key, column in ((names.ELEMENTS, elements), (names.KERNEL_US, length_us)):
                stats += stat_of(key, column[mine], column[mine] >= 0)
            stats += stat_of(names.IS_P2P, is_p2p[mine], is_p2p[mine] > 0)
            label = " · ".join(one for one in lines[row] if one) or "process group"
            plane.line(row + 1, label, metadata=metadata[mine], start_ns=start[mine], stats=stats)


_TEXTS: Final = (
    names.PROCESS_GROUP, names.GROUP_DESCRIPTION, names.GROUP_RANKS, names.CALL_STATE,
    names.MESSAGE_SIZES, names.MESSAGE_TYPES, names.TF_OP, names.SOURCE_STACK,
)  # fmt: skip


def _ids(plane: PlaneWriter, column: tuple[str, ...]) -> I64:
    """Ids of texts on the plane, 0 for none."""
    return np.asarray([plane.text(one) if one else 0 for one in column], np.int64)


def _sizes(value: Any) -> tuple[int, str]:
    """Elements of all inputs together, -1 where unknown, and their shapes as text."""
    if not isinstance(value, (list, tuple)):
        return _NONE, ""
    total, shapes = 0, []
    for one in value[:64]:
        if not isinstance(one, (list, tuple)):
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
