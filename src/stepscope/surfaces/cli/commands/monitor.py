"""``stepscope monitor``: a look at a running program, without recording it."""

from __future__ import annotations

import click

from stepscope.surfaces.cli.commands.capture import workers_argument


@click.command()
@workers_argument
@click.option(
    "--duration-ms",
    type=click.FloatRange(min=1),
    default=1000.0,
    show_default=True,
    help="Duration in ms.",
)
def monitor(workers: str, duration_ms: float) -> None:
    """Show the activity of a running program, without recording it."""
    from stepscope.capture.rpc.client import api as client
    from stepscope.surfaces.format import clean

    for text in client.monitor(workers, duration_ms).splitlines():
        print(clean(text))


COMMAND = monitor
