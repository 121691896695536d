"""Whether something is anywhere in a recording, found without building the table of it.

A question is first asked of names: what the file names nowhere, no event has. Only then events
are looked at, and only up to the first that answers it: the beginnings of all lines first, then
ever longer stretches of them, since what a recording holds it mostly holds throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from stepscope.columns import stats_by_name
from stepscope.columns.space import DATA_OCCURRENCES, I32, I64, NUMBER_KINDS, Bool
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import Ints, StatTexts

_FIRST_EVENTS: Final = 1 << 10
_MOST_EVENTS: Final = 1 << 20
_GROWTH: Final = 4


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


@derived
def stat_rows(host: Host) -> dict[str, list[int]]:
    """Rows in ``Space.stat_metadata`` by name: planes give equal names different rows.

    What is not among them, no event has as a stat.
    """
    found: dict[str, list[int]] = {}
    for row, name in enumerate(host.space.stat_metadata.name):
        found.setdefault(name, []).append(row)
    return found


def entries_named(host: Host, wanted: Callable[[str], bool]) -> Bool:
    """The rows of ``Space.event_metadata`` whose name is wanted, as a mask."""
    return np.asarray([wanted(name) for name in host.space.event_metadata.name], dtype=bool)


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
