"""``stepscope attach``: a running process, from inside or outside."""

from __future__ import annotations

import sys

import click

from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.output import tell_written
from stepscope.surfaces.format import clean


@click.command()
@arguments.argument(
    "process", metavar="PID", type=click.IntRange(min=1), help="A running Python process."
)
@arguments.argument("logdir", metavar="LOGDIR", help="Folder to write to.")
@click.option(
    "--seconds", type=click.IntRange(min=1), default=5, show_default=True, help="How long."
)
@click.option(
    "--hz",
    type=click.IntRange(1, 1000),
    default=100,
    show_default=True,
    help="Samples of all threads' stacks per second.",
)
def attach(process: int, logdir: str, seconds: int, hz: int) -> None:
    """Record a running process that did nothing for it."""
    from stepscope.capture.attach import attach as record

    place, notes = record(process, logdir, seconds, hz)
    for note in notes:
        print(f"stepscope: {clean(note)}", file=sys.stderr)
    tell_written(place, f"; next: stepscope advise {clean(place)}")


COMMAND = attach
