# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernels that write events and their stats in the protobuf wire format.

The tags of XEvent and XStat stand here as literals; see ``stepscope.schema.xspace``.
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
def size_of(number: cython.ulonglong) -> cython.Py_ssize_t:
    """How many bytes a number takes."""
    size: cython.Py_ssize_t = 1
    while number >= 0x80:
        number >>= 7
        size += 1
    return size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def put(
    out: cython.uchar[::1], at: cython.Py_ssize_t, number: cython.ulonglong
) -> cython.Py_ssize_t:
    """Write a number; the position behind it."""
    while number >= 0x80:
        out[at] = number & 0x7F | 0x80
        number >>= 7
        at += 1
    out[at] = number & 0x7F
    return at + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def payload_begin(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the payload behind the length prefix at ``at`` begins."""
    while 0 <= at < buf.shape[0] and buf[at] >= 0x80:
        at += 1
    return at + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def payload_length(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.ulonglong:
    """The length prefix at ``at``; never more than the buffer holds behind it."""
    length: cython.ulonglong = 0
    shift: cython.int = 0
    left: cython.Py_ssize_t = buf.shape[0] - payload_begin(buf, at)
    while 0 <= at < buf.shape[0] and shift < 64:
        length |= cython.cast(cython.ulonglong, buf[at] & 0x7F) << shift
        if buf[at] < 0x80:
            break
        shift += 7
        at += 1
    if left <= 0:
        return 0
    return length if length < cython.cast(cython.ulonglong, left) else left


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def stat_size(
    buf: cython.const[cython.uchar][::1],
    stat_id: cython.ulonglong,
    kind: cython.uchar,
    value: cython.ulonglong,
) -> cython.Py_ssize_t:
    """Bytes of an XStat; of a reference ``value`` is the id."""
    size: cython.Py_ssize_t = 0
    length: cython.ulonglong
    if stat_id != 0:
        size += 1 + size_of(stat_id)
    if kind == 2:
        size += 9
    elif kind == 3 or kind == 4 or kind == 7:
        size += 1 + size_of(value)
    elif kind == 5 or kind == 6:
        length = payload_length(buf, value)
        size += 1 + size_of(length) + length
    return size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def number_of(
    kind: cython.uchar, value: cython.ulonglong, ids: cython.const[cython.ulonglong][::1]
) -> cython.ulonglong:
    """A stat's value as written: references by id, everything else as it is."""
    return ids[cython.cast(cython.Py_ssize_t, value)] if kind == 7 else value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def event_size(
    buf: cython.const[cython.uchar][::1],
    event_id: cython.ulonglong,
    what: cython.uchar,
    when: cython.ulonglong,
    duration: cython.ulonglong,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    key: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    value: cython.const[cython.ulonglong][::1],
    stat_ids: cython.const[cython.ulonglong][::1],
) -> cython.Py_ssize_t:
    """Bytes of an XEvent."""
    size: cython.Py_ssize_t = 0
    inner: cython.Py_ssize_t
    i: cython.Py_ssize_t
    if event_id != 0:
        size += 1 + size_of(event_id)
    if what != 0:
        size += 1 + size_of(when)
    if duration != 0:
        size += 1 + size_of(duration)
    for i in range(first, last):
        inner = stat_size(buf, stat_ids[key[i]], kind[i], number_of(kind[i], value[i], stat_ids))
        size += 1 + size_of(inner) + inner
    return size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def write_stat(
    buf: cython.const[cython.uchar][::1],
    stat_id: cython.ulonglong,
    kind: cython.uchar,
    value: cython.ulonglong,
    out: cython.uchar[::1],
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write an XStat; the position behind it."""
    i: cython.Py_ssize_t
    begin: cython.Py_ssize_t
    length: cython.ulonglong
    if stat_id != 0:
        out[at] = 0x08
        at = put(out, at + 1, stat_id)
    if kind == 2:
        out[at] = 0x11
        for i in range(8):
            out[at + 1 + i] = (value >> (8 * i)) & 0xFF
        at += 9
    elif kind == 3 or kind == 4 or kind == 7:
        out[at] = kind << 3
        at = put(out, at + 1, value)
    elif kind == 5 or kind == 6:
        out[at] = (kind << 3) | 2
        length = payload_length(buf, value)
        at = put(out, at + 1, length)
        begin = payload_begin(buf, value)
        for i in range(cython.cast(cython.Py_ssize_t, length)):
            out[at + i] = buf[begin + i]
        at += length
    return at


def write_events(
    buf: cython.const[cython.uchar][::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    shift: cython.ulonglong,
    metadata: cython.const[cython.int][::1],
    start_ps: cython.const[cython.ulonglong][::1],
    duration_ps: cython.const[cython.ulonglong][::1],
    data: cython.const[cython.uchar][::1],
    stat_begin: cython.const[cython.longlong][::1],
    key: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    value: cython.const[cython.ulonglong][::1],
    event_ids: cython.const[cython.ulonglong][::1],
    stat_ids: cython.const[cython.ulonglong][::1],
    out: cython.uchar[::1],
    state: cython.longlong[::1],
) -> None:
    """Write the events ``begin:end`` as fields of a line, as many as fit into ``out``.

    ``shift`` is what decoding added to offsets. An empty ``out`` only measures. ``state``
    receives [the first row not written, bytes].
    """
    at: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t = begin
    i: cython.Py_ssize_t
    first: cython.Py_ssize_t
    last: cython.Py_ssize_t
    size: cython.Py_ssize_t
    measure: cython.bint = out.shape[0] == 0
    event_id: cython.ulonglong
    when: cython.ulonglong
    number: cython.ulonglong
    mask: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
    with cython.nogil:
        while row < end:
            event_id = event_ids[metadata[row]]
            when = (start_ps[row] - shift) & mask
            first = stat_begin[row]
            last = stat_begin[row + 1]
            size = event_size(
                buf,
                event_id,
                data[row],
                when,
                duration_ps[row],
                first,
                last,
                key,
                kind,
                value,
                stat_ids,
            )
            if measure:
                at += 1 + size_of(size) + size
                row += 1
                continue
            if at + 1 + size_of(size) + size > out.shape[0]:
                break
            out[at] = 0x22
            at = put(out, at + 1, size)
            if event_id != 0:
                out[at] = 0x08
                at = put(out, at + 1, event_id)
            if data[row] != 0:
                out[at] = data[row] << 3
                at = put(out, at + 1, when)
            if duration_ps[row] != 0:
                out[at] = 0x18
                at = put(out, at + 1, duration_ps[row])
            for i in range(first, last):
                number = number_of(kind[i], value[i], stat_ids)
                size = stat_size(buf, stat_ids[key[i]], kind[i], number)
                out[at] = 0x22
                at = put(out, at + 1, size)
                at = write_stat(buf, stat_ids[key[i]], kind[i], number, out, at)
            row += 1
    state[0] = row
    state[1] = at
