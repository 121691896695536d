"""Rules about the recording itself."""

from __future__ import annotations

from stepscope.advice.match import Case
from stepscope.advice.render import silent
from stepscope.registry import Answer
from stepscope.result import Ref
from stepscope.tables.core.thresholds import FEW, HALF_FRAC, PART_FRAC
from stepscope.tables.device.driver_calls import is_device_allocation
from stepscope.tables.in_steps.slow_calls import CAPTURE
from stepscope.tables.recording.completeness import IMPLAUSIBLE_TIMES, NO_DEVICE_EVENTS


def incomplete_profile(case: Case) -> Answer:
    """Fire when events are missing; above "info" when numbers are void."""
    overview = case.overview_page
    found = overview.completeness
    if found.verdict == "complete":
        return silent("complete")
    slugs = {one.slug for one in overview.diagnostics}
    is_void = not slugs.isdisjoint((NO_DEVICE_EVENTS, IMPLAUSIBLE_TIMES))
    return case.match(
        "implausible-times" if IMPLAUSIBLE_TIMES in slugs else "incomplete-profile",
        severity="low" if found.verdict == "damaged" or is_void else "info",
        evidence=(Ref("overview_page", "completeness"),),
        details=tuple(found.notes),
        verdict=found.verdict,
        notes_text=found.notes[0] if found.notes else None,
        notes=len(found.notes),
    )


def start_up(case: Case) -> Answer:
    """Fire when slow calls into the driver cost 10 % of the steps."""
    idle = case.device_idle
    step = case.step_ms
    calls = list(idle.slow_calls.records())
    # Memory is taken and given back later on, too: that alone does not start a device.
    starting = sum(row.total_ms for row in calls if not is_device_allocation(row.call))
    if starting < PART_FRAC * step:
        return case.below(starting, PART_FRAC)
    spent = min(sum(row.total_ms for row in calls), step)
    capture = next((row for row in calls if row.call == CAPTURE), None)
    is_capture = capture is not None and 2 * capture.total_ms > spent
    if is_capture and capture is not None:
        calls, spent = [capture], capture.total_ms
    again = max(row.steps_frac for row in calls)
    recurs = idle.step_count >= FEW and again > HALF_FRAC
    if recurs and not is_capture:
        return silent("restarting_calls", again_frac=again)
    return case.match(
        "graph-capture" if is_capture else "start-up",
        spent,
        high_ms=spent,
        evidence=(Ref("device_idle", "slow_calls", rows=tuple(row.call for row in calls)),),
        start_up_ms=spent,
        call=calls[0].call,
        longest_ms=calls[0].longest_ms,
        again_frac=again if recurs else None,
    )
