"""``stepscope check``: limits for CI; the exit code says whether they are kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from stepscope.comparison.gate import GateReport
from stepscope.errors import UsageError
from stepscope.session import open as open_session
from stepscope.session.compare import check as judge
from stepscope.store.atomic import write_atomic
from stepscope.surfaces import export
from stepscope.surfaces.cli import arguments
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.cli.pages.parts import diagnostics
from stepscope.surfaces.cli.progress import ProgressLine
from stepscope.surfaces.export.check import (
    check_junit,
    check_markdown,
    check_sarif,
    github_annotations,
    verdict,
)
from stepscope.surfaces.format import clean

# Exit codes: 1 as a failed test, 3 as elsewhere if there is nothing to show.
EXIT_CODES: Final = {"kept": 0, "exceeded": 1, "unknown": 5, "missing": 3}
DEFAULT_LIMITS: Final = {"step_time": "+5%"}
_STYLES: Final = {"kept": "green", "exceeded": "bold red", "unknown": "yellow", "missing": "yellow"}


def _limit(flag: str, help: str) -> arguments.Decorator:
    return click.option(flag, metavar="LIMIT", help=help)


@click.command()
@arguments.path
@click.option("--baseline", metavar="PATH", help="The run to compare with.")
@_limit("--max-step-time", "30ms, or +5% or +2ms on the baseline; +5% when no limit is given.")
@_limit("--max-peak-memory", "8GiB, or +10%.")
@_limit("--max-input", "Waiting for input and copying it: 5% of the step, 2ms, or +1ms.")
@_limit("--max-idle", "Idle share of the devices: 10%.")
@click.option(
    "--max",
    "max_other",
    metavar="NAME=LIMIT",
    multiple=True,
    help="A limit on another part of the step, e.g. collectives=+2ms; may be repeated.",
)
@arguments.batch_sizes
@click.option(
    "--on-unknown",
    type=click.Choice(["fail", "pass"]),
    default="fail",
    show_default=True,
    help="Whether to fail (exit code 5) if the recordings cannot tell.",
)
@click.option(
    "--summary",
    metavar="FILE",
    help='Append a Markdown summary; in GitHub Actions to "$GITHUB_STEP_SUMMARY" by default.',
)
@click.option("--junit", metavar="FILE", help="Write JUnit XML.")
@click.option("--sarif", metavar="FILE", help="Write SARIF: limits, and findings at their lines.")
@arguments.formats("table", "json", "md")
@arguments.everything
def check(
    path: str,
    baseline: str | None,
    max_other: tuple[str, ...],
    batch_size: tuple[int, ...],
    on_unknown: str,
    summary: str | None,
    junit: str | None,
    sarif: str | None,
    format: str,
    **limits: str | None,
) -> int:
    """Fail when a run exceeds its limits (exit code 1) or the recordings cannot tell (5)."""
    named = {name.removeprefix("max_"): text for name, text in limits.items()}
    given = _limits(named, max_other, has_baseline=baseline is not None)
    with ProgressLine() as waiting:
        result = judge(
            path, given, baseline=baseline, batch_sizes=batch_size, progress=waiting.update
        )
        waiting.stop()
    _print(result, format)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        summary = summary or os.environ.get("GITHUB_STEP_SUMMARY")
        for line in github_annotations(result):
            print(line, file=sys.stderr)
    if summary:
        _append(Path(summary).expanduser(), check_markdown(result))
    if junit:
        write_atomic(Path(junit).expanduser(), check_junit(result).encode())
    if sarif:
        with open_session(path) as session:
            text = check_sarif(result, session.findings(), root=str(Path.cwd()))
        write_atomic(Path(sarif).expanduser(), text.encode())
    return 0 if result.status == "unknown" and on_unknown == "pass" else EXIT_CODES[result.status]


COMMAND = check


def _limits(
    named: Mapping[str, str | None], more: Sequence[str], *, has_baseline: bool
) -> dict[str, str]:
    """The limits by name; against a baseline there is one by default."""
    given = {name: text for name, text in named.items() if text is not None}
    for one in more:
        name, equals, text = one.partition("=")
        if not equals:
            raise UsageError(f"--max cannot be {one!r}.", hint="Give e.g. --max collectives=+2ms.")
        given[name.strip().replace("-", "_")] = text
    if not given and has_baseline:
        given = dict(DEFAULT_LIMITS)
    if not given:
        raise UsageError(
            "There is no limit to check.",
            hint="Give one: --max-step-time 30ms, or --baseline OLD --max-step-time +5%.",
        )
    return given


def _append(target: Path, text: str) -> None:
    """Add to a summary: other steps of the job may have written to it."""
    before = target.read_bytes() if target.is_file() else b""
    write_atomic(target, before + text.encode())


def _print(result: GateReport, format: str) -> None:
    if format == "json":
        print(export.json_text(result))
    elif format == "md":
        print(check_markdown(result), end="")
    else:
        _page(result).print()


def _page(result: GateReport) -> Page:
    page = Page.of_terminal()
    page.line(("Check", "bold"), (f"  ·  {clean(result.session)}", "dim"))
    page.blank()
    page.text(verdict(result), style=_STYLES[result.status])
    diagnostics(page, tuple(one for one in result.diagnostics if one.severity != "info"))
    for one in result.differences:
        page.text(clean(one), lead="! ", style="yellow")
    page.blank()
    page.table(result.limits, None, skip=("message",))
    for row in result.limits.rows():
        if row["message"]:
            page.text(clean(f"{row['metric']}: {row['message']}"), lead="  ")
    if result.headline:
        page.blank()
        page.text(clean(result.headline))
    if len(result.guilty):
        page.heading("What grew most")
        page.table(result.guilty, None)
    return page
