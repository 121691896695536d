"""``stepscope mcp``: the questions as tools of the Model Context Protocol, on standard input."""

from __future__ import annotations

import sys

import click

from stepscope.errors import UsageError
from stepscope.surfaces.cli import arguments
from stepscope.urls import is_url


@click.command()
@arguments.argument(
    "roots",
    metavar="PATH…",
    nargs=-1,
    required=True,
    help="Recordings that may be read; nothing else is.",
)
@click.option("--allow-remote", is_flag=True, help="Let PATH be a URL.")
@arguments.redact
@arguments.redact_key
def mcp(
    roots: tuple[str, ...], allow_remote: bool, redact: str | None, redact_key: str | None
) -> None:
    """Answer agents over the Model Context Protocol, read-only."""
    from stepscope.surfaces.agent.recordings import Recordings
    from stepscope.surfaces.mcp.server import McpServer

    remote = [root for root in roots if is_url(root)]
    if remote and not allow_remote:
        raise UsageError(
            "A URL makes this server use the network.",
            where=remote[0],
            hint="Add --allow-remote if it may.",
        )
    recordings = Recordings(roots, arguments.redaction_of(redact, redact_key))
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # what is printed by mistake is not a message
    try:
        McpServer(recordings).serve(sys.stdin.buffer, out)
    finally:
        recordings.close()
        sys.stdout = sys.__stdout__


COMMAND = mcp
