"""The tables part of ``docs/sql.md``: every table and column that queries name."""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.sql.tables import QueryTable


def sql_page(tables: Iterable[QueryTable]) -> str:
    """A section per table with its columns."""
    lines = ["## Tables", ""]
    for table in tables:
        lines += [f"### {table.name}", "", table.meaning, ""]
        lines += ["| column | type | meaning |", "| --- | --- | --- |"]
        lines += [f"| `{one.name}` | {one.type} | {one.meaning} |" for one in table.columns]
        lines.append("")
    return "\n".join(lines)
