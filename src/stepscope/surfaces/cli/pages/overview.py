"""The overview on the terminal: verdict, figures, the average step, recommended changes."""

from __future__ import annotations

import math

from stepscope.analysis.overview_page import OverviewPage
from stepscope.quantities import count_words, milliseconds, percent, share_words
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.cli.pages.parts import diagnostics, findings, title_line
from stepscope.surfaces.format import clean, pad, shorten, width
from stepscope.tables.steps.found import WINDOW
from stepscope.verdicts.account import Steps

_NOT_IN_TOP = ("rank", "host_or_device", "tensor_core_eligible", "tensor_core_used")
_PER = {"step": "per step", "recording": "whole recording", "": "whole recording"}
_FINDINGS = 3
_BLOCKS = " ▏▎▍▌▋▊▉█"
_COLOURS = {
    "compilation": "magenta",
    "input": "red",
    "host_to_device": "yellow",
    "output": "yellow",
    "kernel_launch": "magenta",
    "host_compute": "blue",
    "device_to_device": "cyan",
    "collectives": "cyan",
    "device_compute_16": "green",
    "device_compute_32": "green",
    "host_wait": "dim",
    "other": "dim",
}


def write_overview(page: Page, result: OverviewPage, top: int | None) -> None:
    """Write the overview: all of it, or its answer on one screen."""
    whole = Page(page.width, times_of=page.times_of, short_names=page.short_names)
    _write_all(whole, result, top)
    if page.height is None or len(whole.lines) + bool(page.next) < page.height:
        page.lines += whole.lines
    else:
        _write_screen(page, result)


def _write_all(page: Page, result: OverviewPage, top: int | None) -> None:
    title_line(page, "Overview", result)
    page.blank()
    page.text(clean(result.headline), style="bold")
    # Purely informative notes come under "Completeness".
    diagnostics(page, tuple(one for one in result.diagnostics if one.severity != "info"))
    _figures(page, result)
    _average_step(page, result)
    if len(result.top_ops):
        side = clean(str(result.top_ops["host_or_device"][0]))
        page.heading(f"Top ops by self time · {side} · {_PER[result.times_of]}")
        page.table(result.top_ops, top or None, skip=_NOT_IN_TOP)
    page.heading("What to change")
    findings(page, result.findings, _FINDINGS)
    page.text("All findings: stepscope advise", style="dim")
    _environment(page, result)


# Lines of a screen: for the headline, for warnings, and parts of the step.
_HEADLINE_LINES, _WARNING_LINES, _PARTS_SHOWN = 3, 2, 5
# A smaller part of the step has no line of a screen.
_SMALL_FRAC = 0.01
# A bar, a time and a share beside the name of a part.
_FIGURES_WIDTH = 30


def _write_screen(page: Page, result: OverviewPage) -> None:
    """The answer: what limits the step, where it goes, and what to change."""
    title_line(page, "Overview", result)
    page.folded(clean(result.headline), _HEADLINE_LINES, style="bold")
    for one in [one for one in result.diagnostics if one.severity != "info"][:_WARNING_LINES]:
        page.folded(f"! {clean(one.message)}", 1, style="yellow")
    steps = result.steps
    if steps.source == WINDOW:
        page.folded(clean(steps.explanation), 2)
    elif steps.count:
        counted = f"{count_words(steps.count, 'step')} {steps.found} ({steps.certainty})"
        median = milliseconds(steps.time_ms.median) + (" median" if steps.count > 1 else "")
        page.folded(f"  Step time   {median} · {counted}", 1)
        if undisturbed := _undisturbed(steps):
            page.folded(f"  Undisturbed {undisturbed}", 1)
    _average_step(page, result, _PARTS_SHOWN)
    page.heading("What to change")
    findings(page, result.findings)
    page.folded("More: ops, environment, completeness: --all", 1, style="dim")


def _divided(result: OverviewPage) -> str:
    """Name what the parts sum to: the average step, or all that was recorded or selected."""
    steps = result.steps
    if steps.source != WINDOW:
        return "Average step"
    what = "selection" if result.selection else "recording"
    return (
        f"The whole {what}" if steps.count == 1 else f"Mean of {steps.count:,} parts of the {what}"
    )


def _undisturbed(steps: Steps) -> str:
    """Return the step while nothing records, as measured or estimated; "" where it is neither."""
    if steps.undisturbed_ms is not None and steps.recorder_factor < 1:
        return (
            f"{milliseconds(steps.undisturbed_ms)} while nothing records "
            f"({clean(steps.undisturbed)}) · recording slows a step "
            f"{1 / steps.recorder_factor:.1f}×"
        )
    if steps.recorder_high_frac is None:
        return ""
    low, high = steps.recorder_low_frac or 0.0, steps.recorder_high_frac
    shortest, longest = (milliseconds(steps.time_ms.mean * (1 - part)) for part in (high, low))
    least = f"{share_words(low, 1)} to" if low else "up to"
    takes = f"recording takes {least} {share_words(high, 1)}"
    return f"about {shortest} to {longest}: {takes} (estimate)"


