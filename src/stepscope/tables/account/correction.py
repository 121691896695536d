"""The recorder's share of each moment of the account, where an undisturbed step is known.

A recorded step is longer than an undisturbed one by the cost of its events, and because all of it
runs slower: beside the events in its caches, or a busy neighbour. Two thirds of the difference are
the price of events: each begin and each end of one costs the same. Events of the loop's thread
count, and those of pools while it waits for them. What remains is taken from all moments alike.
With two thirds the shares of ten programs that timed their parts were closest (see
``bench.correction``). Nothing is corrected without an undisturbed step, nor with devices, which
hide the cost of the host's events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepscope.columns import sweep
from stepscope.columns.space import F64, I64, Bool
from stepscope.tables.core.profile import Host
from stepscope.tables.core.thresholds import EDGE_PS, LARGE_FRAC, TWO_THIRDS_FRAC
from stepscope.tables.host.events import host_thread_rows, is_tf_data_thread
from stepscope.tables.recording.undisturbed import undisturbed_step
from stepscope.tables.steps.attribution import PARTS, HostSteps, step_spans

if TYPE_CHECKING:
    from stepscope.tables.account.account import Account


def recorder_ps(
    host: Host, found: HostSteps, line: int, start_ps: I64, end_ps: I64, waits: Bool
) -> I64:
    """Return the cost of recording in each moment; zeros where nothing is corrected."""
    nothing = np.zeros(len(start_ps), dtype=np.int64)
    known, kept_ps = undisturbed_step(host), found.duration_ps[found.kept]
    if known is None or line < 0:
        return nothing
    excess_ps = float(kept_ps.sum()) - known.step_ps * len(kept_ps)
    # A smaller excess may be the machine's load, which differs as much from step to step
    # (``bench.correction``: no share became better at 17 %).
    if excess_ps <= LARGE_FRAC * float(kept_ps.sum()):
        return nothing
    others = [
        row
        for row in host_thread_rows(host).tolist()
        if row != line and not is_tf_data_thread(host.space.lines[row].name)
    ]
    events = _edges(host, [line], start_ps, end_ps)
    events += np.where(waits, _edges(host, others, start_ps, end_ps), 0)
    length_ps = end_ps - start_ps
    cost_ps = evenly_priced(length_ps, events, TWO_THIRDS_FRAC * excess_ps)
    left_ps = length_ps - cost_ps
    slower_frac = (excess_ps - float(cost_ps.sum())) / max(float(left_ps.sum()), 1.0)
    slower_ps: I64 = (min(slower_frac, 1.0) * left_ps).astype(np.int64)
    return cost_ps + slower_ps


def costs_by_part(host: Host, found: Account) -> dict[str, F64]:
    """Return the cost of events in each of ``PARTS`` and each kept step, in ps; {} for none."""
    line = found.timeline
    rows = np.flatnonzero(line.events_ps)
    if len(rows) == 0:
        return {}
    spans, begin, end = step_spans(host), line.start_ps[rows], line.end_ps[rows]
    time = sweep(spans.start_ps, spans.end_ps, spans.work, begin, end)
    frac, count = line.events_ps[rows] / (end - begin), int(found.found.kept.sum())
    return {
        part: np.bincount(line.step[rows], frac * time[:, list(kinds)].sum(axis=1), count).astype(
            np.float64
        )
        for part, kinds in PARTS.items()
    }


def _edges(host: Host, lines: list[int], start_ps: I64, end_ps: I64) -> I64:
    """Return how many events of these lines begin or end in each moment."""
    count = np.zeros(len(start_ps), dtype=np.int64)
    for row in lines:
        one = host.space.lines[row]
        begin = host.space.events.start_ps[one.begin : one.end]
        until = np.sort(begin + host.space.length_ps[one.begin : one.end])
        begin = np.sort(begin)
        count += np.searchsorted(begin, end_ps) - np.searchsorted(begin, start_ps)
        count += np.searchsorted(until, end_ps, "right") - np.searchsorted(until, start_ps, "right")
    return count


def evenly_priced(length_ps: I64, events: I64, whole_ps: float) -> I64:
    """Return the cost of events in each moment, at one price for all and at most its length.

    Together they cost ``whole_ps``, unless that needs too high a price.
    """
    cost = np.zeros(len(length_ps), dtype=np.int64)
    rows = np.flatnonzero((events > 0) & (length_ps > 0))
    if len(rows) == 0:
        return cost
    length, count = length_ps[rows], events[rows]
    # Moments are used up in the order of their length per event, as the price rises.
    each = length / count
    order = np.argsort(each, kind="stable")
    used_up = np.cumsum(length[order]) - length[order]
    remaining = int(count.sum()) - (np.cumsum(count[order]) - count[order])
    last = np.searchsorted(used_up + each[order] * remaining, whole_ps)
    at = min(int(last), len(order) - 1)
    price = min((whole_ps - used_up[at]) / remaining[at], EDGE_PS)
    cost[rows] = np.minimum(length, np.rint(price * count)).astype(np.int64)
    return cost
