"""Arguments that several commands take, each declared once: ``@arguments.path`` and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

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


path = argument("path", metavar="PATH", help=PATH_HELP)
run = click.option("--run", help="Which run; the newest by default.")
host = click.option("--host", help="Only this host; all by default.")
output = click.option("--output", "-o", metavar="FILE", help="Write to this file.")
