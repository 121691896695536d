"""What computes while the loop's thread waits: ops of the runtimes' pools and of devices."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.nesting import CLASSES
from stepscope.columns.space import I64, U8
from stepscope.tables.account.moments import innermost
from stepscope.tables.core.op_name import OpCategory, OpName
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import (
    Work,
    host_names,
    host_thread_rows,
    is_pool_thread,
    is_tf_data_thread,
)
from stepscope.tables.host.ops import host_ops

# What is too little to be told apart, and what a runtime does around its ops.
_REST = OpName(OpCategory.UNKNOWN, "other ops", "")
_RUNTIME = OpName(OpCategory.UNKNOWN, "the runtime's own work", "")
# A program of XLA's runs although none of its ops does: its runtime waits for them.
_PROGRAM = re.compile(r"^ThunkExecutor::Execute")
_KINDS = {
    Work.COLLECTIVE: "collective",
    Work.HOST_TO_DEVICE: "copy",
    Work.DEVICE_TO_HOST: "copy",
    Work.DEVICE_TO_DEVICE: "copy",
    Work.INPUT_WAIT: "input",
}


@dataclass(frozen=True, slots=True)
class Computed:
    """One thing that computes: an op, a kind of copy.

    Attributes:
        kind: "op", "runtime" (around ops, on its own threads), "copy", "collective" or "input".
        op: Which op.
        row: Event row of its longest run.
        on_device: Whether a device ran it.
    """

    kind: str
    op: OpName
    row: int
    on_device: bool


@dataclass(frozen=True, slots=True)
class Compute:
    """Spans of work beside the loop's thread.

    Attributes:
        start_ps, end_ps: They overlap as they like.
        label: Of each, from 1: which of ``things``. Where they overlap the larger has the time.
        things: What the labels stand for, from 1 on; the last is the rest.
        busy_start_ps, busy_end_ps: When any of them ran; disjoint, ascending.
        has_device: Whether any ran on a device.
    """

    start_ps: I64
    end_ps: I64
    label: U8
    things: tuple[Computed, ...]
    busy_start_ps: I64
    busy_end_ps: I64
    has_device: bool


def compute(host: Host, line: int, begin_ps: int, end_ps: int) -> Compute:
    """The work of pools and devices between two times, less that of the loop's own thread."""
    start, end, code, row, facts = _spans(host, line)
    touches = (end > begin_ps) & (start < end_ps)
    start, end, code, row = start[touches], end[touches], code[touches], row[touches]
    total = np.zeros(len(facts), dtype=np.int64)
    np.add.at(total, code, end - start)
    used = np.flatnonzero(total > 0)
    is_runtime = np.asarray([one[0] == "runtime" for one in facts] or [False])
    used = used[np.lexsort((total[used], ~is_runtime[used]))]
    # What has the least time shares a label; where ops overlap, the one with the most has the time.
    rest = max(len(used) - (CLASSES - 2), 0)
    label = np.zeros(len(facts), dtype=np.uint8)
    label[used[:rest]] = 1
    first = 2 if rest else 1
    label[used[rest:]] = np.arange(first, first + len(used) - rest)
    longest = _longest(code, end - start, row, len(facts))
    things = [Computed("op", _REST, -1, False)] if rest else []
    things += [
        Computed(facts[one][0], facts[one][1], int(longest[one]), facts[one][2])
        for one in used[rest:].tolist()
    ]
    busy = union_spans(start, end)
    has_device = any(one.on_device for one in things)
    return Compute(start, end, label[code], tuple(things), *busy, has_device)


def _longest(code: I64, length: I64, row: I64, count: int) -> I64:
    found = np.full(count, -1, dtype=np.int64)
    order = np.argsort(length, kind="stable")
    found[code[order]] = row[order]
    return found


def _spans(host: Host, line: int) -> tuple[I64, I64, I64, I64, list[tuple[str, OpName, bool]]]:
    """Start, end, code and event row of each span; kind, op and side of each code."""
    facts: list[tuple[str, OpName, bool]] = []
    parts: list[tuple[I64, I64, I64, I64]] = []
    ops, space = host_ops(host), host.space
    lines = space.lines_of(ops.rows)
    facts += [("op", op, False) for op in ops.ops]
    for row in np.unique(lines[ops.is_execution]).tolist():
        if row == line or is_tf_data_thread(space.lines[row].name):
            continue
        own = np.flatnonzero((lines == row) & ops.is_execution)
        events = ops.rows[own]
        moments = innermost(space.events.start_ps[events], space.length_ps[events])
        chosen = own[moments.owner]
        parts.append(
            (moments.start_ps, moments.end_ps, ops.op[chosen].astype(np.int64), ops.rows[chosen])
        )
    parts += _runtime_spans(host, line, len(facts))
    facts.append(("runtime", _RUNTIME, False))
    found = device_events(host)
    if len(found):
        own = np.flatnonzero(~found.is_container)
        work, op = found.work[own].astype(np.int64), found.op[own].astype(np.int64)
        pair, code = np.unique(work * max(len(found.ops), 1) + op, return_inverse=True)
        base = len(facts)
        for one in pair.tolist():
            kind, at = divmod(one, max(len(found.ops), 1))
            facts.append((_KINDS.get(Work(kind), "op"), found.ops[at], True))
        parts.append((found.start_ps[own], found.end_ps[own], base + code, found.rows[own]))
    if not parts:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, nothing, nothing, facts
    start, end, code, row = (np.concatenate([part[at] for part in parts]) for at in range(4))
    return start, end, code, row, facts


def _runtime_spans(host: Host, line: int, code: int) -> list[tuple[I64, I64, I64, I64]]:
    """What threads of the runtimes' pools do around and between ops."""
    space, by_name = host.space, host_names(host)
    runs = entries_named(host, lambda name: _PROGRAM.search(name) is not None)
    is_work = ((by_name.work == Work.HOST_COMPUTE) | runs) & (by_name.op < 0)
    found = []
    for row in host_thread_rows(host).tolist():
        one = space.lines[row]
        if row == line or not is_pool_thread(one.name):
            continue
        own = one.begin + np.flatnonzero(is_work[space.events.metadata[one.begin : one.end]])
        start = space.events.start_ps[own]
        found.append((start, start + space.length_ps[own], np.full(len(own), code), own))
    return found
