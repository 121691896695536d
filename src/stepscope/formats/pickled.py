"""Pickles of plain values, read without running anything.

A pickle is a program. This interpreter knows the instructions that make dicts, lists, tuples,
texts and numbers, and no other: what would import, call or build an object ends the reading with
the name of the instruction and its place. Values are made as ``pickle`` would make them, cycles
and shared parts included: who walks them goes to a fixed depth, and to each object once. Keys are
texts and numbers, since the hash of a tuple walks all that is in it.
"""

from __future__ import annotations

import pickletools
import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.errors import FormatError
from stepscope.limits import current

_LOOKAHEAD_BYTES: Final = 1 << 16
_LONGEST_TEXT_BYTES: Final = 1 << 20
_LONGEST_INTEGER_BYTES: Final = 16
_BETWEEN_LOOKS: Final = 1 << 16
_MAX_KEY: Final = 1 << 63
_NAMES: Final = {ord(one.code): one.name for one in pickletools.opcodes}
# Lists that others may be equal to.
_MOST_SHARED: Final = 1 << 17
#: What a dict becomes once it is whole: a number that stands for it, or None to keep it.
Replace = Callable[[dict[Any, Any]], int | None]


def loaded(
    pieces: Iterable[bytes], *, title: str, file: str, replace: Replace | None = None
) -> Any:
    """The value in a pickle.

    Args:
        pieces: Its bytes.
        title: What kind of file it should be, for reports.
        file: Its name for reports.
        replace: Asked about each dict that is whole; what it gives stands for the dict, which is
            emptied. Millions of small dicts are thus never in memory together. Where it is given,
            lists of the same elements in such dicts are one, and in lists numbers that follow on
            each other are a ``range``.

    Raises:
        FormatError: It would do something else than make plain values, is cut, or has no end.
    """
    return _Machine(pieces, title, file, replace).run()


def named_rows(entries: list[Any], count: int) -> tuple[NDArray[np.int64], int]:
    """The rows that a list names which ``loaded`` gives, and how many of its entries name none.

    Args:
        entries: The list, with numbers and ranges where dicts were.
        count: How many rows there are.
    """
    parts, others = [np.zeros(0, np.int64)], 0
    for one in entries:
        run = one if isinstance(one, range) else range(one, one + 1) if type(one) is int else None
        begin = 0 if run is None else min(max(run.start, 0), count)
        end = 0 if run is None else max(min(run.stop, count), begin)
        others += (1 if run is None else run.stop - run.start) - (end - begin)
        parts.append(np.arange(begin, end))
    return np.concatenate(parts), others


class _Refused(Exception):
    """Why a pickle is not read on."""


