"""``stepscope attach``: the Python of a running process, from outside."""

from __future__ import annotations

import click

from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.output import tell_written


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
    """Sample the Python of a running process that did nothing for it."""
    from stepscope.capture.attach import attach as sample

    path = sample(process, logdir, seconds, hz)
    tell_written(path, f"; next: stepscope advise {path}")


COMMAND = attach
