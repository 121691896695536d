"""What lines say about themselves, and the origin their events share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from stepscope.columns.reach import REACH_PS
from stepscope.columns.space import Line
from stepscope.formats.xspace.cold_fields import Fields, in_block, no_fields
from stepscope.formats.xspace.lines import RawLine
from stepscope.formats.xspace.metadata import unknown_fields
from stepscope.formats.xspace.texts import TextReader
from stepscope.records import dataclass
from stepscope.schema.xspace import Wire, XLine

# Lines further apart than this share no origin: they are readings of different clocks, and their
# distance in ps is too close to what int64 holds.
_REACH_NS: Final = REACH_PS // 1000

_NUMBERS: Final = (
    XLine.ID,
    XLine.TIMESTAMP_NS,
    XLine.DURATION_PS,
    XLine.DISPLAY_ID,
)
_TEXTS: Final = (XLine.NAME, XLine.DISPLAY_NAME)
_KNOWN: Final = (
    *((number, Wire.VARINT) for number in _NUMBERS),
    *((number, Wire.LEN) for number in _TEXTS),
)


@dataclass(frozen=True, slots=True)
class Headers:
    """The fields of lines that are not events, by line.

    Attributes:
        numbers, texts: ``{field number: value of each line}``.
        unknown: ``(line, bytes)`` of fields to keep as they stand.
    """

    numbers: dict[XLine, list[int]]
    texts: dict[XLine, list[str]]
    unknown: list[tuple[int, bytes]]

    @property
    def timestamp_ns(self) -> list[int]:
        """Origin of each line."""
        return self.numbers[XLine.TIMESTAMP_NS]

    def lines(self, raw: list[RawLine]) -> tuple[Line, ...]:
        """The rows of ``Space.lines``."""
        rows = []
        begin = 0
        for i, line in enumerate(raw):
            rows.append(
                Line(
                    plane=line.plane,
                    id=self.numbers[XLine.ID][i],
                    name=self.texts[XLine.NAME][i],
                    display_id=self.numbers[XLine.DISPLAY_ID][i],
                    display_name=self.texts[XLine.DISPLAY_NAME][i],
                    timestamp_ns=self.timestamp_ns[i],
                    duration_ps=self.numbers[XLine.DURATION_PS][i],
                    begin=begin,
                    end=begin + line.events,
                    shift_ps=line.shift_ps,
                )
            )
            begin += line.events
        return tuple(rows)


def read_headers(texts: TextReader, lines: list[RawLine]) -> Headers:
    """Put together what counting has listed; what is broken there, filling reports."""
    blocks = [block for line in lines for block in line.header]
    owners = [row for row, line in enumerate(lines) for _ in line.header]
    every = np.concatenate([no_fields(), *blocks], axis=1)
    every[0] = np.repeat(np.array(owners, np.int64), [block.shape[1] for block in blocks])
    fields = in_block(every)
    return Headers(
        numbers={number: _numbers(fields, number, len(lines)) for number in _NUMBERS},
        texts={number: texts.column(fields.of(number, Wire.LEN), len(lines)) for number in _TEXTS},
        unknown=unknown_fields(texts.buffer, fields.other_than(_KNOWN)),
    )


def _numbers(fields: Fields, number: XLine, lines: int) -> list[int]:
    given = fields.of(number, Wire.VARINT)
    column = np.zeros(lines, np.int64)
    column[given.parent] = given.value.view(np.int64)
    listed: list[int] = column.tolist()
    return listed


def set_origin(lines: list[RawLine], timestamp_ns: list[int]) -> int:
    """Choose the origin, set each line's ``shift_ps``, and return the origin in ns.

    It is the earliest origin of a line with events. Where clocks are mixed (some lines count
    from 1970, some from boot), it is the earliest of the 13 days that hold most events; lines
    outside them keep shift 0, so their events keep the line's own offsets.
    """
    origin_ns, shifts_ps = common_origin(timestamp_ns, [line.events for line in lines])
    for line, shift_ps in zip(lines, shifts_ps, strict=True):
        line.shift_ps = shift_ps
    return origin_ns


def common_origin(timestamp_ns: Sequence[int], events: Sequence[int]) -> tuple[int, list[int]]:
    """The origin of ``set_origin`` in ns, and each line's shift, from their number of events."""
    weighted = sorted(
        (origin, count) for origin, count in zip(timestamp_ns, events, strict=True) if count
    )
    best, origin_ns = 0, 0
    first = weight = 0
    for origin, count in weighted:
        weight += count
        while origin - weighted[first][0] > _REACH_NS:
            weight -= weighted[first][1]
            first += 1
        if weight > best:
            best, origin_ns = weight, weighted[first][0]
    distances = [origin - origin_ns for origin in timestamp_ns]
    return origin_ns, [one * 1000 if abs(one) <= _REACH_NS else 0 for one in distances]
