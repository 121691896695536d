"""Python functions of the step's thread: the time they spend while nothing computes.

Recorders write a call of a function as ``$file.py:12 name``: TensorFlow's and JAX's tracer on
the thread's own line, our sampler and our tracer on planes of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from stepscope.columns import nest
from stepscope.columns.space import I64
from stepscope.schema import names
from stepscope.tables.coverage import covered
from stepscope.tables.host_activity import HostTime, host_time
from stepscope.tables.profile import Host

# Functions that wait for what runs elsewhere; to make them faster is to make that faster.
_WAITS = re.compile(
    r"(?:^|\.)(?:block_until_ready|effects_barrier|wait|_wait\w*|acquire|join|sleep|select|poll|"
    r"result|get|synchronize)$"
)
_CALL = re.compile(r"\$(.+?):(\d+)(?: (.*))?$", re.S)


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """One Python function in the kept steps.

    Attributes:
        function: Its name.
        file: The file it is in, as recorded.
        line: Its first line.
        calls: How often it was seen.
        self_ps: Σ time in itself while nothing computed.
        total_ps: The same with what it calls.
        is_wait: Whether it only waits, as its name says.
    """

    function: str
    file: str
    line: int
    calls: int
    self_ps: int
    total_ps: int
    is_wait: bool


def python_functions(host: Host) -> tuple[PythonFunction, ...]:
    """By self time; empty where no Python call was recorded."""
    time = host_time(host)
    rows = None if time is None else _rows(host, time)
    if time is None or rows is None:
        return ()
    space = host.space
    start = space.events.start_ps[rows]
    length = space.events.duration_ps[rows]
    idle = covered(time.free_start_ps, time.free_end_ps, start, start + length)
    parent = nest(start, length, np.asarray([0, len(rows)], dtype=np.int64)).parent
    inner = np.zeros(len(rows), dtype=np.int64)
    np.add.at(inner, parent[parent >= 0], idle[parent >= 0])
    own = np.maximum(idle - inner, 0)
    meta, place = np.unique(space.events.metadata[rows], return_inverse=True)
    counts = np.bincount(place[idle > 0], minlength=len(meta))
    self_ps = np.zeros(len(meta), dtype=np.int64)
    np.add.at(self_ps, place, own)
    # A function that calls itself directly counts once.
    again = (parent >= 0) & (place[np.maximum(parent, 0)] == place)
    total_ps = np.zeros(len(meta), dtype=np.int64)
    np.add.at(total_ps, place[~again], idle[~again])
    found = []
    for at, name in enumerate(meta.tolist()):
        said = _CALL.match(space.event_metadata.name[name])
        if said is None or not counts[at]:
            continue
        file, line, function = said.groups()
        found.append(
            PythonFunction(
                function=function or "(line)",
                file=file,
                line=int(line),
                calls=int(counts[at]),
                self_ps=int(self_ps[at]),
                total_ps=int(total_ps[at]),
                is_wait=_WAITS.search(function or "") is not None,
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.self_ps, one.file, one.line)))


def _rows(host: Host, time: HostTime) -> I64 | None:
    """The Python calls of the one line that is the step's thread; None where there are none.

    That is the markers' line where it has any, else the line with the most time in them.
    """
    space = host.space
    is_call = np.asarray(
        [name.startswith(names.PYTHON_CALL_MARK) for name in space.event_metadata.name] or [False]
    )
    rows = np.flatnonzero(is_call[space.events.metadata])
    start = space.events.start_ps[rows]
    end = start + space.events.duration_ps[rows]
    rows = rows[covered(time.start_ps, time.end_ps, start, end) > 0]
    if len(rows) == 0:
        return None
    lines = space.lines_of(rows)
    marked = time.found.markers.line
    if marked < 0 or not (lines == marked).any():
        spent = np.bincount(lines, weights=space.events.duration_ps[rows])
        marked = int(spent.argmax())
    own: I64 = rows[lines == marked]
    return own
