# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernels behind ``stepscope.columns.pyramid``: lanes, blocks of 16, and what a screen shows.

A *position* counts the events of a track lane after lane, by start within a lane; ``order`` holds
the event of each position, or nothing when event and position are the same. Block *b* of level
*k* is the positions ``b*16**(k+1)`` up to the next; the levels stand one after the other in the
block columns, and ``level_begin`` says where.
"""

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


def lay_out(
    start_ps: cython.const[cython.longlong][::1],
    duration_ps: cython.const[cython.longlong][::1],
    order: cython.const[cython.int][::1],
    ends: cython.longlong[::1],
    lane: cython.int[::1],
    state: cython.longlong[::1],
) -> cython.int:
    """Give the events, taken in ``order`` (all, as they stand, if it is empty), a lane each.

    ``lane[i]`` answers for the i-th event taken. ``ends[d]`` is scratch: where lane d is free
    again. ``state``: events done, lanes open, lanes used. Returns 0; 1 when the events do not
    are not in order, 2 when ``ends`` is too short: then it goes on from ``state``.
    """
    result: cython.int = 0
    ordered: cython.bint = order.shape[0] > 0
    count: cython.Py_ssize_t = lane.shape[0]
    room: cython.Py_ssize_t = ends.shape[0]
    i: cython.Py_ssize_t = state[0]
    top: cython.Py_ssize_t = state[1]
    used: cython.Py_ssize_t = state[2]
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    start: cython.longlong
    stop: cython.longlong
    is_late: cython.bint
    with cython.nogil:
        while i < count:
            row = order[i] if ordered else i
            start = start_ps[row]
            stop = end_of(start, duration_ps[row])
            is_late = i > 0 and start == start_ps[i - 1]
            if is_late:
                is_late = stop > end_of(start, duration_ps[i - 1])
            elif i > 0:
                is_late = start < start_ps[i - 1]
            if is_late and not ordered:
                result = 1
                break
            if stop == start:
                # An instant fills its picosecond, so that no two of a lane share a place.
                stop = end_of(start, 1)
            while top > 0 and ends[top - 1] <= start:
                top -= 1
            place = top
            if top > 0 and ends[top - 1] < stop:
                # Overlaps in part: below the innermost event that contains it, first free lane.
                place = top - 1
                while place > 0 and ends[place - 1] < stop:
                    place -= 1
                while place < top and ends[place] > start:
                    place += 1
            if place == top:
                if top == room:
                    result = 2
                    break
                top += 1
                if top > used:
                    used = top
            ends[place] = stop
            lane[i] = place
            i += 1
        state[0] = i
        state[1] = top
        state[2] = used
    return result


def place_events(
    order: cython.const[cython.int][::1],
    lane: cython.const[cython.int][::1],
    cursor: cython.longlong[::1],
    placed: cython.int[::1],
) -> None:
    """Sort the events by lane, keeping their order; ``cursor`` starts as the lanes' begins."""
    ordered: cython.bint = order.shape[0] > 0
    i: cython.Py_ssize_t
    to: cython.longlong
    with cython.nogil:
        for i in range(lane.shape[0]):
            to = cursor[lane[i]]
            placed[to] = order[i] if ordered else i
            cursor[lane[i]] = to + 1


def sum_blocks(
    duration_ps: cython.const[cython.longlong][::1],
    order: cython.const[cython.int][::1],
    count: cython.Py_ssize_t,
    level_begin: cython.const[cython.longlong][::1],
    block_max: cython.longlong[::1],
    block_sum: cython.longlong[::1],
    block_longest: cython.int[::1],
) -> None:
    """Fill the block columns: longest duration, its position, and the sum of durations."""
    ordered: cython.bint = order.shape[0] > 0
    levels: cython.Py_ssize_t = level_begin.shape[0] - 1
    level: cython.Py_ssize_t
    block: cython.Py_ssize_t
    first: cython.Py_ssize_t
    last: cython.Py_ssize_t
    below: cython.Py_ssize_t
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    size: cython.Py_ssize_t
    value: cython.longlong
    most: cython.longlong
    total: cython.longlong
    where: cython.Py_ssize_t
    with cython.nogil:
        for level in range(levels):
            size = level_begin[level + 1] - level_begin[level]
            below = count if level == 0 else level_begin[level] - level_begin[level - 1]
            for block in range(size):
                first = block * 16
                last = first + 16
                if last > below:
                    last = below
                most = -1
                total = 0
                where = first
                for i in range(first, last):
                    if level == 0:
                        value = duration_ps[order[i]] if ordered else duration_ps[i]
                        if value < 0:
                            value = 0
                        total += value
                        if value > most:
                            most = value
                            where = i
                    else:
                        at = level_begin[level - 1] + i
                        total += block_sum[at]
                        if block_max[at] > most:
                            most = block_max[at]
                            where = block_longest[at]
                at = level_begin[level] + block
                block_max[at] = most
                block_sum[at] = total
                block_longest[at] = where


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def first_reaching(
    start_ps: cython.const[cython.longlong][::1],
    duration_ps: cython.const[cython.longlong][::1],
    order: cython.const[cython.int][::1],
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    begin: cython.longlong,
) -> cython.Py_ssize_t:
    """The first position of a lane ``low:high`` whose event starts or still runs at ``begin``."""
    ordered: cython.bint = order.shape[0] > 0
    left: cython.Py_ssize_t = low
    right: cython.Py_ssize_t = high
    middle: cython.Py_ssize_t
    row: cython.Py_ssize_t
    while left < right:
        middle = (left + right) >> 1
        row = order[middle] if ordered else middle
        if start_ps[row] < begin:
            left = middle + 1
        else:
            right = middle
    if left > low:
        row = order[left - 1] if ordered else left - 1
        if end_of(start_ps[row], duration_ps[row]) > begin:
            left -= 1
    return left


