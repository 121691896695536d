"""SQL and frames over a profile's tables, built only when named."""

from __future__ import annotations

import re
from threading import RLock
from typing import TYPE_CHECKING

from stepscope.errors import UsageError
from stepscope.tables.core.profile import Profile
from stepscope.tables.recording.query_frames import FRAMES

if TYPE_CHECKING:
    import polars as pl

_STRING = re.compile(r"'(?:[^']|'')*'")


def frame(profile: Profile, name: str) -> pl.DataFrame:
    """One table of the profile, kept with it."""
    key = f"frame:{name}"
    with profile.locks.setdefault(key, RLock()):
        if key not in profile.cache:
            profile.cache[key] = FRAMES[name](profile)
        built: pl.DataFrame = profile.cache[key]
        return built


def query_frames(profile: Profile, query: str) -> pl.DataFrame:
    """The answer to a query; raises ``UsageError`` with the database's reason when it is wrong."""
    import polars as pl

    words = set(re.findall(r"\w+", _STRING.sub("", query).lower()))
    named = {name: frame(profile, name) for name in FRAMES if name in words}
    # Names are categories in the frames; LIKE and the text functions want text. Lazily, so that
    # only the columns a query reads are converted.
    texts = pl.col(pl.Categorical).cast(pl.String)
    tables = {name: table.lazy().with_columns(texts) for name, table in named.items()}
    try:
        return pl.SQLContext(tables, eager=True).execute(query)
    except pl.exceptions.PolarsError as error:
        columns = "; ".join(f"{name}({', '.join(table.columns)})" for name, table in named.items())
        raise UsageError(
            "The query cannot be run.",
            where=query,
            why=str(error).partition("\n\nResolved plan")[0],  # Polars' own words for its plan
            hint=f"Tables: {columns or ', '.join(FRAMES)}.",
            slug="sql",
        ) from error
