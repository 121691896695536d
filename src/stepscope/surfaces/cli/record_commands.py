"""The commands that make recordings on this machine: ``record`` and ``repair``."""

from __future__ import annotations

from typing import Annotated

import typer

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
