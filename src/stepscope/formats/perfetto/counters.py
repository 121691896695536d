"""Values of counters: those that events bring along, and those that say what was added."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64
from stepscope.formats.messages import repeated
from stepscope.formats.perfetto.packets import EXTRA_COUNTERS, States
from stepscope.formats.perfetto.tracks import Tracks
from stepscope.formats.xspace.cold_fields import DamageLog, Fields
from stepscope.schema.xspace import Wire

F64 = NDArray[np.float64]
_WHOLE, _REAL = EXTRA_COUNTERS
_WHOLE_VALUES: Final = 12
_REAL_VALUES: Final = 46


def extra_counts(
    buffer: memoryview, found: Fields, state: I64, states: States, damage: DamageLog
) -> tuple[I64, I64, F64]:
    """What events count besides: the event, the track and the value of each.

    Args:
        buffer: The file.
        found: The fields of the events.
        state: Of each event.
        states: With the tracks of events that name none.
        damage: Receives what is broken.
    """
    count = len(state)
    whole, many = repeated(buffer, found, _WHOLE_VALUES, count, damage)
    parts = [_placed(buffer, found, _WHOLE, state, many, states, damage)]
    values = [whole.view(np.int64).astype(np.float64)]
    real = found.of(_REAL_VALUES, Wire.FIXED64)
    parts.append(
        _placed(
            buffer, found, _REAL, state, np.bincount(real.parent, minlength=count), states, damage
        )
    )
    values.append(real.value.view(np.float64))
    event, track = (np.concatenate([one[at] for one in parts]) for at in range(2))
    value = np.concatenate(values)
    kept = (track != 0) & np.isfinite(value)
    states.lose("count something that has no track", int((~kept).sum()))
    return event[kept], track[kept], value[kept]


def _placed(
    buffer: memoryview,
    found: Fields,
    field: int,
    state: I64,
    many: I64,
    states: States,
    damage: DamageLog,
) -> tuple[I64, I64]:
    """Event and track of each of the values that events have so many of; 0 for no track."""
    event = np.repeat(np.arange(len(many)), many)
    track = np.zeros(len(event), np.int64)
    if not len(event):
        return event, track
    at = np.arange(len(event)) - (np.cumsum(many) - many)[event]
    own, owned = repeated(buffer, found, field, len(many), damage)
    mine = np.flatnonzero(at < owned[event])
    track[mine] = own.view(np.int64)[(np.cumsum(owned) - owned)[event[mine]] + at[mine]]
    named = owned[event] > 0
    for one in np.unique(state[event[~named]]).tolist():
        usual = np.append(states.extra_counters.get((one, field), np.zeros(0, np.int64)), 0)
        rows = np.flatnonzero(~named & (state[event] == one))
        track[rows] = usual[np.minimum(at[rows], len(usual) - 1)]
    return event, track


def summed(value: F64, track: I64, state: I64, tracks: Tracks, states: States) -> F64:
    """The values, those that say what was added since the last as sums: of each writer its own."""
    adding = [number for number, one in tracks.known.items() if one.adds]
    rows = np.flatnonzero(np.isin(track, adding)) if adding else ()
    if not len(rows):
        return value
    value = value.copy()
    order = rows[np.lexsort((rows, track[rows], state[rows]))]
    changes = (np.diff(state[order]) != 0) | (np.diff(track[order]) != 0)
    for mine in np.split(order, np.flatnonzero(changes) + 1):
        key = int(state[mine[0]]), int(track[mine[0]])
        value[mine] = np.cumsum(value[mine]) + states.totals.get(key, 0.0)
        states.totals[key] = float(value[mine[-1]])
    return value
