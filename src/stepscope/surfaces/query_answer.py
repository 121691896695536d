"""The answer to a query as a table like any other: printed, exported and drawn by the same code."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

from stepscope.field_names import label_of, suffix_of, unit_of
from stepscope.result import Column, ColumnKind, Row, Table
from stepscope.sql.tables import TABLES

if TYPE_CHECKING:
    import polars as pl

_KINDS: dict[str, ColumnKind] = {
    "_ps": "time",
    "_ns": "time",
    "_us": "time",
    "_ms": "time",
    "_s": "time",
    "_frac": "ratio",
    "_bytes": "bytes",
}
_MEANINGS = {column.name: column.meaning for table in TABLES.values() for column in table.columns}
_NAMES = frozenset({"name", "op", "operation"})
# Beyond this a page and JSON cannot hold a whole number; a text can.
_TOO_LARGE = 2.0**53


def answer_table(frame: pl.DataFrame) -> Table[Row]:
    """The frame as a table, its columns described by their names' units."""
    import polars as pl

    columns: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    for name in frame.columns:
        series = frame[name]
        if series.dtype.is_integer() and not _exact(series):
            series = series.cast(pl.String)
        type_, kind = _described(name, series.dtype)
        columns[name] = [_plain(value, type_) for value in series.to_list()]
        numeric = type_ in (int, float)
        column = Column(
            label_of(name) if numeric else name,
            unit=unit_of(name) if numeric else "",
            kind=kind,
            help=_MEANINGS.get(name, ""),
        )
        hints[name] = Annotated[type_, column]
    # Only the query tells what its columns are called.
    schema = type("AnswerRow", (Row,), {"__annotations__": hints, "__module__": __name__})
    return Table(schema, columns)


def _described(name: str, dtype: pl.DataType) -> tuple[type, ColumnKind]:
    """Type and kind of a column."""
    import polars as pl

    if dtype == pl.Boolean:
        return bool, "flag"
    if dtype.is_integer():
        return int, _KINDS.get(suffix_of(name), "count")
    if dtype.is_float():
        return float, _KINDS.get(suffix_of(name), "number")
    return str, "name" if name in _NAMES else "text"


def _exact(series: pl.Series) -> bool:
    """Whether every whole number of it is one that doubles hold."""
    import polars as pl

    return bool((series.drop_nulls().cast(pl.Float64).abs() < _TOO_LARGE).all())


def _plain(value: Any, type_: type) -> Any:
    """A value as JSON and CSV hold it: NaN and infinity are not available, lists are text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if type_ is float:
        return value if isfinite(value) else None
    return str(value)
