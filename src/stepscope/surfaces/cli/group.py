"""The top of the command line: a command is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from stepscope.surfaces.cli.commands import COMMANDS
from stepscope.surfaces.cli.start import prepare

CONTEXT = {"help_option_names": ["-h", "--help"]}


class Commands(click.Group):
    """``stepscope``: one command per file of ``commands``, in that order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which they are listed."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of this name, imported now."""
        if name not in COMMANDS:
            return None
        prepare(name)
        module = import_module(f"stepscope.surfaces.cli.commands.{name}")
        command: click.Command = module.COMMAND
        return command


def build() -> Commands:
    """The whole command line."""
    from stepscope import __version__

    def show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> Any:
        if wanted:
            click.echo(f"stepscope {__version__}")
            ctx.exit()

    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show_version,
        help="Print the version.",
    )
    return Commands(
        help="Where every training or inference step goes, why, and what to change.",
        params=[version],
        context_settings=CONTEXT,
    )