class _Machine:
    def __init__(
        self, pieces: Iterable[bytes], title: str, file: str, replace: Replace | None
    ) -> None:
        self._pieces = iter(pieces)
        self._title, self._file, self._replace = title, file, replace
        self._data = b""
        self._at = 0
        self._before = 0  # bytes of the file that are let go already
        self._is_ended = False
        self._stack: list[Any] = []  # above the last mark
        self._below: list[list[Any]] = []  # for each mark, what is below it
        # Picklers number what they keep in order: millions of entries are a list of them. A dict
        # that something else stands for gives its place to that, whatever refers to it later.
        self._memo: list[Any] = []
        self._far: dict[int, Any] = {}
        self._place_of: dict[int, int] = {}
        # Places of dicts that numbers stand for, in the order of these places, and the numbers.
        self._replaced, self._numbers = array("q"), array("q")
        self._shared: dict[bytes, list[Any]] = {}
        self._budget = current()

    def run(self) -> Any:
        """Every instruction up to STOP."""
        try:
            return self._run()
        except _Refused as refused:
            reason = str(refused)
        except (IndexError, struct.error):
            reason = "it is cut, or takes values that are not there"
        except (TypeError, AttributeError, ValueError, KeyError) as error:
            reason = f"an instruction meets a value that it cannot be for ({error})"
        raise FormatError(
            self._title,
            f"{reason}, at byte {self._before + self._at:,}",
            file=self._file,
            hint="Only plain values are read from pickles. Save the file again, with nothing added "
            "to what the tool gives.",
        )

    def _run(self) -> Any:
        handlers = _HANDLERS
        done = 0
        while True:
            if self._at + _LOOKAHEAD_BYTES > len(self._data) and not self._is_ended:
                self._refill(_LOOKAHEAD_BYTES)
            opcode = self._data[self._at]
            self._at += 1
            if opcode == _STOP:
                return self._stack.pop()
            handler = handlers.get(opcode)
            if handler is None:
                name = _NAMES.get(opcode, f"{opcode:#04x}")
                raise _Refused(f"the instruction {name} makes no plain value; it was not run")
            handler(self)
            done += 1
            if done % _BETWEEN_LOOKS == 0:
                self._budget.spend("objects", _BETWEEN_LOOKS)

    def _refill(self, size: int) -> None:
        """Have so many bytes at hand, if there are."""
        parts = [self._data[self._at :]]
        have = len(parts[0])
        while have < size + _LOOKAHEAD_BYTES:
            piece = next(self._pieces, None)
            if piece is None:
                self._is_ended = True
                break
            parts.append(piece)
            have += len(piece)
        self._before += self._at
        self._data, self._at = b"".join(parts), 0

    def _take(self, size: int) -> bytes:
        if self._at + size > len(self._data):
            self._refill(size)
            if size > len(self._data):
                raise _Refused("it is cut")
        found = self._data[self._at : self._at + size]
        self._at += size
        return found

    def _few(self, size: int) -> bytes:
        """So few bytes that they are at hand, as ``_run`` sees to; fewer only where it is cut."""
        at = self._at
        self._at = at + size
        return self._data[at : at + size]

    def _number(self, size: int) -> int:
        return int.from_bytes(self._few(size), "little")

    def _line(self) -> bytes:
        end = self._data.find(b"\n", self._at, self._at + _LOOKAHEAD_BYTES)
        if end < 0:
            raise _Refused("a number as text has no end")
        return self._take(end + 1 - self._at)[:-1]

    def _marked(self) -> list[Any]:
        """What is above the last mark, which goes."""
        found, self._stack = self._stack, self._below.pop()
        return found

    # One method for each instruction.

    def proto(self) -> None:
        if self._number(1) > 5:
            raise _Refused("it is of a protocol that is not known")

    def frame(self) -> None:
        self._take(8)

    def mark(self) -> None:
        self._below.append(self._stack)
        self._stack = []
        self._budget.nest(len(self._below))

    def memoize(self) -> None:
        self._keep(len(self._memo) + len(self._far))

    def binput(self) -> None:
        self._keep(self._data[self._at])
        self._at += 1

    def long_binput(self) -> None:
        self._keep(self._number(4))

    def _keep(self, number: int) -> None:
        value = self._stack[-1]
        if number == len(self._memo):
            self._memo.append(value)
            if self._far:
                self._far.pop(number, None)
        elif number < len(self._memo):
            self._memo[number] = value
        else:
            self._far[number] = value
        if self._replace is not None and not value and type(value) in (dict, list):
            self._place_of[id(value)] = number

    def binget(self) -> None:
        self._get(self._data[self._at])
        self._at += 1

    def long_binget(self) -> None:
        self._get(self._number(4))

    def _get(self, number: int) -> None:
        value = self._memo[number] if number < len(self._memo) else self._far[number]
        if value is _NUMBER:
            value = self._numbers[bisect_left(self._replaced, number)]
        self._stack.append(value)

    def none(self) -> None:
        self._stack.append(None)

    def true(self) -> None:
        self._stack.append(True)

    def false(self) -> None:
        self._stack.append(False)

    def int_line(self) -> None:
        line = self._line()
        if len(line) > 40:
            raise _Refused("a number has too many digits")
        known = {b"00": False, b"01": True}
        self._stack.append(known[line] if line in known else int(line.removesuffix(b"L")))

    def binint(self) -> None:
        self._stack.append(int.from_bytes(self._few(4), "little", signed=True))

    def binint1(self) -> None:
        self._stack.append(self._data[self._at])
        self._at += 1

    def binint2(self) -> None:
        self._stack.append(self._number(2))

    def long1(self) -> None:
        self._long(self._number(1))

    def long4(self) -> None:
        self._long(self._number(4))

    def _long(self, size: int) -> None:
        if size > _LONGEST_INTEGER_BYTES:
            raise _Refused(f"a number has {size:,} bytes")
        self._stack.append(int.from_bytes(self._few(size), "little", signed=True))

    def binfloat(self) -> None:
        self._stack.append(struct.unpack(">d", self._few(8))[0])

    def short_text(self) -> None:
        self._text(self._number(1))

    def text(self) -> None:
        self._text(self._number(4))

    def long_text(self) -> None:
        self._text(self._number(8))

    def _text(self, size: int) -> None:
        if size > _LONGEST_TEXT_BYTES:
            raise _Refused(f"a text has {size:,} bytes")
        self._stack.append(self._take(size).decode("utf-8", "replace"))

    def empty_list(self) -> None:
        self._stack.append([])

    def empty_dict(self) -> None:
        self._stack.append({})

    def empty_tuple(self) -> None:
        self._stack.append(())

    def marked_tuple(self) -> None:
        values = tuple(self._marked())
        self._stack.append(values)

    def marked_list(self) -> None:
        values = self._marked()
        self._stack.append(values)

    def marked_dict(self) -> None:
        values = self._marked()
        self._stack.append(dict(zip(map(_key, values[::2]), values[1::2], strict=True)))

    def tuple1(self) -> None:
        self._tuple(1)

    def tuple2(self) -> None:
        self._tuple(2)

    def tuple3(self) -> None:
        self._tuple(3)

    def _tuple(self, size: int) -> None:
        values = tuple(self._stack[-size:])
        if len(values) != size:
            raise _Refused("a tuple lacks values")
        del self._stack[-size:]
        self._stack.append(values)

    def append(self) -> None:
        value = self._stack.pop()
        self._list().append(value)

    def appends(self) -> None:
        values = self._marked()
        into = self._list()
        if self._replace is not None and (run := _run_of(values)) is not None:
            before = into[-1] if into else None
            if type(before) is range and before.stop == run.start:
                into[-1] = range(before.start, run.stop)
            else:
                into.append(run)
        else:
            into.extend(values)

    def _list(self) -> list[Any]:
        found = self._stack[-1]
        if type(found) is not list:
            raise _Refused("values are added to what is not a list")
        return found

    def setitem(self) -> None:
        value, key = self._stack.pop(), _key(self._stack.pop())
        self._dict()[key] = value
        self._offer((key,))

    def setitems(self) -> None:
        values = self._marked()
        keys = [_key(one) for one in values[::2]]
        self._dict().update(zip(keys, values[1::2], strict=True))
        self._offer(keys)

    def _dict(self) -> dict[Any, Any]:
        found = self._stack[-1]
        if type(found) is not dict:
            raise _Refused("entries are added to what is not a dict")
        return found

    def _offer(self, new_keys: Iterable[Any]) -> None:
        if self._replace is None:
            return
        whole = self._stack[-1]
        for key in new_keys:
            value = whole[key]
            if type(value) is list and (place := self._place_of.pop(id(value), -1)) >= 0:
                whole[key] = self._one_of(value, place)
        place = self._place_of.pop(id(whole), -1)
        other = self._replace(whole)
        if other is None:
            return
        whole.clear()
        self._stack[-1] = other
        if 0 <= place < len(self._memo) and self._memo[place] is whole:
            # Millions of numbers would be as many objects.
            if not self._replaced or place > self._replaced[-1]:
                self._memo[place] = _NUMBER
                self._replaced.append(place)
                self._numbers.append(other)
            else:
                self._memo[place] = other

    def _one_of(self, values: list[Any], place: int) -> list[Any]:
        """The first list of these very elements, which takes this one's place."""
        if not values or place >= len(self._memo) or self._memo[place] is not values:
            return values
        # The first list keeps its elements, so that no others get their identities.
        key = array("q", map(id, values)).tobytes()
        if len(self._shared) < _MOST_SHARED:
            first = self._shared.setdefault(key, values)
        else:
            first = self._shared.get(key, values)
        self._memo[place] = first
        return first


