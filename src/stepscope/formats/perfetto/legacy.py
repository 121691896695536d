"""Track events in the words of Chrome's JSON: phases, durations, ids of what is asynchronous."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64
from stepscope.formats.messages import numbers, submessages
from stepscope.formats.perfetto.packets import States, listed
from stepscope.formats.perfetto.tracks import Tracks
from stepscope.formats.xspace.cold_fields import DamageLog, Fields
from stepscope.schema.xspace import Wire

LEGACY: Final = 6


class Kind(IntEnum):
    """What an event is, as the wire has it; RENDER and the last are ours."""

    BEGIN = 1
    END = 2
    INSTANT = 3
    COUNTER = 4
    STATE = 5
    COMPLETE = 16
    RENDER = 17


class _Legacy(IntEnum):
    PHASE = 2
    DURATION_US = 3
    UNSCOPED_ID = 6
    BIND_ID = 8
    LOCAL_ID = 10
    GLOBAL_ID = 11


_PHASES: Final = {
    **dict.fromkeys(b"BSb", Kind.BEGIN),
    **dict.fromkeys(b"EFe", Kind.END),
    **dict.fromkeys(b"IiRnTp", Kind.INSTANT),
    ord("X"): Kind.COMPLETE,
}
# On a track by id instead of the writer's: of one name where the phase is of the first generation.
_ASYNC: Final = {**dict.fromkeys(b"bne", False), **dict.fromkeys(b"STpF", True)}
_IDS: Final = (_Legacy.UNSCOPED_ID, _Legacy.LOCAL_ID, _Legacy.GLOBAL_ID)


def apply_legacy(
    buffer: memoryview,
    found: Fields,
    columns: dict[str, I64],
    states: States,
    tracks: Tracks,
    damage: DamageLog,
) -> None:
    """Put what events say in Chrome's words into their columns.

    Args:
        buffer: The file.
        found: The fields of the events.
        columns: ``kind``, ``length``, ``track``, ``flow``, ``name`` and ``category`` of each.
        states: Counts phases that are not shown.
        tracks: Receives a track for each id.
        damage: Receives what is broken.
    """
    of, begin, end = submessages(found, LEGACY)
    if not len(of):
        return
    inner = listed(buffer, begin, end, damage)
    phase = numbers(inner, _Legacy.PHASE, len(of))
    known = np.asarray([_PHASES.get(one, 0) for one in phase.tolist()], np.int64)
    says = (columns["kind"][of] == 0) & (phase > 0)
    columns["kind"][of[says]] = known[says]
    states.lose("have a phase that is not shown", int((known[says] == 0).sum()))
    duration = np.clip(numbers(inner, _Legacy.DURATION_US, len(of)), 0, 1 << 50)
    columns["length"][of] = duration * 1000
    bound = numbers(inner, _Legacy.BIND_ID, len(of))
    binds = (bound != 0) & (columns["flow"][of] == 0)
    columns["flow"][of[binds]] = bound[binds]
    is_async = says & np.isin(phase, list(_ASYNC))
    if is_async.any():
        _place_by_id(inner, of, phase, is_async, columns, states, tracks)


def _place_by_id(
    inner: Fields,
    of: I64,
    phase: I64,
    chosen: NDArray[np.bool_],
    columns: dict[str, I64],
    states: States,
    tracks: Tracks,
) -> None:
    """Events of one id, wherever they were written, are on one track."""
    which, number = np.zeros(len(of), np.int64), np.zeros(len(of), np.int64)
    for field in _IDS:
        some = inner.of(field, Wire.VARINT)
        which[some.parent], number[some.parent] = field, some.value.view(np.int64)
    for row in np.flatnonzero(chosen & (which > 0)).tolist():
        event, kind = int(of[row]), int(which[row])
        name, track = int(columns["name"][event]), int(columns["track"][event])
        key = (
            kind,
            int(number[row]),
            int(columns["category"][event]),
            name if _ASYNC[int(phase[row])] else -1,
            tracks.process(track) if kind == _Legacy.LOCAL_ID else -1,
        )
        label = states.texts.list[name] if name >= 0 else ""
        columns["track"][event] = tracks.of_id(key, label, track)
