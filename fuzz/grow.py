"""Small recordings grown into large or strange ones that keep to their format's grammar.

A part of a valid file is repeated, nested, shared, multiplied or made to refer to itself. Each
field of a repeated part follows a law: it stays the same, counts up, comes in pairs, falls, or
jumps. Some laws together make what no mutation makes: ten thousand tracks, one key that all
events share, intervals that all enclose each other.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import pickle
import random
import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from fuzz.fields import Piece, joined
from stepscope.schema.xspace import Wire
from stepscope.wire import write as wire
from stepscope.wire.read import fields

_FAR: Final = 1 << 40
_LAWS: Final[tuple[Callable[[int, int], int], ...]] = (
    lambda value, _: value,
    lambda value, _: value,
    lambda value, number: value + number,
    lambda value, number: value + number,
    lambda value, number: value + number // 2,
    lambda value, number: value + number % 2,
    lambda value, number: value + number % 100,
    lambda value, number: value + 1_000_000 - number,
    lambda value, number: value + 1000 * number,
    lambda value, number: value + (number * 2_654_435_761) % 1_000_003,
    lambda value, number: value + _FAR * (number % 2),
    lambda value, number: number,
)
_DIGITS: Final = re.compile(r"\d+")
_DEPTHS: Final = (3, 100, 511, 513, 1000, 20_000)
_LONG: Final = ("a", "1", " ", "(", "<", "_", ".", "/", "é", "a1 ", "fusion.", "::x<", "layer/")
# Stand for what Python's own writers cannot write; replaced in the bytes.
_NEST, _LAUGH = "@@nest@@", "@@laughs@@"
_MAX_ITEMS: Final = 200_000
# Deeper parts are shared between copies, which keeps cycles finite.
_COPIED_LEVELS: Final = 12


class Laws:
    """A law for each field of a part, chosen when the field is first seen."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._chosen: dict[tuple[object, ...], Callable[[int, int], int]] = {}

    def number(self, path: tuple[object, ...], value: int, number: int) -> int:
        """The value of a field in the copy of this number."""
        if path not in self._chosen:
            self._chosen[path] = self._rng.choice(_LAWS)
        return self._chosen[path](value, number)

    def text(self, path: tuple[object, ...], value: str, number: int) -> str:
        """A text in the copy of this number: its digits follow the law, or a number ends it."""
        changed = self.number(path, 0, number)
        if not changed:
            return value
        if _DIGITS.search(value):
            return _DIGITS.sub(lambda match: str(int(match.group()[:15]) + changed), value)
        return f"{value}{changed}"


