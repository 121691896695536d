"""``stepscope sql``: a query over a recording's tables."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.damage import tell_damage
from stepscope.surfaces.cli.output import tell_written

if TYPE_CHECKING:
    from stepscope.result import Row, Table

_ROWS: Final = 40


@click.command()
@arguments.path
@arguments.argument(
    "query", metavar="[QUERY]", required=False, help="One SELECT; without it, list the tables."
)
@arguments.run
@arguments.host
@arguments.selection
@arguments.formats("table", "json", "csv", "md", "parquet")
@arguments.everything
@arguments.rows(_ROWS)
@click.option(
    "--timeout", default=30.0, show_default=True, help="Maximum time of the query in seconds."
)
@arguments.output
def sql(
    path: str,
    query: str | None,
    run: str | None,
    host: str | None,
    steps: str,
    range: str,
    device: str,
    format: str,
    top: int | None,
    timeout: float,
    output: str | None,
) -> None:
    """Query a recording's tables with SQL (docs/sql.md)."""
    from stepscope.session import open
    from stepscope.store.atomic import write_atomic
    from stepscope.surfaces.cli.progress import ProgressLine
    from stepscope.surfaces.query_answer import answer_table

    if query is None:
        _list_tables()
        return
    with (
        ProgressLine() as waiting,
        open(path, run=run, host=host, progress=waiting.update) as session,
    ):
        part = session.select(steps=steps, range=range, device=device)
        frame = part.sql(query, timeout_s=timeout)
        waiting.stop()
        tell_damage(session)
    table = answer_table(frame)
    rows = arguments.shown_rows(top, format, _ROWS)
    if format == "table" and output is None:
        from stepscope.surfaces.cli.pages.page import Page

        page = Page.of_terminal()
        page.table(table, rows)
        page.print()
        return
    data = _written(table, format, rows)
    if output is None:
        sys.stdout.buffer.write(data)
        return
    target = Path(output).expanduser()
    write_atomic(target, data)
    tell_written(target)


COMMAND = sql


def _written(table: Table[Row], format: str, rows: int | None) -> bytes:
    from stepscope.surfaces import export
    from stepscope.surfaces.cli.pages.page import Page

    if format == "parquet":
        return export.parquet_bytes(table, rows)
    if format == "csv":
        return export.csv_text(table, rows).encode()
    if format == "md":
        return (export.markdown_table(table, rows) + "\n").encode()
    if format == "json":
        return (export.table_json(table if rows is None else table.head(rows)) + "\n").encode()
    text = io.StringIO()
    page = Page()
    page.table(table, rows)
    page.print(text)
    return text.getvalue().encode()


def _list_tables() -> None:
    from stepscope.sql.tables import TABLES
    from stepscope.surfaces.cli.pages.page import Page

    page = Page.of_terminal()
    for table in TABLES.values():
        page.heading(table.name)
        page.text(table.meaning, indent=2)
        for column in table.columns:
            page.text(column.meaning, indent=4, lead=f"{column.name}  ", style="dim")
    page.print()
