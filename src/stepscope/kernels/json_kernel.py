# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernel that finds the events of a JSON trace, whatever the layout of its text.

Compiled by Cython in pure-Python mode; the same source runs uncompiled, slowly. Bytes come
from strangers: no byte is read at or past the end of what is there. It finds *tokens* only, the
places of values in the text; ``json_values_kernel`` reads them.

An event is read as sound JSON first. Where that fails it is read again *carefully*: a quote then
ends a value only if what follows can follow a value. Where that fails, too, the event is left out.

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
    """Lists the tokens of events.

    A token is (what, key_begin, key_end, begin, end). ``what`` is 0 where an event begins, else
    the key of the event whose value is ``begin:end``: 1 ph, 2 ts, 3 id, 4 cat, 5 pid,
    6 tid, 7 dur, 8 name; 9 is a value of ``args``, with its own key in ``key_begin:key_end``.
    Texts are as in the file, quotes and escapes included. Other keys are skipped.

    Why ``scan`` came back is in ``reason``: 0 more bytes are needed, 1 the list of events ended,
    2 no room for tokens. ``at`` is where to go on. ``lost`` events were left out, ``repaired`` ones
    read carefully; ``garbage`` is the number of places between events with other bytes.
    """

    buf: cython.const[cython.uchar][::1]
    end: cython.Py_ssize_t
    final: cython.bint
    careful: cython.bint
    longest: cython.Py_ssize_t
    what: cython.uchar[::1]
    key_begin: cython.int[::1]
    key_stop: cython.int[::1]
    begin: cython.int[::1]
    stop: cython.int[::1]
    at = cython.declare(cython.Py_ssize_t, visibility="public")
    reason = cython.declare(cython.int, visibility="public")
    tokens = cython.declare(cython.Py_ssize_t, visibility="public")
    lost = cython.declare(cython.Py_ssize_t, visibility="public")
    repaired = cython.declare(cython.Py_ssize_t, visibility="public")
    garbage = cython.declare(cython.Py_ssize_t, visibility="public")

    def __init__(
        self, columns: tuple[memoryview, memoryview, memoryview, memoryview, memoryview]
    ) -> None:
        """A scanner that writes tokens into these columns: what, key begin and end, begin, end."""
        self.what, self.key_begin, self.key_stop, self.begin, self.stop = columns
        self.at = self.tokens = self.lost = self.repaired = self.garbage = 0
        self.reason = 0
        self.careful = False
        self.longest = 1048576

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def blank(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The next position that is not white space."""
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
        # After a comma comes a key, short and without a quote, then a colon.
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
        """The position after the text that begins with the quote at ``at``; -1: it goes on."""
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
        """The position after the value at ``at``; -1: it goes on, -3: it is none."""
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
    def key_code(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """Which key of an event is in the quotes ``at:end``: 0 none of interest."""
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
    def put(
        self,
        what: cython.uchar,
        key: cython.Py_ssize_t,
        key_stop: cython.Py_ssize_t,
        begin: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
    ) -> cython.bint:
        """Write a token; False without room."""
        row: cython.Py_ssize_t = self.tokens
        if row >= self.what.shape[0]:
            self.reason = 2
            return False
        self.what[row] = what
        self.key_begin[row] = key
        self.key_stop[row] = key_stop
        self.begin[row] = begin
        self.stop[row] = stop
        self.tokens = row + 1
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_object(self, at: cython.Py_ssize_t, inside: cython.bint) -> cython.Py_ssize_t:
        """Read the event, or what is ``inside`` its ``args``, whose brace is at ``at``.

        Returns the position after it; -1 if more bytes are needed, -2 without room, -3 if it is
        not JSON.
        """
        key: cython.Py_ssize_t
        key_stop: cython.Py_ssize_t
        past: cython.Py_ssize_t
        code: cython.int = 9
        at = self.blank(at + 1)
        while at < self.end:
            if self.buf[at] == 125:
                return at + 1
            if self.buf[at] == 44:
                at = self.blank(at + 1)
                continue
            if self.buf[at] != 34:
                return -3
            key = at
            key_stop = self.text_end(at, True)
            if key_stop < 0:
                return key_stop
            if not inside:
                code = self.key_code(key, key_stop)
            at = self.blank(key_stop)
            if at >= self.end:
                return -1
            if self.buf[at] != 58:
                return -3
            at = self.blank(at + 1)
            if at >= self.end:
                return -1
            if code == 9 and not inside and self.buf[at] == 123:
                past = self.read_object(at, True)
            elif self.buf[at] == 34:
                past = self.text_end(at, False)
            else:
                past = self.value_end(at)
            if past < 0:
                return past
            if code != 0 and (code != 9 or inside) and not self.put(code, key, key_stop, at, past):
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
        """Read the event at ``at`` within ``longest`` bytes; no token is left if it fails."""
        tokens: cython.Py_ssize_t = self.tokens
        end: cython.Py_ssize_t = self.end
        past: cython.Py_ssize_t = -2
        if end - self.at > self.longest:
            self.end = self.at + self.longest
        self.careful = careful
        if self.put(0, 0, 0, 0, 0):
            past = self.read_object(self.at, False)
        self.careful = False
        if past == -1 and self.end < end:
            past = -3
        self.end = end
        if past < 0:
            self.tokens = tokens
        return past

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def one(self) -> cython.bint:
        """Read the event at ``at``, carefully if need be, or leave it out; False to stop."""
        past: cython.Py_ssize_t = self.attempt(False)
        if past == -3:
            past = self.attempt(True)
            self.repaired += past >= 0
        if past >= 0:
            self.at = past
            if self.longest < 1048576:
                self.longest += 256
            return True
        if past == -2:
            return False
        if past == -1 and not self.final:
            self.reason = 0
            return False
        # Failed attempts must not cost more than the text is long, even where it is hostile.
        if self.longest > 16384:
            self.longest //= 2
        past = self.next_event(self.at + 1)
        if self.final and past >= self.end:
            self.reason = 0  # the text ends inside of an event
            return False
        self.lost += 1
        self.at = past
        return True

    def skip(self, buf: memoryview, at: int, end: int, final: bool) -> int:
        """The position after the value at ``at``; -1 if it goes on, -3 if it is none."""
        self.buf = buf
        self.end = end
        self.final = final
        if at < end and self.buf[at] == 34:
            return self.text_end(at, False)
        return self.value_end(at)

    def scan(self, buf: memoryview, at: int, end: int, final: bool) -> None:
        """Read events from ``at`` on; tokens are written from the first place.

        Args:
            buf: The bytes at hand.
            at: Where to begin: in the list, between two events.
            end: Where the bytes at hand end; less than 2 GiB.
            final: Whether nothing follows them.
        """
        self.buf = buf
        self.at = at
        self.end = end
        self.final = final
        self.reason = 0
        self.tokens = 0
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
                    self.garbage += 1
                    self.at = self.next_event(self.at)
                    continue
                if not self.one():
                    break
