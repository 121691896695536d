# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True, legacy_implicit_noexcept=True
"""Kernel that reads the values of a JSON trace's events into columns.

``json_kernel`` has found where they stand. Texts are kept once and known by number, times are read
digit by digit. It never raises: it stops for want of room and resumes at its token.
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
class ValueReader:
    """Writes the values of tokens into columns, and texts into a table of their own.

    Why ``fill`` came back is in ``reason``: 0 all tokens are read, 1 no room for events or their
    values, 2 none for texts, 3 none for chains. ``token`` is where to go on, ``row`` the event it
    is in.

    Values of ``args`` that repeat from event to event (shapes, launch dimensions) form *chains*:
    (chain before, key, text), each kept once, so that an event needs one number for all of them.
    The others (ids, counts) have rows of their own. ``words`` counts values that are not JSON,
    ``times`` those that are not times.
    """

    buf: cython.const[cython.uchar][::1]
    phase: cython.uchar[::1]
    flags: cython.uchar[::1]
    category: cython.int[::1]
    name: cython.int[::1]
    pid: cython.int[::1]
    tid: cython.int[::1]
    ident: cython.longlong[::1]
    chain: cython.int[::1]
    values: cython.int[::1]
    start: cython.longlong[::1]
    duration: cython.longlong[::1]
    key: cython.int[::1]
    kind: cython.uchar[::1]
    number: cython.longlong[::1]
    real: cython.double[::1]
    arena: cython.uchar[::1]
    text_begin: cython.longlong[::1]
    text_hash: cython.ulonglong[::1]
    text_slots: cython.int[::1]
    before: cython.int[::1]
    link_key: cython.int[::1]
    link_text: cython.int[::1]
    chain_slots: cython.int[::1]
    classes: cython.const[cython.uchar][::1]
    seed: cython.ulonglong
    number_found: cython.longlong
    real_found: cython.double
    token = cython.declare(cython.Py_ssize_t, visibility="public")
    words = cython.declare(cython.Py_ssize_t, visibility="public")
    times = cython.declare(cython.Py_ssize_t, visibility="public")
    reason = cython.declare(cython.int, visibility="public")
    row = cython.declare(cython.Py_ssize_t, visibility="public")
    value_row = cython.declare(cython.Py_ssize_t, visibility="public")
    texts = cython.declare(cython.Py_ssize_t, visibility="public")
    chains = cython.declare(cython.Py_ssize_t, visibility="public")

    def __init__(self, classes: memoryview, seed: int) -> None:
        """A reader without room for anything yet.

        ``classes`` has, by number of a key that is known beforehand, 1 if its values have rows of
        their own, 2 if they go into chains, 3 if they are left out. Of other keys numbers have
        rows. Hashes begin with ``seed``.
        """
        self.classes = classes
        self.seed = seed
        self.token = self.value_row = self.texts = self.chains = 0
        self.row = -1
        self.words = self.times = self.reason = 0

    def room_for_events(self, columns: tuple[memoryview, ...]) -> None:
        """Write the next events and values from the beginning of these columns."""
        (
            self.phase, self.flags, self.category, self.name, self.pid, self.tid, self.ident,
            self.chain, self.values, self.start, self.duration,
            self.key, self.kind, self.number, self.real,
        ) = columns  # fmt: skip
        self.row = -1
        self.value_row = 0

    def room_for_texts(
        self, arena: memoryview, begin: memoryview, hashes: memoryview, slots: memoryview
    ) -> None:
        """Use a larger table that already holds the texts so far; slots are all -1."""
        i: cython.Py_ssize_t
        at: cython.ulonglong
        self.arena, self.text_begin, self.text_hash, self.text_slots = arena, begin, hashes, slots
        for i in range(self.texts):
            at = self.text_hash[i] & (self.text_slots.shape[0] - 1)
            while self.text_slots[at] >= 0:
                at = (at + 1) & (self.text_slots.shape[0] - 1)
            self.text_slots[at] = i

    def room_for_chains(
        self, before: memoryview, keys: memoryview, texts: memoryview, slots: memoryview
    ) -> None:
        """Use a larger table that already holds the chains so far; slots are all -1."""
        i: cython.Py_ssize_t
        at: cython.ulonglong
        self.before, self.link_key, self.link_text, self.chain_slots = before, keys, texts, slots
        for i in range(self.chains):
            at = self.link_hash(self.before[i], self.link_key[i], self.link_text[i])
            at &= self.chain_slots.shape[0] - 1
            while self.chain_slots[at] >= 0:
                at = (at + 1) & (self.chain_slots.shape[0] - 1)
            self.chain_slots[at] = i

    def text(self, buf: memoryview) -> int:
        """The number of a text; there must be room for it."""
        self.buf = buf
        return self.intern(0, len(buf))

    @cython.cfunc
    @cython.nogil
    def link_hash(self, before: cython.int, key: cython.int, text: cython.int) -> cython.ulonglong:
        """A number that spreads the links of chains over their table."""
        full: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
        spread: cython.ulonglong = 0x9E3779B97F4A7C15
        mixed: cython.ulonglong = self.seed
        mixed = ((mixed ^ cython.cast(cython.ulonglong, before + 1)) * spread) & full
        mixed = ((mixed ^ mixed >> 29 ^ cython.cast(cython.ulonglong, key)) * spread) & full
        mixed = ((mixed ^ mixed >> 32 ^ cython.cast(cython.ulonglong, text)) * spread) & full
        return mixed ^ mixed >> 31

    @cython.cfunc
    @cython.nogil
    def link(self, before: cython.int, key: cython.int, text: cython.int) -> cython.int:
        """The number of the chain with one more link, -2 without room."""
        mask: cython.ulonglong = self.chain_slots.shape[0] - 1
        at: cython.ulonglong = self.link_hash(before, key, text) & mask
        found: cython.int
        is_it: cython.bint
        while True:
            found = self.chain_slots[at]
            if found < 0:
                break
            is_it = self.link_text[found] == text and self.link_key[found] == key
            if is_it and self.before[found] == before:
                return found
            at = (at + 1) & mask
        found = self.chains
        if found >= self.before.shape[0]:
            self.reason = 3
            return -2
        self.before[found], self.link_key[found], self.link_text[found] = before, key, text
        self.chain_slots[at] = found
        self.chains += 1
        return found

    @cython.cfunc
    @cython.nogil
    def intern(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """The number of the text ``at:end``, -2 without room."""
        full: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
        spread: cython.ulonglong = 0x9E3779B97F4A7C15
        size: cython.Py_ssize_t = end - at
        mixed: cython.ulonglong = self.seed ^ cython.cast(cython.ulonglong, size)
        rest: cython.ulonglong = 0
        i: cython.Py_ssize_t = at
        j: cython.Py_ssize_t
        k: cython.int
        mask: cython.ulonglong
        slot: cython.ulonglong
        found: cython.int
        while i + 8 <= end:
            rest = 0
            for k in range(8):
                rest |= cython.cast(cython.ulonglong, self.buf[i + k]) << (8 * k)
            mixed = ((mixed ^ rest) * spread) & full
            mixed ^= mixed >> 29
            i += 8
        rest = 0
        while i < end:
            rest = (rest << 8 | self.buf[i]) & full
            i += 1
        mixed = ((mixed ^ rest) * spread) & full
        mixed ^= mixed >> 32
        mask = self.text_slots.shape[0] - 1
        slot = mixed & mask
        while True:
            found = self.text_slots[slot]
            if found < 0:
                break
            if self.text_hash[found] == mixed:
                j = self.text_begin[found]
                if self.text_begin[found + 1] - j == size:
                    i = at
                    while i < end and self.buf[i] == self.arena[j]:
                        i += 1
                        j += 1
                    if i == end:
                        return found
            slot = (slot + 1) & mask
        j = self.text_begin[self.texts]
        if self.texts >= self.text_hash.shape[0] or j + size > self.arena.shape[0]:
            self.reason = 2
            return -2
        found = self.texts
        for i in range(size):
            self.arena[j + i] = self.buf[at + i]
        self.text_hash[found] = mixed
        self.text_begin[found + 1] = j + size
        self.text_slots[slot] = found
        self.texts += 1
        return found

    @cython.cfunc
    @cython.nogil
    def read_number(
        self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, shift: cython.int
    ) -> cython.int:
        """Read the number ``at:end`` times ten to the power ``shift``.

        Returns: 1 it is whole and in ``number_found`` (rounded, where ``shift`` is not 0), 2 it
        has a fraction and is in ``real_found``, 0 it is not a number, -1 it is out of range.
        """
        negative: cython.bint = False
        mantissa: cython.ulonglong = 0
        tenth: cython.ulonglong = 1844674407370955161  # of what 64 bits hold
        digits: cython.int = 0
        scale: cython.int = 0
        power: cython.int = 0
        power_sign: cython.int = 1
        seen_point: cython.bint = False
        any_digit: cython.bint = False
        byte: cython.uchar
        if at < end and self.buf[at] == 45:
            negative = True
            at += 1
        while at < end:
            byte = self.buf[at]
            if 48 <= byte <= 57:
                any_digit = True
                if digits < 19 or (digits == 19 and not seen_point and mantissa < tenth):
                    mantissa = mantissa * 10 + (byte - 48)
                    if mantissa != 0:
                        digits += 1
                    if seen_point:
                        scale -= 1
                else:
                    # More than 64 bits hold; of a fraction the rest is below what counts.
                    digits = 20
                    if not seen_point:
                        scale += 1
            elif byte == 46 and not seen_point:
                seen_point = True
            else:
                break
            at += 1
        if not any_digit:
            return 0
        if at < end:
            if self.buf[at] != 101 and self.buf[at] != 69:
                return 0
            at += 1
            if at < end and (self.buf[at] == 45 or self.buf[at] == 43):
                power_sign = 44 - cython.cast(cython.int, self.buf[at])
                at += 1
            while at < end:
                byte = self.buf[at]
                if not 48 <= byte <= 57:
                    return 0
                if power < 10000:
                    power = power * 10 + (byte - 48)
                at += 1
            scale += power_sign * power
        if shift == 0 and (seen_point or scale < 0):
            return self.set_real(negative, mantissa, scale)
        return self.set_whole(negative, mantissa, scale + shift)

    @cython.cfunc
    @cython.nogil
    def set_real(
        self, negative: cython.bint, mantissa: cython.ulonglong, scale: cython.int
    ) -> cython.int:
        """A fraction; where 53 bits do not hold its digits it is left to the caller's text."""
        power: cython.double = 1.0
        exact: cython.ulonglong = 9007199254740992
        _i: cython.int
        if mantissa > exact or scale < -22 or scale > 22:
            return -1
        for _i in range(scale if scale > 0 else -scale):
            power *= 10.0
        self.real_found = mantissa * power if scale > 0 else mantissa / power
        if negative:
            self.real_found = -self.real_found
        return 2

    @cython.cfunc
    @cython.nogil
    def set_whole(
        self, negative: cython.bint, mantissa: cython.ulonglong, scale: cython.int
    ) -> cython.int:
        """A whole number, the nearest to ``mantissa`` times ten to the power ``scale``."""
        last: cython.ulonglong = 0
        top: cython.ulonglong = 9223372036854775807
        tenth: cython.ulonglong = 922337203685477580
        while scale > 0 and mantissa != 0:
            if mantissa > tenth:
                return -1
            mantissa *= 10
            scale -= 1
        while scale < 0 and (mantissa != 0 or last != 0):
            last = mantissa % 10
            mantissa //= 10
            scale += 1
        if scale == 0 and last >= 5:
            mantissa += 1
        if mantissa > top:
            # Addresses have no sign: the upper half of them is kept by its bits.
            if negative:
                return -1
            self.number_found = -cython.cast(cython.longlong, (top - (mantissa - top - 1))) - 1
            return 1
        self.number_found = cython.cast(cython.longlong, mantissa)
        if negative:
            self.number_found = -self.number_found
        return 1

    @cython.cfunc
    @cython.nogil
    def is_word(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        """Whether ``at:end`` is true, false or null."""
        size: cython.Py_ssize_t = end - at
        if size == 4:
            return (
                self.buf[at] == 116 and self.buf[at + 1] == 114 and self.buf[at + 3] == 101
            ) or (self.buf[at] == 110 and self.buf[at + 1] == 117 and self.buf[at + 3] == 108)
        return (
            size == 5 and self.buf[at] == 102 and self.buf[at + 1] == 97 and self.buf[at + 4] == 101
        )

    @cython.cfunc
    @cython.nogil
    def put_arg(self, key: cython.int, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """Keep one value of ``args``; -2 without room, else 0."""
        rule: cython.int = self.classes[key] if key < self.classes.shape[0] else 0
        what: cython.int = 0
        text: cython.int
        is_odd: cython.bint = False
        first: cython.uchar = self.buf[at]
        row: cython.Py_ssize_t = self.value_row
        if rule == 3:
            return 0
        if first == 34:
            if rule == 1:
                what = self.read_number(at + 1, end - 1, 0)
        elif first != 123 and first != 91:
            what = self.read_number(at, end, 0)
            is_odd = what == 0 and not self.is_word(at, end)
            if rule == 2:
                what = 0
        if what <= 0:
            text = self.intern(at, end)
            if text < 0:
                return -2
            self.words += is_odd
            if rule != 1:
                text = self.link(self.chain[self.row], key, text)
                if text < 0:
                    return -2
                self.chain[self.row] = text
                return 0
            self.number_found = text
            what = 3
        self.key[row] = key
        if what == 2:
            self.kind[row] = 2
            self.real[row] = self.real_found
        else:
            self.kind[row] = 4 if what == 1 else 7
            self.number[row] = self.number_found
        self.value_row += 1
        self.values[self.row] += 1
        return 0

    @cython.cfunc
    @cython.nogil
    def put_time(
        self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, is_start: cython.bint
    ) -> cython.void:
        """Keep a time, which is in µs, as ns; as ps, and flagged, if it has more decimals."""
        found: cython.int
        flag: cython.int = 1 if is_start else 2
        point: cython.Py_ssize_t = at
        if self.buf[at] == 34:
            at, end = at + 1, end - 1
        while point < end and self.buf[point] != 46:  # the decimal point
            point += 1
        found = self.read_number(at, end, 6) if end - point > 4 else 0
        if found == 1:
            flag *= 5
        else:
            found = self.read_number(at, end, 3)
        if found != 1:
            self.words += found == 0 and not self.is_word(at, end)
            self.times += 1
            return
        if is_start:
            self.start[self.row] = self.number_found
        else:
            self.duration[self.row] = self.number_found
        self.flags[self.row] |= flag

    @cython.cfunc
    @cython.nogil
    def put_field(
        self, code: cython.int, at: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.int:
        """Keep one value of an event; -2 without room, else 0."""
        text: cython.int
        if code == 1:
            self.phase[self.row] = self.buf[at + 1] if end - at >= 3 else 0
            return 0
        if code == 2 or code == 7:
            self.put_time(at, end, code == 2)
            return 0
        if code == 3 and self.read_number(at, end, 0) == 1:
            self.ident[self.row] = self.number_found
            return 0
        text = self.intern(at, end)
        if text < 0:
            return -2
        if code == 3:
            self.ident[self.row] = -2 - cython.cast(cython.longlong, text)
        elif code == 4:
            self.category[self.row] = text
        elif code == 5:
            self.pid[self.row] = text
        elif code == 6:
            self.tid[self.row] = text
        else:
            self.name[self.row] = text
        return 0

    @cython.cfunc
    @cython.nogil
    def begin_event(self, values: cython.Py_ssize_t) -> cython.bint:
        """Begin the next row of events; False without room for it and this many values."""
        row: cython.Py_ssize_t = self.row + 1
        if row >= self.phase.shape[0] or self.value_row + values > self.key.shape[0]:
            self.reason = 1
            return False
        self.row = row
        self.phase[row] = self.flags[row] = 0
        self.category[row] = self.name[row] = self.pid[row] = self.tid[row] = -1
        self.ident[row] = self.chain[row] = -1
        self.values[row] = 0
        self.start[row] = self.duration[row] = 0
        return True

    def fill(
        self,
        buf: memoryview,
        columns: tuple[memoryview, memoryview, memoryview, memoryview, memoryview],
        tokens: int,
    ) -> None:
        """Read this many tokens of some bytes, from ``token`` on."""
        what: cython.const[cython.uchar][::1] = columns[0]
        key_begin: cython.const[cython.int][::1] = columns[1]
        key_stop: cython.const[cython.int][::1] = columns[2]
        begin: cython.const[cython.int][::1] = columns[3]
        stop: cython.const[cython.int][::1] = columns[4]
        at: cython.Py_ssize_t
        past: cython.Py_ssize_t
        count: cython.Py_ssize_t = tokens
        key: cython.int
        self.buf = buf
        self.reason = 0
        with cython.nogil:
            while self.token < count:
                at = self.token
                if what[at] == 0:
                    past = at + 1
                    while past < count and what[past] != 0:
                        past += 1
                    if not self.begin_event(past - at):
                        break
                elif what[at] == 9:
                    key = self.intern(key_begin[at], key_stop[at])
                    if key < 0 or self.put_arg(key, begin[at], stop[at]) < 0:
                        break
                elif self.put_field(what[at], begin[at], stop[at]) < 0:
                    break
                self.token += 1
