"""``stepscope demo``: the bundled recording, explained."""

from __future__ import annotations

from pathlib import Path

import click

from stepscope.errors import StoreError


@click.command()
@click.option("--serve/--no-serve", default=True, help="Serve the pages after the diagnosis.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to serve on.")
def demo(serve: bool, port: int | None) -> None:
    """Show the diagnosis of a bundled recording, then serve its pages."""
    from stepscope.surfaces.cli.commands.show import print_tool
    from stepscope.surfaces.http import Settings, serve_forever

    sample = find_sample()
    print_tool("overview_page", str(sample), {})
    if serve:
        serve_forever(str(sample), Settings(port=port), browser=True)


def find_sample() -> Path:
    """The sample recording of a source checkout; raises ``StoreError`` saying how to get one."""
    folder = Path(__file__).resolve().parents[5] / "examples" / "sample"
    if folder.is_dir() and any(folder.rglob("*.xplane.pb*")):
        return folder
    raise StoreError(
        "The sample recording is not here.",
        where=str(folder),
        why="It comes with the source checkout, not with the installed package.",
        hint="Run `python3 dev.py demo` in a clone, or record a run of your own and "
        "`stepscope show overview_page LOGDIR`.",
        slug="no-sample",
    )


COMMAND = demo
