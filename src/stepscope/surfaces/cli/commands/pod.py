"""``stepscope pod``: the host that the others wait for, from the recordings of all hosts."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final, cast

import click

from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.output import deliver

if TYPE_CHECKING:
    from stepscope.comparison.pods import PodComparison
    from stepscope.pod.report import Pod
    from stepscope.store.kept import KeptWhere

_ROWS: Final = 10


@click.command()
@arguments.path
@click.option("--run", metavar="NAME", help="Name of the run; by default the newest.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "here", "pool", "ray"]),
    default="auto",
    help="Read recordings in this process, in several, or on a Ray cluster.",
)
@click.option("--memory", metavar="SIZE", help="Maximum memory for reading, e.g. 8GB.")
@click.option(
    "--keep",
    type=click.Choice(["cache", "beside", "no"]),
    default="cache",
    help="Where summaries are kept: in the cache, beside the recordings, or not at all.",
)
@click.option("--baseline", metavar="PATH", help="An earlier pod of the job to compare with.")
@arguments.formats("table", "json", "csv")
@arguments.everything
@arguments.rows(_ROWS)
@click.option("--table", help="Only this table, e.g. devices; csv writes suspects by default.")
@arguments.output
def pod(
    path: str,
    run: str | None,
    engine: str,
    memory: str | None,
    keep: KeptWhere,
    baseline: str | None,
    format: str,
    top: int | None,
    table: str | None,
    output: str | None,
) -> None:
    """Name the host, device or link that the others wait for, its cost and its cause."""
    from stepscope.session.session import open as open_session
    from stepscope.surfaces.cli.progress import ProgressLine

    def pod_at(path: str, run: str | None, waiting: ProgressLine) -> Pod:
        with open_session(path, run=run) as session:
            return session.pod(
                engine=engine,
                memory_bytes=_bytes(memory),
                keep=keep,
                progress=waiting.update,
            )

    with ProgressLine() as waiting:
        result: Pod | PodComparison
        result = found = pod_at(path, run, waiting)
        if baseline is not None:
            from stepscope.comparison.pods import compare_pods

            result = compare_pods(pod_at(baseline, None, waiting), found)
        waiting.stop()
        rows = arguments.shown_rows(top, format, _ROWS)
        text = _rendered(result, format, rows, table, to_file=bool(output), paths=(path,))
        if text is not None:
            deliver(text, output)


COMMAND = pod


def _bytes(text: str | None) -> int:
    if text is None:
        return 0
    from stepscope.comparison.limit import Limit

    return int(Limit.parse(text, "bytes", "--memory").number)


def _rendered(
    result: Pod | PodComparison,
    format: str,
    rows: int | None,
    table: str | None,
    *,
    to_file: bool,
    paths: tuple[str, ...],
) -> str | None:
    """The answer as text; None where a page printed itself."""
    from stepscope.surfaces import export
    from stepscope.surfaces.cli.pages.page import Page
    from stepscope.surfaces.cli.pages.pod import write_pod, write_pod_comparison

    if format == "json":
        return export.json_text(result, rows) + "\n"
    if format == "csv":
        return export.csv_text(export.main_table(result, table)[1], rows)
    page = Page() if to_file else Page.of_terminal(next="pod --table steps", paths=paths)
    if table:
        page.table(export.main_table(result, table)[1], rows)
    elif result.tool == "pod":
        write_pod(page, cast("Pod", result), rows)
    else:
        write_pod_comparison(page, cast("PodComparison", result), rows)
    if not to_file:
        page.print()
        return None
    text = io.StringIO()
    page.print(text)
    return text.getvalue()
