"""``stepscope compare``: the difference between runs."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import click

from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.output import deliver

if TYPE_CHECKING:
    from stepscope.comparison import Comparison

_ROWS: Final = 15


@click.command()
@arguments.argument(
    "paths",
    metavar="PATH…",
    nargs=-1,
    required=True,
    help="The baseline, then the runs to compare with it; or one path with several runs.",
)
@click.option(
    "--baseline",
    "baselines",
    metavar="PATH",
    multiple=True,
    help="A start of the baseline; may be repeated. Then every PATH is a start of the new program, "
    "and differences between starts count as noise.",
)
@arguments.formats("table", "json", "csv", "md")
@arguments.everything
@arguments.rows(_ROWS)
@click.option(
    "--table",
    help="Only this table, e.g. modules, kernels, parity; csv writes parts by default.",
)
@arguments.batch_sizes
@arguments.output
def compare(
    paths: tuple[str, ...],
    baselines: tuple[str, ...],
    format: str,
    top: int | None,
    table: str | None,
    batch_size: tuple[int, ...],
    output: str | None,
) -> None:
    """Compare runs, in parts that sum to the change of the step."""
    from stepscope.session.compare import compare as compare_runs
    from stepscope.surfaces.cli.progress import ProgressLine

    with ProgressLine() as waiting:
        result = compare_runs(
            *paths, baselines=baselines, batch_sizes=batch_size, progress=waiting.update
        )
        waiting.stop()
        rows = arguments.shown_rows(top, format, _ROWS)
        text = _rendered(result, format, rows, table, to_file=bool(output), paths=paths)
        if text is not None:
            deliver(text, output)


COMMAND = compare


def _rendered(
    result: Comparison,
    format: str,
    rows: int | None,
    table: str | None,
    *,
    to_file: bool,
    paths: tuple[str, ...],
) -> str | None:
    """The answer as text; None where a page printed itself."""
    from stepscope.surfaces import export
    from stepscope.surfaces.cli.pages.comparison import comparison_markdown, write_comparison
    from stepscope.surfaces.cli.pages.page import Page

    if format == "json":
        return export.json_text(result, rows) + "\n"
    if format == "csv":
        return export.csv_text(export.main_table(result, table)[1], rows)
    if format == "md":
        return comparison_markdown(result, rows)
    then = "" if table else "compare --table kernels"
    page = Page() if to_file else Page.of_terminal(next=then, paths=paths)
    if table:
        page.table(export.main_table(result, table)[1], rows)
    else:
        write_comparison(page, result, rows)
    if not to_file:
        page.print()
        return None
    text = io.StringIO()
    page.print(text)
    return text.getvalue()
