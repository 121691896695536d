"""``api/v1/sql…``: the tables, the answers to queries, and their files."""

from __future__ import annotations

from collections.abc import Callable
from threading import BoundedSemaphore
from time import monotonic
from typing import Final

from werkzeug.wrappers import Request, Response

from stepscope.errors import StepscopeError, UsageError
from stepscope.result import Row, Table
from stepscope.session import Session
from stepscope.sql.database import QueryAnswer, QueryLimits
from stepscope.sql.examples import EXAMPLES
from stepscope.sql.lanes import has_times, lanes_of
from stepscope.sql.tables import TABLES
from stepscope.surfaces import export
from stepscope.surfaces.brought_names import bringing
from stepscope.surfaces.envelope import (
    QueryInfo,
    QueryLanesInfo,
    QueryTablesInfo,
    column_infos,
)
from stepscope.surfaces.http.answers import compressed, download, json_answer
from stepscope.surfaces.http.leaving import check_of
from stepscope.surfaces.query_answer import answer_table

_SHOWN: Final = QueryLimits(rows=10_000, seconds=20)
_SAVED: Final = QueryLimits(rows=1_000_000, seconds=60)
#: Queries of all clients that may run or wait at once: half of the server's threads.
MOST_QUERIES: Final = 4
_seats: Final = BoundedSemaphore(MOST_QUERIES)
_FORMATS: Final[dict[str, tuple[str, Callable[[Table[Row]], bytes]]]] = {
    "csv": ("text/csv", lambda table: export.csv_text(table).encode()),
    "json": ("application/json", lambda table: export.table_json(table).encode()),
    "parquet": ("application/vnd.apache.parquet", export.parquet_bytes),
}


def tables(request: Request) -> Response:
    """Every table with the meaning of its columns; they are the same for all recordings."""
    body: QueryTablesInfo = {
        "tables": [
            {
                "name": table.name,
                "meaning": table.meaning,
                "columns": [
                    {"name": one.name, "type": one.type, "meaning": one.meaning}
                    for one in table.columns
                ],
            }
            for table in TABLES.values()
        ],
        "examples": [{"question": one.question, "query": one.query} for one in EXAMPLES],
    }
    return json_answer(request, body)


def answer(request: Request, session: Session) -> Response:
    """The answer to ``q``, as much of it as a page shows."""
    begin = monotonic()
    found = _asked(request, session, _SHOWN)
    table = answer_table(found.frame)
    body: QueryInfo = {
        "rows": len(table),
        "cut": found.cut,
        "has_times": len(table) > 0 and has_times(found.frame.columns),
        "seconds": monotonic() - begin,
        "schema": column_infos(table.schema),
        "columns": table.to_dict(),
    }
    named = [column for column in body["schema"] if column["kind"] == "name"]
    cells = (cell for column in named for cell in body["columns"][column["name"]] if cell)
    return json_answer(request, bringing(body, cells, session.profile))


def lanes(request: Request, session: Session) -> Response:
    """The answer to ``q`` as a track of the timeline."""
    found = _asked(request, session, _SHOWN)
    track = lanes_of(found.frame)
    body: QueryLanesInfo = {
        "cut": found.cut,
        "lanes": track.lanes,
        "name": track.name,
        "begin_ps": track.begin_ps.tolist(),
        "end_ps": track.end_ps.tolist(),
        "lane": track.lane.tolist(),
        "event": track.event.tolist(),
    }
    return json_answer(request, bringing(body, track.name, session.profile))


def saved(request: Request, session: Session, format: str) -> Response:
    """The answer to ``q`` as a file to save."""
    if format not in _FORMATS:
        raise UsageError(f"There is no format {format!r}.", hint=f"One of {', '.join(_FORMATS)}.")
    found = _asked(request, session, _SAVED)
    if found.cut:
        raise UsageError(
            f"The answer has more than {_SAVED.rows:,} rows.",
            where=_query(request),
            hint="Add LIMIT, or group the rows.",
            slug="sql-closed",
        )
    mimetype, write = _FORMATS[format]
    name = f"{session.name.rsplit('/', 1)[-1]}-query.{format}"
    return compressed(request, download(write(answer_table(found.frame)), mimetype, name))


def _asked(request: Request, session: Session, limits: QueryLimits) -> QueryAnswer:
    """Return the answer to ``q``; others that wait leave threads for pages and tiles.

    Raises:
        GivenUp: The client has gone; its query has ended.
    """
    query = _query(request)
    if not _seats.acquire(blocking=False):
        raise StepscopeError(
            f"{MOST_QUERIES} other queries run or wait.",
            where=query,
            why="The server keeps its other threads for pages.",
            hint="Ask again when they have ended.",
            slug="server-busy",
        )
    try:
        return session.database.ask(query, limits, check_of(request))
    finally:
        _seats.release()


def _query(request: Request) -> str:
    query = request.args.get("q", "")
    if not query.strip():
        raise UsageError("There is no query.", hint="Give q=SELECT …", slug="sql")
    return query
