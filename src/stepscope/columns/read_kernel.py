# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernels that read the protobuf wire format: fields of cold messages, events of hot lines.

Compiled by Cython in pure-Python mode; the same source runs uncompiled, slowly. Bytes come
from strangers: no byte is read at or past the end of the message it belongs to. All numbers are
unsigned 64-bit here; callers view the columns as int64 afterwards.

Kernels never raise. They stop and say in ``state`` where and why, and resume from there.
Error codes (``stepscope.columns.fields.REASONS`` has the sentences):
-1 ends inside a number, -2 number longer than 10 bytes, -3 field number 0 or too large,
-4 wire type 6 or 7, -5 end of a group that was not begun, -6 payload runs past the end,
-7 groups nested too deep, -8 group not ended.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from stepscope.columns import cython_shadow as cython


def is_compiled() -> bool:
    """Whether this module runs as machine code."""
    return bool(cython.compiled)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
@cython.returns((cython.ulonglong, cython.Py_ssize_t))
def varint(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> tuple[int, int]:
    """The number at ``at`` and the position behind it (or a negative error code)."""
    value: cython.ulonglong = 0
    shift: cython.int = 0
    byte: cython.ulonglong
    while at < end:
        byte = buf[at]
        at += 1
        if shift == 63:
            # Ten bytes hold 70 bits; protobuf drops the upper six.
            if byte >= 0x80:
                return 0, -2
            return value | (byte & 1) << 63, at
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return 0, -1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
@cython.returns((cython.ulonglong, cython.Py_ssize_t))
def long_tag(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> tuple[int, int]:
    """``varint`` for the number before a field, which protobuf limits to 5 bytes and 32 bits."""
    value: cython.ulonglong
    past: cython.Py_ssize_t
    value, past = varint(buf, at, end)
    if past - at > 5 or value >> 32 != 0:
        return 0, -3
    return value, past


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def skip_varint(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The position behind the number at ``at``, or a negative error code."""
    limit: cython.Py_ssize_t = at + 10
    while at < end:
        if buf[at] < 0x80:
            return at + 1
        at += 1
        if at == limit:
            return -2
    return -1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def wrapping_sum(a: cython.ulonglong, b: cython.ulonglong) -> cython.ulonglong:
    """``a + b`` modulo 2^64, compiled or not."""
    mask: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
    return (a + b) & mask


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def skip(
    buf: cython.const[cython.uchar][::1],
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    tag: cython.ulonglong,
    depth: cython.int,
) -> cython.Py_ssize_t:
    """The position behind the payload at ``at`` of a field with ``tag``, or an error code."""
    wire: cython.ulonglong = tag & 7
    size: cython.ulonglong
    inner: cython.ulonglong
    # In groups, which are skipped as a whole, google.protobuf lets number 0 pass.
    if tag < 8 and depth == 0:
        return -3
    if wire == 0:
        return skip_varint(buf, at, end)
    if wire == 1:
        return at + 8 if end - at >= 8 else -6
    if wire == 5:
        return at + 4 if end - at >= 4 else -6
    if wire == 2:
        size, at = varint(buf, at, end)
        if at < 0:
            return at
        return at + size if size <= end - at else -6
    if wire == 4:
        return -5
    if wire != 3:
        return -4
    if depth >= 100:
        return -7
    while at < end:
        inner, at = long_tag(buf, at, end)
        if at < 0:
            return at
        if inner == tag + 1:
            return at
        at = skip(buf, at, end, inner, depth + 1)
        if at < 0:
            return at
    return -8


def index_fields(
    buf: cython.const[cython.uchar][::1],
    begins: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    parent: cython.longlong[::1],
    tags: cython.ulonglong[::1],
    begin: cython.longlong[::1],
    prefix: cython.longlong[::1],
    value: cython.ulonglong[::1],
    end: cython.longlong[::1],
    state: cython.longlong[::1],
) -> None:
    """List the fields of many messages, in order, until the output is full or a field is broken.

    ``state`` is [message, position (-1: its begin), rows written, error, error position]. For
    each field: ``parent`` message, ``tags``, ``begin`` of the tag, ``prefix`` (behind the tag),
    ``value`` (the number itself; for a length-delimited field where its payload begins) and
    ``end``. A payload that runs past its message is listed as cut, and reported with error -6.
    """
    message: cython.Py_ssize_t = state[0]
    at: cython.Py_ssize_t = state[1]
    rows: cython.Py_ssize_t = 0
    capacity: cython.Py_ssize_t = parent.shape[0]
    count: cython.Py_ssize_t = begins.shape[0]
    start: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t
    past: cython.Py_ssize_t
    error: cython.Py_ssize_t = 0
    tag: cython.ulonglong
    number: cython.ulonglong
    payload: cython.Py_ssize_t
    i: cython.int
    with cython.nogil:
        while message < count and rows < capacity and error == 0:
            if at < 0:
                at = begins[message]
            stop = ends[message]
            while at < stop and rows < capacity:
                start = at
                tag, at = long_tag(buf, at, stop)
                if at < 0:
                    error = at
                    break
                past = skip(buf, at, stop, tag, 0)
                if past < 0 and not (past == -6 and tag & 7 == 2):
                    error = past
                    break
                number = 0
                if tag & 7 == 0:
                    number, past = varint(buf, at, stop)
                elif tag & 7 == 1:
                    for i in range(8):
                        number |= cython.cast(cython.ulonglong, buf[at + i]) << (8 * i)
                elif tag & 7 == 2:
                    number, payload = varint(buf, at, stop)
                    number = payload
                if past < 0:
                    error = past
                    past = stop
                parent[rows] = message
                tags[rows] = tag
                begin[rows] = start
                prefix[rows] = at
                value[rows] = number
                end[rows] = past
                rows += 1
                at = past
                if error != 0:
                    break
            if error == 0 and at >= stop:
                message += 1
                at = -1
    state[0] = message
    state[1] = at
    state[2] = rows
    state[3] = error
    state[4] = start


def scan_line(
    buf: cython.const[cython.uchar][::1],
    end: cython.Py_ssize_t,
    pause: cython.Py_ssize_t,
    runs: cython.longlong[::1],
    state: cython.longlong[::1],
) -> None:
    """Count the events and stats of a line, up to the first field that begins at ``pause``.

    ``state`` is [position, events, stats, runs written]. ``runs`` receives begin and end of each
    run of fields that are not events; when it is full, counting pauses. Nothing is an error here:
    where the framing breaks, counting ends, and ``fill_line`` says what is wrong.
    """
    at: cython.Py_ssize_t = state[0]
    events: cython.longlong = state[1]
    stats: cython.longlong = state[2]
    run: cython.Py_ssize_t = 0
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    tag: cython.ulonglong
    size: cython.ulonglong
    with cython.nogil:
        while at < end and at < pause:
            start = at
            tag, at = long_tag(buf, at, end)
            if at < 0:
                break
            if tag != 0x22:
                at = skip(buf, at, end, tag, 0)
                if at < 0:
                    break
                if run == 0 or runs[2 * run - 1] != start:
                    if 2 * run == runs.shape[0]:
                        at = start
                        break
                    runs[2 * run] = start
                    run += 1
                runs[2 * run - 1] = at
                continue
            size, at = varint(buf, at, end)
            if at < 0:
                break
            events += 1
            stop = at + size if size <= end - at else end
            while 0 <= at < stop:
                tag = buf[at]
                if tag < 0x80:
                    at += 1
                else:
                    tag, at = long_tag(buf, at, stop)
                    if at < 0:
                        break
                if tag == 0x22:
                    stats += 1
                    if at < stop and buf[at] < 0x80:
                        at += 1 + buf[at]
                        continue
                elif tag & 7 == 0 and tag >= 8:
                    while at < stop and buf[at] >= 0x80:
                        at += 1
                    at += 1
                    continue
                at = skip(buf, at, stop, tag, 0)
            at = stop
    state[0] = at if at >= 0 else end
    state[1] = events
    state[2] = stats
    state[3] = run


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def row_of(
    key: cython.ulonglong,
    table: cython.const[cython.int][::1],
    keys: cython.const[cython.ulonglong][::1],
    rows: cython.const[cython.int][::1],
) -> cython.int:
    """The row of a metadata id: by table where it is small, else by bisection; -1 if unknown."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = keys.shape[0]
    middle: cython.Py_ssize_t
    if key < cython.cast(cython.ulonglong, table.shape[0]):
        return table[key]
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < keys.shape[0] and keys[low] == key:
        return rows[low]
    return -1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def note(
    notes: cython.ulonglong[::1],
    count: cython.Py_ssize_t,
    what: cython.ulonglong,
    row: cython.ulonglong,
    first: cython.ulonglong,
    second: cython.ulonglong,
) -> cython.Py_ssize_t:
    """Write down a rare fact for the caller; -1 when there is no room."""
    if 4 * count + 4 > notes.shape[0]:
        return -1
    notes[4 * count] = what
    notes[4 * count + 1] = row
    notes[4 * count + 2] = first
    notes[4 * count + 3] = second
    return count + 1


def fill_line(
    buf: cython.const[cython.uchar][::1],
    end: cython.Py_ssize_t,
    pause: cython.Py_ssize_t,
    shift: cython.ulonglong,
    event_table: cython.const[cython.int][::1],
    event_keys: cython.const[cython.ulonglong][::1],
    event_rows: cython.const[cython.int][::1],
    stat_table: cython.const[cython.int][::1],
    stat_keys: cython.const[cython.ulonglong][::1],
    stat_rows: cython.const[cython.int][::1],
    metadata: cython.int[::1],
    start_ps: cython.ulonglong[::1],
    duration_ps: cython.ulonglong[::1],
    data: cython.uchar[::1],
    stat_begin: cython.longlong[::1],
    key: cython.int[::1],
    kind: cython.uchar[::1],
    value: cython.ulonglong[::1],
    notes: cython.ulonglong[::1],
    state: cython.longlong[::1],
) -> None:
    """Write the events and stats of a line into their columns.

    ``state`` is [position, event row, stat row, notes, error, error position, stat of the error
    or -1, why it paused: 0 done or ``pause`` reached, 1 notes full]. An event is written whole
    or not at all. ``shift`` is added to each offset, modulo 2^64. Notes are (what, row, a, b):
    0 unknown field a:b of event row, 1 unknown field a:b of stat row, 2 event row has unknown
    metadata id a, 3 stat row has unknown metadata id a, 4 stat row refers to unknown id a,
    5 event row has a occurrences.
    """
    at: cython.Py_ssize_t = state[0]
    row: cython.Py_ssize_t = state[1]
    stat: cython.Py_ssize_t = state[2]
    noted: cython.Py_ssize_t = 0
    kept: cython.Py_ssize_t = 0
    error: cython.Py_ssize_t = 0
    error_at: cython.Py_ssize_t = 0
    error_stat: cython.Py_ssize_t = -1
    full: cython.longlong = 0
    events_end: cython.Py_ssize_t = metadata.shape[0]
    stats_end: cython.Py_ssize_t = key.shape[0]
    start: cython.Py_ssize_t
    field: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    inner: cython.Py_ssize_t
    first_stat: cython.Py_ssize_t
    cut: cython.bint
    stat_cut: cython.bint
    tag: cython.ulonglong
    number: cython.ulonglong
    size: cython.ulonglong
    event_id: cython.ulonglong
    stat_id: cython.ulonglong
    offset: cython.ulonglong
    duration: cython.ulonglong
    occurrences: cython.ulonglong
    what: cython.uchar
    stat_what: cython.uchar
    found: cython.int
    with cython.nogil:
        while at < end and at < pause:
            start = at
            tag, at = long_tag(buf, at, end)
            if at >= 0 and tag != 0x22:
                at = skip(buf, at, end, tag, 0)
                if at >= 0:
                    continue
            if at >= 0:
                size, at = varint(buf, at, end)
            if at < 0:
                error = at
                error_at = start
                break
            cut = size > end - at
            stop = end if cut else at + size
            kept = noted
            first_stat = stat
            event_id = 0
            offset = 0
            duration = 0
            occurrences = 0
            what = 0
            error_stat = -1
            if row >= events_end:
                error = -9
            while at < stop and error == 0:
                field = at
                tag = buf[at]
                at += 1
                if tag >= 0x80:
                    tag, at = long_tag(buf, field, stop)
                    if at < 0:
                        error = at
                        error_at = field
                        break
                if tag == 0x22:
                    # A stat.
                    size, at = varint(buf, at, stop)
                    if at < 0:
                        error = at
                        error_at = field
                        break
                    if stat >= stats_end:
                        error = -9
                        break
                    stat_cut = size > stop - at
                    inner = stop if stat_cut else at + size
                    stat_id = 0
                    stat_what = 0
                    number = 0
                    while at < inner:
                        field = at
                        tag = buf[at]
                        at += 1
                        if tag >= 0x80:
                            tag, at = long_tag(buf, field, inner)
                            if at < 0:
                                error = at
                                break
                        if tag == 0x08:
                            stat_id, at = varint(buf, at, inner)
                        elif tag == 0x18 or tag == 0x20 or tag == 0x38:
                            stat_what = tag >> 3
                            number, at = varint(buf, at, inner)
                        elif tag == 0x2A or tag == 0x32:
                            stat_what = tag >> 3
                            number = at
                            at = skip(buf, at, inner, tag, 0)
                        elif tag == 0x11:
                            if inner - at < 8:
                                error = -6
                                break
                            stat_what = 2
                            number = (
                                cython.cast(cython.ulonglong, buf[at])
                                | cython.cast(cython.ulonglong, buf[at + 1]) << 8
                                | cython.cast(cython.ulonglong, buf[at + 2]) << 16
                                | cython.cast(cython.ulonglong, buf[at + 3]) << 24
                                | cython.cast(cython.ulonglong, buf[at + 4]) << 32
                                | cython.cast(cython.ulonglong, buf[at + 5]) << 40
                                | cython.cast(cython.ulonglong, buf[at + 6]) << 48
                                | cython.cast(cython.ulonglong, buf[at + 7]) << 56
                            )
                            at += 8
                        else:
                            at = skip(buf, at, inner, tag, 0)
                            if at >= 0 and noted >= 0:
                                noted = note(notes, noted, 1, stat, field, at)
                        if at < 0:
                            error = at
                            break
                    if error == 0 and stat_cut:
                        error = -6
                    if error != 0:
                        error_at = field
                        error_stat = stat - first_stat
                        break
                    found = row_of(stat_id, stat_table, stat_keys, stat_rows)
                    key[stat] = found
                    if found < 0 and noted >= 0:
                        noted = note(notes, noted, 3, stat, stat_id, 0)
                    if stat_what == 7:
                        found = row_of(number, stat_table, stat_keys, stat_rows)
                        if found < 0:
                            if noted >= 0:
                                noted = note(notes, noted, 4, stat, number, 0)
                            found = 0
                        number = found
                    kind[stat] = stat_what
                    value[stat] = number
                    stat += 1
                    continue
                if tag == 0x08:
                    event_id, at = varint(buf, at, stop)
                elif tag == 0x10:
                    offset, at = varint(buf, at, stop)
                    what = 2
                elif tag == 0x18:
                    duration, at = varint(buf, at, stop)
                elif tag == 0x28:
                    occurrences, at = varint(buf, at, stop)
                    what = 5
                else:
                    at = skip(buf, at, stop, tag, 0)
                    if at >= 0 and noted >= 0:
                        noted = note(notes, noted, 0, row, field, at)
                if at < 0:
                    error = at
                    error_at = field
                    break
            if error == 0 and cut:
                error = -6
                error_at = start
            if error != 0:
                at = start
                stat = first_stat
                noted = kept
                break
            found = row_of(event_id, event_table, event_keys, event_rows)
            if found < 0 and noted >= 0:
                noted = note(notes, noted, 2, row, event_id, 0)
            if what == 5 and noted >= 0:
                noted = note(notes, noted, 5, row, occurrences, 0)
            if noted < 0:
                full = 1
                at = start
                stat = first_stat
                noted = kept
                break
            metadata[row] = found
            start_ps[row] = wrapping_sum(shift, offset if what == 2 else 0)
            duration_ps[row] = duration
            data[row] = what
            stat_begin[row] = first_stat
            row += 1
            at = stop
    state[0] = at if at >= 0 else start
    state[1] = row
    state[2] = stat
    state[3] = noted
    state[4] = error
    state[5] = error_at
    state[6] = error_stat
    state[7] = full
