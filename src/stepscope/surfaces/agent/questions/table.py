"""Any table of any tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.analysis import TOOLS
from stepscope.errors import UsageError
from stepscope.result import Column, Table, tables_of
from stepscope.session import Session
from stepscope.surfaces.agent.handles import handle_text
from stepscope.surfaces.agent.question import (
    CURSOR,
    MAX_TOKENS,
    RECORDING,
    TEXT,
    Question,
    unknown,
)
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import AgentReply, Data, ReplyOutcome, data
from stepscope.surfaces.outline import outline

# Tables whose rows have handles: the tool's and the table's name, and the kind of thing.
HANDLED = {("framework_op_stats", "ops"): "op", ("kernel_stats", "kernels"): "kernel"}
_DEFAULT_COLUMNS = 6


def shown_columns(table: Table[Any], wanted: str) -> list[str]:
    """The columns asked for; by default the first few that are not hidden."""
    from stepscope.result import columns_of

    known = columns_of(table.schema)
    chosen = [name.strip() for name in wanted.split(",") if name.strip()]
    strangers = [name for name in chosen if name not in known]
    if strangers:
        raise UsageError(
            f"{len(strangers)} of the columns do not exist.", hint=f"Columns: {', '.join(known)}."
        )
    return chosen or _most_telling(known)[:_DEFAULT_COLUMNS]


def _most_telling(known: Mapping[str, tuple[Any, Column]]) -> list[str]:
    """Columns by what they tell: the name, what the table is sorted by, times, others."""
    shown = {name: column for name, (_, column) in known.items() if not column.hidden}

    def place(name: str) -> int:
        column = shown[name]
        if column.kind == "name":
            return 0
        if column.sort:
            return 1
        return {"time": 2, "ratio": 2, "bytes": 3, "count": 4, "rank": 9}.get(column.kind, 5)

    return sorted(shown, key=place)


def table_data(
    session: Session, tool: str, name: str, table: Table[Any], arguments: Mapping[str, Any]
) -> Data:
    """A table's rows that match, with handles where its rows have them."""
    columns = shown_columns(table, str(arguments.get("columns") or ""))
    low = str(arguments.get("filter") or "").lower()
    kind = HANDLED.get((tool, name))
    plain = table.to_dict()
    rows: list[tuple[Any, ...]] = []
    for number, values in enumerate(zip(*plain.values(), strict=True), start=1):
        row = dict(zip(plain, values, strict=True))
        if low and not any(low in one.lower() for one in row.values() if isinstance(one, str)):
            continue
        cells = tuple(row[column] for column in columns)
        rows.append((handle_text(session, kind, number), *cells) if kind else cells)
    headings = ["handle", *columns] if kind else columns
    return data(name, headings, rows, first=int(arguments.get("cursor") or 0))


def _answer(recordings: Recordings, arguments: Mapping[str, Any]) -> AgentReply:
    tool = TOOLS.find(str(arguments["tool"]))
    session = recordings.session(str(arguments.get("recording") or ""))
    missing = session.available(tool.id)
    if missing is not None:
        return unknown(missing.missing, missing.record)
    options = {str(k): str(v) for k, v in dict(arguments.get("options") or {}).items()}
    tool.parse_options(options)
    result = session.run(tool.id, **options)
    tables = tables_of(result)
    named = str(arguments.get("table") or "")
    if named and named not in tables:
        raise UsageError("There is no such table.", hint=f"Tables: {', '.join(tables)}.")
    chosen = {named: tables[named]} if named else tables
    made = [table_data(session, tool.id, name, one, arguments) for name, one in chosen.items()]
    values = [] if named else [(f"{line.label}", line.text) for line in outline(result)]
    if values:
        made.append(data("values", ("what", "value"), values))
    made = [one for one in made if one.total] or made[:1]
    listed = ", ".join(tables)
    said = f"Tables of {tool.id}: {listed}. Name one with table=, more columns with columns=."
    more = f"table with tool={tool.id} table=NAME cursor={{cursor}}"
    outcome: ReplyOutcome = "rows" if any(one.total for one in made) else "none"
    return AgentReply(outcome, (said,), tuple(made), more=more)


QUESTION = Question(
    "table",
    "Tables of one tool, such as kernel_stats, framework_op_stats, hlo_stats, device_idle, "
    "host_activity, step_account, memory_profile, input_pipeline_analyzer, collectives.",
    {
        "recording": RECORDING,
        "tool": {"type": "string", "enum": list(TOOLS.ids)},
        "table": TEXT,
        "options": {"type": "object"},
        "columns": {"type": "string", "description": "Names with commas."},
        "filter": {"type": "string", "description": "Only rows with this text."},
        "cursor": CURSOR,
        "max_tokens": MAX_TOKENS,
    },
    _answer,
    required=("tool",),
)
