"""Whether something is anywhere in a recording, found without building the table of it.

A question is first asked of names: what the file names nowhere, no event has. Only then events
are looked at, and only up to the first that answers it: the beginnings of all lines first, then
ever longer stretches of them, since what a recording holds it mostly holds throughout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from stepscope.columns import stats_by_name
from stepscope.columns.space import DATA_OCCURRENCES, I32, I64, NUMBER_KINDS, Bool
from stepscope.records import dataclass
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import Ints, StatTexts

_FIRST_EVENTS: Final = 1 << 10
_MOST_EVENTS: Final = 1 << 20
_GROWTH: Final = 4
_COUNTER: Final = re.compile(r"(?<=[_/:.])[0-9]+(?![0-9A-Za-z])")
_CHARS: Final = [chr(code) for code in range(128)]
_BEFORE_COUNTER: Final = np.asarray([char in "_/:." for char in _CHARS])
_IN_WORD: Final = np.asarray([char.isalpha() for char in _CHARS])


class Stretch:
    """Consecutive events of one line, by row from ``begin`` on; masks are over them."""

    def __init__(self, host: Host, begin: int, end: int) -> None:
        self._host = host
        self._space = host.space
        self._begin = begin
        self._end = end

    @property
    def entry(self) -> I32:
        """Row in ``Space.event_metadata`` of each event."""
        return self._space.events.metadata[self._begin : self._end]

    @property
    def start_ps(self) -> I64:
        """Start of each event."""
        return self._space.events.start_ps[self._begin : self._end]

    @property
    def length_ps(self) -> I64:
        """Length of each event: its duration, 0 where it ends before it begins."""
        length: I64 = np.maximum(self._space.events.duration_ps[self._begin : self._end], 0)
        return length

    @property
    def timed(self) -> Bool:
        """Events that have a place in time."""
        timed: Bool = self._space.events.data[self._begin : self._end] != DATA_OCCURRENCES
        return timed

    def has(self, name: str) -> Bool:
        """Events that carry the stat of this name."""
        mask = np.zeros(self._end - self._begin, dtype=bool)
        keys_of = stat_rows(self._host).get(name)
        if keys_of:
            # The last is for stats without metadata, whose key is -1.
            wanted = np.zeros(len(self._space.stat_metadata) + 1, dtype=bool)
            wanted[keys_of] = True
            begin = self._space.events.stat_begin[self._begin : self._end + 1]
            keys = self._space.event_stats.key[int(begin[0]) : int(begin[-1])]
            places = np.flatnonzero(wanted[keys]) + begin[0]
            mask[np.searchsorted(begin, places, side="right") - 1] = True
        return mask

    def has_known(self, name: str) -> Bool:
        """Events that carry the stat of this name as a number, which NaN is not."""
        column = stats_by_name(self._space, (name,), self._begin, self._end)[name]
        mask = np.zeros(self._end - self._begin, dtype=bool)
        mask[column.rows[~np.isnan(column.floats)] - self._begin] = True
        return mask

    def has_number(self) -> Bool:
        """Events that carry any stat whose value is a number."""
        mask = np.zeros(self._end - self._begin, dtype=bool)
        begin = self._space.events.stat_begin[self._begin : self._end + 1]
        kinds = self._space.event_stats.kind[int(begin[0]) : int(begin[-1])]
        places = np.flatnonzero(np.isin(kinds, NUMBER_KINDS)) + begin[0]
        mask[np.searchsorted(begin, places, side="right") - 1] = True
        return mask

    def ints(self, name: str, default: int) -> I64:
        """The stat of each event as an integer, ``default`` where it has none."""
        column = stats_by_name(self._space, (name,), self._begin, self._end)[name]
        return Ints(column.rows, column.ints).at(self._rows, default)

    def texts(self, name: str, default: str = "") -> list[str]:
        """The stat of each event as text, ``default`` where it has none."""
        column = stats_by_name(self._space, (name,), self._begin, self._end)[name].texts
        codes = StatTexts(column.rows, column.codes, column.values).at(self._rows)
        return [column.values[code] if code >= 0 else default for code in codes.tolist()]

    @property
    def _rows(self) -> I64:
        return np.arange(self._begin, self._end, dtype=np.int64)


def stat_rows(host: Host) -> dict[str, list[int]]:
    """Rows in ``Space.stat_metadata`` by name: planes give equal names different rows.

    What is not among them, no event has as a stat.
    """
    return host.space.stat_metadata.rows_by_name


def entries_named(host: Host, wanted: Callable[[str], bool]) -> Bool:
    """The rows of ``Space.event_metadata`` whose name is wanted, as a mask."""
    return np.asarray([wanted(name) for name in host.space.event_metadata.name], dtype=bool)


def entries_called(host: Host, names: Iterable[str]) -> Bool:
    """The rows of ``Space.event_metadata`` with one of these names, as a mask."""
    metadata = host.space.event_metadata
    mask = np.zeros(len(metadata), dtype=bool)
    mask[[row for name in names for row in metadata.rows_by_name.get(name, ())]] = True
    return mask


def entries_starting(host: Host, *prefixes: str) -> Bool:
    """The rows of ``Space.event_metadata`` whose name starts with one of these, as a mask."""
    listed = _names_in_lines(host)
    likely = tuple(prefix for prefix in prefixes if f"\n{prefix}" in listed)
    if not likely:
        return np.zeros(len(host.space.event_metadata), dtype=bool)
    return entries_named(host, lambda name: name.startswith(likely))


@derived
def _names_in_lines(host: Host) -> str:
    """All event names, each after a line break: one look finds what no name starts with."""
    return "\n".join(["", *host.space.event_metadata.name])


@dataclass(frozen=True, eq=False, slots=True)
class NameShapes:
    """Names that differ only in counters, such as ``cond_17/_48`` and ``cond_3/_101``, as one.

    Attributes:
        texts: The distinct shapes: names in which each counter is 0.
        of_entry: Index into ``texts`` of each row of ``Space.event_metadata``.
    """

    texts: list[str]
    of_entry: I64


@derived
def name_shapes(host: Host) -> NameShapes:
    """Group the event names of a host by shape.

    A counter is a number that follows one of ``_ / : .`` and starts no word. Graphs number their
    nodes: a recording of 5,118 names has 330 shapes.
    """
    metadata = host.space.event_metadata.name
    if not metadata:
        return NameShapes([], np.zeros(0, dtype=np.int64))
    shapes = _without_counters("\n".join(metadata)).split("\n")
    if len(shapes) != len(metadata):  # names of several lines
        shapes = [_without_counters(name) for name in metadata]
    index = {shape: row for row, shape in enumerate(dict.fromkeys(shapes))}
    return NameShapes(list(index), np.asarray([index[shape] for shape in shapes], dtype=np.int64))


def entries_shaped(host: Host, wanted: Callable[[str], bool]) -> Bool:
    """``entries_named`` for a question that counters in names do not decide, once per shape."""
    shapes = name_shapes(host)
    answers = np.asarray([wanted(shape) for shape in shapes.texts], dtype=bool)
    mask: Bool = answers[shapes.of_entry]
    return mask


def _without_counters(text: str) -> str:
    """The text with 0 in place of each counter."""
    if not text.isascii():
        return _COUNTER.sub("0", text)
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    is_digit = (data >= ord("0")) & (data <= ord("9"))
    before = np.append(False, is_digit[:-1])
    starts = np.flatnonzero(is_digit & ~before)
    ends = np.flatnonzero(before & ~is_digit)
    if len(ends) < len(starts):
        ends = np.append(ends, len(data))
    # The sentinel stands before the first and after the last byte, where no word goes on.
    padded = np.append(data, ord("\n")).astype(np.uint8)
    is_counter = _BEFORE_COUNTER[padded[starts - 1]] & ~_IN_WORD[padded[ends]]
    starts, ends = starts[is_counter], ends[is_counter]
    drop = np.zeros(len(data) + 1, dtype=np.int8)
    drop[starts + 1] += 1
    drop[ends] -= 1
    kept = data.copy()
    kept[starts] = ord("0")
    shaped: bytes = kept[np.cumsum(drop[:-1], dtype=np.int8) == 0].tobytes()
    return shaped.decode()


def any_stretch(host: Host, lines: Iterable[int], test: Callable[[Stretch], bool]) -> bool:
    """Whether ``test`` is true of any stretch of events of these rows of ``Space.lines``.

    Every event of the lines is in exactly one stretch; the first that passes ends the search.
    """
    todo = [(line.begin, line.end) for line in (host.space.lines[row] for row in lines)]
    length = _FIRST_EVENTS
    while todo:
        left = []
        for begin, end in todo:
            cut = min(end, begin + length)
            if cut > begin and test(Stretch(host, begin, cut)):
                return True
            if cut < end:
                left.append((cut, end))
        todo, length = left, min(_GROWTH * length, _MOST_EVENTS)
    return False


def any_event(
    host: Host,
    lines: Iterable[int],
    *,
    entries: Bool | None = None,
    stats: Iterable[str] = (),
    timed: bool = True,
) -> bool:
    """Whether an event on these lines is of one of the entries, or carries one of the stats.

    Args:
        host: Whose.
        lines: Rows in ``Space.lines``.
        entries: Rows in ``Space.event_metadata``, as a mask.
        stats: Names of stats.
        timed: Whether only events with a place in time count.
    """
    known = [name for name in stats if name in stat_rows(host)]
    if not known and (entries is None or not entries.any()):
        return False

    def test(stretch: Stretch) -> bool:
        found = np.zeros(len(stretch.entry), dtype=bool)
        if entries is not None:
            found |= entries[stretch.entry]
        for name in known:
            found |= stretch.has(name)
        return bool((found & stretch.timed).any() if timed else found.any())

    return any_stretch(host, lines, test)
