# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernels over what is inside messages of protobuf: packed numbers, and texts by code.

``read_kernel`` has found where they stand.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from stepscope.kernels import cython_shadow as cython


def is_compiled() -> bool:
    """Whether this module runs as machine code."""
    return bool(cython.compiled)


def read_packed(
    buf: cython.const[cython.uchar][::1],
    begins: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    count: cython.longlong[::1],
    value: cython.ulonglong[::1],
) -> cython.Py_ssize_t:
    """List the numbers of packed fields; returns the first field that is broken, -1 for none.

    ``count`` receives how many each field has, up to where it is broken; ``value`` has room for a
    number for each of their bytes.
    """
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    end: cython.Py_ssize_t
    written: cython.Py_ssize_t = 0
    broken: cython.Py_ssize_t = -1
    number: cython.ulonglong
    byte: cython.ulonglong
    shift: cython.int
    with cython.nogil:
        for i in range(begins.shape[0]):
            at = begins[i]
            end = ends[i]
            count[i] = written
            number = 0
            shift = 0
            while at < end:
                byte = buf[at]
                at += 1
                if shift == 63:
                    # Ten bytes hold 70 bits; protobuf drops the upper six.
                    if byte >= 0x80:
                        break
                    byte &= 1
                number |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    value[written] = number
                    written += 1
                    number = 0
                    shift = 0
            # A number has begun that does not end.
            if shift > 0 and broken < 0:
                broken = i
            count[i] = written - count[i]
    return broken


@cython.cclass
class TextCodes:
    """Codes of texts of a buffer: equal texts have one, in the order they come.

    ``texts`` is how many there are; ``begin`` and ``end`` of the tables say where each stands
    first. Hashes begin with ``seed``, so that nobody can write texts that all meet in one place.
    """

    buf: cython.const[cython.uchar][::1]
    begin: cython.longlong[::1]
    end: cython.longlong[::1]
    hashes: cython.ulonglong[::1]
    slots: cython.int[::1]
    seed: cython.ulonglong
    texts = cython.declare(cython.Py_ssize_t, visibility="public")

    def __init__(self, buf: memoryview, seed: int) -> None:
        self.buf = buf
        self.seed = seed
        self.texts = 0

    def room(
        self, begin: memoryview, end: memoryview, hashes: memoryview, slots: memoryview
    ) -> None:
        """Use larger tables that already hold the texts so far; slots are all -1."""
        i: cython.Py_ssize_t
        at: cython.ulonglong
        self.begin, self.end, self.hashes, self.slots = begin, end, hashes, slots
        for i in range(self.texts):
            at = self.hashes[i] & (self.slots.shape[0] - 1)
            while self.slots[at] >= 0:
                at = (at + 1) & (self.slots.shape[0] - 1)
            self.slots[at] = i

    def codes(
        self,
        begins: cython.const[cython.longlong][::1],
        ends: cython.const[cython.longlong][::1],
        code: cython.longlong[::1],
        first: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Write the code of each text from ``first`` on; where it stops, there is no more room."""
        i: cython.Py_ssize_t = first
        with cython.nogil:
            while i < begins.shape[0] and self.texts < self.hashes.shape[0]:
                code[i] = self.code(begins[i], ends[i])
                i += 1
        return i

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def code(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """The code of the text ``at:end``; there is room for one more."""
        full: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
        spread: cython.ulonglong = 0x9E3779B97F4A7C15
        size: cython.Py_ssize_t = end - at
        mixed: cython.ulonglong = self.seed ^ cython.cast(cython.ulonglong, size)
        rest: cython.ulonglong = 0
        i: cython.Py_ssize_t = at
        j: cython.Py_ssize_t
        k: cython.int
        mask: cython.ulonglong = self.slots.shape[0] - 1
        slot: cython.ulonglong
        found: cython.int
        mixed = (mixed * spread) & full
        while i + 8 <= end:
            rest = 0
            for k in range(8):
                rest |= cython.cast(cython.ulonglong, self.buf[i + k]) << (8 * k)
            mixed = ((mixed ^ rest) * spread) & full
            mixed ^= mixed >> 29
            i += 8
        rest = 0
        while i < end:
            rest = rest << 8 | self.buf[i]
            i += 1
        mixed = ((mixed ^ rest) * spread) & full
        mixed ^= mixed >> 32
        slot = mixed & mask
        while True:
            found = self.slots[slot]
            if found < 0:
                break
            if self.hashes[found] == mixed and self.end[found] - self.begin[found] == size:
                i = at
                j = self.begin[found]
                while i < end and self.buf[i] == self.buf[j]:
                    i += 1
                    j += 1
                if i >= end:
                    return found
            slot = (slot + 1) & mask
        found = self.texts
        self.begin[found], self.end[found], self.hashes[found] = at, end, mixed
        self.slots[slot] = found
        self.texts += 1
        return found
