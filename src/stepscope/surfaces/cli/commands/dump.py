"""``stepscope dump``: the last seconds of a running program as a recording."""

from __future__ import annotations

import click

from stepscope.surfaces.cli import arguments


@click.command()
@arguments.argument(
    "process",
    metavar="PID",
    type=click.IntRange(min=1),
    help="A process that called stepscope.init(flight_recorder=LOGDIR).",
)
def dump(process: int) -> None:
    """Write the last half minute of a program that has a flight recorder."""
    from stepscope.capture.flight_recorder import ask

    print(ask(process))


COMMAND = dump
