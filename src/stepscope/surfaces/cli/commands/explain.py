"""``stepscope explain``: details of one finding, step, op, kernel or event, or of all findings."""

from __future__ import annotations

import click

from stepscope.errors import UsageError
from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.commands.ask import answer

# In place of a handle: the question's word for all findings.
ALL = "all"


@click.command()
@arguments.argument(
    "handle",
    metavar="[HANDLE]",
    help="finding:2, step:868, op:12, kernel:7 or event:104233; none with --all.",
)
@arguments.argument(
    "path", metavar="PATH", help=arguments.PATH_HELP, type=click.Path(), required=False
)
@click.option("--all", "all_", is_flag=True, help="All findings as one text of 700 words at most.")
@click.option(
    "--source",
    type=click.Path(exists=True, file_okay=False),
    help="Show source lines from this folder.",
)
@arguments.max_tokens
@arguments.redact
@arguments.redact_key
@arguments.formats("text", "json", default="text")
def explain(
    handle: str,
    path: str | None,
    all_: bool,
    source: str | None,
    max_tokens: int,
    redact: str | None,
    redact_key: str | None,
    format: str,
) -> int:
    """Explain one finding, step, op, kernel or event."""
    if all_:
        handle, path = ALL, path or handle
    if path is None:
        raise UsageError("PATH is missing.", hint="stepscope explain finding:1 logs")
    if source and redact:
        raise UsageError("--source shows names that --redact hides.", hint="Leave one of them out.")
    given = {"handle": handle}
    return answer(
        "explain", path, given, max_tokens, redact, redact_key, format, source=source or ""
    )


COMMAND = explain
