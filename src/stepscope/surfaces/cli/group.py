"""The top of the command line: a command is imported when it is called."""

from __future__ import annotations

import atexit
import gc
import os
from importlib import import_module
from typing import Any, Final

import click

from stepscope.surfaces.cli.commands import COMMANDS

CONTEXT = {"help_option_names": ["-h", "--help"]}

_READ: Final = frozenset(
    {"advise", "ask", "cache", "check", "compare", "explain"}
    | {"export", "ls", "ranks", "report", "show", "sql"}
)

_BLAS_THREADS: Final = "OPENBLAS_NUM_THREADS"


class Commands(click.Group):
    """``stepscope``: one command per file of ``commands``, in that order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which they are listed."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

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


def prepare(command: str) -> None:
    """Shorten the start-up of a command that reads recordings, most of a small one's time.

    Others may run somebody's program, in this process or one that inherits from it, and that
    program keeps its collector and its threads.
    """
    if command not in _READ:
        return
    # Nearly all that one answer makes lives as long as the process. By default the collector walks
    # it again after every 700 new objects, and several times at exit.
    gc.set_threshold(2_000_000, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
    _import_numpy()
    # NumPy has imported what these import.
    from stepscope.kernels.memory import keep_freed, share_one_arena

    share_one_arena()
    keep_freed()


def _import_numpy() -> None:
    """Import NumPy without the threads of its linear algebra, of which we use next to nothing.

    Starting them is half of what its import costs the processor, and on a busy machine most of
    the time.
    """
    is_ours = _BLAS_THREADS not in os.environ
    if is_ours:
        os.environ[_BLAS_THREADS] = "1"
    try:
        import numpy  # noqa: F401 - its libraries look at the environment once, now
    finally:
        if is_ours:
            del os.environ[_BLAS_THREADS]