def find_spans(
    start_ps: cython.const[cython.longlong][::1],
    duration_ps: cython.const[cython.longlong][::1],
    order: cython.const[cython.int][::1],
    lane_begin: cython.const[cython.longlong][::1],
    first_lane: cython.Py_ssize_t,
    begin: cython.longlong,
    end: cython.longlong,
    low: cython.longlong[::1],
    high: cython.longlong[::1],
) -> None:
    """The positions ``low:high`` of each lane from ``first_lane`` on that touch ``begin:end``."""
    ordered: cython.bint = order.shape[0] > 0
    i: cython.Py_ssize_t
    left: cython.Py_ssize_t
    right: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    row: cython.Py_ssize_t
    with cython.nogil:
        for i in range(low.shape[0]):
            left = first_reaching(
                start_ps, duration_ps, order,
                lane_begin[first_lane + i], lane_begin[first_lane + i + 1], begin,
            )  # fmt: skip
            low[i] = left
            right = lane_begin[first_lane + i + 1]
            while left < right:
                middle = (left + right) >> 1
                row = order[middle] if ordered else middle
                if start_ps[row] < end:
                    left = middle + 1
                else:
                    right = middle
            high[i] = left


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def block_at(
    start_ps: cython.const[cython.longlong][::1],
    order: cython.const[cython.int][::1],
    level_begin: cython.const[cython.longlong][::1],
    block_max: cython.const[cython.longlong][::1],
    q: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    stop: cython.longlong,
    bucket_ps: cython.longlong,
) -> cython.Py_ssize_t:
    """The highest level whose block begins at ``q`` and belongs whole to a cell; -1: none.

    It must end by ``high``, start its last event before ``stop`` and hold none a bucket long.
    """
    ordered: cython.bint = order.shape[0] > 0
    level: cython.Py_ssize_t = 0
    size: cython.Py_ssize_t = 16
    row: cython.Py_ssize_t
    while level < level_begin.shape[0] - 1 and q & (size - 1) == 0 and q + size <= high:
        row = order[q + size - 1] if ordered else q + size - 1
        if block_max[level_begin[level] + q // size] >= bucket_ps or start_ps[row] >= stop:
            break
        size = size << 4
        level += 1
    return level - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def merge_cell(
    start_ps: cython.const[cython.longlong][::1],
    duration_ps: cython.const[cython.longlong][::1],
    order: cython.const[cython.int][::1],
    level_begin: cython.const[cython.longlong][::1],
    block_max: cython.const[cython.longlong][::1],
    block_sum: cython.const[cython.longlong][::1],
    block_longest: cython.const[cython.int][::1],
    p: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    stop: cython.longlong,
    bucket_ps: cython.longlong,
    cell: cython.Py_ssize_t,
    cell_busy: cython.longlong[::1],
    cell_event: cython.int[::1],
) -> cython.Py_ssize_t:
    """The position after the cell that begins at ``p``; writes its busy time and its longest.

    It takes the events that start before ``stop``, up to the first that is a bucket long.
    """
    ordered: cython.bint = order.shape[0] > 0
    row: cython.Py_ssize_t = order[p] if ordered else p
    q: cython.Py_ssize_t = p + 1
    longest: cython.Py_ssize_t = p
    most: cython.longlong = duration_ps[row]
    busy: cython.longlong = most if most > 0 else 0
    level: cython.Py_ssize_t
    block: cython.Py_ssize_t
    value: cython.longlong
    while q < high and most < bucket_ps:
        level = -1
        if q & 15 == 0:
            level = block_at(start_ps, order, level_begin, block_max, q, high, stop, bucket_ps)
        if level >= 0:
            block = level_begin[level] + (q >> 4 * (level + 1))
            busy += block_sum[block]
            if block_max[block] > most:
                most = block_max[block]
                longest = block_longest[block]
            q += 16 << 4 * level
            continue
        row = order[q] if ordered else q
        value = duration_ps[row]
        if start_ps[row] >= stop or value >= bucket_ps:
            break
        if value > 0:
            busy += value
        if value > most:
            most = value
            longest = q
        q += 1
    cell_busy[cell] = busy
    cell_event[cell] = order[longest] if ordered else longest
    return q


def cut_cells(
    start_ps: cython.const[cython.longlong][::1],
    duration_ps: cython.const[cython.longlong][::1],
    order: cython.const[cython.int][::1],
    lane_begin: cython.const[cython.longlong][::1],
    level_begin: cython.const[cython.longlong][::1],
    block_max: cython.const[cython.longlong][::1],
    block_sum: cython.const[cython.longlong][::1],
    block_longest: cython.const[cython.int][::1],
    first_lane: cython.Py_ssize_t,
    last_lane: cython.Py_ssize_t,
    begin: cython.longlong,
    end: cython.longlong,
    bucket_ps: cython.longlong,
    cell_begin: cython.longlong[::1],
    cell_end: cython.longlong[::1],
    cell_busy: cython.longlong[::1],
    cell_count: cython.int[::1],
    cell_event: cython.int[::1],
    cell_lane: cython.int[::1],
) -> cython.Py_ssize_t:
    """Write what ``begin:end`` of the lanes shows at this bucket (a power of two).

    An event at least a bucket long is a cell of its own; shorter ones that start in the same
    bucket, with none that long between them, are one cell together. Returns the number of cells,
    or -1 when they do not fit.
    """
    ordered: cython.bint = order.shape[0] > 0
    room: cython.Py_ssize_t = cell_begin.shape[0]
    cells: cython.Py_ssize_t = 0
    lane: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    row: cython.Py_ssize_t
    start: cython.longlong
    stop: cython.longlong
    with cython.nogil:
        for lane in range(first_lane, last_lane):
            p = first_reaching(
                start_ps, duration_ps, order, lane_begin[lane], lane_begin[lane + 1], begin
            )
            while cells >= 0 and p < lane_begin[lane + 1]:
                row = order[p] if ordered else p
                start = start_ps[row]
                if start >= end:
                    break
                if cells == room:
                    cells = -1
                    break
                stop = start - (start & (bucket_ps - 1))
                stop = end if end - stop <= bucket_ps else stop + bucket_ps
                q = merge_cell(
                    start_ps, duration_ps, order, level_begin, block_max, block_sum, block_longest,
                    p, lane_begin[lane + 1], stop, bucket_ps, cells, cell_busy, cell_event,
                )  # fmt: skip
                row = order[q - 1] if ordered else q - 1
                cell_begin[cells] = start
                cell_end[cells] = end_of(start_ps[row], duration_ps[row])
                cell_count[cells] = q - p
                cell_lane[cells] = lane
                cells += 1
                p = q
            if cells < 0:
                break
    return cells


def add_density(
    start_ps: cython.const[cython.longlong][::1],
    duration_ps: cython.const[cython.longlong][::1],
    order: cython.const[cython.int][::1],
    lane_begin: cython.const[cython.longlong][::1],
    block_sum: cython.const[cython.longlong][::1],
    lane: cython.Py_ssize_t,
    begin: cython.longlong,
    column_ps: cython.longlong,
    busy: cython.longlong[::1],
    count: cython.longlong[::1],
) -> None:
    """Add, per column of ``column_ps`` from ``begin`` on, busy time and events that start there."""
    ordered: cython.bint = order.shape[0] > 0
    columns: cython.Py_ssize_t = busy.shape[0]
    high: cython.Py_ssize_t = lane_begin[lane + 1]
    end: cython.longlong = begin + column_ps * columns
    p: cython.Py_ssize_t
    row: cython.Py_ssize_t
    column: cython.Py_ssize_t
    start: cython.longlong
    stop: cython.longlong
    edge: cython.longlong
    with cython.nogil:
        p = first_reaching(start_ps, duration_ps, order, lane_begin[lane], high, begin)
        while p < high:
            row = order[p] if ordered else p
            start = start_ps[row]
            if start >= end:
                break
            column = 0 if start < begin else (start - begin) // column_ps
            edge = begin + (column + 1) * column_ps
            if p & 15 == 0 and p + 16 <= high and start >= begin:
                row = order[p + 15] if ordered else p + 15
                # The lane's events do not overlap: where the last one ends, all have ended.
                if start_ps[row] < edge and end_of(start_ps[row], duration_ps[row]) <= edge:
                    busy[column] += block_sum[p >> 4]
                    count[column] += 16
                    p += 16
                    continue
                row = order[p] if ordered else p
            stop = end_of(start, duration_ps[row])
            if start >= begin:
                count[column] += 1
            else:
                start = begin
            while column < columns and start < stop:
                busy[column] += (stop if stop < edge else edge) - start
                start = edge
                edge += column_ps
                column += 1
            p += 1
