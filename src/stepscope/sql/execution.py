"""A query over frames: what both a trusted query and the closed process do with it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl


def answer(frames: Mapping[str, pl.DataFrame], query: str) -> pl.LazyFrame:
    """The query's answer, not yet computed.

    Names are categories in the frames; LIKE and the text functions want text. They become text
    lazily, so that only the columns a query reads are converted.
    """
    texts = pl.col(pl.Categorical).cast(pl.String)
    tables = {name: frame.lazy().with_columns(texts) for name, frame in frames.items()}
    return pl.SQLContext(tables, eager=False).execute(query)


def reason_of(error: BaseException) -> str:
    """Polars' reason in one line, without its plan."""
    text = str(error).partition("\n\nResolved plan")[0].partition("\n\nThis error occurred")[0]
    return " ".join(text.split())
