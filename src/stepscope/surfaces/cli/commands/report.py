"""``stepscope report``: the pages of a run as one file to send."""

from __future__ import annotations

from pathlib import Path

import click

from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.damage import tell_damage
from stepscope.surfaces.cli.output import tell_written


@click.command()
@arguments.path
@click.option(
    "--pages", default="", help="Pages by tool, separated by commas; by default all with data."
)
@click.option(
    "--events",
    type=click.Choice(["all", "top", "none"]),
    default="all",
    help="Events of the timeline: all that fit, those of three steps, or none.",
)
@click.option("--max-size", type=click.FloatRange(0.5, 15), default=5.0, help="Maximum size in MB.")
@click.option(
    "--preview", is_flag=True, help="List every text that would leave, and write no report."
)
@click.option("--zip", "zipped", is_flag=True, help="Pack the file, for services that refuse HTML.")
@arguments.run
@arguments.host
@arguments.private
@arguments.redact
@arguments.redact_key
@arguments.output
def report(
    path: str,
    pages: str,
    events: str,
    max_size: float,
    preview: bool,
    zipped: bool,
    run: str | None,
    host: str | None,
    private: bool,
    redact: str | None,
    redact_key: str | None,
    output: str | None,
) -> None:
    """Write the pages of a run as one file that opens anywhere, without Stepscope."""
    from stepscope.session import open
    from stepscope.store.atomic import write_atomic
    from stepscope.surfaces.cli.progress import ProgressLine
    from stepscope.surfaces.report.report import Choice, make_report, text_summary

    redaction = arguments.redaction_of(redact, redact_key, private=private)
    choice = Choice(
        pages=tuple(filter(None, (name.strip() for name in pages.split(",")))),
        events=events,
        max_bytes=int(max_size * 1e6),
        notes=(redaction.said,) if redaction else (),
    )
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
        if preview:
            from stepscope.redaction.preview import preview_text

            spaces = [host.space for host in session.profile.hosts]
            waiting.stop()
            print(preview_text(spaces, redaction.said if redaction else ""), end="")
            return
        made = make_report(session, choice)
        waiting.stop()
        tell_damage(session)
        name = session.name.rsplit("/", 1)[-1] + ".html"
        target = Path(output).expanduser() if output else Path(name + (".zip" if zipped else ""))
        write_atomic(target, made.zipped(name) if zipped else made.html)
        print(text_summary(session, made), end="")
    tell_written(target)


COMMAND = report
