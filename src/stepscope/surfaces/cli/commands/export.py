"""``stepscope export``: a recording, or a range of it, for other viewers."""

from __future__ import annotations

from pathlib import Path

import click

from stepscope.errors import UsageError
from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.damage import tell_damage
from stepscope.surfaces.cli.output import tell_written


@click.command()
@arguments.path
@arguments.formats(
    "perfetto",
    "chrome",
    "chrome-json",
    "speedscope",
    "collapsed",
    "pprof",
    "parquet",
    "xspace",
    default="perfetto",
    help="Format of the viewer, by default perfetto; chrome is gzipped JSON, collapsed and pprof "
    "are totals by stack, parquet is a folder of all tables.",
)
@click.option(
    "--from", "begin", default="", help="Begin: 1.5s, 20ms, 7us; the trace's begin by default."
)
@click.option("--to", "end", default="", help="End, as in --from; the trace's end by default.")
@arguments.run
@arguments.host
@arguments.private
@arguments.redact
@arguments.redact_key
@arguments.output
def export(
    path: str,
    format: str,
    begin: str,
    end: str,
    run: str | None,
    host: str | None,
    private: bool,
    redact: str | None,
    redact_key: str | None,
    output: str | None,
) -> None:
    """Write a recording, or a range of it, for other viewers."""
    from stepscope.analysis.trace_viewer import range_of
    from stepscope.session import open
    from stepscope.store.atomic import write_atomic
    from stepscope.surfaces.cli.progress import ProgressLine
    from stepscope.surfaces.export.recording import RECORDING_FORMATS
    from stepscope.surfaces.export.table_folder import write_tables
    from stepscope.timeline import timeline

    if format == "parquet" and (begin or end):
        raise UsageError(
            "Tables are of the whole recording.", hint="Leave --from and --to out, or use sql."
        )
    redaction = arguments.redaction_of(redact, redact_key, private=private)
    with (
        ProgressLine() as waiting,
        open(
            path,
            run=run,
            host=host,
            redact=redaction,
            private=private,
            progress=waiting.update,
        ) as session,
    ):
        name = session.name.rsplit("/", 1)[-1] if host is None else session.hosts[0]
        if format == "parquet":
            folder = Path(output).expanduser() if output else Path(f"{name}.tables")
            write_tables(session, folder)
            waiting.stop()
            tell_damage(session)
            tell_written(folder)
            return
        line = timeline(session.profile)
        view = range_of(line, begin, end)
        chosen = RECORDING_FORMATS[format]
        target = Path(output).expanduser() if output else Path(name + chosen.suffix)
        waiting.stop()
        tell_damage(session)
        write_atomic(target, chosen.write(line, *view))
    tell_written(target)


COMMAND = export
