"""Tables of a profile as frames, each built when it is first named, and trusted queries over them.

A trusted query runs in this process, without limits.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from stepscope.errors import UsageError, cut
from stepscope.sql.door import SHOWN_CHARS, named_tables
from stepscope.sql.tables import TABLES
from stepscope.tables.core.profile import Profile

if TYPE_CHECKING:
    import polars as pl


def table_frame(profile: Profile, name: str) -> pl.DataFrame:
    """One table of the profile, kept with it."""
    key = f"frame:{name}"
    with profile.locks.setdefault(key, RLock()):
        if key not in profile.cache:
            profile.cache[key] = TABLES[name].build(profile)
        built: pl.DataFrame = profile.cache[key]
        return built


def run_query(profile: Profile, query: str) -> pl.DataFrame:
    """The answer to a trusted query.

    Raises:
        UsageError: It is wrong; with the database's reason.
    """
    import polars as pl

    from stepscope.sql.execution import answer, reason_of

    frames = {name: table_frame(profile, name) for name in named_tables(query, TABLES)}
    try:
        return answer(frames, query).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise wrong_query(query, reason_of(error)) from error


def wrong_query(query: str, why: str) -> UsageError:
    """The error for a query that cannot be run, with the columns of the tables it names."""
    tables = [TABLES[name] for name in named_tables(query, TABLES)]
    columns = "; ".join(f"{t.name}({', '.join(c.name for c in t.columns)})" for t in tables)
    return UsageError(
        "The query cannot be run.",
        where=cut(query, SHOWN_CHARS),
        why=why,
        hint=f"Tables: {columns or ', '.join(TABLES)}.",
        slug="sql",
    )
