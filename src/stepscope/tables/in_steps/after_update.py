"""How much of a marked step comes after its optimizer's last update.

Then the step's training is done: what still runs are previews, metrics, averages of weights. It is
all that a recording without lines knows of where in the loop an op is.
"""

from __future__ import annotations

from math import nan
from typing import Final

import numpy as np

from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.in_steps.optimizer_updates import step_of_torch
from stepscope.tables.steps.attribution import steps

# Of a loop that updates more seldom most steps are of another kind.
_MOST_FRAC: Final = 0.8


def after_update_frac(host: Host) -> float:
    """The share of the kept steps; NaN where none is marked, or few have an update of PyTorch's.

    Steps that were found by their updates begin and end there, which says nothing.
    """
    found = steps(host)
    if found is None or found.markers.source != "markers" or not found.kept.any():
        return nan
    start, end = found.start_ps[found.kept], found.end_ps[found.kept]
    space = host.space
    named = entries_named(host, lambda name: bool(step_of_torch(name)))
    rows = np.flatnonzero(named[space.events.metadata])
    done = np.sort(space.events.start_ps[rows] + space.length_ps[rows])
    if len(done) == 0:
        return nan
    last = np.searchsorted(done, end, side="right") - 1
    has = (last >= 0) & (done[np.maximum(last, 0)] > start)
    if has.mean() < _MOST_FRAC:
        return nan
    return float((end - done[np.maximum(last, 0)])[has].sum() / (end - start)[has].sum())
