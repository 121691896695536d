"""The commands that hold runs against each other: ``compare`` and ``check``."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer


class ComparisonFormat(str, Enum):
    """How a comparison is printed."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


class CheckFormat(str, Enum):
    """How a check is printed."""

    table = "table"
    json = "json"
    md = "md"


def _limit(flag: str, help: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        flag, metavar="LIMIT", help=help, show_default=False
    )
    return option


_Rows = Annotated[
    int | None,
    typer.Option(
        "--top",
        min=0,
        help="Rows per table; 15 for table, all for the rest; 0 for all.",
        show_default=False,
    ),
]
_TableName = Annotated[
    str | None,
    typer.Option(
        "--table",
        help="Only this table, e.g. modules, kernels, parity; csv writes parts by default.",
        show_default=False,
    ),
]
_Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file.", show_default=False),
]
_Baseline = Annotated[
    str | None,
    typer.Option("--baseline", metavar="PATH", help="The run to compare with.", show_default=False),
]
_StepTime = Annotated[
    str | None,
    _limit("--max-step-time", "30ms, or +5% or +2ms on the baseline; +5% when no limit is given."),
]
_PeakMemory = Annotated[str | None, _limit("--max-peak-memory", "8GiB, or +10%.")]
_Input = Annotated[
    str | None,
    _limit("--max-input", "Waiting for input and copying it: 5% of the step, 2ms, or +1ms."),
]
_Idle = Annotated[str | None, _limit("--max-idle", "Idle share of the devices: 10%.")]
_Others = Annotated[
    list[str] | None,
    typer.Option(
        "--max",
        metavar="NAME=LIMIT",
        help="A limit on another part of the step, e.g. collectives=+2ms; may be repeated.",
    ),
]
_Summary = Annotated[
    str | None,
    typer.Option(
        "--summary",
        metavar="FILE",
        help='Append a Markdown summary, e.g. to "$GITHUB_STEP_SUMMARY".',
        show_default=False,
    ),
]
_JUnit = Annotated[
    str | None,
    typer.Option("--junit", metavar="FILE", help="Write JUnit XML.", show_default=False),
]


def compare(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH…",
            help="The baseline, then the runs to compare with it; or one path with several runs.",
            show_default=False,
        ),
    ],
    format: Annotated[
        ComparisonFormat, typer.Option("--format", "-f", help="How to print.")
    ] = ComparisonFormat.table,
    top: _Rows = None,
    table: _TableName = None,
    output: _Output = None,
) -> None:
    """Say what changed between runs, in parts that sum to the change of the step."""
    from stepscope.surfaces.cli.compare import print_comparison

    print_comparison(paths, format=format, top=top, table=table, output=output)


def check(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A file, a run directory, a log directory or a URL.",
            show_default=False,
        ),
    ],
    baseline: _Baseline = None,
    max_step_time: _StepTime = None,
    max_peak_memory: _PeakMemory = None,
    max_input: _Input = None,
    max_idle: _Idle = None,
    max_other: _Others = None,
    summary: _Summary = None,
    junit: _JUnit = None,
    format: Annotated[
        CheckFormat, typer.Option("--format", "-f", help="How to print.")
    ] = CheckFormat.table,
) -> int:
    """Fail (exit code 1) when a run exceeds its limits, naming the ops to blame."""
    from stepscope.surfaces.cli.check import run_check

    return run_check(
        path,
        baseline=baseline,
        limits={
            "step_time": max_step_time,
            "peak_memory": max_peak_memory,
            "input": max_input,
            "idle": max_idle,
        },
        more=max_other or [],
        format=format,
        summary=summary,
        junit=junit,
    )
