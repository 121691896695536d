"""The tables part of ``docs/sql.md``: every table and column that queries name, and examples."""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.sql.examples import Example
from stepscope.sql.tables import QueryTable


def sql_page(tables: Iterable[QueryTable], examples: Iterable[Example]) -> str:
    """A section per table with its columns, and the examples."""
    lines = ["## Tables", ""]
    for table in tables:
        lines += [f"### {table.name}", "", table.meaning, ""]
        lines += ["| column | type | meaning |", "| --- | --- | --- |"]
        lines += [f"| `{one.name}` | {one.type} | {one.meaning} |" for one in table.columns]
        lines.append("")
    lines += ["## Examples", ""]
    for example in examples:
        lines += [example.question, "", "```sql", example.query, "```", ""]
    return "\n".join(lines)
