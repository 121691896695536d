"""A pod on the terminal: the answer first, then the suspects and where to read on."""

from __future__ import annotations

from stepscope.comparison.pods import PodComparison
from stepscope.pod.report import Pod
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.cli.pages.parts import diagnostics
from stepscope.surfaces.format import clean


def write_pod(page: Page, result: Pod, rows: int | None) -> None:
    """Write who makes the pod slower, with so many rows per table."""
    page.line(("Pod", "bold"), (f"  ·  run {clean(result.session)}", "dim"))
    page.blank()
    # Who is missing comes first: the last to arrive may be among them.
    diagnostics(page, result.diagnostics)
    page.text(clean(result.headline), style="bold")
    steps = "1 step" if result.counted_steps == 1 else f"{result.counted_steps:,} steps"
    page.text(
        f"{result.recordings:,} of {result.expected:,} recordings, {result.devices_found:,} "
        f"devices, {steps} as replayed, up to the last collective; clocks aligned to "
        f"± {result.clock_u_us:.0f} µs.",
        style="dim",
    )
    if len(result.suspects):
        page.heading("Who makes the others wait")
        page.table(result.suspects, rows)
    page.heading(f"Where {result.step_ms:.2f} ms of each step go")
    page.table(result.costs, None)
    if len(result.axes):
        page.heading("By place in the job")
        page.table(result.axes, rows)
    page.heading("Devices")
    page.table(result.devices, rows)
    if len(result.files):
        page.heading("Not in the numbers")
        page.table(result.files, rows)


def write_pod_comparison(page: Page, result: PodComparison, rows: int | None) -> None:
    """Write what changed between two pods, with so many rows per table."""
    page.line(
        ("Pod", "bold"),
        (f"  ·  run {clean(result.session)} against {clean(result.baseline)}", "dim"),
    )
    page.blank()
    diagnostics(page, result.diagnostics)
    page.text(clean(result.headline), style="bold")
    text = f"Devices are matched by {result.matched_by}"
    if result.unmatched:
        text += f"; {result.unmatched:,} have no counterpart"
    page.text(f"{text}.", style="dim")
    if len(result.suspects):
        page.heading("Who makes the others wait")
        page.table(result.suspects, rows)
    if len(result.coordinates):
        page.heading("By place in the job")
        page.table(result.coordinates, rows)
    if len(result.places):
        page.heading("Devices")
        page.table(result.places, rows)
