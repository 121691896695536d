# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernels that read the protobuf wire format: fields of cold messages, events of hot lines.

Compiled by Cython in pure-Python mode; the same source runs uncompiled, slowly. Bytes come
from strangers: no byte is read at or past the end of the message it belongs to. All numbers are
unsigned 64-bit here; callers view the columns as int64 afterwards.

Kernels never raise. They stop, say where and why, and resume from there. Error codes are
negative positions; ``stepscope.formats.xspace.cold_fields.REASONS`` says what they mean.
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
@cython.nogil
@cython.exceptval(check=False)
@cython.returns((cython.ulonglong, cython.Py_ssize_t))
def varint(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> tuple[int, int]:
    """The number at ``at`` and the position after it (or a negative error code)."""
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
@cython.nogil
@cython.exceptval(check=False)
@cython.returns((cython.ulonglong, cython.Py_ssize_t))
def short_tag(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> tuple[int, int]:
    """``long_tag`` where nearly all tags are one byte; there is at least one byte."""
    if buf[at] < 0x80:
        return buf[at], at + 1
    return long_tag(buf, at, end)


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
    """The position after the payload at ``at`` of a field with ``tag``, or an error code."""
    wire: cython.ulonglong = tag & 7
    size: cython.ulonglong
    inner: cython.ulonglong
    # In groups, which are skipped as a whole, google.protobuf lets number 0 pass.
    if tag < 8 and depth == 0:
        return -3
    if wire == 0:
        size, at = varint(buf, at, end)
        return at
    if wire == 1:
        return at + 8 if end - at >= 8 else -6
    if wire == 5:
        return at + 4 if end - at >= 4 else -6
    if wire == 2:
        size, at = varint(buf, at, end)
        if at < 0:
            return at
        return at + size if size <= cython.cast(cython.ulonglong, end - at) else -6
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fixed64(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.ulonglong:
    """The eight bytes at ``at`` as a number; the caller has checked that they are there."""
    number: cython.ulonglong = 0
    i: cython.int
    for i in range(8):
        number |= cython.cast(cython.ulonglong, buf[at + i]) << (8 * i)
    return number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_of(
    buf: cython.const[cython.uchar][::1],
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    tag: cython.ulonglong,
) -> cython.ulonglong:
    """A field's number, or where its payload begins; ``skip`` has found the field sound."""
    number: cython.ulonglong = 0
    past: cython.Py_ssize_t = 0
    if tag & 7 == 1:
        return fixed64(buf, at)
    if tag & 7 == 0:
        number, past = varint(buf, at, end)
        return number
    if tag & 7 == 2:
        number, past = varint(buf, at, end)
    return past


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_stats(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The stats of the event ``at:end``, up to where it is broken."""
    stats: cython.Py_ssize_t = 0
    tag: cython.ulonglong
    while 0 <= at < end:
        tag, at = short_tag(buf, at, end)
        if at >= 0:
            stats += tag == 0x22
            at = skip(buf, at, end, tag, 0)
    return stats


def index_fields(
    buf: cython.const[cython.uchar][::1],
    begins: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    counted: cython.ulonglong,
    pause: cython.Py_ssize_t,
    parent: cython.longlong[::1],
    tags: cython.ulonglong[::1],
    begin: cython.longlong[::1],
    prefix: cython.longlong[::1],
    value: cython.ulonglong[::1],
    end: cython.longlong[::1],
    state: cython.longlong[::1],
) -> None:
    """List the fields of many messages in order, until the output is full or a field is broken.

    For each field: ``parent`` message, ``tags``, ``begin`` of the tag, ``prefix`` (after the
    tag), ``value`` (the number itself; for a length-delimited field where its payload begins) and
    ``end``. A payload that runs past its message is listed as cut, and reported with error -6.
    Fields with the tag ``counted`` are events: they and their stats are counted instead.
    ``state`` is [message, position (-1: its begin), rows written, error, error position, events,
    stats]. Listing also stops at the first field that begins at or past ``pause``.
    """
    message: cython.Py_ssize_t = state[0]
    at: cython.Py_ssize_t = state[1]
    rows: cython.Py_ssize_t = 0
    start: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t
    past: cython.Py_ssize_t
    error: cython.Py_ssize_t = 0
    tag: cython.ulonglong
    with cython.nogil:
        while message < begins.shape[0] and rows < parent.shape[0] and error == 0 and at < pause:
            if at < 0:
                at = begins[message]
            stop = ends[message]
            while at < stop and rows < parent.shape[0] and error == 0 and at < pause:
                start = at
                tag, at = short_tag(buf, at, stop)
                past = skip(buf, at, stop, tag, 0) if at >= 0 else at
                if past < 0:
                    error = past
                    if past != -6 or tag & 7 != 2:
                        break
                    past = stop
                if tag == counted:
                    state[5] += 1
                    state[6] += count_stats(buf, value_of(buf, at, stop, tag), past)
                else:
                    parent[rows] = message
                    tags[rows] = tag
                    begin[rows] = start
                    prefix[rows] = at
                    value[rows] = value_of(buf, at, stop, tag)
                    end[rows] = past
                    rows += 1
                at = past
            if error == 0 and at >= stop:
                message += 1
                at = -1
    state[0] = message
    state[1] = at
    state[2] = rows
    state[3] = error
    state[4] = start


@cython.cclass
class LineReader:
    """Writes the events and stats of one line into their columns.

    It begins at byte ``at``, and writes event ``row`` and stat ``stat`` next. Small ids become
    rows by a table, which has -1 where there is none. What is rare is noted for the caller, who
    finds ``noted`` notes at each pause. They are (what, row, a, b): 0 unknown field a:b
    of event row, 1 unknown field a:b of stat row, 2 event row has metadata id a that the table
    lacks, 3 stat row has such an id a, 4 stat row refers to such an id a, 5 event row has a
    occurrences. ``full`` says that reading paused for want of room for notes. ``error`` is an
    error code, ``error_at`` its place, ``error_stat`` the stat of the event it is in or -1.
    """

    buf: cython.const[cython.uchar][::1]
    event_rows: cython.const[cython.int][::1]
    stat_rows: cython.const[cython.int][::1]
    metadata: cython.int[::1]
    start_ps: cython.ulonglong[::1]
    duration_ps: cython.ulonglong[::1]
    data: cython.uchar[::1]
    stat_begin: cython.longlong[::1]
    key: cython.int[::1]
    kind: cython.uchar[::1]
    value: cython.ulonglong[::1]
    notes: cython.ulonglong[::1]
    at = cython.declare(cython.Py_ssize_t, visibility="public")
    row = cython.declare(cython.Py_ssize_t, visibility="public")
    stat = cython.declare(cython.Py_ssize_t, visibility="public")
    noted = cython.declare(cython.Py_ssize_t, visibility="public")
    full = cython.declare(cython.bint, visibility="public")
    error = cython.declare(cython.Py_ssize_t, visibility="public")
    error_at = cython.declare(cython.Py_ssize_t, visibility="public")
    error_stat = cython.declare(cython.Py_ssize_t, visibility="public")

    def __init__(
        self,
        buf: memoryview,
        events: tuple[memoryview, memoryview, memoryview, memoryview, memoryview],
        stats: tuple[memoryview, memoryview, memoryview],
        at: int,
        row: int,
        stat: int,
    ) -> None:
        self.buf = buf
        self.metadata, self.start_ps, self.duration_ps, self.data, self.stat_begin = events
        self.key, self.kind, self.value = stats
        self.at = at
        self.row = row
        self.stat = stat
        self.noted = self.error = 0
        self.full = False
        self.error_at = self.error_stat = -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def note(
        self,
        what: cython.ulonglong,
        row: cython.ulonglong,
        first: cython.ulonglong,
        second: cython.ulonglong,
    ) -> cython.void:
        """Write down a rare fact for the caller, or that there is no room."""
        place: cython.Py_ssize_t = 4 * self.noted
        if place + 4 > self.notes.shape[0]:
            self.full = True
            return
        self.notes[place] = what
        self.notes[place + 1] = row
        self.notes[place + 2] = first
        self.notes[place + 3] = second
        self.noted += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def put_stat(
        self, stat_id: cython.ulonglong, what: cython.uchar, number: cython.ulonglong
    ) -> cython.void:
        """Write a stat to the next row."""
        row: cython.Py_ssize_t = self.stat
        known: cython.ulonglong = self.stat_rows.shape[0]
        self.key[row] = self.stat_rows[stat_id] if stat_id < known else -1
        if self.key[row] < 0:
            self.note(3, row, stat_id, 0)
        self.kind[row] = what
        self.value[row] = number
        if what == 7:
            if number < known and self.stat_rows[number] >= 0:
                self.value[row] = self.stat_rows[number]
            else:
                self.value[row] = 0
                self.note(4, row, number, 0)
        self.stat += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_stat(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read the stat whose length is at ``at``; the position after it, or an error code.

        Where a field inside is broken, ``self.error_at`` receives its position.
        """
        stat_id: cython.ulonglong = 0
        number: cython.ulonglong = 0
        what: cython.uchar = 0
        field: cython.Py_ssize_t
        tag: cython.ulonglong
        size: cython.ulonglong
        cut: cython.bint
        size, at = varint(self.buf, at, end)
        if at < 0:
            return at
        if self.stat >= self.key.shape[0]:
            return -9
        cut = size > cython.cast(cython.ulonglong, end - at)
        if not cut:
            end = at + size
        while at < end:
            field = at
            tag, at = short_tag(self.buf, at, end)
            if tag == 0x08:
                stat_id, at = varint(self.buf, at, end)
            elif tag == 0x18 or tag == 0x20 or tag == 0x38:
                what = tag >> 3
                number, at = varint(self.buf, at, end)
            elif tag == 0x11 and end - at >= 8:
                what = 2
                number = fixed64(self.buf, at)
                at += 8
            elif at >= 0:
                if tag == 0x2A or tag == 0x32:
                    what = tag >> 3
                    number = at
                at = skip(self.buf, at, end, tag, 0)
                if at >= 0 and tag != 0x2A and tag != 0x32:
                    self.note(1, self.stat, field, at)
            if at < 0:
                self.error_at = field
                return at
        if cut:
            return -6
        self.put_stat(stat_id, what, number)
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_event(
        self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, shift: cython.ulonglong
    ) -> cython.Py_ssize_t:
        """Read the event ``at:end`` into row ``self.row``; ``end``, or an error code."""
        row: cython.Py_ssize_t = self.row
        first_stat: cython.Py_ssize_t = self.stat
        event_id: cython.ulonglong = 0
        offset: cython.ulonglong = 0
        occurrences: cython.ulonglong = 0
        mask: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
        field: cython.Py_ssize_t
        tag: cython.ulonglong
        self.duration_ps[row] = 0
        self.data[row] = 0
        while at < end:
            field = at
            tag, at = short_tag(self.buf, at, end)
            if tag == 0x22:
                at = self.read_stat(at, end)
            elif tag == 0x08:
                event_id, at = varint(self.buf, at, end)
            elif tag == 0x10:
                offset, at = varint(self.buf, at, end)
                self.data[row] = 2
            elif tag == 0x18:
                self.duration_ps[row], at = varint(self.buf, at, end)
            elif tag == 0x28:
                occurrences, at = varint(self.buf, at, end)
                self.data[row] = 5
            elif at >= 0:
                at = skip(self.buf, at, end, tag, 0)
                if at >= 0:
                    self.note(0, row, field, at)
            if at < 0:
                if tag == 0x22:
                    self.error_stat = self.stat - first_stat
                if self.error_at < 0:
                    self.error_at = field
                return at
        # Modulo 2^64 also where numbers have no end.
        self.start_ps[row] = (shift + offset) & mask if self.data[row] == 2 else shift
        self.metadata[row] = -1
        if event_id < cython.cast(cython.ulonglong, self.event_rows.shape[0]):
            self.metadata[row] = self.event_rows[event_id]
        if self.metadata[row] < 0:
            self.note(2, row, event_id, 0)
        if self.data[row] == 5:
            self.note(5, row, occurrences, 0)
        return at

    def fill(
        self,
        end: cython.Py_ssize_t,
        pause: cython.Py_ssize_t,
        shift: cython.ulonglong,
        event_rows: memoryview,
        stat_rows: memoryview,
        notes: memoryview,
    ) -> None:
        """Read on up to the first field at or past ``pause`` in the line, which ends at ``end``.

        An event is written whole or not at all. ``shift`` is added to offsets, modulo 2^64.
        """
        at: cython.Py_ssize_t = self.at
        start: cython.Py_ssize_t
        stat: cython.longlong
        noted: cython.longlong
        tag: cython.ulonglong
        size: cython.ulonglong
        cut: cython.bint
        self.event_rows = event_rows
        self.stat_rows = stat_rows
        self.notes = notes
        self.noted = 0
        self.full = False
        with cython.nogil:
            while at < end and at < pause:
                start = at
                stat = self.stat
                noted = self.noted
                tag, at = long_tag(self.buf, at, end)
                if at >= 0 and tag != 0x22:
                    at = skip(self.buf, at, end, tag, 0)
                elif at >= 0:
                    size, at = varint(self.buf, at, end)
                    cut = at >= 0 and size > cython.cast(cython.ulonglong, end - at)
                    if at >= 0 and self.row >= self.metadata.shape[0]:
                        at = -9
                    if at >= 0:
                        at = self.read_event(at, end if cut else at + size, shift)
                    if cut and at >= 0:
                        at = -6
                    if at >= 0 and not self.full:
                        self.stat_begin[self.row] = stat
                        self.row += 1
                if at < 0 or self.full:
                    # Leave no part of this event behind.
                    self.stat = stat
                    self.noted = noted
                    self.error = at if at < 0 else 0
                    if at < 0 and self.error_at < 0:
                        self.error_at = start
                    at = start
                    break
        self.at = at
