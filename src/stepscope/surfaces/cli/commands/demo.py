"""``stepscope demo``: the bundled recording, explained."""

from __future__ import annotations

from pathlib import Path

import click

#: A TensorFlow run on a CPU whose input is too slow; it comes with the package.
SAMPLE = Path(__file__).parents[2] / "sample"


@click.command()
@click.option("--serve/--no-serve", default=True, help="Serve the pages after the diagnosis.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to serve on.")
def demo(serve: bool, port: int | None) -> None:
    """Show the diagnosis of a bundled recording, then serve its pages."""
    from stepscope.surfaces.cli.commands.show import print_tool
    from stepscope.surfaces.http import Settings, serve_forever

    print_tool("overview_page", str(SAMPLE), {})
    if serve:
        serve_forever(str(SAMPLE), Settings(port=port), browser=True)


COMMAND = demo