def _key(value: Any) -> Any:
    """The key of a dict, whose hash costs no more than its bytes do."""
    if type(value) is str or value is None or (type(value) is int and abs(value) < _MAX_KEY):
        return value
    raise _Refused(f"a key is a {type(value).__name__}, not a text or a number")


def _run_of(values: list[Any]) -> range | None:
    """Whole numbers that follow on each other; None for anything else."""
    first = values[0] if values else None
    if type(first) is not int or type(values[-1]) is not int:
        return None
    # A range of 2**63 numbers has no length that Python could say.
    if values[-1] - first != len(values) - 1:
        return None
    run = range(first, values[-1] + 1)
    return run if all(map(_is_same, values, run)) else None


def _is_same(value: Any, number: int) -> bool:
    return type(value) is int and value == number


# What a dict left that a number stands for.
_NUMBER: Final = object()
_STOP: Final = ord(".")
_HANDLERS: Final[dict[int, Callable[[_Machine], None]]] = {
    0x80: _Machine.proto, 0x95: _Machine.frame, 0x94: _Machine.memoize, ord("("): _Machine.mark,
    ord("q"): _Machine.binput, ord("r"): _Machine.long_binput, ord("h"): _Machine.binget,
    ord("j"): _Machine.long_binget, ord("N"): _Machine.none, 0x88: _Machine.true,
    0x89: _Machine.false, ord("I"): _Machine.int_line, ord("L"): _Machine.int_line,
    ord("J"): _Machine.binint, ord("K"): _Machine.binint1, ord("M"): _Machine.binint2,
    0x8A: _Machine.long1, 0x8B: _Machine.long4, ord("G"): _Machine.binfloat,
    0x8C: _Machine.short_text, ord("X"): _Machine.text, 0x8D: _Machine.long_text,
    ord("]"): _Machine.empty_list, ord("}"): _Machine.empty_dict, ord(")"): _Machine.empty_tuple,
    ord("t"): _Machine.marked_tuple, ord("l"): _Machine.marked_list,
    ord("d"): _Machine.marked_dict, 0x85: _Machine.tuple1, 0x86: _Machine.tuple2,
    0x87: _Machine.tuple3, ord("a"): _Machine.append, ord("e"): _Machine.appends,
    ord("s"): _Machine.setitem, ord("u"): _Machine.setitems,
}  # fmt: skip
