"""Arguments that several commands take, each declared once: ``@arguments.path`` and so on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from stepscope.errors import StoreError, UsageError

if TYPE_CHECKING:
    from stepscope.redaction import Redaction

Function = Callable[..., Any]
#: Under this name a context holds whether everything is to be printed.
EVERYTHING: Final = "stepscope.everything"
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


def formats(*names: str, default: str | None = "table", help: str = "Output format.") -> Decorator:
    """``--format``, one of these names."""
    return click.option(
        "--format", "-f", "format", type=click.Choice(names), default=default, help=help
    )


def rows(default: int) -> Decorator:
    """``--top``: rows per table, with this default for the terminal."""
    return click.option(
        "--top",
        type=click.IntRange(min=0),
        help=f"Rows per table, 0 for all; by default {default} in format table, else all.",
    )


def shown_rows(top: int | None, format: str, default: int) -> int | None:
    """How many rows of a table to write; None for all."""
    return default if top is None and format == "table" else top or None


def _print_everything(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    context.meta[EVERYTHING] = wanted


everything = click.option(
    "--all",
    is_flag=True,
    expose_value=False,
    callback=_print_everything,
    help="Print everything, however long; one screen by default.",
)
# click.Path lets shells complete file names; a URL passes as it is.
path = argument("path", metavar="PATH", help=PATH_HELP, type=click.Path())
batch_sizes = click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    multiple=True,
    help="Examples per step, if the recording lacks it; may be repeated, baseline first.",
)
max_tokens = click.option(
    "--max-tokens",
    type=click.IntRange(0, 20_000),
    default=2000,
    help="Cut the answer to this many tokens, between rows, and report what was cut; 0 for all.",
)
private = click.option(
    "--private",
    is_flag=True,
    help="Keep data about the machine: hosts, users, command lines, environments, folders.",
)
redact = click.option(
    "--redact",
    type=click.Choice(["paths", "names", "all"]),
    help="Replace paths and hosts (paths), also names (names), also shapes and times (all).",
)
redact_key = click.option(
    "--redact-key",
    metavar="FILE",
    help="Secret for pseudonyms, to make them equal in several files.",
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
            raise UsageError("--redact-key needs --redact.", hint="Give e.g. --redact names.")
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


run = click.option("--run", help="Name of the run; by default the newest with events.")
host = click.option("--host", help="Only these hosts: A or A,B; by default all.")
per = click.option(
    "--per",
    type=click.Choice(["step", "recording"]),
    help="Times of the mean step or of the whole recording; the tool's choice by default.",
)


def selection(function: Function) -> Function:
    """``--steps``, ``--range`` and ``--device``: the part of the recording that is shown."""
    texts = {
        "steps": ("10-20", "Only these steps, as the framework counts, both ends included."),
        "range": ("1.2s-1.4s", "Only this time range; durations are clipped to it."),
        "device": ("3", "Only these devices or ranks: 3, GPU:0,GPU:1, rank 5, 2-4."),
    }
    for name, (metavar, text) in reversed(texts.items()):
        function = click.option(f"--{name}", name, metavar=metavar, default="", help=text)(function)
    return function


output = click.option("--output", "-o", metavar="FILE", help="Write to this file.")
