"""Which of many strings in a file are equal, without making each of them a Python object.

Writers that do not refer to a string by number write it out at every event: a million samples of
a counter hold its description a million times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.columns.space import I64, KIND_BYTES, KIND_STR, U64, Space

# Odd, with its bits well spread: the golden ratio in 64 bits.
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
_TURN: Final = np.uint64(29)
_WORD: Final = 8
# Shorter stretches between strings are not worth giving back.
_STRETCH_BYTES: Final = 1 << 17
# Stats that are looked at at once.
_PIECE: Final = 1 << 18
#: The first and the last bytes tell one file from another: they are never given back.
ENDS_BYTES: Final = 1 << 16


def stretches_without_text(space: Space) -> list[tuple[int, int]]:
    """Stretches of ``Space.buffer`` that nobody reads again: no string of a stat lies in them."""
    size = len(space.buffer)
    parts = [np.zeros(0, np.int64)]
    # A piece at a time: the columns beside it are all that a process should hold.
    for stats in (space.event_stats, space.metadata_stats, space.plane_stats):
        for low in range(0, len(stats), _PIECE):
            kind = stats.kind[low : low + _PIECE]
            is_text = (kind == KIND_STR) | (kind == KIND_BYTES)
            parts.append(stats.value[low : low + _PIECE][is_text].view(np.int64))
    begin = np.concatenate(parts)
    del parts
    if not (begin[1:] >= begin[:-1]).all():
        begin.sort()
    found: list[tuple[int, int]] = []
    read = np.int64(ENDS_BYTES)
    for low in range(0, max(len(begin), 1), _PIECE):
        piece = begin[low : low + _PIECE]
        last = np.maximum.accumulate(np.append(read, _ends(space.buffer, piece)))
        following = np.append(piece, begin[low + _PIECE : low + _PIECE + 1])
        if len(following) < len(last):
            following = np.append(following, size)
        following = np.minimum(following, size - ENDS_BYTES)
        wide = np.flatnonzero(following - last >= _STRETCH_BYTES)
        found += zip(last[wide].tolist(), following[wide].tolist(), strict=True)
        read = last[-1]
    return found


def _ends(buffer: memoryview, offsets: I64) -> I64:
    """Where the strings end whose lengths are at ``offsets``."""
    bytes_ = np.frombuffer(buffer, np.uint8)
    at, size = offsets.copy(), np.zeros(len(offsets), np.int64)
    going = np.arange(len(offsets))
    for shift in range(0, 63, 7):
        byte = bytes_[at[going]].astype(np.int64)
        size[going] |= (byte & 0x7F) << shift
        at[going] += 1
        going = going[byte >= 0x80]
        if not len(going):
            break
    return at + size


def equal_texts(buffer: memoryview, offsets: I64) -> tuple[I64, I64] | None:
    """The distinct strings, in order of where they stand first.

    Strings are compared byte by byte, eight at a time; a sum over each only proposes its partner.

    Args:
        buffer: What they are in.
        offsets: Where the length of each stands, ascending.

    Returns:
        The place in ``offsets`` of the first of each, and for every string which one it is. None
        where only comparing them as objects tells: lengths of 16 KiB and more, or two different
        strings with one sum.
    """
    if len(buffer) < _WORD or len(offsets) == 0:
        return None
    bytes_ = np.frombuffer(buffer, np.uint8)
    low, high = bytes_[offsets], bytes_[np.minimum(offsets + 1, len(bytes_) - 1)]
    is_long = low >= 0x80
    if (is_long & (high >= 0x80)).any():
        return None
    size = np.where(is_long, (low & 0x7F) | (high.astype(np.int64) << 7), low)
    start = offsets + 1 + is_long
    # Spread before anything is added: a text that begins with its own length, as a number, would
    # have the sum of the empty one.
    total = (size.astype(np.uint64) + np.uint64(1)) * _SPREAD
    for at, done in _rounds(size):
        mixed = (total[at] ^ _words(buffer, start[at] + done, size[at] - done)) * _SPREAD
        total[at] = mixed ^ (mixed >> _TURN)
    _sums, first, code = np.unique(total, return_index=True, return_inverse=True)
    partner = first[code]
    if (size != size[partner]).any():
        return None
    for at, done in _rounds(size):
        left = size[at] - done
        mine = _words(buffer, start[at] + done, left)
        if (mine != _words(buffer, start[partner[at]] + done, left)).any():
            return None
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[code]


def _rounds(size: I64) -> Iterator[tuple[I64, int]]:
    """Those that have bytes left after 0, 8, 16 … of them, and how many were before."""
    at, done = np.flatnonzero(size > 0), 0
    while len(at):
        yield at, done
        done += _WORD
        at = at[size[at] > done]


def _words(buffer: memoryview, start: I64, left: I64) -> U64:
    """The next eight bytes of each, or as many as are left, as one number."""
    # Every byte begins a word; words overlap. The last of the file begin before their string.
    words: U64 = np.ndarray(len(buffer) - _WORD + 1, "<u8", buffer, strides=(1,))
    begin = np.minimum(start, len(words) - 1)
    found = words[begin] >> (8 * (start - begin)).astype(np.uint64)
    unwanted = 8 * np.maximum(_WORD - left, 0).astype(np.uint64)
    return (found << unwanted) >> unwanted