def _figures(page: Page, result: OverviewPage) -> None:
    steps, times = result.steps, result.steps.time_ms
    page.blank()
    is_window = steps.source == WINDOW
    if steps.count and not is_window:
        spread = "" if math.isnan(times.std) else f" ± {milliseconds(times.std)}"
        mean = f"{milliseconds(times.mean)} mean{spread}"
        page.line(
            "  Step time   ",
            (milliseconds(times.median), "bold"),
            f" median · {milliseconds(times.p95)} p95 · {mean}" if steps.count > 1 else "",
        )
    if undisturbed := _undisturbed(steps):
        page.line(f"  Undisturbed {undisturbed}")
    cost = steps.recording_cost_frac
    if steps.recorded_frac < 1 or cost is not None:
        price = "" if cost is None else f" · recording cost about {percent(cost)}"
        page.line(f"  Recorded    {percent(steps.recorded_frac)} of the time{price}")
    throughput = result.throughput
    if throughput.examples_per_s is not None:
        page.line(
            f"  Throughput  {throughput.examples_per_s:,.4g} examples/s "
            f"({throughput.examples_per_step:,} a step, {clean(throughput.source)})"
        )
    dropped = f", {steps.dropped} dropped" if steps.dropped else ""
    counted = f"{count_words(steps.count, 'step')} {steps.found}"
    page.text(
        f"{'' if is_window else f'{counted} ({steps.certainty}{dropped}). '}"
        f"{clean(steps.explanation)}",
        lead="  Steps       ",
    )
    if result.device.busy_frac is None:
        page.line("  Device      no device in this recording")
    else:
        idle = percent(result.device.idle_frac)
        page.line(f"  Device      busy {percent(result.device.busy_frac)} · idle {idle}")
    if result.precision.bits_16_frac is not None:
        unknown = result.precision.unknown_frac
        page.line(
            f"  Precision   16-bit {percent(result.precision.bits_16_frac)} · "
            f"32-bit {percent(result.precision.bits_32_frac)} "
            + (f"· not recorded {percent(unknown)} " if unknown else "")
            + "of device compute"
        )
    share = "" if result.bound_by == "unknown" else f" · {percent(result.bound_frac)} of the step"
    page.line("  Limited by  ", (result.limited_by, "bold"), share)


def _average_step(page: Page, result: OverviewPage, most: int | None = None) -> None:
    parts = result.breakdown_ms
    total = sum(value for value in parts.values() if math.isfinite(value))
    if not result.steps.count or total <= 0:
        return
    hosts = len(result.hosts)
    whose = f" · each step as on the slowest of {hosts} hosts in it" if hosts > 1 else ""
    title = f"{_divided(result)} · {milliseconds(total)}"
    page.heading(title + whose if width(title + whose) <= (page.width or 1000) else title)
    labels = result.part_labels
    shown = {name: value for name, value in parts.items() if value > 0}
    if most is not None:
        largest = sorted(shown, key=lambda name: -shown[name])[:most]
        largest = [name for name in largest if shown[name] >= _SMALL_FRAC * total]
        shown = {name: value for name, value in shown.items() if name in largest}
    columns = page.width or 100
    label_width = min(max(len(labels[name]) for name in shown), columns - _FIGURES_WIDTH)
    bar_width = max(min(columns - label_width - 30, 50), 4)
    longest = max(shown.values())
    for name, value in shown.items():
        page.line(
            f"  {pad(shorten(labels[name], label_width), label_width)}  ",
            (pad(_bar(value / longest, bar_width), bar_width), _COLOURS.get(name, "")),
            f"  {pad(milliseconds(value), 9, right=True)}  "
            f"{pad(percent(value / total), 7, right=True)}",
        )
    none = [labels[name].lower() for name in parts if not parts[name] > 0]
    if none and most is None:
        page.text(f"no time in: {' · '.join(none)}", indent=2, style="dim")


def _bar(fraction: float, columns: int) -> str:
    """A bar of eighth blocks; something that is not zero is never drawn as nothing."""
    eighths = max(round(fraction * columns * 8), 1)
    return "█" * (eighths // 8) + _BLOCKS[eighths % 8].strip()


def _environment(page: Page, result: OverviewPage) -> None:
    env = result.environment
    page.heading("Recorded on")
    devices = (
        f"{env.device_count} × {clean(env.device_type)}"
        if env.device_count
        else clean(env.device_type)
    )
    page.text(
        " · ".join(
            filter(
                None,
                (
                    clean(env.framework),
                    devices,
                    count_words(env.host_count, "host"),
                    clean(env.task_type),
                    clean(env.profile_start),
                    f"{milliseconds(env.profile_duration_ms)} recorded",
                ),
            )
        ),
        indent=2,
    )
    if env.versions:
        page.text(" · ".join(f"{clean(k)} {clean(v)}" for k, v in env.versions.items()), indent=2)
    shares = result.op_shares
    known = [
        f"{label} {percent(value)}"
        for label, value in (
            ("ops on the host", shares.host_tf_op_frac),
            ("on the device", shares.device_tf_op_frac),
            ("eager on the host", shares.host_eager_frac),
            ("eager on the device", shares.device_eager_frac),
        )
        # PyTorch's ops and JAX's are not said to be eager: a share of nothing says as little.
        if value
    ]
    if known:
        page.text(" · ".join(known), indent=2)
    page.heading(f"Completeness · {result.completeness.verdict}")
    for note in result.completeness.notes or (
        "the recorder reports no loss, and no plane or line is cut or empty",
    ):
        page.text(clean(note), lead="  · ")
