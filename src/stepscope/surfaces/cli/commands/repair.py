"""``stepscope repair``: a recording left in pieces as one whole file."""

from __future__ import annotations

import sys

import click

from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.output import tell_written


@click.command()
@arguments.argument("file", metavar="FILE", help="A recording (.xplane.pb).")
@click.option(
    "--with",
    "also",
    metavar="FILE",
    multiple=True,
    help="File of a child process to merge and then remove; may be repeated.",
)
@click.option("--output", "-o", metavar="FILE", help="Write here; over FILE by default.")
def repair(file: str, also: tuple[str, ...], output: str | None) -> None:
    """Merge the chunks of a recording that was killed."""
    from stepscope.store.repair import repair as put_together

    done = put_together(file, list(also), output)
    planes = f"{done.planes_before} planes → {done.planes_after}"
    tell_written(done.path, f": {done.events:,} events, {planes}")
    if done.damage:
        print(f"left out, because it is damaged: {done.damage}", file=sys.stderr)


COMMAND = repair
