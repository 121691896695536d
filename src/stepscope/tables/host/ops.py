"""The framework ops that ran on a host, as events: which op each is, and its self time.

An op activity is a host event whose name is an op, or that carries a ``tf_op`` stat, or (XLA on
the CPU) an ``hlo_op`` stat. Self time is duration minus direct op children on the same thread;
events that are not ops do not count as children (reference §5.1).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.columns import nest, rows_of
from stepscope.columns.space import I32, I64, Bool, Space
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.op_name import OpCategory, OpName, parse_op_name
from stepscope.tables.core.planes import LineKind, planes
from stepscope.tables.core.presence import Stretch, any_stretch, entries_called, stat_rows
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import StatTexts, event_stats
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.host.events import host_names, host_thread_rows, timed_events

if TYPE_CHECKING:
    from stepscope.tables.hlo.module import HloModule


@dataclass(frozen=True, eq=False, slots=True)
class HostOps:
    """The op activities of a host, one row per event.

    Attributes:
        rows: Event rows, ascending.
        op: Index into ``ops``.
        ops: Distinct ops, by name.
        self_ps: Self time of each.
        is_execution: False for allocator events that only name the op they serve.
        is_eager: Whether an eager (not compiled) execution encloses it on its thread.
    """

    rows: I64
    op: I32
    ops: list[OpName]
    self_ps: I64
    is_execution: Bool
    is_eager: Bool


def has_host_ops(host: Host, *, executed: bool = False) -> bool:
    """Whether ``host_ops`` has any; with ``executed``, any that is an execution."""
    is_op = op_mask(host, executed=executed)
    named = host_names(host).op >= 0
    if not named.any() and not any(name in stat_rows(host) for name in _OP_STATS):
        return False
    return any_stretch(host, host_thread_rows(host).tolist(), lambda one: bool(is_op(one).any()))


def op_mask(host: Host, *, executed: bool) -> Callable[[Stretch], Bool]:
    """Tells which events of a stretch of a host thread are in ``host_ops``.

    With ``executed`` only those that are executions.
    """
    named = host_names(host).op >= 0
    left_out = _memory_entries(host) & executed

    def is_op(stretch: Stretch) -> Bool:
        found = named[stretch.entry]
        for name in _OP_STATS:
            found = found | stretch.has(name)
        of_ops: Bool = found & ~left_out[stretch.entry] & stretch.timed
        return of_ops

    return is_op


def named_ops(host: Host) -> tuple[I32, list[OpName]]:
    """The op that the name of each row of ``Space.event_metadata`` says, -1 for none; the ops."""
    index = _OpIndex()
    return _ops_of_entries(host, index), index.ops


def _memory_entries(host: Host) -> Bool:
    return entries_called(host, names.MEMORY_EVENTS)


# Stats that name an op where the event's name does not.
_OP_STATS = (names.TF_OP, names.HLO_OP)


class _OpIndex:
    """Distinct ops in order of first sight."""

    def __init__(self) -> None:
        self.ops: list[OpName] = []
        self._index: dict[str, int] = {}

    def code(self, op: OpName) -> int:
        code = self._index.setdefault(op.name, len(self.ops))
        if code == len(self.ops):
            self.ops.append(op)
        return code


@derived
def host_ops(host: Host) -> HostOps:
    """Find the op activities of the host's threads and nest them."""
    space = host.space
    index = _OpIndex()
    op = _op_of_each_event(host, index)
    mask = (op >= 0) & timed_events(host)
    kinds = planes(host).line_kind
    for line, kind in zip(space.lines, kinds, strict=True):
        if kind is not LineKind.THREAD:
            mask[line.begin : line.end] = False
    rows = np.flatnonzero(mask)
    op = op[rows]
    del mask
    line_begin = np.searchsorted(rows, space.line_begin).astype(np.int64)
    self_ps = nest(space.events.start_ps[rows], space.length_ps[rows], line_begin).self_ps
    # Stats name the ops of devices, too; keep those that a host thread ran.
    used = np.flatnonzero(np.bincount(op, minlength=len(index.ops)))
    renumbered = np.zeros(len(index.ops), dtype=np.int32)
    renumbered[used] = np.arange(len(used))
    ops = [index.ops[code] for code in used.tolist()]
    is_execution = ~_memory_entries(host)[space.events.metadata[rows]]
    # tf.data has no graph to compile: its iterators run under an eager get-next by design.
    can_be_eager = np.asarray([one.category is not OpCategory.TF_DATA for one in ops] or [False])
    op = renumbered[op]
    is_eager = _eager(host, rows) & can_be_eager[op]
    return HostOps(rows, op, ops, self_ps, is_execution, is_eager)


