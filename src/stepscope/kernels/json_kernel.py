# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernel that reads the events of a JSON trace, whatever the layout of its text.

Compiled by Cython in pure-Python mode; the same source runs uncompiled, slowly. Bytes come
from strangers: no byte is read at or past the end of what is there. Nothing is a Python object
per event: texts are kept once and known by number, times are read digit by digit into ns.

An event is read as sound JSON first. Where that fails it is read again *carefully*: a quote then
ends a text only if what follows can follow a text. Where that fails, too, the event is left out.

The kernel never raises. It stops, says why, and resumes at the event it stopped in.
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
class EventScanner:
    """Writes the events of a trace into columns, and texts into a table of their own.

    Why ``scan`` came back is in ``reason``: 0 more bytes are needed, 1 the list of events ended,
    2 no room for events or their values, 3 none for texts, 4 none for chains. ``at`` is where to
    go on.

    Values of ``args`` that repeat from event to event (shapes, launch dimensions) form *chains*:
    (chain before, key, text), each kept once, so that an event needs one number for all of them.
    The others (ids, counts) stand in rows of their own. Texts stand as in the file, quotes and
    escapes included.
    """

    buf: cython.const[cython.uchar][::1]
    end: cython.Py_ssize_t
    final: cython.bint
    careful: cython.bint
    # Columns of events.
    phase: cython.uchar[::1]
    flags: cython.uchar[::1]
    category: cython.int[::1]
    name: cython.int[::1]
    pid: cython.int[::1]
    tid: cython.int[::1]
    ident: cython.int[::1]
    chain: cython.int[::1]
    values: cython.int[::1]
    start_ns: cython.longlong[::1]
    duration_ns: cython.longlong[::1]
    # Values in rows of their own.
    key: cython.int[::1]
    kind: cython.uchar[::1]
    number: cython.longlong[::1]
    real: cython.double[::1]
    # Texts.
    arena: cython.uchar[::1]
    text_begin: cython.longlong[::1]
    text_hash: cython.ulonglong[::1]
    text_slots: cython.int[::1]
    # Chains.
    before: cython.int[::1]
    link_key: cython.int[::1]
    link_text: cython.int[::1]
    chain_slots: cython.int[::1]
    classes: cython.const[cython.uchar][::1]
    damage: cython.longlong[::1]
    seed: cython.ulonglong
    longest: cython.Py_ssize_t
    number_found: cython.longlong
    real_found: cython.double
    at = cython.declare(cython.Py_ssize_t, visibility="public")
    reason = cython.declare(cython.int, visibility="public")
    row = cython.declare(cython.Py_ssize_t, visibility="public")
    value_row = cython.declare(cython.Py_ssize_t, visibility="public")
    texts = cython.declare(cython.Py_ssize_t, visibility="public")
    chains = cython.declare(cython.Py_ssize_t, visibility="public")

    def __init__(self, classes: memoryview, damage: memoryview, seed: int) -> None:
        """A scanner without room for anything yet.

        Args:
            classes: By number of a key that is known beforehand: 1 its values have rows of their
                own, 2 they go into chains, 3 they are left out; 0 numbers have rows.
            damage: Counts of what was wrong: events left out, events read carefully, words that
                are no JSON value, times out of range, bytes between events.
            seed: Of the hashes.
        """
        self.classes = classes
        self.damage = damage
        self.seed = seed
        self.at = self.row = self.value_row = self.texts = self.chains = 0
        self.reason = 0
        self.careful = False
        self.longest = 1048576

    def room_for_events(
        self,
        events: tuple[memoryview, ...],
        values: tuple[memoryview, memoryview, memoryview, memoryview],
    ) -> None:
        """Write the next events and values from the beginning of these columns."""
        (
            self.phase, self.flags, self.category, self.name, self.pid, self.tid, self.ident,
            self.chain, self.values, self.start_ns, self.duration_ns,
        ) = events  # fmt: skip
        self.key, self.kind, self.number, self.real = values
        self.row = self.value_row = 0

    def room_for_texts(
        self, arena: memoryview, begin: memoryview, hashes: memoryview, slots: memoryview
    ) -> None:
        """Use a larger table that already holds the texts so far; slots are all -1."""
        i: cython.Py_ssize_t
        at: cython.ulonglong
        self.arena = arena
        self.text_begin = begin
        self.text_hash = hashes
        self.text_slots = slots
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
        self.before = before
        self.link_key = keys
        self.link_text = texts
        self.chain_slots = slots
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
    @cython.exceptval(check=False)
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
    @cython.exceptval(check=False)
    def link(self, before: cython.int, key: cython.int, text: cython.int) -> cython.int:
        """The number of the chain with one more link, -2 without room."""
        mask: cython.ulonglong = self.chain_slots.shape[0] - 1
        at: cython.ulonglong = self.link_hash(before, key, text) & mask
        found: cython.int
        while True:
            found = self.chain_slots[at]
            if found < 0:
                break
            if (
                self.before[found] == before
                and self.link_key[found] == key
                and self.link_text[found] == text
            ):
                return found
            at = (at + 1) & mask
        if self.chains >= self.before.shape[0]:
            self.reason = 4
            return -2
        found = self.chains
        self.before[found] = before
        self.link_key[found] = key
        self.link_text[found] = text
        self.chain_slots[at] = found
        self.chains += 1
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def word(self, at: cython.Py_ssize_t) -> cython.ulonglong:
        """Eight bytes of the text as a number; the caller has checked that they are there."""
        return (
            cython.cast(cython.ulonglong, self.buf[at])
            | cython.cast(cython.ulonglong, self.buf[at + 1]) << 8
            | cython.cast(cython.ulonglong, self.buf[at + 2]) << 16
            | cython.cast(cython.ulonglong, self.buf[at + 3]) << 24
            | cython.cast(cython.ulonglong, self.buf[at + 4]) << 32
            | cython.cast(cython.ulonglong, self.buf[at + 5]) << 40
            | cython.cast(cython.ulonglong, self.buf[at + 6]) << 48
            | cython.cast(cython.ulonglong, self.buf[at + 7]) << 56
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def intern(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """The number of the text ``at:end``, -2 without room."""
        full: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
        spread: cython.ulonglong = 0x9E3779B97F4A7C15
        size: cython.Py_ssize_t = end - at
        mixed: cython.ulonglong = self.seed ^ cython.cast(cython.ulonglong, size)
        rest: cython.ulonglong = 0
        i: cython.Py_ssize_t = at
        j: cython.Py_ssize_t
        mask: cython.ulonglong
        slot: cython.ulonglong
        found: cython.int
        while i + 8 <= end:
            mixed = ((mixed ^ self.word(i)) * spread) & full
            mixed ^= mixed >> 29
            i += 8
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
            self.reason = 3
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
    @cython.exceptval(check=False)
    def blank(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The next position that is no white space."""
        while at < self.end and (
            self.buf[at] == 32 or self.buf[at] == 10 or self.buf[at] == 13 or self.buf[at] == 9
        ):
            at += 1
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def may_end(self, at: cython.Py_ssize_t) -> cython.int:
        """Whether a value can end with the quote at ``at``: 1, 0, or -1 if more bytes must tell."""
        limit: cython.Py_ssize_t
        at = self.blank(at + 1)
        if at >= self.end:
            return 1 if self.final else -1
        if self.buf[at] == 125 or self.buf[at] == 93:
            return 1
        if self.buf[at] != 44:
            return 0
        at = self.blank(at + 1)
        if at >= self.end:
            return 1 if self.final else -1
        if self.buf[at] == 123:
            return 1
        if self.buf[at] != 34:
            return 0
        # Behind a comma stands a key, short and without a quote, with a colon behind it.
        limit = at + 200
        at += 1
        while at < self.end and at < limit and self.buf[at] != 34:
            if self.buf[at] == 10 or self.buf[at] == 92:
                return 0
            at += 1
        if at >= self.end:
            return 1 if self.final else -1
        at = self.blank(at + 1)
        if at >= self.end:
            return 1 if self.final else -1
        return 1 if self.buf[at] == 58 else 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def text_end(self, at: cython.Py_ssize_t, is_key: cython.bint) -> cython.Py_ssize_t:
        """The position behind the text that begins with the quote at ``at``; -1: it goes on."""
        ends: cython.int
        byte: cython.uchar
        at += 1
        while at < self.end:
            byte = self.buf[at]
            if byte == 34:
                if is_key or not self.careful:
                    return at + 1
                ends = self.may_end(at)
                if ends < 0:
                    return -1
                if ends:
                    return at + 1
            elif byte == 92:
                if self.careful and not is_key and at + 1 < self.end and self.buf[at + 1] == 34:
                    # A path that ends in a backslash, or an escaped quote?
                    ends = self.may_end(at + 1)
                    if ends < 0:
                        return -1
                    if ends:
                        return at + 2
                at += 1
            at += 1
        return -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def value_end(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The position behind the value at ``at``; -1: it goes on, -3: it is none."""
        begin: cython.Py_ssize_t = at
        depth: cython.Py_ssize_t = 0
        byte: cython.uchar
        while at < self.end:
            byte = self.buf[at]
            if byte == 34:
                at = self.text_end(at, False) if not self.careful else self.inner_end(at)
                if at < 0 or depth == 0:
                    return at
                continue
            if byte == 123 or byte == 91:
                depth += 1
            elif byte == 125 or byte == 93:
                if depth == 0:
                    return at if at > begin else -3
                depth -= 1
                if depth == 0:
                    return at + 1
            elif depth == 0 and (byte == 44 or byte == 32 or byte == 10 or byte == 13 or byte == 9):
                return at if at > begin else -3
            at += 1
        return -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def inner_end(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """``text_end`` within a list or object, where keys and values both can stand."""
        self.careful = False
        at = self.text_end(at, False)
        self.careful = True
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_number(
        self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, shift: cython.int
    ) -> cython.int:
        """Read the number ``at:end`` times ten to the power ``shift``.

        Returns: 1 it is whole and in ``number_found`` (rounded, where ``shift`` is not 0), 2 it
        has a fraction and is in ``real_found``, 0 it is no number, -1 it is out of range.
        """
        negative: cython.bint = False
        mantissa: cython.ulonglong = 0
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
                if digits < 19 or (digits == 19 and not seen_point and self.fits(mantissa, byte)):
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
                if self.buf[at] == 45:
                    power_sign = -1
                at += 1
            if at >= end:
                return 0
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
    @cython.exceptval(check=False)
    def fits(self, mantissa: cython.ulonglong, byte: cython.uchar) -> cython.bint:
        """Whether one more digit leaves a number of 64 bits without sign."""
        limit: cython.ulonglong = 1844674407370955161
        return mantissa < limit or (mantissa == limit and byte <= 53)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
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
    @cython.exceptval(check=False)
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
    @cython.exceptval(check=False)
    def key_code(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """Which key of an event stands in the quotes ``at:end``: 0 none of interest."""
        size: cython.Py_ssize_t = end - at - 2
        first: cython.uchar
        second: cython.uchar
        if size < 2 or size > 4:
            return 0
        first = self.buf[at + 1]
        second = self.buf[at + 2]
        if size == 2:
            if first == 112 and second == 104:  # ph
                return 1
            if first == 116 and second == 115:  # ts
                return 2
            if first == 105 and second == 100:  # id
                return 3
            return 0
        if size == 3:
            if self.buf[at + 3] == 116 and first == 99 and second == 97:  # cat
                return 4
            if self.buf[at + 3] == 100 and second == 105:
                if first == 112:  # pid
                    return 5
                if first == 116:  # tid
                    return 6
            if first == 100 and second == 117 and self.buf[at + 3] == 114:  # dur
                return 7
            return 0
        if first == 110 and second == 97 and self.buf[at + 3] == 109 and self.buf[at + 4] == 101:
            return 8  # name
        if first == 97 and second == 114 and self.buf[at + 3] == 103 and self.buf[at + 4] == 115:
            return 9  # args
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
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
    @cython.exceptval(check=False)
    def put_arg(self, key: cython.int, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """Keep one value of ``args``; -2 without room, else 0."""
        rule: cython.int = self.classes[key] if key < self.classes.shape[0] else 0
        what: cython.int = 0
        text: cython.int
        first: cython.uchar = self.buf[at]
        row: cython.Py_ssize_t = self.value_row
        if rule == 3:
            return 0
        if first == 34:
            if rule == 1:
                what = self.read_number(at + 1, end - 1, 0)
        elif first != 123 and first != 91:
            what = self.read_number(at, end, 0)
            if what == 0 and not self.is_word(at, end):
                self.damage[2] += 1
            if rule == 2:
                what = 0
        if what <= 0:
            text = self.intern(at, end)
            if text < 0:
                return -2
            if rule != 1:
                text = self.link(self.chain[self.row], key, text)
                if text < 0:
                    return -2
                self.chain[self.row] = text
                return 0
            self.number_found = text
            what = 3
        if row >= self.key.shape[0]:
            self.reason = 2
            return -2
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
    @cython.exceptval(check=False)
    def read_args(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read the object at ``at``; the position behind it, or what ``read_event`` returns."""
        past: cython.Py_ssize_t
        key: cython.int
        at = self.blank(at + 1)
        while at < self.end:
            if self.buf[at] == 125:
                return at + 1
            if self.buf[at] == 44:
                at = self.blank(at + 1)
                continue
            if self.buf[at] != 34:
                return -3
            past = self.text_end(at, True)
            if past < 0:
                return past
            key = self.intern(at, past)
            if key < 0:
                return -2
            at = self.blank(past)
            if at >= self.end:
                return -1
            if self.buf[at] != 58:
                return -3
            at = self.blank(at + 1)
            past = (
                self.text_end(at, False)
                if at < self.end and self.buf[at] == 34
                else self.value_end(at)
            )
            if past < 0:
                return past
            if self.put_arg(key, at, past) < 0:
                return -2
            at = self.blank(past)
            if at < self.end and self.buf[at] != 44 and self.buf[at] != 125:
                return -3
        return -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def put_time(
        self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, is_start: cython.bint
    ) -> cython.void:
        """Keep a time, which stands in µs."""
        found: cython.int
        if self.buf[at] == 34:
            at += 1
            end -= 1
        found = self.read_number(at, end, 3)
        if found != 1:
            if found == 0 and not self.is_word(at, end):
                self.damage[2] += 1
            self.damage[3] += 1
            return
        if is_start:
            self.start_ns[self.row] = self.number_found
            self.flags[self.row] |= 1
        else:
            self.duration_ns[self.row] = self.number_found
            self.flags[self.row] |= 2

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def put_field(
        self, code: cython.int, at: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.int:
        """Keep one value of an event; -2 without room, else 0."""
        text: cython.int
        if code == 1:
            if end - at >= 3 and self.buf[at] == 34:
                self.phase[self.row] = self.buf[at + 1]
            return 0
        if code == 2 or code == 7:
            self.put_time(at, end, code == 2)
            return 0
        text = self.intern(at, end)
        if text < 0:
            return -2
        if code == 3:
            self.ident[self.row] = text
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
    @cython.exceptval(check=False)
    def read_event(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read the event whose brace is at ``at``.

        Returns the position behind it; -1 if more bytes are needed, -2 without room (``reason``
        says of what), -3 if it is no JSON.
        """
        row: cython.Py_ssize_t = self.row
        past: cython.Py_ssize_t
        code: cython.int
        self.phase[row] = self.flags[row] = 0
        self.category[row] = self.name[row] = self.pid[row] = self.tid[row] = -1
        self.ident[row] = self.chain[row] = -1
        self.values[row] = 0
        self.start_ns[row] = self.duration_ns[row] = 0
        at = self.blank(at + 1)
        while at < self.end:
            if self.buf[at] == 125:
                return at + 1
            if self.buf[at] == 44:
                at = self.blank(at + 1)
                continue
            if self.buf[at] != 34:
                return -3
            past = self.text_end(at, True)
            if past < 0:
                return past
            code = self.key_code(at, past)
            at = self.blank(past)
            if at >= self.end:
                return -1
            if self.buf[at] != 58:
                return -3
            at = self.blank(at + 1)
            if at >= self.end:
                return -1
            if code == 9 and self.buf[at] == 123:
                past = self.read_args(at)
            elif self.buf[at] == 34:
                past = self.text_end(at, False)
            else:
                past = self.value_end(at)
            if past < 0:
                return past
            if code != 0 and code != 9 and self.put_field(code, at, past) < 0:
                return -2
            at = self.blank(past)
            if at < self.end and self.buf[at] != 44 and self.buf[at] != 125:
                return -3
        return -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def next_event(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Where, from ``at`` on, something begins like an event; ``end`` if nothing does.

        The brace of an event has a comma, a bracket or another event before it; that of an
        object within an event has a colon.
        """
        past: cython.Py_ssize_t
        code: cython.int
        last: cython.uchar = 44
        while at < self.end:
            if self.buf[at] == 123 and (last == 44 or last == 91 or last == 125):
                past = self.blank(at + 1)
                if past + 8 < self.end and self.buf[past] == 34:
                    code = 2
                    while code < 6 and self.buf[past + code] != 34:
                        code += 1
                    code += 1
                    if self.key_code(past, past + code) != 0:
                        past = self.blank(past + code)
                        if past < self.end and self.buf[past] == 58:
                            return at
                elif past + 8 >= self.end and not self.final:
                    return at
            if self.buf[at] > 32:
                last = self.buf[at]
            at += 1
        return self.end

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def attempt(self, careful: cython.bint) -> cython.Py_ssize_t:
        """``read_event`` within ``longest`` bytes, with what it counted taken back if it fails."""
        words: cython.longlong = self.damage[2]
        times: cython.longlong = self.damage[3]
        value_row: cython.Py_ssize_t = self.value_row
        end: cython.Py_ssize_t = self.end
        past: cython.Py_ssize_t
        if end - self.at > self.longest:
            self.end = self.at + self.longest
        self.careful = careful
        past = self.read_event(self.at)
        self.careful = False
        if past == -1 and self.end < end:
            past = -3
        self.end = end
        if past < 0:
            self.value_row = value_row
            self.damage[2] = words
            self.damage[3] = times
        return past

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def one(self) -> cython.bint:
        """Read the event at ``at``, carefully if need be, or leave it out; False to stop."""
        past: cython.Py_ssize_t = self.attempt(False)
        if past == -3:
            past = self.attempt(True)
            self.damage[1] += past >= 0
        if past >= 0:
            self.at = past
            self.row += 1
            if self.longest < 1048576:
                self.longest += 256
            return True
        if past == -2:
            return False
        if past == -1 and not self.final:
            self.reason = 0
            return False
        # What is tried in vain must not cost more than the text is long, whoever wrote it.
        if self.longest > 16384:
            self.longest //= 2
        past = self.next_event(self.at + 1)
        if self.final and past >= self.end:
            self.reason = 0  # the text ends inside of an event
            return False
        self.damage[0] += 1
        self.at = past
        return True

    def skip(self, buf: memoryview, at: int, end: int, final: bool) -> int:
        """The position behind the value at ``at``; -1 if it goes on, -3 if it is none."""
        self.buf = buf
        self.end = end
        self.final = final
        if at < end and self.buf[at] == 34:
            return self.text_end(at, False)
        return self.value_end(at)

    def scan(self, buf: memoryview, at: int, end: int, final: bool) -> None:
        """Read events from ``at`` on.

        Args:
            buf: The bytes at hand.
            at: Where to begin: in the list, between two events.
            end: Where the bytes at hand end.
            final: Whether nothing follows them.
        """
        self.buf = buf
        self.at = at
        self.end = end
        self.final = final
        self.reason = 0
        with cython.nogil:
            while True:
                self.at = self.blank(self.at)
                if self.at >= self.end:
                    self.reason = 0
                    break
                if self.buf[self.at] == 44:
                    self.at += 1
                    continue
                if self.buf[self.at] == 93:
                    self.at += 1
                    self.reason = 1
                    break
                if self.buf[self.at] != 123:
                    self.damage[4] += 1
                    self.at = self.next_event(self.at)
                    continue
                if self.row >= self.phase.shape[0]:
                    self.reason = 2
                    break
                if not self.one():
                    break
