# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True, legacy_implicit_noexcept=True
"""Kernel that reads rows of an SQLite table from its leaf pages into columns.

A leaf page is a header, an array of two-byte places of its cells, and the cells: two varints (bytes
of the record, rowid) and the record, whose own header gives the type of each value. The format:
https://www.sqlite.org/fileformat2.html. Whatever is not plain makes it give up.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from stepscope.kernels import cython_shadow as cython


def is_compiled() -> bool:
    """Whether this module runs as machine code."""
    return bool(cython.compiled)


@cython.cclass
class PageReader:
    """Reads pages of a buffer.

    ``columns`` has, by place of a value in a record, the number of the column that it goes to or
    -1; below ``lengths.shape[0]`` are columns of texts, whose ``numbers`` are where the text begins
    in the buffer. ``row`` counts the rows that were read.
    """

    buf: cython.const[cython.uchar][::1]
    columns: cython.const[cython.int][::1]
    numbers: cython.longlong[:, ::1]
    lengths: cython.longlong[:, ::1]
    null: cython.longlong
    rowid_place: cython.Py_ssize_t
    at: cython.Py_ssize_t
    body: cython.Py_ssize_t
    end: cython.Py_ssize_t
    rowid: cython.longlong
    varint: cython.ulonglong
    row = cython.declare(cython.Py_ssize_t, visibility="public")

    def __init__(self, columns: memoryview, rowid_place: int, null: int) -> None:
        """A reader of one table.

        ``rowid_place`` is the place of the value that stands for the rowid where it is NULL, -1
        for none; ``null`` is what a missing number becomes.
        """
        self.columns = columns
        self.rowid_place = rowid_place
        self.null = null
        self.row = 0

    @cython.cfunc
    @cython.nogil
    def read_varint(self, end: cython.Py_ssize_t) -> cython.bint:
        """Read a number at ``at`` and move on; False where it does not end before ``end``."""
        full: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
        found: cython.ulonglong = 0
        byte: cython.uchar
        i: cython.int
        for i in range(9):
            if self.at >= end:
                return False
            byte = self.buf[self.at]
            self.at += 1
            # The ninth byte is whole.
            found = ((found << 8) & full) | byte if i == 8 else (found << 7) | (byte & 0x7F)
            if byte < 0x80 or i == 8:
                self.varint = found
                return True
        return False

    @cython.cfunc
    @cython.nogil
    def whole(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.longlong:
        """The big-endian integer of so many bytes."""
        full: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
        found: cython.ulonglong = 0
        i: cython.Py_ssize_t
        if self.buf[at] >= 0x80:
            found = full
        for i in range(size):
            found = ((found << 8) & full) | self.buf[at + i]
        if found >> 63:
            return -cython.cast(cython.longlong, full - found) - 1
        return cython.cast(cython.longlong, found)

    @cython.cfunc
    @cython.nogil
    def begin_record(self, end: cython.Py_ssize_t) -> cython.bint:
        """Find rowid, header and values of the cell at ``at``; False where it is not plain."""
        size: cython.Py_ssize_t
        if not self.read_varint(end):
            return False
        if self.varint > cython.cast(cython.ulonglong, end - self.at):
            return False  # goes on in other pages
        size = cython.cast(cython.Py_ssize_t, self.varint)
        if not self.read_varint(end):
            return False
        if self.varint >> 63 or size > end - self.at:
            return False
        self.rowid = cython.cast(cython.longlong, self.varint)
        self.body = self.at
        self.end = self.at + size
        if not self.read_varint(self.end):
            return False
        if self.varint > cython.cast(cython.ulonglong, self.end - self.body):
            return False
        self.body += cython.cast(cython.Py_ssize_t, self.varint)
        return True

    @cython.cfunc
    @cython.nogil
    def size_of(self, kind: cython.ulonglong) -> cython.Py_ssize_t:
        """How many bytes a value of a type has, -1 where it is not one or does not fit."""
        size: cython.ulonglong = 0
        if kind <= 4:
            size = kind
        elif kind == 5:
            size = 6
        elif kind <= 7:
            size = 8
        elif kind == 10 or kind == 11:
            return -1
        elif kind >= 12:
            size = (kind - 12) // 2
        if size > cython.cast(cython.ulonglong, self.end - self.body):
            return -1
        return cython.cast(cython.Py_ssize_t, size)

    @cython.cfunc
    @cython.nogil
    def read_cell(self, end: cython.Py_ssize_t) -> cython.bint:
        """Read the cell at ``at`` of a page that ends at ``end``; False where it is not plain."""
        texts: cython.Py_ssize_t = self.lengths.shape[0]
        row: cython.Py_ssize_t = self.row
        place: cython.Py_ssize_t
        column: cython.Py_ssize_t
        size: cython.Py_ssize_t
        values: cython.Py_ssize_t
        kind: cython.ulonglong
        if not self.begin_record(end):
            return False
        values = self.body
        for place in range(self.columns.shape[0]):
            # A row that is older than its last column has no type for it.
            if self.at >= values or not self.read_varint(values):
                return False
            kind = self.varint
            size = self.size_of(kind)
            if size < 0:
                return False
            column = self.columns[place]
            if column >= 0:
                if column < texts:
                    if kind != 0 and (kind < 12 or kind % 2 == 0):
                        return False
                    self.numbers[column, row] = self.body
                    self.lengths[column, row] = size if kind != 0 else -1
                elif kind == 0:
                    self.numbers[column, row] = (
                        self.rowid if place == self.rowid_place else self.null
                    )
                elif kind >= 10 or kind == 7:
                    return False
                elif kind >= 8:
                    self.numbers[column, row] = 1 if kind == 9 else 0
                else:
                    self.numbers[column, row] = self.whole(self.body, size)
            self.body += size
        self.row += 1
        return True

    def read(
        self,
        buf: memoryview,
        begins: memoryview,
        usable: int,
        numbers: memoryview,
        lengths: memoryview,
    ) -> bool:
        """Read the pages that begin at these places of the buffer, each so many bytes long.

        There must be room for as many rows as their headers say. False: a page is broken, or holds
        something that is not a plain row of NULLs, integers and, where wanted, texts.
        """
        places: cython.const[cython.longlong][::1] = begins
        bytes_of_page: cython.Py_ssize_t = usable
        page: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        cells: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        at: cython.Py_ssize_t
        is_plain: cython.bint = True
        self.buf = buf
        self.numbers, self.lengths = numbers, lengths
        self.row = 0
        with cython.nogil:
            for page in range(places.shape[0]):
                begin = cython.cast(cython.Py_ssize_t, places[page])
                if begin < 0 or bytes_of_page < 8 or begin > self.buf.shape[0] - bytes_of_page:
                    is_plain = False
                    break
                cells = (self.buf[begin + 3] << 8) | self.buf[begin + 4]
                if self.buf[begin] != 13 or 8 + 2 * cells > bytes_of_page:
                    is_plain = False
                    break
                if self.row + cells > self.numbers.shape[1]:
                    is_plain = False
                    break
                for cell in range(cells):
                    at = begin + 8 + 2 * cell
                    self.at = begin + ((self.buf[at] << 8) | self.buf[at + 1])
                    if not self.read_cell(begin + bytes_of_page):
                        is_plain = False
                        break
                if not is_plain:
                    break
        return is_plain


@cython.cfunc
@cython.nogil
def are_equal(
    buf: cython.const[cython.uchar][::1],
    one: cython.Py_ssize_t,
    other: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.bint:
    """Whether two stretches of the buffer have the same bytes."""
    i: cython.Py_ssize_t = 0
    while i < size and buf[one + i] == buf[other + i]:
        i += 1
    return i == size


def find_equal(
    buf: cython.const[cython.uchar][::1],
    begin: cython.const[cython.longlong][::1],
    length: cython.const[cython.longlong][::1],
    slots: cython.int[::1],
    first: cython.longlong[::1],
) -> bool:
    """Write to ``first``, for each text of the buffer, a text before it that is equal, or itself.

    A negative length stands for a cell without text; those are equal. ``slots`` are a power of two,
    more than there are texts, all -1. Where many different texts fall on the same slots, which a
    stranger may see to, equal ones are not all found. False: a text is not in the buffer.
    """
    mask: cython.ulonglong = cython.cast(cython.ulonglong, slots.shape[0] - 1)
    full: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
    start: cython.ulonglong = 0xCBF29CE484222325
    spread: cython.ulonglong = 0x100000001B3
    mixed: cython.ulonglong
    slot: cython.ulonglong
    at: cython.Py_ssize_t
    size: cython.Py_ssize_t
    place: cython.Py_ssize_t
    other: cython.Py_ssize_t
    none: cython.Py_ssize_t = -1
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    is_inside: cython.bint = True
    with cython.nogil:
        for i in range(begin.shape[0]):
            at = cython.cast(cython.Py_ssize_t, begin[i])
            size = cython.cast(cython.Py_ssize_t, length[i])
            first[i] = i
            if size < 0:
                if none < 0:
                    none = i
                first[i] = none
                continue
            if at < 0 or at > buf.shape[0] or size > buf.shape[0] - at:
                is_inside = False
                break
            mixed = start
            for j in range(size):
                mixed = ((mixed ^ buf[at + j]) * spread) & full
            slot = (mixed ^ (mixed >> 29)) & mask
            for _ in range(32):
                place = cython.cast(cython.Py_ssize_t, slot)
                slot = (slot + 1) & mask
                other = slots[place]
                if other < 0:
                    slots[place] = cython.cast(cython.int, i)
                    break
                if length[other] == size and are_equal(
                    buf, at, cython.cast(cython.Py_ssize_t, begin[other]), size
                ):
                    first[i] = other
                    break
    return is_inside
