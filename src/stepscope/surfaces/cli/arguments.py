"""Arguments that several commands take, each declared once: ``@arguments.path`` and so on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepscope.errors import StoreError, UsageError

if TYPE_CHECKING:
    from stepscope.redaction import Redaction

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

PATH_HELP = "A file, a run directory, a log directory or a URL."


class Argument(click.Argument):
    """A positional argument that says what it is, which click leaves to the command's text."""

    def __init__(self, declarations: list[str], *, help: str = "", **attributes: Any) -> None:
        super().__init__(declarations, **attributes)
        self.help = help


def argument(name: str, *, metavar: str, help: str, **attributes: Any) -> Decorator:
    """A positional argument with its text."""
    return click.argument(name, cls=Argument, metavar=metavar, help=help, **attributes)


def formats(*names: str, default: str | None = "table", help: str = "How to print.") -> Decorator:
    """``--format``, one of these names."""
    return click.option(
        "--format", "-f", "format", type=click.Choice(names), default=default, help=help
    )


def rows(default: int) -> Decorator:
    """``--top``: rows per table, with this default for the terminal."""
    return click.option(
        "--top",
        type=click.IntRange(min=0),
        help=f"Rows per table; {default} for table, all for the rest; 0 for all.",
    )


def shown_rows(top: int | None, format: str, default: int) -> int | None:
    """How many rows of a table to write; None for all."""
    return default if top is None and format == "table" else top or None


# click.Path lets shells complete file names; a URL passes as it is.
path = argument("path", metavar="PATH", help=PATH_HELP, type=click.Path())
batch_sizes = click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    multiple=True,
    help="Examples per step, where recordings do not tell; may be repeated, the baseline's first.",
)
max_tokens = click.option(
    "--max-tokens",
    type=click.IntRange(0, 20_000),
    default=2000,
    help="Cut the answer to so many tokens, at rows, and say what was cut; 0 for all.",
)
private = click.option(
    "--private",
    is_flag=True,
    help="Keep what the recording says of its machine: hosts, users, command lines, environments, "
    "folders.",
)
redact = click.option(
    "--redact",
    type=click.Choice(["paths", "names", "all"]),
    help="Replace paths and hosts; names, too; shapes and absolute times, too.",
)
redact_key = click.option(
    "--redact-key",
    metavar="FILE",
    help="Secret behind pseudonyms, so that they are the same in several files.",
)


def redaction_of(
    level: str | None, key_file: str | None, *, private: bool = False
) -> Redaction | None:
    """What ``--redact`` and ``--redact-key`` ask for; raises ``UsageError`` or ``StoreError``."""
    from stepscope.redaction import Redaction, level_of

    if private and level is not None:
        raise UsageError("--private and --redact exclude each other.", hint="Leave one out.")
    if level is None:
        if key_file is not None:
            raise UsageError("--redact-key needs --redact.", hint="Say e.g. --redact names.")
        return None
    if key_file is None:
        return Redaction(level_of(level))
    try:
        key = Path(key_file).expanduser().read_bytes()
    except OSError as error:
        raise StoreError(
            "The key cannot be read.", where=key_file, why=str(error.strerror), hint="Check it."
        ) from error
    if len(key) < 16:
        raise UsageError(
            "The key is too short.", where=key_file, hint="Make one: openssl rand 32 > FILE."
        )
    import hashlib

    return Redaction(level_of(level), hashlib.blake2b(key, digest_size=32).digest())


run = click.option("--run", help="Which run; the newest with events by default.")
host = click.option("--host", help="Only this host, or several: A,B; all by default.")
per = click.option(
    "--per",
    type=click.Choice(["step", "recording"]),
    help="What times are of: the mean step, or all of the recording; by default the tool's own.",
)
output = click.option("--output", "-o", metavar="FILE", help="Write to this file.")
