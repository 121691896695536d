"""SQLite files of strangers: base tables as columns, nothing in the file is trusted.

Only base tables of the schema are read, column by column. Views, triggers, virtual
tables and generated columns, which can call functions, are never touched: the connection refuses
whatever is not a plain read. Cells are of any type in SQLite: in a column of integers, what is not
one is counted and becomes ``NULL``; a file that breaks on the way gives the rows before.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.errors import FormatError
from stepscope.formats.packed import NULL, CodedTexts, PackedIntegers
from stepscope.formats.table_pages import PlainTable, TablePages
from stepscope.formats.trace_tables import LONGEST_TEXT, Rows
from stepscope.limits import Budget, LimitError, current
from stepscope.records import dataclass

I64 = NDArray[np.int64]

MAGIC: Final = b"SQLite format 3\0"
#: What a broken file raises; the second, where it breaks the words of SQLite's own message, the
#: third, where a row says that it has 4 GB.
_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError, MemoryError)
# Rows that are Python objects at a time: few enough to stay in the processor's caches.
_ROWS: Final = 1_000
_KEYS: Final = 500
_STEPS_BETWEEN_LOOKS: Final = 200_000
# A row has at least its length, its rowid, a header and a place in its page.
_MIN_ROW_BYTES: Final = 4
_MAX_CELL_BYTES: Final = 4 << 20
# A backstop: an instruction may follow a long chain of pages.
_MIN_CPU_S: Final = 20.0
_CPU_S_PER_BYTE: Final = 1e-6
_FUNCTIONS: Final = frozenset({"ifnull", "substr", "count", "sum"})
_PLAIN_READS: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ})
# PRAGMA table_xinfo says this of ordinary columns; generated and hidden ones have other numbers.
_ORDINARY: Final = 0
# Such a key is not a name of the rowid.
_DESCENDING: Final = re.compile(r"PRIMARY\s+KEY\s+DESC\b", re.IGNORECASE)
_CUT: Final = "the file ends within a page"
_VIRTUAL: Final = re.compile(r"\s*CREATE\s+VIRTUAL\b", re.IGNORECASE)


@dataclass(slots=True)
class TraceDatabase:
    """An open file.

    Attributes:
        tables: Column names of each base table.
        damage: Why reading ended early ("" where it did not).
        odd_cells: How many cells held something else than they should.
    """

    tables: dict[str, tuple[str, ...]]
    _connection: sqlite3.Connection
    _plain: Mapping[str, PlainTable]
    _pages: TablePages | None
    _meter: _Meter
    _size_bytes: int
    damage: str = ""
    odd_cells: int = 0
    _has_ended: bool = False

    def first_pages(self, tables: str) -> list[tuple[int, int]]:
        """Where the first page of each table whose name begins so lies: begin and end."""
        size = 0 if self._pages is None else self._pages.page_bytes
        found = [one.root for name, one in self._plain.items() if name.startswith(tables)]
        return [((root - 1) * size, root * size) for root in found if root > 0 and size]

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is such a table with such columns."""
        return set(columns) <= set(self.tables.get(table, ())) and table in self.tables

    def count(self, table: str) -> int:
        """How many rows a table has; 0 where there is no such table."""
        if table not in self.tables:
            return 0
        # count(*) is one instruction, which neither counts nor ends where pages are no tree.
        query = f"SELECT sum(1) FROM {_quoted(table)}"
        return sum(int(number or 0) for chunk in self._chunks(query, ()) for (number,) in chunk)

    def rows(
        self,
        table: str,
        numbers: Sequence[str] = (),
        texts: Sequence[str] = (),
        *,
        where: tuple[str, Sequence[str] | Sequence[int]] | None = None,
        endings: Sequence[str] = (),
    ) -> Rows:
        """A table, in the order of the file: see ``TraceTables.rows``."""
        known = frozenset(self.tables.get(table, ()))
        nothing = Rows(0, dict.fromkeys(numbers), dict.fromkeys(texts), known)
        if not known or (where is not None and where[0] not in known):
            return nothing
        if where is None and self._pages is not None and table in self._plain:
            some = [one for one in numbers if one in known]
            some_texts = [one for one in texts if one in known]
            read = self._pages.read(self._plain[table], some, some_texts, endings)
            if read is not None:
                found = dict(zip(some, read.numbers, strict=True))
                found_texts = dict(zip(some_texts, read.texts, strict=True))
                rows = _rows(read.count, numbers, found, texts, found_texts, known)
                rows.ended = {one: numbers.array() for one, numbers in read.ended.items()}
                return rows
        return self._asked(table, numbers, texts, where, known)

    def _asked(
        self,
        table: str,
        numbers: Sequence[str],
        texts: Sequence[str],
        where: tuple[str, Sequence[str] | Sequence[int]] | None,
        known: frozenset[str],
    ) -> Rows:
        """The same rows, from SQLite."""
        filled = self._filled(table, [one for one in (*numbers, *texts) if one in known], where)
        wanted = [one for one in numbers if one in filled]
        wanted_texts = [one for one in texts if one in filled]
        query, values = self._query(table, wanted, wanted_texts, where)
        columns = [_Integers() for _ in wanted]
        said = [_Texts() for _ in wanted_texts]
        reading: tuple[_Integers | _Texts, ...] = (*columns, *said)
        count = 0
        for chunk in self._chunks(query, values):
            count += len(chunk)
            # A table without any of the columns gives cells that no column takes.
            for column, cells in zip(reading, zip(*chunk, strict=True), strict=False):
                self.odd_cells += column.add(cells)
        found = {name: one.packed for name, one in zip(wanted, columns, strict=True)}
        found_texts = {name: one.coded() for name, one in zip(wanted_texts, said, strict=True)}
        return _rows(count, numbers, found, texts, found_texts, known)

    def _filled(
        self,
        table: str,
        columns: Sequence[str],
        where: tuple[str, Sequence[str] | Sequence[int]] | None,
    ) -> frozenset[str]:
        """The columns that hold anything: SQLite finds that out faster than their cells are read.

        All of them where it cannot tell; reading on then says what is broken.
        """
        if where is not None or not columns:
            return frozenset(columns)
        counts = ", ".join(f"count({_quoted(one)})" for one in columns)
        try:
            found = self._connection.execute(f"SELECT {counts} FROM {_quoted(table)}").fetchone()
        except _ERRORS:
            return frozenset(columns)
        filled = frozenset(one for one, count in zip(columns, found, strict=True) if count)
        # Rows of nothing are rows.
        return filled or frozenset(columns[:1])

    def texts(self, table: str, key: str, text: str, wanted: I64) -> dict[int, str]:
        """Texts by number, those of the wanted numbers alone: what nobody names is never read.

        Args:
            table: Table of texts.
            key: Its column of numbers.
            text: Its column of texts.
            wanted: Which numbers.
        """
        if not self.has(table, key, text):
            return {}
        keys = np.unique(wanted[wanted != NULL]).tolist()
        found: dict[int, str] = {}
        if table not in self._plain or self._plain[table].rowid != key:
            # Each look-up would read the whole table.
            rows = self.rows(table, (key,), (text,))
            pairs = zip(rows[key].tolist(), rows.texts[text], strict=True)
            asked = set(keys)
            return {one: said for one, said in pairs if said is not None and one in asked}
        for begin in range(0, len(keys), _KEYS):
            some = keys[begin : begin + _KEYS]
            query = (
                f"SELECT {_quoted(key)}, substr({_quoted(text)}, 1, {LONGEST_TEXT}) "
                f"FROM {_quoted(table)} WHERE {_quoted(key)} IN ({', '.join('?' * len(some))})"
            )
            for chunk in self._chunks(query, some):
                found.update(
                    (one, value.decode("utf-8", "replace"))
                    for one, value in chunk
                    if isinstance(value, bytes)
                )
        return found

    def _query(
        self,
        table: str,
        numbers: Sequence[str],
        texts: Sequence[str],
        where: tuple[str, Sequence[str] | Sequence[int]] | None,
    ) -> tuple[str, tuple[Any, ...]]:
        wanted = [f"ifnull({_quoted(column)}, {NULL})" for column in numbers]
        wanted += [f"substr({_quoted(column)}, 1, {LONGEST_TEXT})" for column in texts]
        query = f"SELECT {', '.join(wanted) or 'NULL'} FROM {_quoted(table)}"
        if where is None:
            return query, ()
        marks = ", ".join("?" * len(where[1]))
        return f"{query} WHERE {_quoted(where[0])} IN ({marks})", tuple(where[1])

    def _chunks(self, query: str, values: Sequence[Any]) -> Iterator[list[tuple[Any, ...]]]:
        if self._has_ended:
            return
        try:
            cursor = self._connection.execute(query, tuple(values))
            count = 0
            while chunk := cursor.fetchmany(_ROWS):
                count += len(chunk)
                if count * _MIN_ROW_BYTES > self._size_bytes:
                    raise sqlite3.DatabaseError("a table has more rows than the file has room for")
                yield chunk
        except _ERRORS as error:
            self._end(error)

    def _end(self, error: Exception) -> None:
        if self._meter.refusal is not None:
            raise self._meter.refusal from error
        self.damage = self.damage or _said(error)
        self._has_ended = True


