"""Protobuf messages of a file as columns: their numbers, the messages in them, repeated fields."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Final

import numpy as np

from stepscope.columns.space import I64, U64
from stepscope.formats.xspace.cold_fields import (
    CUT,
    START,
    DamageLog,
    Fields,
    empty_fields,
    index,
    list_fields,
)
from stepscope.kernels import core
from stepscope.schema.xspace import Wire

_FIRST_TEXTS: Final = 1 << 10


class Texts:
    """Distinct texts of the file's bytes, by code.

    Attributes:
        list: What each code stands for.
    """

    def __init__(self, buffer: memoryview) -> None:
        self.list: list[str] = []
        self._buffer = buffer
        self._begin = self._end = np.zeros(0, np.int64)
        self._hashes = np.zeros(0, np.uint64)
        self._table = core.message.TextCodes(buffer, int.from_bytes(os.urandom(8), "little"))

    def close(self) -> None:
        """Let the bytes go: no more texts are looked for."""
        self._buffer = memoryview(b"")
        self._begin = self._end = np.zeros(0, np.int64)
        self._hashes = np.zeros(0, np.uint64)
        self._table = core.message.TextCodes(self._buffer, 0)

    def codes(self, begin: I64, end: I64) -> I64:
        """Codes of the texts at these places."""
        begin, end = np.ascontiguousarray(begin), np.ascontiguousarray(end)
        code = np.empty(len(begin), np.int64)
        at = 0
        while at < len(begin):
            if self._table.texts == len(self._hashes):
                self._grow()
            at = self._table.codes(begin.data, end.data, code.data, at)
        new = slice(len(self.list), self._table.texts)
        for low, high in zip(self._begin[new].tolist(), self._end[new].tolist(), strict=True):
            self.list.append(bytes(self._buffer[low:high]).decode("utf-8", "replace"))
        return code

    def _grow(self) -> None:
        """Room for as many texts again."""
        more = max(len(self._hashes), _FIRST_TEXTS)
        self._begin = np.append(self._begin, np.zeros(more, np.int64))
        self._end = np.append(self._end, np.zeros(more, np.int64))
        self._hashes = np.append(self._hashes, np.zeros(more, np.uint64))
        slots = np.full(4 * len(self._hashes), -1, np.int32)
        self._table.room(self._begin.data, self._end.data, self._hashes.data, slots.data)


def top_fields(
    buffer: memoryview, at_once: int, path: Callable[[int], str], damage: DamageLog
) -> Iterator[Fields]:
    """The fields of the message that a whole file is, so many at a time, up to where it breaks.

    What is yielded is overwritten by the next.

    Args:
        buffer: The file.
        at_once: How many.
        path: What the n-th is called in reports.
        damage: Receives what is broken.
    """
    whole = np.zeros(1, np.int64), np.asarray([len(buffer)])
    state = np.array(START, np.int64)
    rows = empty_fields(at_once)
    first = 0
    while state[0] == 0 and len(buffer):
        list_fields(buffer, *whole, rows, state)
        count, code, offset = (int(number) for number in state[2:5])
        if code:
            damage.add(offset, path(first + count), code)
            state[0] = 1
            count -= code == CUT and count > 0 and rows.begin[count - 1] == offset
        yield rows[:count]
        first += count


def listed(
    buffer: memoryview, begin: I64, end: I64, schema: type[IntEnum], name: str, damage: DamageLog
) -> Fields:
    """The fields of messages of one type, which reports call by this name."""
    begin, end = np.ascontiguousarray(begin), np.ascontiguousarray(end)
    return index(buffer, begin, end, schema, lambda at: f"{name}[{at}]", damage)


def numbers(found: Fields, field_number: int, count: int, missing: int = 0) -> I64:
    """A varint field of each message, the last where there are several."""
    out = np.full(count, missing, np.int64)
    rows = found.rows_of(field_number, Wire.VARINT)
    if len(rows):
        out[found.parent[rows]] = found.value[rows].view(np.int64)
    return out


def submessages(found: Fields, number: int) -> tuple[I64, I64, I64]:
    """Parent, begin and end of the messages in a field."""
    rows = found.rows_of(number, Wire.LEN)
    return found.parent[rows], found.value[rows].view(np.int64), found.end[rows]


def repeated(
    buffer: memoryview, found: Fields, field_number: int, count: int, damage: DamageLog
) -> tuple[U64, I64]:
    """The numbers of a repeated field, message after message, and how many each message has.

    They may be packed or not. Of a field that is broken the numbers before that place are there.
    """
    some = found.among(((field_number, Wire.VARINT), (field_number, Wire.LEN)))
    if not len(some):
        return np.zeros(0, np.uint64), np.zeros(count, np.int64)
    is_packed = (some.tag & np.uint64(7)) == int(Wire.LEN)
    begin = np.where(is_packed, some.payload, some.prefix)
    value = np.empty(int((some.end - begin).sum()), np.uint64)
    many = np.zeros(len(some), np.int64)
    broken = core.message.read_packed(buffer, begin.data, some.end.data, many.data, value.data)
    if broken >= 0:
        damage.add(int(begin[broken]), "", -1)
    per_message = np.zeros(count, np.int64)
    np.add.at(per_message, some.parent, many)
    return value[: int(many.sum())], per_message
