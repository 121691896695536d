"""Tables of summaries as data frames, which tests read and change."""

from __future__ import annotations

import polars as pl

from stepscope.summary.summary import Columns, Schema, columns_of


def frame(table: Columns) -> pl.DataFrame:
    """Return a table of a summary as a data frame."""
    return pl.DataFrame({name: column.tolist() for name, column in table.items()})


def table(schema: Schema, rows: pl.DataFrame) -> Columns:
    """Return the table of a summary with these rows."""
    return columns_of(schema, rows.to_dict(as_series=False))
