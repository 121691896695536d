"""``stepscope ranks``: the slow rank of a job, and since when, from its step logs."""

from __future__ import annotations

from pathlib import Path

import click

from stepscope.surfaces.cli import arguments

_ROWS = 10


@click.command()
@arguments.argument(
    "path", metavar="PATH", help="A folder with the step logs of a job (*.steps), or one of them."
)
@arguments.formats("table", "json", "csv")
@arguments.everything
@arguments.rows(_ROWS)
@arguments.output
def ranks(path: str, format: str, top: int | None, output: str | None) -> None:
    """Name the rank of a job that is slow, and since when, from its step logs."""
    import io

    from stepscope.pod.slow_ranks import slow_ranks
    from stepscope.store.step_summaries import read_summaries
    from stepscope.surfaces import export
    from stepscope.surfaces.cli.output import deliver
    from stepscope.surfaces.cli.pages.page import Page
    from stepscope.surfaces.format import clean

    found = slow_ranks(read_summaries(Path(path).expanduser()))
    rows = arguments.shown_rows(top, format, _ROWS)
    if format == "json":
        return deliver(export.json_text(found, rows) + "\n", output)
    if format == "csv":
        return deliver(export.csv_text(found.slow, rows), output)
    page = Page() if output else Page.of_terminal(paths=(path,))
    page.text(clean(found.headline), style="bold")
    if len(found.slow):
        page.heading("Ranks that exceed the others")
        page.table(found.slow, rows)
    if len(found.changes):
        page.heading("Changes of all ranks")
        page.table(found.changes, rows)
    text = io.StringIO()
    page.print(text if output else None)
    return deliver(text.getvalue(), output) if output else None


COMMAND = ranks
