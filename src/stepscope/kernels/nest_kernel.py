# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernels over intervals: which event contains which, and who is active when."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from stepscope.kernels import cython_shadow as cython


def is_compiled() -> bool:
    """Whether this module runs as machine code."""
    return bool(cython.compiled)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def end_of(start: cython.longlong, duration: cython.longlong) -> cython.longlong:
    """Where an event ends: never before it starts, never beyond int64."""
    last: cython.longlong = 0x7FFFFFFFFFFFFFFF
    if duration <= 0:
        return start
    if start > last - duration:
        return last
    return start + duration


def nest_line(
    start_ps: cython.const[cython.longlong][::1],
    duration_ps: cython.const[cython.longlong][::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    order: cython.const[cython.longlong][::1],
    select: cython.const[cython.uchar][::1],
    covered: cython.longlong[::1],
    parent: cython.int[::1],
    self_ps: cython.longlong[::1],
    depth: cython.int[::1],
) -> cython.int:
    """Nest the events ``begin:end`` of one line.

    ``order`` holds their rows in nesting order, or nothing when they are in it; ``select``
    holds a flag per row, or nothing for all. ``covered[d]`` is scratch: up to where the open
    event at depth d is covered by its children. Returns 0; 1 when the rows are not in nesting
    order, 2 when ``covered`` is too short. The chain of parents serves as the stack.
    """
    result: cython.int = 0
    ordered: cython.bint = order.shape[0] > 0
    all_rows: cython.bint = select.shape[0] == 0
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    top: cython.Py_ssize_t = -1
    level: cython.int = -1
    before: cython.Py_ssize_t = -1
    start: cython.longlong
    stop: cython.longlong
    last: cython.longlong
    hidden: cython.longlong
    with cython.nogil:
        for i in range(begin, end):
            row = order[i - begin] if ordered else i
            if not all_rows and select[row] == 0:
                parent[row] = -1
                self_ps[row] = 0
                depth[row] = 0
                continue
            start = start_ps[row]
            stop = end_of(start, duration_ps[row])
            if before >= 0 and not ordered and start <= start_ps[before]:
                last = end_of(start_ps[before], duration_ps[before])
                if start < start_ps[before] or stop > last:
                    result = 1
                    break
            before = row
            while top >= 0 and end_of(start_ps[top], duration_ps[top]) < stop:
                top = parent[top]
                level -= 1
            if top >= 0:
                # Children may overlap each other; what they cover together counts once.
                hidden = covered[level]
                if stop > hidden:
                    self_ps[top] -= stop - (start if start > hidden else hidden)
                    covered[level] = stop
            parent[row] = top
            self_ps[row] = stop - start
            top = row
            level += 1
            depth[row] = level
            if level >= covered.shape[0]:
                result = 2
                break
            covered[level] = start
    return result


def merge_spans(
    starts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    merged_start: cython.longlong[::1],
    merged_end: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Merge spans that overlap or touch, those that are not empty; they come by start.

    Returns how many there are, or -1 when one starts before the one before it.
    """
    i: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    before: cython.longlong = 0
    reach: cython.longlong = 0
    with cython.nogil:
        for i in range(starts.shape[0]):
            if ends[i] <= starts[i]:
                continue
            if count > 0 and starts[i] < before:
                count = -1
                break
            if count == 0 or starts[i] > reach:
                merged_start[count] = starts[i]
                count += 1
                reach = ends[i]
            elif ends[i] > reach:
                reach = ends[i]
            merged_end[count - 1] = reach
            before = starts[i]
    return count


def cut_spans(
    starts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    stack: cython.longlong[::1],
    cut_start: cython.longlong[::1],
    cut_end: cython.longlong[::1],
    owner: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Cut the spans of one line into stretches in which one of them is the innermost.

    Spans are not empty and come by start, the longer first. Of two that overlap without
    containing each other the later has the time both want, and ends what is in the other.
    ``stack`` is scratch, with room for all of them; the results have room for twice as many.
    Returns how many stretches there are, or -1 when spans come in another order.
    """
    i: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    top: cython.Py_ssize_t = -1
    now: cython.longlong = 0
    until: cython.longlong
    with cython.nogil:
        for i in range(starts.shape[0] + 1):
            if 0 < i < starts.shape[0] and (
                starts[i] < starts[i - 1] or (starts[i] == starts[i - 1] and ends[i] > ends[i - 1])
            ):
                count = -1
                break
            # What does not contain the next one has its time up to there, and is closed.
            while top >= 0 and (i == starts.shape[0] or ends[stack[top]] < ends[i]):
                until = ends[stack[top]]
                if i < starts.shape[0] and starts[i] < until:
                    until = starts[i]
                if until > now:
                    cut_start[count] = now
                    cut_end[count] = until
                    owner[count] = stack[top]
                    count += 1
                    now = until
                top -= 1
            if i == starts.shape[0]:
                break
            if top >= 0 and starts[i] > now:
                cut_start[count] = now
                cut_end[count] = starts[i]
                owner[count] = stack[top]
                count += 1
            now = starts[i]
            top += 1
            stack[top] = i
    return count


def sweep_pieces(
    starts: cython.const[cython.longlong][::1],
    start_class: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    end_class: cython.const[cython.uchar][::1],
    window_begin: cython.const[cython.longlong][::1],
    window_end: cython.const[cython.longlong][::1],
    active: cython.longlong[::1],
    spent: cython.longlong[::1],
    window: cython.longlong[::1],
    kind: cython.uchar[::1],
    time: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """How long each class is the highest active one: an entry for each that has time in a window.

    ``starts`` and ``ends`` are the boundaries of the spans, each sorted; spans are not empty,
    windows are sorted and disjoint. Entries come by window, then by class; there are at most as
    many as boundaries and windows. ``active`` and ``spent`` are scratch: 64 zeros. Returns how
    many entries there are.
    """
    top: cython.int = 0
    most: cython.int
    at: cython.int
    count: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    now: cython.longlong
    until: cython.longlong
    with cython.nogil:
        for row in range(window_begin.shape[0]):
            now = window_begin[row]
            most = 0
            while now < window_end[row]:
                while i < starts.shape[0] and starts[i] <= now:
                    at = start_class[i]
                    active[at] += 1
                    if at > top:
                        top = at
                    i += 1
                while j < ends.shape[0] and ends[j] <= now:
                    active[end_class[j]] -= 1
                    j += 1
                while top > 0 and active[top] == 0:
                    top -= 1
                until = window_end[row]
                if i < starts.shape[0] and starts[i] < until:
                    until = starts[i]
                if j < ends.shape[0] and ends[j] < until:
                    until = ends[j]
                spent[top] += until - now
                if top > most:
                    most = top
                now = until
            for at in range(most + 1):
                if spent[at] > 0:
                    window[count] = row
                    kind[count] = at
                    time[count] = spent[at]
                    spent[at] = 0
                    count += 1
    return count
