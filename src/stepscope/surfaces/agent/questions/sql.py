"""A question that nobody foresaw, as SQL over the events, steps and ops of a recording."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stepscope.errors import UsageError
from stepscope.surfaces.agent.question import CURSOR, MAX_TOKENS, RECORDING, Question
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import Reply, data

_ROWS = 5000
_LONGEST_QUERY = 4000
_READS = re.compile(r"\s*(with|select)\b", re.IGNORECASE)


def _answer(recordings: Recordings, arguments: Mapping[str, Any]) -> Reply:
    query = safe(str(arguments["query"]))
    found = recordings.session(str(arguments.get("recording") or "")).sql(query)
    first = int(arguments.get("cursor") or 0)
    rows = data("rows", found.columns, found.head(_ROWS).rows(), first=first)
    more = "the same query with cursor={cursor}, or with WHERE and LIMIT"
    said = () if len(found) <= _ROWS else (f"Only the first {_ROWS} rows can be listed.",)
    return Reply("rows" if len(found) else "none", said, (rows,), more=more)


def safe(query: str) -> str:
    """The query, if it can only read the recording's tables.

    The engine has table functions that read any file or address (``read_csv`` and others). What
    could name one is refused wherever it stands: quoting and comments would hide it from a look-up.

    Raises:
        UsageError: It is no query, or could read something else.
    """
    if len(query) > _LONGEST_QUERY or not _READS.match(query):
        raise UsageError(
            "This is no query that can be run.", hint="One SELECT of at most 4,000 characters."
        )
    if re.search(r"read_|scan_|;\s*\S", query, re.IGNORECASE):
        raise UsageError(
            "A query may read the tables of the recording and nothing else.",
            hint="Tables: events, steps, ops. Avoid read_ and scan_, even in texts.",
        )
    return query


QUESTION = Question(
    "sql",
    "SELECT over events(host, plane, line, name, start_us, duration_us, event), steps(host, "
    "step_num, name, start_ms, step_time_ms, parts …_ms, kept), ops(host, side, type, operation, "
    "occurrences, executions, total_us, self_us). Nested events count in their parents, too.",
    {
        "recording": RECORDING,
        "query": {"type": "string"},
        "cursor": CURSOR,
        "max_tokens": MAX_TOKENS,
    },
    _answer,
    required=("query",),
)
