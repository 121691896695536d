"""Recordings as strangers would have made them: cut, thinned, renamed, on other machines.

Each change takes the columns of a recording and gives others; what is planted in the program stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from stepscope.columns import nest
from stepscope.columns.pivot import stats_by_name
from stepscope.columns.space import I64, Bool, Space, Stats
from stepscope.schema import names

# What a stranger's file is called; that of a program of the collection has its own name.
COMMON_FILE: Final = "trainer.py"
_SEED: Final = 12
_CUT_FRAC: Final = 1 / 3
_LOST_FRAC: Final = 0.05
_SCOPED: Final = re.compile(r"^(?!\$|aten/|autograd/)((?:\w+/)+)(\w+)")
_FACTOR: Final = 3.0


@dataclass(frozen=True, slots=True)
class Change:
    """One way in which a stranger's recording differs.

    Attributes:
        name: In the table.
        make: The columns of the program's recording, given its file's name without the ending.
        is_blind: Whether it takes the place itself away: an honest "cannot tell" is all there is.
    """

    name: str
    make: Callable[[Space, str], Space]
    is_blind: bool = False


def _kept(
    space: Space, keep: Bool, start_ps: I64 | None = None, end_ps: I64 | None = None
) -> Space:
    """The space with these events only, at other times where they are given."""
    events, counts = space.events, np.diff(space.events.stat_begin)
    start = events.start_ps if start_ps is None else start_ps
    end = start + events.duration_ps if end_ps is None else end_ps
    of_stats = np.repeat(keep, counts)
    stats = space.event_stats
    below = np.concatenate([[0], np.cumsum(keep)])
    lines = tuple(
        replace(line, begin=int(below[line.begin]), end=int(below[line.end]))
        for line in space.lines
    )
    return replace(
        space,
        lines=lines,
        events=replace(
            events,
            metadata=events.metadata[keep],
            start_ps=start[keep],
            duration_ps=(end - start)[keep],
            data=events.data[keep],
            stat_begin=np.concatenate([[0], np.cumsum(counts[keep])]).astype(np.int64),
            occurrences={
                int(below[row]): count for row, count in events.occurrences.items() if keep[row]
            },
        ),
        event_stats=Stats(stats.key[of_stats], stats.kind[of_stats], stats.value[of_stats]),
        unknown=(),
    )


def _everything(space: Space) -> Bool:
    return np.ones(len(space.events), dtype=bool)


def _is_call(space: Space) -> Bool:
    """Which events are calls of Python."""
    marked = [name.startswith(names.PYTHON_CALL_MARK) for name in space.event_metadata.name]
    found: Bool = np.asarray(marked or [False])[space.events.metadata]
    return found


def _between(space: Space, low: float, high: float) -> Space:
    """The recording from one share of its events to another: what lasts longer was not written.

    Recorders of Python write the calls that were open, too.
    """
    start = space.events.start_ps
    end = start + space.length_ps
    begin_ps, until_ps = (int(np.quantile(start, share)) for share in (low, high))
    inside = (start >= begin_ps) & (end <= until_ps if high < 1 else True)
    touches = _is_call(space) & (end > begin_ps) & ((start < until_ps) | (high >= 1))
    upper = until_ps if high < 1 else int(end.max())
    return _kept(
        space, inside | touches, np.maximum(start, begin_ps), np.clip(end, begin_ps, upper)
    )


def _without_thread_names(space: Space, _program: str) -> Space:
    host = [plane.name == names.HOST_PLANE for plane in space.planes]
    lines = (
        replace(line, name=str(line.id), display_name="") if host[line.plane] else line
        for line in space.lines
    )
    return replace(space, lines=tuple(lines))


def _seldom_sampled(space: Space, _program: str) -> Space:
    """Without half of the shortest innermost calls of Python, which half of the samples miss."""
    call = np.flatnonzero(_is_call(space))
    if len(call) == 0:
        return space
    start = space.events.start_ps[call]
    nesting = nest(start, space.length_ps[call], np.searchsorted(call, space.line_begin))
    inner = np.ones(len(call), dtype=bool)
    inner[nesting.parent[nesting.parent >= 0]] = False
    length = space.length_ps[call]
    short = inner & (length <= np.median(length[inner]))
    lost = short & (np.random.default_rng(_SEED).random(len(call)) < 0.5)
    keep = _everything(space)
    keep[call[lost]] = False
    return _kept(space, keep)


def _without_python(space: Space, _program: str) -> Space:
    return _kept(space, ~_is_call(space))


def _some_lost(space: Space, _program: str) -> Space:
    lost = np.random.default_rng(_SEED).random(len(space.events)) < _LOST_FRAC
    return _kept(space, ~lost | _is_call(space))


def _without_marks(space: Space, _program: str) -> Space:
    """Without the events that number the steps."""
    marks = stats_by_name(space, (names.STEP_NUM,))[names.STEP_NUM].rows
    keep = _everything(space)
    keep[marks] = False
    return _kept(space, keep)


def _renamed(space: Space, to: Callable[[str], str]) -> Space:
    meta = space.event_metadata
    return replace(space, event_metadata=replace(meta, name=[to(name) for name in meta.name]))


def _with_other_scopes(space: Space, _program: str) -> Space:
    """Layers and ops with names of other models: ``model/dense/MatMul`` in another scope."""
    return _renamed(space, lambda name: _SCOPED.sub(r"net_7/\1\2_7", name, count=1))


def _with_common_file(space: Space, program: str) -> Space:
    return _renamed(space, lambda name: name.replace(f"${program}.py:", f"${COMMON_FILE}:"))


def _at_speed(space: Space, factor: float) -> Space:
    start, end = space.events.start_ps, space.events.start_ps + space.events.duration_ps
    scaled = ((one * factor).astype(np.int64) for one in (start, end))
    return _kept(space, _everything(space), *scaled)


CHANGES: Final = (
    Change("as recorded", lambda space, _program: space),
    Change("front third cut", lambda space, _program: _between(space, _CUT_FRAC, 1)),
    Change("back third cut", lambda space, _program: _between(space, 0, 1 - _CUT_FRAC)),
    Change("threads without names", _without_thread_names),
    Change("half of the samples", _seldom_sampled),
    Change("no Python", _without_python, is_blind=True),
    Change("1 of 20 events lost", _some_lost),
    Change("steps not marked", _without_marks),
    Change("scopes renamed", _with_other_scopes),
    Change(f"file is {COMMON_FILE}", _with_common_file),
    Change("machine 3 x slower", lambda space, _program: _at_speed(space, _FACTOR)),
    Change("machine 3 x faster", lambda space, _program: _at_speed(space, 1 / _FACTOR)),
)
