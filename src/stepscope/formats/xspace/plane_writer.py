"""A plane written from arrays: what every recorder of ours makes its XSpace with.

Names and texts are kept once; a line takes its events as NumPy arrays on the wall clock. There is
no Python per event: a million events with two stats take about half a second.

    plane = PlaneWriter("/host:CPU")
    step, op = plane.names(["train", "MatMul"])
    plane.line(tid, "python", metadata=..., start_ns=..., duration_ns=..., stats=[
        Stat("step_num", numbers, rows=where_steps_are),
    ])
    xspace = plane.xspace()        # the bytes of several planes can be put one behind the other
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.xspace.event_bytes import I64, U64, StatValues, encode_events
from stepscope.schema.xspace import (
    MapEntry,
    XEventMetadata,
    XLine,
    XPlane,
    XSpace,
    XStat,
    XStatMetadata,
)
from stepscope.wire import write as wire

#: What a plane or an event's name may say.
Value = int | float | str
_PS_PER_NS: Final = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Stat:
    """A named value of some events of a line.

    Attributes:
        name: Its name, one of ``schema.names`` where there is one.
        values: Integers, unsigned integers or floats; ids of ``PlaneWriter.text`` for texts.
        rows: Which events have it, as places in the arrays given to ``line`` (None: all).
        is_text: Whether ``values`` are ids of texts.
    """

    name: str
    values: NDArray[Any]
    rows: NDArray[np.int64] | None = None
    is_text: bool = False


class PlaneWriter:
    """One plane on the way to its bytes.

    Args:
        name: Of the plane, such as ``/host:CPU``.
        id: The plane's number; only devices have one that means something.
    """

    def __init__(self, name: str, *, id: int = 0) -> None:
        self._head = wire.number(XPlane.ID, id) + wire.blob(XPlane.NAME, _utf8(name))
        self._event_names: dict[object, int] = {}
        self._event_metadata: list[bytes] = []
        self._texts: dict[str, int] = {}
        self._stats: list[bytes] = []
        self._lines: list[bytes] = []
        #: Events written so far.
        self.events = 0

    def name(
        self, name: str, *, display: str = "", stats: Mapping[str, Value] | None = None
    ) -> int:
        """The id of an event name, for ``metadata`` of ``line``.

        Args:
            name: What the events are called.
            display: What a viewer shows instead.
            stats: Values that all events of this name share.
        """
        key = (name, display, tuple(stats.items())) if stats else (name, display)
        known = self._event_names.get(key)
        if known is not None:
            return known
        number = self._event_names[key] = len(self._event_names) + 1
        body = (
            wire.number(XEventMetadata.ID, number)
            + wire.blob(XEventMetadata.NAME, _utf8(name))
            + wire.blob(XEventMetadata.DISPLAY_NAME, _utf8(display))
        )
        for stat, value in (stats or {}).items():
            body += wire.blob(XEventMetadata.STATS, self._stat(stat, value))
        self._event_metadata.append(_entry(XPlane.EVENT_METADATA, number, body))
        return number

    def names(self, names: Iterable[str]) -> I64:
        """The ids of several event names."""
        return np.asarray([self.name(name) for name in names], dtype=np.int64)

    def text(self, text: str) -> int:
        """The id of a text, for stats with ``is_text``."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = len(self._texts) + 1
        return known

    def texts(self, texts: Iterable[str]) -> I64:
        """The ids of several texts."""
        return np.asarray([self.text(text) for text in texts], dtype=np.int64)

    def stat(self, name: str, value: Value) -> None:
        """A value of the plane itself, such as a device's memory size."""
        self._stats.append(wire.blob(XPlane.STATS, self._stat(name, value)))

    def line(
        self,
        id: int,
        name: str,
        *,
        metadata: NDArray[Any],
        start_ns: NDArray[Any],
        duration_ns: NDArray[Any] | None = None,
        stats: Sequence[Stat] = (),
        display_name: str = "",
        rest_ps: tuple[I64, I64] | None = None,
    ) -> None:
        """A line of events; they are put in order of time, containers before their contents.

        Several lines of one id are one thread to every reader.

        Args:
            id: Thread id, stream or any number that tells lines of the plane apart.
            name: Of the line.
            metadata: Id of each event's name, from ``name``.
            start_ns: Absolute, ``time.time_ns()``.
            duration_ns: Length of each (None: instants). Negative counts as 0.
            stats: What else events carry.
            display_name: What a viewer shows instead of the name.
            rest_ps: What starts and durations have beyond whole ns, each of either sign.

        Raises:
            ValueError: Arrays of different lengths.
        """
        start = np.asarray(start_ns, dtype=np.int64)
        metadata = np.asarray(metadata, dtype=np.int64)
        length = np.zeros(len(start), np.int64)
        if duration_ns is not None:
            length = np.maximum(np.asarray(duration_ns, dtype=np.int64), 0)
        if not len(start) == len(metadata) == len(length):
            raise ValueError("metadata, start_ns and duration_ns must be of one length")
        start_rest, length_rest = rest_ps or (np.int64(0), np.int64(0))
        start, start_rest = start - (start_rest < 0), start_rest % _PS_PER_NS
        origin = int(start.min()) if len(start) else 0
        offset_ps = (start - origin) * _PS_PER_NS + start_rest
        length_ps = np.maximum(length * _PS_PER_NS + length_rest, 0)
        order = np.lexsort((-length_ps, offset_ps))
        events = encode_events(
            metadata[order], offset_ps[order], length_ps[order], self._placed(stats, order)
        )
        head = (
            wire.number(XLine.ID, id)
            + wire.blob(XLine.NAME, _utf8(name))
            + wire.number(XLine.TIMESTAMP_NS, origin)
            + wire.blob(XLine.DISPLAY_NAME, _utf8(display_name))
        )
        self._lines.append(wire.blob(XPlane.LINES, b"".join([head, *events]), always=True))
        self.events += len(start)

    def xspace(self, *, hostname: str = "") -> bytes:
        """The plane as a whole XSpace; those of several planes may be concatenated."""
        stat_metadata = [
            _entry(
                XPlane.STAT_METADATA,
                number,
                wire.number(XStatMetadata.ID, number) + wire.blob(XStatMetadata.NAME, _utf8(text)),
            )
            for text, number in self._texts.items()
        ]
        parts = [self._head, *self._lines, *self._event_metadata, *stat_metadata, *self._stats]
        size = sum(map(len, parts))
        host = wire.blob(XSpace.HOSTNAMES, _utf8(hostname))
        return b"".join([host, wire.prefix(XSpace.PLANES, size), *parts])

    def _stat(self, name: str, value: Value) -> bytes:
        key = wire.number(XStat.METADATA_ID, self.text(name))
        if isinstance(value, str):
            return key + wire.number(XStat.REF_VALUE, self.text(value))
        if isinstance(value, float):
            bits = int.from_bytes(struct.pack("<d", value), "little")
            return key + wire.fixed64(XStat.DOUBLE_VALUE, bits)
        unsigned = value >= 1 << 63
        kind = XStat.UINT64_VALUE if unsigned else XStat.INT64_VALUE
        return key + wire.number(kind, value, always=True)

    def _placed(self, stats: Sequence[Stat], order: I64) -> list[StatValues]:
        """The stats with the places their events got."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        found = []
        for stat in stats:
            kind, bits = _bits(stat)
            rows = place if stat.rows is None else place[stat.rows]
            if len(rows) != len(bits):
                raise ValueError(f"stat {stat.name!r} has {len(bits)} values for {len(rows)} rows")
            by_row = np.argsort(rows, kind="stable")
            found.append(StatValues(self.text(stat.name), kind, rows[by_row], bits[by_row]))
        return found


def _bits(stat: Stat) -> tuple[XStat, U64]:
    """How the values of a stat stand on the wire."""
    values = np.asarray(stat.values)
    if stat.is_text:
        return XStat.REF_VALUE, values.astype(np.uint64)
    if values.dtype.kind == "f":
        return XStat.DOUBLE_VALUE, values.astype(np.float64).view(np.uint64)
    if values.dtype.kind == "u":
        return XStat.UINT64_VALUE, values.astype(np.uint64)
    return XStat.INT64_VALUE, values.astype(np.int64).view(np.uint64)


def _entry(which: XPlane, key: int, value: bytes) -> bytes:
    body = wire.number(MapEntry.KEY, key, always=True)
    return wire.blob(which, body + wire.blob(MapEntry.VALUE, value, always=True))


def _utf8(text: str) -> bytes:
    """The text as protobuf's strings must be; lone surrogates become question marks."""
    return text.encode("utf-8", "replace")
