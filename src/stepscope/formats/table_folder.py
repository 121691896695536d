"""Folders of Parquet or Arrow files, one for each table of a recording: ``StringIds.parquet``.

Files of strangers, as databases are: tables are known by their files' names, columns are read by
theirs, a cell that is not of its column's kind is counted and becomes ``NULL``, and a file that
does not open is a table that is missing, said so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.errors import FormatError
from stepscope.formats.packed import NULL, CodedTexts
from stepscope.formats.trace_tables import I64, LONGEST_TEXT, Rows

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

#: Names of such files: the table, and how it is stored.
TABLE_FILE: Final = re.compile(r"(?P<table>[A-Za-z]\w{0,99})\.(?P<kind>parquet|arrow)")
_ARROW_FILE: Final = b"ARROW1"
# A row of a recording has a time of its own, which takes more than this; what claims more rows is
# made to fill memory.
_MOST_ROWS_PER_BYTE: Final = 8
_ALWAYS_ALLOWED_ROWS: Final = 1000


class TableFolder:
    """The tables of a folder.

    Args:
        folder: Where the files are; links are not followed.
        title: What the folder should be, for reports.
        file: Its name for reports.

    Attributes:
        tables: Column names of each table that opens.
        damage: What is wrong with those that do not ("" for nothing).
        odd_cells: How many cells held something else than they should.

    Raises:
        FormatError: None of its tables opens.
    """

    def __init__(self, folder: Path, *, title: str, file: str) -> None:
        self.tables: dict[str, tuple[str, ...]] = {}
        self.damage = ""
        self.odd_cells = 0
        self._paths: dict[str, Path] = {}
        self._counts: dict[str, int] = {}
        for path in sorted(folder.iterdir()):
            named = TABLE_FILE.fullmatch(path.name)
            if named is None or path.is_symlink() or not path.is_file():
                continue
            head = self._tried(path.name, partial(_head, path))
            if head is not None:
                self._paths[named["table"]] = path
                self.tables[named["table"]], self._counts[named["table"]] = head
        if not self.tables:
            raise FormatError(title, self.damage or "it has no tables", file=file)

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is such a table with such columns."""
        return table in self.tables and set(columns) <= set(self.tables[table])

    def count(self, table: str) -> int:
        """How many rows a table has; 0 where there is no such table."""
        return self._counts.get(table, 0)

    def rows(
        self,
        table: str,
        numbers: Sequence[str] = (),
        texts: Sequence[str] = (),
        *,
        where: tuple[str, Sequence[str] | Sequence[int]] | None = None,
        endings: Sequence[str] = (),
    ) -> Rows:
        """A table, in the order of the file; see ``TraceTables``. Endings are left on."""
        del endings
        known = frozenset(self.tables.get(table, ()))
        some = [one for one in numbers if one in known]
        some_texts = [one for one in texts if one in known]
        frame = None
        if known and (where is None or where[0] in known):
            wanted = [*some, *some_texts, *([where[0]] if where else [])]
            frame = self._frame(table, wanted or self.tables[table][:1], where)
        if frame is None:
            return Rows(0, dict.fromkeys(numbers), dict.fromkeys(texts), known)
        found = {one: self._integers(frame[one]) for one in some}
        found_texts = {one: self._coded(frame[one]) for one in some_texts}
        return Rows(
            frame.height,
            {one: found.get(one) for one in numbers},
            {one: found_texts.get(one) for one in texts},
            known,
        )

    def texts(self, table: str, key: str, text: str, wanted: I64) -> dict[int, str]:
        """Texts by number, those of the wanted numbers alone; see ``TraceTables``."""
        if not self.has(table, key, text):
            return {}
        keys = np.unique(wanted[wanted != NULL]).tolist()
        rows = self.rows(table, (key,), (text,), where=(key, keys))
        pairs = zip(rows[key].tolist(), rows.texts[text], strict=True)
        return {number: said for number, said in pairs if said is not None}

    def _frame(
        self,
        table: str,
        columns: Sequence[str],
        where: tuple[str, Sequence[str] | Sequence[int]] | None,
    ) -> pl.DataFrame | None:
        path = self._paths[table]
        distinct = list(dict.fromkeys(columns))
        frame = self._tried(path.name, lambda: _columns(path, distinct))
        if frame is None or where is None:
            return frame
        column, values = where
        return self._tried(path.name, lambda: frame.filter(_among(frame[column], values)))

    def _tried(self, name: str, read: Callable[[], T]) -> T | None:
        """What a reader gives; None where it fails, which is noted."""
        import polars as pl

        try:
            return read()
        except (pl.exceptions.PolarsError, OSError, ValueError, OverflowError) as error:
            reason = str(error).strip().split("\n", 1)[0][:200]
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # Polars' own; Exception is not its base
                raise
            reason = "it is broken"
        self.damage = self.damage or f"{name}: {reason}"
        return None

    def _integers(self, series: pl.Series) -> I64:
        """A column as integers: numbers without a fraction count, whatever their type."""
        import polars as pl

        kind = series.dtype
        if kind.is_float():
            whole = (series == series.floor()) & (series.abs() < 2.0**63)
            found = series.set(~whole.fill_null(value=False), None).cast(pl.Int64, strict=False)
        elif kind.is_integer() or kind == pl.Boolean:
            found = series.cast(pl.Int64, strict=False)
        else:
            found = pl.Series(series.name, [None], dtype=pl.Int64).new_from_index(0, len(series))
        self.odd_cells += found.null_count() - series.null_count()
        return found.fill_null(NULL).to_numpy(writable=True)

    def _coded(self, series: pl.Series) -> CodedTexts:
        """A column as texts, each distinct one once, in the order in which they are met."""
        import polars as pl

        kind = series.dtype
        if kind in (pl.String, pl.Binary, pl.Categorical, pl.Enum):
            texts = series.cast(pl.String, strict=False).str.head(LONGEST_TEXT)
        else:
            texts = pl.Series(series.name, [None], dtype=pl.String).new_from_index(0, len(series))
        self.odd_cells += texts.null_count() - series.null_count()
        ranks = texts.rank("dense").fill_null(0).to_numpy()
        _, first, inverse = np.unique(ranks, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        code = np.empty(len(order), np.int32)
        code[order] = np.arange(len(order), dtype=np.int32)
        codes: NDArray[np.int32] = code[inverse.ravel()]
        return CodedTexts(texts.gather(first[order]).to_list(), codes)


def _head(path: Path) -> tuple[tuple[str, ...], int]:
    """The columns of a table, and how many rows it has."""
    import polars as pl

    with path.open("rb", buffering=0) as file:
        if path.suffix == ".parquet":
            # The footer says it; the rows are not read.
            lazy = pl.scan_parquet(file, glob=False, hive_partitioning=False)
            names = tuple(lazy.collect_schema().names())
            count = int(lazy.select(pl.len()).collect().item())
        else:
            frame = _arrow(file, None)
            names, count = tuple(frame.columns), frame.height
    size = path.stat().st_size
    if count > _ALWAYS_ALLOWED_ROWS + _MOST_ROWS_PER_BYTE * size:
        raise ValueError(f"it claims {count:,} rows in {size:,} bytes")
    return names, count


def _columns(path: Path, columns: list[str]) -> pl.DataFrame:
    import polars as pl

    with path.open("rb", buffering=0) as file:
        if path.suffix == ".parquet":
            return pl.read_parquet(
                file, columns=columns, glob=False, hive_partitioning=False, use_statistics=False
            )
        return _arrow(file, columns)


def _arrow(file: FileIO, columns: list[str] | None) -> pl.DataFrame:
    """A file of Arrow's, with or without the footer that lets readers jump in it."""
    import polars as pl

    is_file = file.read(len(_ARROW_FILE)) == _ARROW_FILE
    file.seek(0)
    read = pl.read_ipc if is_file else pl.read_ipc_stream
    frame = read(file, columns=columns)
    return frame


def _among(series: pl.Series, values: Sequence[str] | Sequence[int]) -> pl.Series:
    """Which cells are one of some values, that are all texts or all numbers."""
    import polars as pl

    kind = pl.String if values and isinstance(values[0], str) else pl.Int64
    return series.cast(kind, strict=False).is_in(list(values)).fill_null(value=False)