def _op_of_each_event(host: Host, index: _OpIndex) -> I32:
    """The op of every event, -1 where it has none: by its name, else by its stats."""
    stats = event_stats(host)
    op: I32 = _ops_of_entries(host, index)[host.space.events.metadata]
    _name_by_text(op, stats.texts(names.TF_OP), lambda text: index.code(parse_op_name(text)))
    if len(stats.rows(names.HLO_OP)):
        _name_by_hlo(host, op, index)
    return op


def _ops_of_entries(host: Host, index: _OpIndex) -> I32:
    """The op that the name of each row of ``Space.event_metadata`` says, -1 for none."""
    by_name = host_names(host)
    merged = np.asarray([index.code(op) for op in by_name.ops] + [-1], dtype=np.int32)
    of_entries: I32 = merged[by_name.op]
    return of_entries


def _name_by_text(op: I32, texts: StatTexts, code: Callable[[str], int]) -> None:
    """Give events that have no op yet the op their text stat names."""
    if len(texts.rows) == 0:
        return
    free = op[texts.rows] < 0
    lut = np.asarray([code(text) for text in texts.texts], dtype=np.int32)
    op[texts.rows[free]] = lut[texts.codes[free]]


def _name_by_hlo(host: Host, op: I32, index: _OpIndex) -> None:
    """XLA on the CPU: an event's op is the framework op its HLO instruction came from."""
    stats, modules = event_stats(host), hlo_modules(host)
    hlo = stats.texts(names.HLO_OP)
    free = op[hlo.rows] < 0
    rows, codes = hlo.rows[free], hlo.codes[free].astype(np.int64)
    programs = stats.ints(names.PROGRAM_ID).at(rows, 0)
    first, pair = distinct_rows((programs, codes))
    lut = np.empty(len(first), dtype=np.int32)
    for place, (program, code) in enumerate(
        zip(programs[first].tolist(), codes[first].tolist(), strict=True)
    ):
        lut[place] = index.code(hlo_framework_op(modules.get(program), hlo.texts[code]))
    op[rows] = lut[pair]


def hlo_framework_op(module: HloModule | None, hlo_op: str) -> OpName:
    """The framework op of an HLO op: from the module's metadata, else the HLO op itself."""
    name = hlo_op.rpartition("::")[2]
    instruction = module.instructions.get(name) if module is not None else None
    if instruction is None or not instruction.op_name:
        return OpName(OpCategory.UNKNOWN, name, "Unknown")
    full = instruction.op_name
    combined = _COMBINED.search(full, 0, max(full.rfind(":"), 0)) if full[-1:] == ")" else None
    if combined:  # no name of an op: what it is says more than what it is made of
        path = f"{full[: combined.start()]}/{instruction.opcode}"
        return OpName(OpCategory.JAX, path, instruction.opcode)
    return parse_op_name(full if ":" in full else full + ":")


# What XLA calls an exchange that it made of several, with the names of all of them.
_COMBINED: Final = re.compile(r"/\([^/]*/")


def _eager(host: Host, rows: I64) -> Bool:
    """Whether each op event lies inside an EagerExecute that ran no compiled function."""
    space, stats = host.space, event_stats(host)
    recorded = stats.ints(names.IS_EAGER)
    eager: Bool = recorded.at(rows, 0) > 0
    is_marker = np.asarray(
        [name == names.EAGER_EXECUTE for name in space.event_metadata.name] or [False]
    )
    markers = rows_of(space.events.metadata, is_marker)
    if len(markers) == 0 or len(recorded.rows):
        return eager
    # An EagerExecute without is_func, or with is_func 0, ran a single op.
    markers = markers[stats.ints(names.IS_FUNC).at(markers, 0) == 0]
    return _inside_any(space, rows, markers)


def _inside_any(space: Space, rows: I64, covers: I64) -> Bool:
    """Whether each event ends no later than the last of ``covers`` begun on its line before it.

    Both are event rows, ascending.
    """
    starts, durations = space.events.start_ps, space.length_ps
    inside = np.zeros(len(rows), dtype=bool)
    of_line = np.searchsorted(rows, space.line_begin)
    covers_of_line = np.searchsorted(covers, space.line_begin)
    for line in np.flatnonzero(np.diff(covers_of_line)).tolist():
        own = covers[covers_of_line[line] : covers_of_line[line + 1]]
        own = own[np.argsort(starts[own], kind="stable")]
        here = slice(int(of_line[line]), int(of_line[line + 1]))
        begin = starts[rows[here]]
        before = np.searchsorted(starts[own], begin, side="right") - 1
        until = (starts[own] + durations[own])[before]
        inside[here] = (before >= 0) & (begin + durations[rows[here]] <= until)
    return inside
