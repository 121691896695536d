"""What the samples of a pprof profile refer to: types, texts, functions, locations."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.formats.messages import listed, numbers, submessages, top_fields
from stepscope.formats.stacks.samples import StackFrame, Stacks
from stepscope.formats.xspace.cold_fields import DamageLog, Fields
from stepscope.records import dataclass, field
from stepscope.schema.xspace import Wire

AT_ONCE: Final = 1 << 13
# As many places for rows by id as this many times the rows there are.
_SPARSEST: Final = 8
_LARGEST_LINE: Final = 1 << 31


class ProfileField(IntEnum):
    """Fields of a profile."""

    SAMPLE_TYPE = 1
    SAMPLE = 2
    MAPPING = 3
    LOCATION = 4
    FUNCTION = 5
    TEXT = 6
    PERIOD_TYPE = 11
    PERIOD = 12
    DEFAULT_TYPE = 14


class SampleField(IntEnum):
    """Fields of a sample."""

    LOCATION = 1
    VALUE = 2


class _LocationField(IntEnum):
    ID = 1
    MAPPING = 2
    ADDRESS = 3
    LINE = 4


class _Columns:
    """Numbers of messages, collected column by column."""

    def __init__(self, count: int) -> None:
        self._parts: list[list[I64]] = [[np.zeros(0, np.int64)] for _ in range(count)]
        self.length = 0

    def add(self, *columns: I64) -> None:
        """More rows."""
        for parts, column in zip(self._parts, columns, strict=True):
            parts.append(column)
        self.length += len(columns[0])

    def __getitem__(self, at: int) -> I64:
        parts = self._parts[at]
        if len(parts) > 1:
            self._parts[at] = parts = [np.concatenate(parts)]
        return parts[0]


class RowsById:
    """Which row an id stands for: of several the last."""

    def __init__(self, ids: I64) -> None:
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
        is_last = np.append(ids[1:] != ids[:-1], np.ones(1, bool))[: len(ids)]
        self._ids, self._rows = ids[is_last], order[is_last]
        self._table = np.zeros(0, np.int64)
        top = int(ids[-1]) + 1 if len(ids) else 0
        # Most writers count from 1: then a table is several times as fast as looking ids up.
        if len(ids) and ids[0] >= 0 and top < _SPARSEST * len(ids):
            self._table = np.full(top, -1)
            self._table[self._ids] = self._rows

    def of(self, ids: I64) -> I64:
        """The row of each id; -1 where there is none."""
        if len(self._table):
            is_known = (ids >= 0) & (ids < len(self._table))
            return np.where(is_known, self._table[np.where(is_known, ids, 0)], -1)
        if not len(self._ids):
            return np.full(len(ids), -1)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[at] == ids, self._rows[at], -1)


@dataclass
class Profile:
    """What a profile says besides its samples.

    Attributes:
        types: Texts of kind and unit of each value of a sample.
        period_type, period: What lies between two samples.
        default_type: Text of the kind of value that is shown; 0 for none.
        texts: Begin and end.
        functions: Id, and texts of name and file.
        mappings: Id, and text of the file.
        locations: Id, mapping and address.
        lines: Row of the location, function and line.
    """

    buffer: memoryview
    types: list[tuple[int, int]] = field(default_factory=list)
    period_type: tuple[int, int] = (0, 0)
    period: int = 0
    default_type: int = 0
    texts: _Columns = field(default_factory=lambda: _Columns(2))
    functions: _Columns = field(default_factory=lambda: _Columns(3))
    mappings: _Columns = field(default_factory=lambda: _Columns(2))
    locations: _Columns = field(default_factory=lambda: _Columns(3))
    lines: _Columns = field(default_factory=lambda: _Columns(3))

    def text(self, number: int) -> str:
        """A text by its number."""
        if not 0 <= number < self.texts.length:
            return ""
        begin, end = int(self.texts[0][number]), int(self.texts[1][number])
        return bytes(self.buffer[begin:end]).decode("utf-8", "replace")


def profile_of(buffer: memoryview, damage: DamageLog) -> Profile:
    """Everything but the samples."""
    profile = Profile(buffer)
    for found in top_fields(buffer, AT_ONCE, lambda at: f"field[{at}]", damage):
        _, begin, end = submessages(found, ProfileField.TEXT)
        profile.texts.add(begin, end)
        profile.types += _pairs(buffer, found, ProfileField.SAMPLE_TYPE, damage)
        for pair in _pairs(buffer, found, ProfileField.PERIOD_TYPE, damage):
            profile.period_type = pair
        for name, number in (
            ("period", ProfileField.PERIOD),
            ("default_type", ProfileField.DEFAULT_TYPE),
        ):
            for value in found.of(number, Wire.VARINT).value.view(np.int64)[-1:].tolist():
                setattr(profile, name, value)
        for columns, number, wanted in (
            (profile.functions, ProfileField.FUNCTION, (1, 2, 4)),
            (profile.mappings, ProfileField.MAPPING, (1, 5)),
        ):
            inner, count = _listed(buffer, found, number, damage)
            columns.add(*(numbers(inner, one, count) for one in wanted))
        _add_locations(buffer, found, profile, damage)
    return profile


def _listed(
    buffer: memoryview, found: Fields, number: ProfileField, damage: DamageLog
) -> tuple[Fields, int]:
    _, begin, end = submessages(found, number)
    return listed(buffer, begin, end, ProfileField, number.name.lower(), damage), len(begin)


def _pairs(
    buffer: memoryview, found: Fields, number: ProfileField, damage: DamageLog
) -> list[tuple[int, int]]:
    """Texts of kind and unit of each message in a field."""
    inner, count = _listed(buffer, found, number, damage)
    kinds, units = (numbers(inner, at, count).tolist() for at in (1, 2))
    return list(zip(kinds, units, strict=True))


def _add_locations(buffer: memoryview, found: Fields, profile: Profile, damage: DamageLog) -> None:
    inner, count = _listed(buffer, found, ProfileField.LOCATION, damage)
    of, begin, end = submessages(inner, _LocationField.LINE)
    line = listed(buffer, begin, end, _LocationField, "line", damage)
    profile.lines.add(
        of + profile.locations.length, numbers(line, 1, len(of)), numbers(line, 2, len(of))
    )
    wanted = (_LocationField.ID, _LocationField.MAPPING, _LocationField.ADDRESS)
    profile.locations.add(*(numbers(inner, one, count) for one in wanted))


@dataclass(frozen=True, slots=True, eq=False)
class LocationFrames:
    """The frames of locations, outermost first: a location has one for each inlined call.

    Attributes:
        rows: Of locations, by id.
        begin, count: Where the frames of each begin, and how many it has.
        code: Of the frames.
    """

    rows: RowsById
    begin: I64
    count: I64
    code: I64


def location_frames(profile: Profile, stacks: Stacks) -> LocationFrames:
    """The frames of all locations."""
    location, function, line = (profile.lines[at] for at in range(3))
    line = np.where((line >= 0) & (line < _LARGEST_LINE), line, 0)
    key = RowsById(profile.functions[0]).of(function) << 32 | line
    used, inverse = np.unique(key, return_inverse=True)
    of_line = _line_codes(profile, stacks, used)[inverse]
    total = profile.locations.length
    count = np.bincount(location, minlength=total)
    bare = np.flatnonzero(count == 0)
    count[bare] = 1
    begin = np.cumsum(count) - count
    code = np.zeros(int(count.sum()), np.int64)
    # A location's first line is its innermost call.
    first = np.searchsorted(location, np.arange(total))
    last = (begin + count - 1)[location]
    code[last - (np.arange(len(location)) - first[location])] = of_line
    code[begin[bare]] = _bare_codes(profile, stacks, bare)
    return LocationFrames(RowsById(profile.locations[0]), begin, count, code)


def _line_codes(profile: Profile, stacks: Stacks, keys: I64) -> I64:
    """Codes of lines of functions, whose row is in the upper bits of a key; -1 for none."""
    names, files = profile.functions[1], profile.functions[2]
    known: dict[int, str] = {}
    codes = []
    for row, line in zip((keys >> 32).tolist(), (keys & 0xFFFFFFFF).tolist(), strict=True):
        name, file = (int(names[row]), int(files[row])) if row >= 0 else (-1, -1)
        for number in (name, file):
            if number not in known:
                known[number] = profile.text(number)
        codes.append(stacks.code(StackFrame(known[name], known[file], line)))
    return np.asarray(codes, np.int64)


def _bare_codes(profile: Profile, stacks: Stacks, rows: I64) -> I64:
    """Codes of locations of which no function is known, by their addresses."""
    ids, mappings, addresses = (profile.locations[at][rows] for at in range(3))
    of = RowsById(profile.mappings[0]).of(mappings)
    files = np.append(profile.mappings[1], -1)[of]
    binaries = {
        one: profile.text(one).replace("\\", "/").rpartition("/")[2]
        for one in np.unique(files).tolist()
    }
    codes = []
    for number, address, file in zip(
        ids.view(np.uint64).tolist(),
        addresses.view(np.uint64).tolist(),
        files.tolist(),
        strict=True,
    ):
        place = f"0x{address:x}" if address else f"location {number}"
        binary = binaries[file]
        codes.append(stacks.code(StackFrame(f"{place} ({binary})" if binary else place)))
    return np.asarray(codes, np.int64)