def _rows(
    count: int,
    numbers: Sequence[str],
    found: Mapping[str, PackedIntegers],
    texts: Sequence[str],
    found_texts: Mapping[str, CodedTexts],
    known: frozenset[str],
) -> Rows:
    return Rows(
        count,
        {name: found.get(name) for name in numbers},
        {name: found_texts.get(name) for name in texts},
        known,
    )


class _Integers:
    """A column of integers that is being read."""

    def __init__(self) -> None:
        self.packed = PackedIntegers()

    def add(self, cells: tuple[object, ...]) -> int:
        """The next cells; how many are not integers, which become ``NULL``."""
        odd = 0
        if set(map(type, cells)) <= {int}:
            some = np.fromiter(cells, np.int64, len(cells))
        else:
            plain = [_integer(one) for one in cells]
            odd = sum(one is None for one in plain)
            some = np.asarray([NULL if one is None else one for one in plain], np.int64)
        self.packed.add(some)
        return odd


class _Texts:
    """A column of texts that is being read; equal ones are one, as names repeat."""

    def __init__(self) -> None:
        self._code: dict[object, int] = {}
        self._distinct: list[str | None] = []
        self._codes: list[NDArray[np.int32]] = []

    def add(self, cells: tuple[object, ...]) -> int:
        """The next cells; how many distinct new ones are not texts, which become None."""
        odd = 0
        for cell in set(cells).difference(self._code):
            odd += not (cell is None or isinstance(cell, bytes))
            self._code[cell] = len(self._distinct)
            text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else None
            current().spend("text", len(text or ""))
            self._distinct.append(text)
        codes = map(self._code.__getitem__, cells)
        self._codes.append(np.fromiter(codes, np.int32, len(cells)))
        return odd

    def coded(self) -> CodedTexts:
        """The column."""
        codes = np.concatenate([np.zeros(0, np.int32), *self._codes])
        return CodedTexts(self._distinct, codes)


