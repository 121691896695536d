"""Edges of a loop: where its first round begins and its last ends, as the profiler's calls tell.

People start a profiler right before the loop and stop it right after. Where the recording has
these calls (frames of Python), what the loop did before its first recorded call and after its
last belongs to its rounds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepscope.columns import median, union_spans
from stepscope.columns.space import I64
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.profile import Host
from stepscope.tables.device.events import device_events
from stepscope.tables.steps.found import Markers
from stepscope.tables.steps.program_runs import program_runs
from stepscope.tables.steps.recorder_work import recorder_spans

# The start or stop of a profiler within this many rounds is an edge of the loop.
_SOON_ROUNDS = 2
# A stretch before the first call, as a share of a round, that is a part of each round.
_LEADING_FRAC = 0.25


def up_to_the_edges(host: Host, found: Markers) -> Markers:
    """Rounds from the profiler's start and to its stop, where these are recorded and near."""
    if not found.is_last_open or len(found) < 2:
        return found
    return _to_the_stop(host, _from_the_start(host, found))


def _from_the_start(host: Host, found: Markers) -> Markers:
    """Let rounds begin where their first unrecorded work does: at the end of the one before."""
    if found.source != "framework":
        return found
    _starts, ends = recorder_spans(host)
    before = ends[ends <= found.start_ps[0]]
    if len(before) == 0:
        return found
    usual = median(np.diff(found.start_ps))
    led = float(found.start_ps[0] - before[-1])
    if not _LEADING_FRAC * usual <= led <= _SOON_ROUNDS * usual:
        return found
    end = found.mark_end_ps
    return replace(
        found,
        start_ps=np.concatenate([before[-1:], end[:-1]]),
        end_ps=end,
        explanation=found.explanation.replace("start to start", "end to end"),
    )


def _to_the_stop(host: Host, found: Markers) -> Markers:
    """Let the last round last to the profiler's stop, if that is near or work is waited for."""
    stops, _ends = recorder_spans(host)
    after = stops[stops >= found.end_ps[-1]]
    if len(after) == 0:
        return found
    end = found.end_ps.copy()
    end[-1] = after[0]
    usual = median(np.diff(found.start_ps))
    is_near = end[-1] - found.start_ps[-1] <= _SOON_ROUNDS * usual
    if not is_near and not _is_worked(host, found.end_ps[-1:], end[-1:]):
        return found
    return replace(found, end_ps=end, is_last_open=False)


def _is_worked(host: Host, start: I64, end: I64) -> bool:
    """Whether programs or devices run most of a time: the loop's work is waited for in it."""
    runs, devices = program_runs(host), device_events(host)
    busy = union_spans(
        np.concatenate([runs.start_ps, devices.start_ps]),
        np.concatenate([runs.end_ps, devices.end_ps]),
    )
    return bool(2 * covered(*busy, start, end)[0] > end[0] - start[0])
