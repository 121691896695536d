"""A question that nobody foresaw, as SQL over the tables of a recording.

The query is a stranger's: it goes through ``stepscope.sql``'s door, in a process that can read
nothing but the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepscope.sql.tables import TABLES
from stepscope.surfaces.agent.question import CURSOR, MAX_TOKENS, RECORDING, Question
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import AgentReply, data

_ROWS: Final = 5000
_SECONDS: Final = 20.0


def _answer(recordings: Recordings, arguments: Mapping[str, Any]) -> AgentReply:
    session = recordings.session(str(arguments.get("recording") or ""))
    found = session.sql(str(arguments["query"]), max_rows=_ROWS, timeout_s=_SECONDS)
    first = int(arguments.get("cursor") or 0)
    rows = data("rows", found.columns, found.rows(), first=first)
    more = "the same query with cursor={cursor}, or with WHERE and LIMIT"
    said = (f"At most {_ROWS} rows are listed.",) if len(found) == _ROWS else ()
    return AgentReply("rows" if len(found) else "none", said, (rows,), more=more)


QUESTION = Question(
    "sql",
    f"SELECT over the tables {', '.join(TABLES)}, such as steps(host, step_num, step_time_ms, "
    "input_ms …, kept); `stepscope guide sql` has all columns. SELECT * FROM steps LIMIT 1 shows "
    "them, too. Nested events count in their parents, too.",
    {
        "recording": RECORDING,
        "query": {"type": "string"},
        "cursor": CURSOR,
        "max_tokens": MAX_TOKENS,
    },
    _answer,
    required=("query",),
)