@contextmanager
def opened(path: Path, *, title: str, file: str) -> Iterator[TraceDatabase]:
    """An SQLite file for as long as the context lasts.

    Args:
        path: Where it is.
        title: What kind of file it should be, for reports.
        file: Its name for reports.

    Raises:
        FormatError: It is not a database that opens.
    """
    # SQLite looks for a journal beside the file itself, not beside a link to it.
    path = path.resolve()
    uri = f"{path.as_uri()}?mode=ro"
    # A journal beside it holds what the file does not; without one nothing needs to be locked.
    is_whole = not any(_has_bytes(path, suffix) for suffix in ("-wal", "-journal"))
    if is_whole:
        uri += "&immutable=1"
    connection: sqlite3.Connection | None = None
    meter: _Meter | None = None
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        size = path.stat().st_size
        meter = _Meter(current(), time.thread_time() + _MIN_CPU_S + size * _CPU_S_PER_BYTE)
        _restrict(connection, meter)
        tables, plain = _tables(connection)
        with path.open("rb") as pages:
            read = TablePages(pages) if is_whole else None
            damage = _CUT if read is not None and read.is_cut else ""
            yield TraceDatabase(tables, connection, plain, read, meter, size, damage)
    except _ERRORS as error:
        if meter is not None and meter.refusal is not None:
            raise meter.refusal from error
        raise FormatError(
            title, f"SQLite says: {_said(error)}", file=file, hint=_hint(path)
        ) from error
    finally:
        if connection is not None:
            connection.close()


