"""``stepscope record``: run a program and record it, without changing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from stepscope.surfaces.cli import arguments

_MODULE = ("-m", "--module")


class RecordCommand(click.Command):
    """``record``, whose options end with the program's name, a module's as well."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; what follows ``-m MODULE`` is the module's, as with Python."""
        valued = {
            spelling
            for parameter in self.params
            if not getattr(parameter, "is_flag", False)
            for spelling in parameter.opts
        }
        at = end_of_module(args, valued)
        return super().parse_args(ctx, args if at is None else [*args[:at], "--", *args[at:]])


def end_of_module(arguments: Sequence[str], valued: set[str]) -> int | None:
    """Where the options end because a module is named; None where none is.

    Args:
        arguments: What follows ``record``.
        valued: Spellings of the options that take a value.
    """
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word in ("-", "--") or not word.startswith("-"):
            return None
        if word.startswith("--"):
            option, is_joined, _ = word.partition("=")
        else:  # letters, of which the first that takes a value takes the rest of the word
            letters = [f"-{letter}" for letter in word[1:]]
            first = next((i for i, one in enumerate(letters) if one in valued), None)
            option = "" if first is None else letters[first]
            is_joined = "" if first is None else word[first + 2 :]
        at += 2 if option in valued and not is_joined else 1
        if option in _MODULE:
            return at if at <= len(arguments) else None
    return None


def _option(
    *declarations: str, default: Any, help: str, metavar: str | None = None
) -> arguments.Decorator:
    return click.option(
        *declarations, default=default, show_default=True, help=help, metavar=metavar
    )


# What follows the name of the program is the program's own, options included.
@click.command(cls=RecordCommand, context_settings={"allow_interspersed_args": False})
@arguments.argument(
    "program",
    metavar="PROGRAM [ARGS]…",
    nargs=-1,
    help="A Python script or a command, with its arguments.",
)
@click.option("--module", "-m", help="Run this module, as python -m does.")
@_option("--logdir", "-o", default="stepscope-logs", help="Folder or URL to write to.")
@click.option("--delay-ms", type=int, help="Wait this long before recording.")
@click.option("--steps-log", metavar="FILE", help="Log every step of the whole run to this file.")
@click.option(
    "--flight-recorder",
    is_flag=True,
    help="After the recording, keep the last half minute: stepscope dump, slow steps, exceptions.",
)
@_option("--max-seconds", default=120.0, help="Stop recording after this many seconds.")
@_option("--price", default=1.2, metavar="RATIO", help="Maximum slowdown of the program.")
@_option("--memory", default="500MB", metavar="SIZE", help="Maximum memory for recording.")
@_option("--max-file", default="100MB", metavar="SIZE", help="Maximum size of the recording.")
@click.option("--full", is_flag=True, help="Record every step, at any price.")
@click.option("--dry-run", is_flag=True, help="Measure each level for a second; record nothing.")
@_option("--host-level", default=2, help="Host events: 0 none, 1 annotations, 2 ops, 3 all.")
@_option("--python-level", default=0, help="The framework's own Python tracer: 0 or 1.")
@_option("--device-level", default=1, help="GPU and TPU events: 0 or 1.")
@_option("--sample-hz", default=100.0, help="Samples of the Python stacks per second; 0 for none.")
@_option("--telemetry-hz", default=10.0, help="Readings of the machine per second; 0 for none.")
@click.option("--trace-python", is_flag=True, help="Record every Python call; slows Python down.")
@click.option("--allocations/--no-allocations", default=True, help="Record allocations.")
@click.option("--children/--no-children", default=True, help="Record child processes, too.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing after the program has ended.")
def record(
    program: tuple[str, ...],
    module: str | None,
    logdir: str,
    delay_ms: int | None,
    steps_log: str | None,
    flight_recorder: bool,
    host_level: int,
    python_level: int,
    device_level: int,
    price: float,
    memory: str,
    max_file: str,
    full: bool,
    dry_run: bool,
    allocations: bool,
    children: bool,
    quiet: bool,
    **more: Any,
) -> None:
    """Run and record a program; options come before its name."""
    from stepscope.capture.options import ProfilerOptions
    from stepscope.surfaces.cli.program import print_prices, record_program

    options = ProfilerOptions(
        host_level,
        python_level,
        device_level,
        delay_ms,
        memory=allocations,
        price=None if full else price,
        max_memory=None if full else _bytes(memory, "--memory"),
        max_bytes=None if full else _bytes(max_file, "--max-file"),
        **more,
    )
    if dry_run:
        click.get_current_context().exit(print_prices(program, module=module, options=options))
    code = record_program(
        program,
        module=module,
        logdir=logdir,
        options=options,
        children=children,
        quiet=quiet,
        steps_log=steps_log or "",
        flight_recorder=flight_recorder,
    )
    click.get_current_context().exit(code)


def _bytes(text: str, option: str) -> int:
    """A size such as 500MB, in bytes."""
    from stepscope.errors import UsageError
    from stepscope.quantities import parse_size

    try:
        return parse_size(text)
    except ValueError:
        hint = "Write a number and a unit: 500MB or 2GiB."
        raise UsageError(f"{option} cannot be {text!r}.", hint=hint, slug="limit") from None


COMMAND = record
