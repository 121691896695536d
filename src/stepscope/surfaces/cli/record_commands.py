"""The commands that make recordings on this machine: ``record`` and ``repair``."""

from __future__ import annotations

from typing import Annotated

import typer


def record(
    program: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROGRAM [ARGS]…",
            help="A Python script or a command, with its arguments.",
            show_default=False,
        ),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option("--module", "-m", help="Run this module, as python -m.", show_default=False),
    ] = None,
    logdir: Annotated[
        str, typer.Option("--logdir", "-o", help="Where to write: a folder or a URL.")
    ] = "stepscope-logs",
    delay_ms: Annotated[
        int | None,
        typer.Option("--delay-ms", help="Begin so long after the start.", show_default=False),
    ] = None,
    max_seconds: Annotated[
        float, typer.Option("--max-seconds", help="Record so long at most.")
    ] = 120.0,
    max_events: Annotated[
        int, typer.Option("--max-events", help="Record so many events at most.")
    ] = 20_000_000,
    host_level: Annotated[
        int,
        typer.Option("--host-level", help="Host events: 0 none, 1 annotations, 2 ops, 3 all."),
    ] = 2,
    python_level: Annotated[
        int, typer.Option("--python-level", help="The framework's own Python tracer: 0 or 1.")
    ] = 0,
    device_level: Annotated[
        int, typer.Option("--device-level", help="GPU and TPU events: 0 or 1.")
    ] = 1,
    sample_hz: Annotated[
        float, typer.Option("--sample-hz", help="Python stacks a second; 0 for none.")
    ] = 100.0,
    telemetry_hz: Annotated[
        float, typer.Option("--telemetry-hz", help="Readings of the machine a second; 0 for none.")
    ] = 10.0,
    trace_python: Annotated[
        bool, typer.Option("--trace-python", help="Record every Python call; slows Python down.")
    ] = False,
    memory: Annotated[
        bool, typer.Option("--memory/--no-memory", help="Record allocations.")
    ] = True,
    children: Annotated[
        bool, typer.Option("--children/--no-children", help="Record child processes, too.")
    ] = True,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing after the program has ended.")
    ] = False,
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
