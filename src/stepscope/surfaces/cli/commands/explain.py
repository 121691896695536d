"""``stepscope explain``: details of one finding, step, op, kernel or event."""

from __future__ import annotations

import click

from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.commands.ask import answer


@click.command()
@arguments.argument(
    "handle", metavar="HANDLE", help="finding:2, step:868, op:12, kernel:7 or event:104233."
)
@arguments.path
@arguments.max_tokens
@arguments.redact
@arguments.redact_key
@arguments.formats("text", "json", default="text")
def explain(
    handle: str,
    path: str,
    max_tokens: int,
    redact: str | None,
    redact_key: str | None,
    format: str,
) -> int:
    """Explain one finding, step, op, kernel or event."""
    return answer("explain", path, {"handle": handle}, max_tokens, redact, redact_key, format)


COMMAND = explain