def _said(error: Exception) -> str:
    return str(error) or "out of memory"


class _Meter:
    """Spends the instructions that SQLite runs.

    Attributes:
        refusal: Which limit they exceeded, once they did: SQLite then ends the query.
    """

    def __init__(self, budget: Budget, until_cpu_s: float) -> None:
        self.refusal: LimitError | None = None
        self._budget, self._until_cpu_s = budget, until_cpu_s

    def __call__(self) -> bool:
        try:
            self._budget.spend("work", _STEPS_BETWEEN_LOOKS)
        except LimitError as error:
            self.refusal = error
        # A single instruction may follow a long chain of pages.
        return self.refusal is not None or time.thread_time() > self._until_cpu_s


def _restrict(connection: sqlite3.Connection, meter: _Meter) -> None:
    """Leave nothing possible but plain reads within the limits."""
    for pragma in ("query_only = 1", "trusted_schema = 0", "cell_size_check = 1"):
        connection.execute(f"PRAGMA {pragma}")
    if hasattr(connection, "setlimit"):  # Python 3.11
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_CELL_BYTES)
    connection.text_factory = bytes  # decoded once for each distinct text
    connection.set_authorizer(_allowed)
    connection.set_progress_handler(meter, _STEPS_BETWEEN_LOOKS)


def _allowed(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    is_plain = (
        action in _PLAIN_READS
        or (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS)
        or (action == sqlite3.SQLITE_PRAGMA and first == "table_xinfo")
    )
    return sqlite3.SQLITE_OK if is_plain else sqlite3.SQLITE_DENY


def _tables(
    connection: sqlite3.Connection,
) -> tuple[dict[str, tuple[str, ...]], dict[str, PlainTable]]:
    """Base tables and their ordinary columns, and those that have no other columns."""
    listed = connection.execute(
        "SELECT name, sql, rootpage FROM sqlite_master WHERE type = 'table'"
    )
    texts = [(_decoded(name), _decoded(sql), root) for name, sql, root in listed.fetchall()]
    found: dict[str, tuple[str, ...]] = {}
    plain: dict[str, PlainTable] = {}
    for name, sql, root in texts:
        if not name or not sql or _VIRTUAL.match(sql):
            continue
        columns = connection.execute(f"PRAGMA table_xinfo({_quoted(name)})").fetchall()
        ordinary = [one for one in columns if len(one) > 6 and one[6] == _ORDINARY]
        found[name] = tuple(_decoded(one[1]) for one in ordinary)
        if len(ordinary) == len(columns) and isinstance(root, int):
            keys = [one for one in columns if one[5]]
            is_rowid = len(keys) == 1 and _decoded(keys[0][2]).upper() == "INTEGER"
            rowid = _decoded(keys[0][1]) if is_rowid and not _DESCENDING.search(sql) else ""
            plain[name] = PlainTable(root, found[name], rowid)
    return found, plain


def _decoded(cell: object) -> str:
    """A text of the schema; "" for what is none, or could not be asked for by its name."""
    try:
        return cell.decode() if isinstance(cell, bytes) else ""
    except UnicodeDecodeError:
        return ""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _integer(cell: object) -> int | None:
    """A cell as an integer: numbers without a fraction count, whatever their type."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    is_one = isinstance(cell, int) and NULL <= cell < 1 << 63
    return cell if is_one and isinstance(cell, int) else None


def _has_bytes(path: Path, suffix: str) -> bool:
    try:
        return path.with_name(path.name + suffix).stat().st_size > 0
    except OSError:
        return False


def _hint(path: Path) -> str:
    if _has_bytes(path, "-wal"):
        return (
            f"{path.name}-wal beside it holds rows that are not in it yet: let its writer end, or "
            "copy both to a folder that can be written to."
        )
    return (
        "Export or copy the file again; a cut or encrypted file does this. Of a cut one "
        "sqlite3 FILE .recover | sqlite3 NEW.sqlite saves what is left."
    )
