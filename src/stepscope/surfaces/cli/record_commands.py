"""The commands that make recordings on this machine: ``record`` and ``repair``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

Program = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PROGRAM [ARGS]…",
        help="A Python script or a command, with its arguments.",
        show_default=False,
    ),
]
Module = Annotated[
    str | None,
    typer.Option("--module", "-m", help="Run this module, as python -m.", show_default=False),
]
LogDirectory = Annotated[
    str, typer.Option("--logdir", "-o", help="Where to write: a folder or a URL.")
]
DelayMs = Annotated[
    int | None,
    typer.Option("--delay-ms", help="Begin so long after the start.", show_default=False),
]
MaxSeconds = Annotated[float, typer.Option("--max-seconds", help="Record so long at most.")]
MaxEvents = Annotated[int, typer.Option("--max-events", help="Record so many events at most.")]
HostLevel = Annotated[
    int, typer.Option("--host-level", help="Host events: 0 none, 1 annotations, 2 ops, 3 all.")
]
PythonLevel = Annotated[
    int, typer.Option("--python-level", help="The framework's own Python tracer: 0 or 1.")
]
DeviceLevel = Annotated[int, typer.Option("--device-level", help="GPU and TPU events: 0 or 1.")]
SampleHz = Annotated[float, typer.Option("--sample-hz", help="Python stacks a second; 0 for none.")]
TelemetryHz = Annotated[
    float, typer.Option("--telemetry-hz", help="Readings of the machine a second; 0 for none.")
]
TracePython = Annotated[
    bool, typer.Option("--trace-python", help="Record every Python call; slows Python down.")
]
Memory = Annotated[bool, typer.Option("--memory/--no-memory", help="Record allocations.")]
Children = Annotated[
    bool, typer.Option("--children/--no-children", help="Record child processes, too.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing after the program has ended.")
]


_MODULE = ("-m", "--module")


class RecordCommand(TyperCommand):
    """``record``, whose options end with the program's name, a module's as well."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options; what stands behind ``-m MODULE`` is the module's, as with Python."""
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
        arguments: What stands behind ``record``.
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


def record(
    program: Program = None,
    module: Module = None,
    logdir: LogDirectory = "stepscope-logs",
    delay_ms: DelayMs = None,
    max_seconds: MaxSeconds = 120.0,
    max_events: MaxEvents = 20_000_000,
    host_level: HostLevel = 2,
    python_level: PythonLevel = 0,
    device_level: DeviceLevel = 1,
    sample_hz: SampleHz = 100.0,
    telemetry_hz: TelemetryHz = 10.0,
    trace_python: TracePython = False,
    memory: Memory = True,
    children: Children = True,
    quiet: Quiet = False,
) -> None:
    """Run a program and record it, without a change to it; options stand before its name."""
    from stepscope.capture.options import ProfilerOptions
    from stepscope.surfaces.cli.record import record_program

    options = ProfilerOptions(
        host_level,
        python_level,
        device_level,
        delay_ms,
        sample_hz=sample_hz,
        trace_python=trace_python,
        telemetry_hz=telemetry_hz,
        memory=memory,
        max_seconds=max_seconds,
        max_events=max_events,
    )
    code = record_program(
        program or [],
        module=module,
        logdir=logdir,
        options=options,
        children=children,
        quiet=quiet,
    )
    raise typer.Exit(code)


def repair(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A recording (.xplane.pb).", show_default=False)
    ],
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="FILE",
            help="A child process's file to make part of it, and remove; may be repeated.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write here; over FILE by default.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Put a recording together that was left in chunks, or cut short by a kill."""
    from stepscope.surfaces.cli.repair import print_repair

    print_repair(file, also or [], output)
