"""How often an op ran whose runs are several kernels: a recording holds the kernels only.

Two counts are known, and neither can be too small by much: of the kernels' names most run once in
each run of the op, so the number of runs is the count that most names share; and where the program
runs an op once, among others of its own, its kernels are in one row on their stream, so a run ends
where another op's kernels begin. The smaller counts: a kernel may run twice in each run of the op.
An op that is alone in its program runs in one row however often it is called: rows say nothing.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I32, I64, Bool
from stepscope.tables.core.distinct_rows import distinct_rows


def mark_runs(
    op: I32,
    device: I32,
    line: I64,
    kernel: I32,
    start_ps: I64,
    is_straight: Bool,
    program: I64,
) -> Bool:
    """Marks one event of each run.

    Args:
        op: The op of each event.
        device: Its device.
        line: The stream it ran on.
        kernel: Its kernel, as a number.
        start_ps: Its start.
        is_straight: By op: whether its program runs it once, outside of loops and branches.
        program: By op: the number of its program.
    """
    first, which = distinct_rows((op, device))
    by_name, of_name = _count_by_name(which, kernel, len(first))
    by_row, of_row = _count_by_row(op, which, line, start_ps, is_straight, program, len(first))
    fewer = (by_row > 0) & (by_row < by_name)
    marked: Bool = np.where(fewer[which], of_row, of_name)
    return marked


def _count_by_name(which: I64, kernel: I32, size: int) -> tuple[I64, Bool]:
    """Per op and device the count that most of its kernels' names share, the least of several.

    And a mark of the events of one such kernel.
    """
    first, name_of = distinct_rows((which, kernel))
    owner = which[first]
    counts = np.bincount(name_of, minlength=len(first))
    # How many names of an op have this count.
    _, group = distinct_rows((owner, counts))
    shared = np.bincount(group)[group]
    order = np.lexsort((counts, -shared, owner))
    best = order[np.flatnonzero(np.diff(owner[order], prepend=-1))]
    found = np.zeros(size, dtype=np.int64)
    found[owner[best]] = counts[best]
    # Where the recording begins or ends within a run, some of its kernels are missing.
    chosen = np.zeros(size, dtype=np.int64)
    chosen[owner[best]] = best
    cut = np.flatnonzero(counts == found[owner] + 1)
    chosen[owner[cut]] = cut
    best = chosen[owner[best]]
    found[owner[best]] = counts[best]
    is_best = np.zeros(len(first), dtype=bool)
    is_best[best] = True
    return found, is_best[name_of]


def _count_by_row(
    op: I32,
    which: I64,
    line: I64,
    start_ps: I64,
    is_straight: Bool,
    program: I64,
    size: int,
) -> tuple[I64, Bool]:
    """Per op and device the rows of kernels that no other op's interrupt, on its fullest stream.

    0 where that says nothing: for ops in loops, and those alone in their program on their stream.
    And a mark of the first event of each row.
    """
    order = _order(line, start_ps)
    ops, lines = op[order].astype(np.int64), line[order].astype(np.int64)
    begins_line = np.diff(lines, prepend=-1) != 0
    begins = begins_line | (np.diff(ops, prepend=-1) != 0)
    is_first = np.zeros(len(op), dtype=bool)
    is_first[order] = begins
    telling = is_first & is_straight[op] & ~_alone(op, line, program)
    first, stream = distinct_rows((which, line))
    rows = np.bincount(stream, weights=telling, minlength=len(first)).astype(np.int64)
    owner = which[first]
    best = np.lexsort((-rows, owner))
    best = best[np.flatnonzero(np.diff(owner[best], prepend=-1))]
    found = np.zeros(size, dtype=np.int64)
    found[owner[best]] = rows[best]
    is_best = np.zeros(len(first), dtype=bool)
    is_best[best] = True
    return found, telling & is_best[stream]


def _alone(op: I32, line: I64, program: I64) -> Bool:
    """Events whose program runs no other op on their stream."""
    of_program = program[op]
    first, which = distinct_rows((line, of_program, op))
    _, group = distinct_rows((line[first], of_program[first]))
    alone: Bool = (np.bincount(group) == 1)[group][which]
    return alone


def _order(line: I64, start_ps: I64) -> I64:
    """Places by stream and start; recorders write them so nearly always."""
    same_line = np.diff(line) == 0
    if (np.diff(line) >= 0).all() and (np.diff(start_ps)[same_line] >= 0).all():
        return np.arange(len(line), dtype=np.int64)
    ordered: I64 = np.lexsort((start_ps, line)).astype(np.int64)
    return ordered