def count(rng: random.Random, size: int, item: int) -> int:
    """How often an item of this size is repeated in a file of another."""
    return max(1, min(size // max(item, 1), _MAX_ITEMS) // rng.choice((1, 1, 1, 4, 32)))


def long_text(rng: random.Random, size: int) -> str:
    """One short text, again and again."""
    word = rng.choice(_LONG)
    return word * max(1, size // len(word))


# ------------------------------------------------------------------- values: JSON, pickles


def grown_value(rng: random.Random, value: Any, size: int, *, shares: bool) -> Any:
    """A value of lists, dicts, texts and numbers grown to about this many bytes.

    Args:
        rng: Chooses what happens where.
        value: Changed in place.
        size: Of the result.
        shares: Whether objects may be referred to again, as in pickles.
    """
    for _ in range(rng.choice((1, 1, 2, 3))):
        if _size(value, 2 * size) >= 2 * size:
            break
        inside, key = _place(rng, value)
        item = inside[key]
        ways = (_repeat, _repeat, _repeat, _lengthen, _nest, *((_share, _share, _laugh) * shares))
        rng.choice(ways)(rng, inside, key, item, size)
    return value


def _place(rng: random.Random, value: Any) -> tuple[Any, Any]:
    """A list or dict within a value, and an index of it; lists are preferred, and any depth."""
    places: list[tuple[Any, Any]] = []
    for _ in range(12):
        inside = value
        while isinstance(inside, list | dict) and inside and len(places) < 400:
            is_list = isinstance(inside, list)
            key = rng.randrange(len(inside)) if is_list else rng.choice(list(inside))
            places += [(inside, key)] * (4 if is_list else 1)
            inside = inside[key]
    return rng.choice(places)


def _repeat(rng: random.Random, inside: Any, key: Any, item: Any, size: int) -> None:
    laws, item_bytes = Laws(rng), _size(item, size)
    if item_bytes >= size:
        return
    times = count(rng, size, item_bytes)
    if isinstance(inside, list):
        inside[key:key] = [_copy(laws, (), item, number) for number in range(times)]
    elif isinstance(item, str):
        inside[key] = item * times
    else:
        copies = {f"{key}{number}": _copy(laws, (), item, number) for number in range(times)}
        inside.update(copies)


def _size(item: Any, room: int) -> int:
    """About how many bytes an item takes; shared parts count each time, up to the room."""
    total, left = 0, [item]
    while left and total < room:
        one = left.pop()
        total += len(one) + 4 if isinstance(one, str) else 4
        if isinstance(one, list | tuple):
            left += one[:room]
        elif isinstance(one, dict):
            left += [*one, *one.values()]
    return total


def _copy(laws: Laws, path: tuple[object, ...], item: Any, number: int) -> Any:
    if len(path) > _COPIED_LEVELS:
        return item
    if isinstance(item, dict):
        return {key: _copy(laws, (*path, key), one, number) for key, one in item.items()}
    if isinstance(item, list | tuple):
        return type(item)(_copy(laws, (*path, 0), one, number) for one in item)
    if isinstance(item, str):
        return laws.text(path, item, number)
    if isinstance(item, bool) or item is None:
        return item
    if isinstance(item, int | float):
        return laws.number(path, int(item), number) + (item - int(item) if item == item else 0)
    return item


def _lengthen(rng: random.Random, inside: Any, key: Any, item: Any, size: int) -> None:
    inside[key] = long_text(rng, size)


def _nest(rng: random.Random, inside: Any, key: Any, item: Any, size: int) -> None:
    inside[key] = _NEST


def _share(rng: random.Random, inside: Any, key: Any, item: Any, size: int) -> None:
    """The item by reference: many times, in a cycle, or lists of lists of it."""
    way = rng.randrange(4)
    many = max(2, min(size // 8, 20_000))
    if way == 0:
        inside[key] = inside
    elif way == 1:
        inside[key] = [item] * many
    elif way == 2 and isinstance(inside, list):
        inside.extend([item] * many)
    else:
        for _ in range(rng.choice((2, 3, 8, 40))):
            item = [item] * rng.choice((2, 2, 10, max(2, many // 50)))
        inside[key] = item


def _laugh(rng: random.Random, inside: Any, key: Any, item: Any, size: int) -> None:
    """A tuple of two of a tuple of two ..., as a value, or as a key."""
    if isinstance(inside, dict) and rng.random() < 0.7:
        inside[_LAUGH] = None
    else:
        inside[key] = _LAUGH


def json_bytes(rng: random.Random, value: Any) -> bytes:
    """The value as JSON, with what stands for nesting nested."""
    text = json.dumps(value, indent=rng.choice((None, None, 1)))
    depth = rng.choice(_DEPTHS)
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}")))
    nested = opening * depth + "1" + closing * depth
    return text.replace(f'"{_NEST}"', nested, 1).replace(f'"{_NEST}"', "[1]").encode()


def pickle_bytes(rng: random.Random, value: Any) -> bytes:
    """The value as a pickle without frames, with what stands for nesting nested."""
    try:
        data = pickle.dumps(value, rng.choice((2, 3)))
    except RecursionError:
        data = pickle.dumps({}, 2)
    depth = rng.choice(_DEPTHS)
    nest = rng.choice((b")" + b"\x85" * depth, b"]" * depth + b"a" * (depth - 1)))
    laughs = b")r\xff\xff\0\0" + b"j\xff\xff\0\0j\xff\xff\0\0\x86r\xff\xff\0\0" * min(depth, 60)
    for text, made in ((_NEST, nest), (_LAUGH, laughs)):
        data = data.replace(b"X" + len(text).to_bytes(4, "little") + text.encode(), made, 1)
    return data


# ----------------------------------------------------------------------- protocol buffers


class _Raw(Piece):
    """Bytes that are fields already."""

    def encoded(self) -> bytes:
        """The bytes as they are."""
        return self.payload


def taken_apart(data: bytes) -> list[Piece]:
    """The fields of a message, and of all that reads as a message inside of it."""
    view = memoryview(data)
    pieces = []
    for field in fields(view):
        payload = bytes(view[field.payload : field.end])
        inside = None
        is_text = payload.isascii() and payload[:1] >= b" "
        if field.wire == Wire.LEN and len(payload) > 1 and not is_text:
            with contextlib.suppress(ValueError):
                inside = taken_apart(payload)
        pieces.append(Piece(field.number, field.wire, payload, inside))
    return pieces


def _messages(pieces: list[Piece]) -> list[list[Piece]]:
    found = [pieces] if pieces else []
    for piece in pieces:
        if piece.inside:
            found += _messages(piece.inside)
    return found


def grown_message(rng: random.Random, seed: bytes, size: int) -> bytes:
    """A message with parts repeated by laws, nested, lengthened, or emptied."""
    pieces = taken_apart(seed)
    for _ in range(rng.choice((1, 1, 2, 3))):
        message = rng.choice(_messages(pieces))
        at = rng.randrange(len(message))
        piece = message[at]
        way = rng.randrange(8)
        if way < 4:
            laws, times = Laws(rng), count(rng, size, len(piece.encoded()))
            message[at:at] = [_piece_copy(laws, (), piece, number) for number in range(times)]
        elif way == 4 and piece.wire == Wire.LEN:
            message[at] = Piece(piece.number, piece.wire, long_text(rng, size).encode())
        elif way == 5 and piece.wire == Wire.LEN:
            message[at] = _nested_in_itself(rng, piece, size)
        elif way == 6:
            group = bytes([piece.number << 3 & 0x78 | 3])
            depth = rng.choice(_DEPTHS)
            raw = group * depth + bytes([group[0] | 4]) * rng.choice((depth, 0))
            message[at:at] = [_Raw(0, Wire.LEN, raw)]
        else:
            message[at:at] = [Piece(piece.number, Wire.LEN, b"")] * count(rng, size, 2)
        if len(joined(pieces)) > size:
            break
    return joined(pieces)


def _piece_copy(laws: Laws, path: tuple[object, ...], piece: Piece, number: int) -> Piece:
    path = (*path, piece.number)
    if piece.inside is not None:
        return Piece(
            piece.number,
            piece.wire,
            b"",
            [_piece_copy(laws, path, one, number) for one in piece.inside],
        )
    if piece.wire == Wire.VARINT:
        value = 0
        for place, byte in enumerate(piece.payload):
            value |= (byte & 127) << 7 * place
        payload = wire.varint(laws.number(path, value, number))
        return Piece(piece.number, piece.wire, payload)
    if piece.wire == Wire.LEN and piece.payload.isascii():
        text = laws.text(path, piece.payload.decode(), number)
        return Piece(piece.number, piece.wire, text.encode())
    return piece


def _nested_in_itself(rng: random.Random, piece: Piece, size: int) -> Piece:
    """The field within itself, as deep as the size allows: lengths make it quadratic."""
    depth = min(rng.choice(_DEPTHS), max(3, size // 6))
    payload = piece.payload if piece.inside is None else joined(piece.inside)
    field = rng.choice([piece.number, *(one.number for one in piece.inside or ())])
    parts: list[bytes] = []
    length = len(payload)
    for _ in range(depth):
        head = wire.prefix(field, length)
        parts.append(head)
        length += len(head)
    return Piece(piece.number, piece.wire, b"".join(reversed(parts)) + payload)


# --------------------------------------------------------------------------------- tables


def grown_database(rng: random.Random, path: Path, size: int) -> None:
    """A database with rows repeated by laws, tables that are endless views, or pages shared."""
    broken = contextlib.suppress(sqlite3.Error, OverflowError)
    with contextlib.closing(sqlite3.connect(path)) as database, broken:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        listed = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for _ in range(rng.choice((1, 1, 2, 3))):
            (table,) = rng.choice(listed)
            way = rng.randrange(8)
            if way == 0:
                _make_view(rng, database, table)
                break  # nobody can read it
            elif way == 1:
                column = rng.choice(_columns(database, table))
                (rows,) = database.execute(f'SELECT count(*) FROM "{table}"').fetchone()
                long = long_text(rng, size // max(rows, 1))
                database.execute(f'UPDATE "{table}" SET "{column}" = ?', (long,))
            else:
                _repeat_row(rng, database, table, size)
        database.commit()
    if rng.random() < 0.25:
        _share_pages(rng, path)


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in database.execute(f'PRAGMA table_info("{table}")').fetchall()]


def _repeat_row(rng: random.Random, database: sqlite3.Connection, table: str, size: int) -> None:
    rows = database.execute(f'SELECT * FROM "{table}"').fetchall()
    if not rows:
        return
    row, laws = rng.choice(rows), Laws(rng)
    marks = ", ".join("?" * len(row))
    row_bytes = sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)
    for number in range(count(rng, size, row_bytes)):
        values = []
        for column, value in enumerate(row):
            if isinstance(value, int):
                value = max(-(2**63), min(laws.number((column,), value, number), 2**63 - 1))
            elif isinstance(value, str):
                value = laws.text((column,), value, number)
            values.append(value)
        database.execute(f'INSERT OR IGNORE INTO "{table}" VALUES ({marks})', values)


def _make_view(rng: random.Random, database: sqlite3.Connection, table: str) -> None:
    """A view where a table is awaited: rows by rows by rows, or without end."""
    columns = _columns(database, table)
    database.execute(f'ALTER TABLE "{table}" RENAME TO "kept {table}"')
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
    if rng.random() < 0.5:
        listed = ", ".join(f'k."{column}"' for column in columns)
        query = f'{rows} {listed} FROM n, "kept {table}" AS k'
    else:
        listed = ", ".join(f'a."{column}"' for column in columns)
        joined_ = ", ".join(f'"kept {table}" AS {letter}' for letter in "abcdefg")
        query = f"SELECT {listed} FROM {joined_}"
    database.execute(f'CREATE VIEW "{table}" AS {query}')


def _share_pages(rng: random.Random, path: Path) -> None:
    """Pages of the tree that have the same child, each other, or themselves below them."""
    data = bytearray(path.read_bytes())
    page = int.from_bytes(data[16:18], "big") or 512
    pages = len(data) // page
    for number in range(1, pages):
        at = number * page
        cells = int.from_bytes(data[at + 3 : at + 5], "big")
        if data[at] != 5 or not 0 < cells < page // 4:
            continue
        child = rng.randrange(1, pages + 1).to_bytes(4, "big")
        data[at + 8 : at + 12] = child
        for cell in range(cells):
            place = at + 12 + 2 * cell
            cell_at = at + int.from_bytes(data[place : place + 2], "big")
            if cell_at + 4 <= at + page:
                data[cell_at : cell_at + 4] = child
    path.write_bytes(data)


# ---------------------------------------------------------------------------------- texts


def grown_lines(rng: random.Random, text: str, size: int, separators: Sequence[str]) -> str:
    """A text of lines with lines or fields of them repeated by laws, joined or left open."""
    lines = text.splitlines()
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(lines))
        line, way, laws = lines[at], rng.randrange(6), Laws(rng)
        if way < 3:
            block = lines[at : at + rng.choice((1, 1, 2, 5))]
            times = count(rng, size, sum(map(len, block)))
            lines[at:at] = [
                _line_copy(laws, (place,), one, number)
                for number in range(times)
                for place, one in enumerate(block)
            ]
        elif way == 3:
            separator = rng.choice(separators)
            parts = line.split(separator)
            part = rng.randrange(len(parts))
            times = count(rng, size, len(parts[part]) + 1)
            parts[part:part] = [
                _line_copy(laws, (), parts[part], number) for number in range(times)
            ]
            lines[at] = separator.join(parts)
        elif way == 4:
            place = rng.randrange(len(line) + 1)
            lines[at] = line[:place] + long_text(rng, size) + line[place:]
        else:
            place = rng.randrange(len(line) + 1)
            lines[at] = line[:place] + rng.choice('";([{\\\t\r\x00') + line[place:]
            lines[at:at] = [line] * count(rng, size, len(line))
    return "\n".join(lines) + "\n"


def _line_copy(laws: Laws, path: tuple[object, ...], line: str, number: int) -> str:
    """Each number of the line follows a law of its own."""
    place = iter(range(1 << 30))
    return _DIGITS.sub(
        lambda match: str(laws.number((*path, next(place)), int(match.group()[:18]), number)), line
    )


# ----------------------------------------------------------------------------- containers


def packed(rng: random.Random, data: bytes) -> bytes:
    """The data in gzip: in one member, in many, with empty ones between, in itself, or cut."""
    way = rng.randrange(6)
    if way == 0:
        step = max(1, len(data) // rng.choice((2, 20, 2000)))
        return b"".join(gzip.compress(data[at : at + step], 1) for at in range(0, len(data), step))
    if way == 1:
        return gzip.compress(b"", 1) * rng.choice((1, 1000, 20_000)) + gzip.compress(data, 1)
    if way == 2:
        for _ in range(rng.choice((2, 5))):
            data = gzip.compress(data, 1)
        return data
    whole = gzip.compress(data, 1)
    if way == 3:
        return whole[: rng.randrange(len(whole))]
    if way == 4:
        named = bytearray(whole)
        named[3] = 8
        named[10:10] = b"a" * rng.choice((10, 100_000)) + b"\0"
        return bytes(named)
    return whole
