"""Executions of compiled programs, wherever they ran: on a device, or on the CPU's own pools.

XLA numbers every execution, and its ops carry the number; devices write a line of modules. Where
calls only dispatch (JAX), the runs say how long the work of a step really took.
"""

from __future__ import annotations

import re

import numpy as np

from stepscope.columns.space import I32, I64, Bool
from stepscope.records import dataclass, replace
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.planes import LineKind, lines_of
from stepscope.tables.core.presence import entries_starting, stat_rows
from stepscope.tables.core.processes import processes
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.host.events import host_thread_rows, timed_events, timed_rows

# A module is named after its function, and on a device's line carries its fingerprint.
_MODULE = re.compile(r"^(?:jit|pjit|pmap|xla)_+(.*?)(?:\(-?\d+\))?(?:\.\d+)?$")


_EXECUTED = "ThunkExecutor::Execute (wait for completion)"


@dataclass(frozen=True, eq=False, slots=True)
class ProgramRuns:
    """One row per execution of a program, by start.

    Attributes:
        name: Index into ``names``.
        names: The functions, as the program calls them ("update" of the module jit_update); ""
            where only the execution was recorded.
        program: Of each run, the number of its program: functions may share a name.
        start_ps, end_ps: From its first to its last op.
        on_device: Whether it ran on a device; else on threads of the host.
    """

    name: I32
    names: list[str]
    program: I64
    start_ps: I64
    end_ps: I64
    on_device: Bool

    def __len__(self) -> int:
        return len(self.name)


@derived
def program_runs(host: Host) -> ProgramRuns:
    """The runs of a host: of its devices where they say so, else of its own threads."""
    runs = _module_runs(host)
    for find in (_host_op_runs, _executor_runs):
        if len(runs) == 0:
            runs = find(host)
    order = np.argsort(runs.start_ps, kind="stable")
    return ProgramRuns(
        runs.name[order],
        runs.names,
        runs.program[order],
        runs.start_ps[order],
        runs.end_ps[order],
        runs.on_device[order],
    )


def function_of_module(module: str) -> str:
    """The function a module was compiled from: "update" of "jit_update(123)"."""
    found = _MODULE.match(module)
    return found.group(1) if found else module.partition("(")[0]


def _module_runs(host: Host) -> ProgramRuns:
    """Events of the modules line of the device that has most of them: replicas run alike."""
    space = host.space
    lines = [space.lines[row] for row in lines_of(host, LineKind.MODULES)]
    if not lines:
        return _runs([], np.zeros(0, dtype=np.int64), np.zeros((2, 0), dtype=np.int64), True)
    line = max(lines, key=lambda one: one.end - one.begin)
    rows = np.arange(line.begin, line.end, dtype=np.int64)
    start = space.events.start_ps[rows]
    meta, code = np.unique(space.events.metadata[rows], return_inverse=True)
    texts = [function_of_module(space.event_metadata.name[one]) for one in meta.tolist()]
    return _runs(texts, code, np.stack([start, start + space.length_ps[rows]]), True)


def _host_op_runs(host: Host) -> ProgramRuns:
    """Ops on host threads that carry the number of their run."""
    space = host.space
    nothing = _runs([], np.zeros(0, dtype=np.int64), np.zeros((2, 0), dtype=np.int64), False)
    if not {names.RUN_ID, names.HLO_MODULE} <= stat_rows(host).keys():
        return nothing
    stats = event_stats(host)
    number, module = stats.ints(names.RUN_ID), stats.texts(names.HLO_MODULE)
    mine = space.on_lines(host_thread_rows(host).tolist()) & timed_events(host)
    of_host = mine[number.rows]
    rows, ids = number.rows[of_host], number.values[of_host]
    if len(rows) == 0:
        return nothing
    _first, run = distinct_rows((processes(host).of_rows(host, rows), ids))
    size = int(run.max()) + 1
    start = np.full(size, np.iinfo(np.int64).max)
    end = np.full(size, np.iinfo(np.int64).min)
    begin = space.events.start_ps[rows]
    np.minimum.at(start, run, begin)
    np.maximum.at(end, run, begin + space.length_ps[rows])
    code, program = np.full((2, size), -1, dtype=np.int64)
    np.maximum.at(code, run, module.at(rows))
    np.maximum.at(program, run, stats.ints(names.PROGRAM_ID).at(rows, -1))
    known = code >= 0
    texts = [function_of_module(text) for text in module.texts]
    found = _runs(texts, code[known], np.stack([start[known], end[known]]), False)
    return replace(found, program=program[known])


def _executor_runs(host: Host) -> ProgramRuns:
    """What the CPU's runtime executed, where it does not say which program (JAX before 0.8)."""
    space = host.space
    entries = entries_starting(host, _EXECUTED)
    rows = timed_rows(host, entries)
    start = space.events.start_ps[rows]
    span = np.stack([start, start + space.length_ps[rows]])
    return _runs([""], np.zeros(len(rows), dtype=np.int64), span, False)


def _runs(texts: list[str], code: I64, span: I64, on_device: bool) -> ProgramRuns:
    distinct = list(dict.fromkeys(texts))
    place = {text: index for index, text in enumerate(distinct)}
    lut = np.asarray([place[text] for text in texts] or [0], dtype=np.int32)
    return ProgramRuns(
        lut[code], distinct, code, span[0], span[1], np.full(len(code), on_device, dtype=bool)
    )
