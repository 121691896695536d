"""Batches whose marks the recording cut off, inferred from the function that is called in each.

Keras 2 marks a batch around the callbacks that begin and end to record within it: of the first and
the last batch the function's call is recorded and the mark is not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepscope.columns import median
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.calls import function_calls
from stepscope.tables.steps.cycle import Calls
from stepscope.tables.steps.found import Markers

# What Keras' loops call once a batch.
_BATCH_FUNCTIONS = (
    "train_function",
    "test_function",
    "predict_function",
    "one_step_on_iterator",
    "multi_step_on_iterator",
)
# A batch without its mark is within this many batches of the next.
_NEAR = 2.0


def with_cut_batches(host: Host, found: Markers) -> Markers:
    """The marked steps, with the batch before the first mark and the one after the last."""
    if found.source != "markers" or len(found) < 2:
        return found
    call = next((one for one in function_calls(host) if _is_once_each(one, found)), None)
    if call is None:
        return found
    near = _NEAR * median(np.diff(found.start_ps))
    before = np.flatnonzero(call.end_ps <= found.start_ps[0])
    after = np.flatnonzero(call.start_ps >= found.end_ps[-1])
    is_before = len(before) == 1 and found.start_ps[0] - call.end_ps[before[0]] <= near
    is_after = len(after) == 1 and call.start_ps[after[0]] - found.end_ps[-1] <= near
    start, end, num, name = found.start_ps, found.end_ps, found.num, found.name
    if is_before:
        start, end = np.append(call.start_ps[before], start), np.append(start[:1], end)
        num, name = np.append(num[:1] - 1, num), ["cut at the begin", *name]
    if is_after:
        start, end = np.append(start, end[-1:]), np.append(end, call.end_ps[after])
        num, name = np.append(num, num[-1:] + 1), [*name, "cut at the end"]
    cut = int(is_before) + int(is_after)
    if not cut:
        return found
    return replace(
        found,
        explanation=f"{found.explanation} {cut} more {'was' if cut == 1 else 'were'} cut at the "
        "edges of the recording.",
        num=num,
        name=name,
        start_ps=start,
        end_ps=end,
        mark_end_ps=end,
        is_first_open=is_before,
        is_last_cut=is_after,
    )


def _is_once_each(one: Calls, found: Markers) -> bool:
    """Whether a function of Keras' is called once within each mark."""
    if one.kind != "call" or one.line != found.line or one.name not in _BATCH_FUNCTIONS:
        return False
    first, last = (np.searchsorted(one.start_ps, edge) for edge in (found.start_ps, found.end_ps))
    return bool((last - first == 1).all())
