# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernels that write events and their stats in the protobuf wire format.

The tags of XEvent and XStat are literals here; see ``stepscope.schema.xspace``.
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
def size_of(number: cython.ulonglong) -> cython.Py_ssize_t:
    """How many bytes a number takes."""
    size: cython.Py_ssize_t = 1
    while number >= 0x80:
        number >>= 7
        size += 1
    return size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put(
    out: cython.uchar[::1], at: cython.Py_ssize_t, number: cython.ulonglong
) -> cython.Py_ssize_t:
    """Write a number; the position after it."""
    while number >= 0x80:
        out[at] = number & 0x7F | 0x80
        number >>= 7
        at += 1
    out[at] = number & 0x7F
    return at + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def payload_begin(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the payload after the length prefix at ``at`` begins."""
    while 0 <= at < buf.shape[0] and buf[at] >= 0x80:
        at += 1
    return at + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def payload_length(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.ulonglong:
    """The length prefix at ``at``; never more than the buffer holds after it."""
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


@cython.cclass
class LineWriter:
    """Writes the events of a line as its fields.

    It writes event ``row`` next, to ``at`` in the piece of output it was last given. Metadata
    rows become ids by ``event_ids`` and ``stat_ids``.
    """

    buf: cython.const[cython.uchar][::1]
    metadata: cython.const[cython.int][::1]
    start_ps: cython.const[cython.ulonglong][::1]
    duration_ps: cython.const[cython.ulonglong][::1]
    data: cython.const[cython.uchar][::1]
    stat_begin: cython.const[cython.longlong][::1]
    key: cython.const[cython.int][::1]
    kind: cython.const[cython.uchar][::1]
    value: cython.const[cython.ulonglong][::1]
    event_ids: cython.const[cython.ulonglong][::1]
    stat_ids: cython.const[cython.ulonglong][::1]
    out: cython.uchar[::1]
    at = cython.declare(cython.Py_ssize_t, visibility="public")
    row = cython.declare(cython.Py_ssize_t, visibility="public")

    def __init__(
        self,
        buf: memoryview,
        events: tuple[memoryview, memoryview, memoryview, memoryview, memoryview],
        stats: tuple[memoryview, memoryview, memoryview],
        ids: tuple[memoryview, memoryview],
    ) -> None:
        self.buf = buf
        self.metadata, self.start_ps, self.duration_ps, self.data, self.stat_begin = events
        self.key, self.kind, self.value = stats
        self.event_ids, self.stat_ids = ids
        self.at = self.row = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def number(self, stat: cython.Py_ssize_t) -> cython.ulonglong:
        """A stat's value as written: a reference by id, everything else as it is."""
        if self.kind[stat] == 7:
            return self.stat_ids[cython.cast(cython.Py_ssize_t, self.value[stat])]
        return self.value[stat]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def stat_size(self, stat: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Bytes of an XStat."""
        size: cython.Py_ssize_t = 0
        length: cython.ulonglong
        kind: cython.uchar = self.kind[stat]
        stat_id: cython.ulonglong = self.stat_ids[self.key[stat]]
        if stat_id != 0:
            size += 1 + size_of(stat_id)
        if kind == 2:
            size += 9
        elif kind == 3 or kind == 4 or kind == 7:
            size += 1 + size_of(self.number(stat))
        elif kind == 5 or kind == 6:
            length = payload_length(self.buf, self.value[stat])
            size += 1 + size_of(length) + length
        return size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def event_size(self, row: cython.Py_ssize_t, when: cython.ulonglong) -> cython.Py_ssize_t:
        """Bytes of an XEvent; ``when`` is its offset."""
        size: cython.Py_ssize_t = 0
        inner: cython.Py_ssize_t
        stat: cython.Py_ssize_t
        event_id: cython.ulonglong = self.event_ids[self.metadata[row]]
        if event_id != 0:
            size += 1 + size_of(event_id)
        if self.data[row] != 0:
            size += 1 + size_of(when)
        if self.duration_ps[row] != 0:
            size += 1 + size_of(self.duration_ps[row])
        for stat in range(self.stat_begin[row], self.stat_begin[row + 1]):
            inner = self.stat_size(stat)
            size += 1 + size_of(inner) + inner
        return size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def put_field(self, tag: cython.uchar, number: cython.ulonglong) -> cython.void:
        """Write a field that is a number, or a length."""
        self.out[self.at] = tag
        self.at = put(self.out, self.at + 1, number)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def put_stat(self, stat: cython.Py_ssize_t) -> cython.void:
        """Write an XStat as a field of an event."""
        i: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        length: cython.Py_ssize_t
        kind: cython.uchar = self.kind[stat]
        value: cython.ulonglong = self.value[stat]
        stat_id: cython.ulonglong = self.stat_ids[self.key[stat]]
        self.put_field(0x22, self.stat_size(stat))
        if stat_id != 0:
            self.put_field(0x08, stat_id)
        if kind == 2:
            self.out[self.at] = 0x11
            for i in range(8):
                self.out[self.at + 1 + i] = (value >> (8 * i)) & 0xFF
            self.at += 9
        elif kind == 3 or kind == 4 or kind == 7:
            self.put_field(kind << 3, self.number(stat))
        elif kind == 5 or kind == 6:
            length = payload_length(self.buf, value)
            begin = payload_begin(self.buf, value)
            self.put_field((kind << 3) | 2, length)
            for i in range(length):
                self.out[self.at + i] = self.buf[begin + i]
            self.at += length

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def put_event(
        self, row: cython.Py_ssize_t, when: cython.ulonglong, size: cython.Py_ssize_t
    ) -> cython.void:
        """Write an XEvent of ``size`` bytes as a field of a line."""
        stat: cython.Py_ssize_t
        event_id: cython.ulonglong = self.event_ids[self.metadata[row]]
        self.put_field(0x22, size)
        if event_id != 0:
            self.put_field(0x08, event_id)
        if self.data[row] != 0:
            self.put_field(self.data[row] << 3, when)
        if self.duration_ps[row] != 0:
            self.put_field(0x18, self.duration_ps[row])
        for stat in range(self.stat_begin[row], self.stat_begin[row + 1]):
            self.put_stat(stat)

    def write(
        self,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        shift: cython.ulonglong,
        out: memoryview,
    ) -> None:
        """Write the events ``begin:end``, as many as fit into ``out``; if that is empty, measure.

        ``shift`` is what decoding added to offsets. Afterwards ``row`` is the first event that
        was not written, and ``at`` how many bytes there are.
        """
        row: cython.Py_ssize_t = begin
        size: cython.Py_ssize_t
        whole: cython.Py_ssize_t
        when: cython.ulonglong
        mask: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
        self.out = out
        self.at = 0
        with cython.nogil:
            while row < end:
                when = (self.start_ps[row] - shift) & mask
                size = self.event_size(row, when)
                whole = 1 + size_of(size) + size
                if self.out.shape[0] == 0:
                    self.at += whole
                elif self.at + whole <= self.out.shape[0]:
                    self.put_event(row, when, size)
                else:
                    break
                row += 1
        self.row = row
