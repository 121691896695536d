"""Search over the whole trace: by name, pattern or the value of a stat."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

import numpy as np

from stepscope.columns import pivot
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.tables.core.profile import Host
from stepscope.timeline.cancellation import CancellationCheck, waits
from stepscope.timeline.model import Timeline, Track

Mode = Literal["substring", "regex"]
# Which of some texts match.
Matches = Callable[[Sequence[str]], Bool]
_CHECK_TEXTS: Final = 256
_LONGEST_PATTERN: Final = 1000
# Of the counted repetitions in a pattern; nested, they multiply.
_REPEATS: Final = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)")
_MOST_REPEATS: Final = 100


class InvalidPattern(ValueError):
    """A search pattern that is not a regular expression, or one that is too large."""


@dataclass(frozen=True, eq=False, slots=True)
class TrackHits:
    """The hits on one track.

    Attributes:
        track: Its id.
        begin_ps: Starts on the axis, ascending.
        event: Event ids, in that order.
    """

    track: int
    begin_ps: I64
    event: I64


@dataclass(frozen=True, slots=True)
class Hits:
    """Everything a search found. Hits are ordered by (start, event id)."""

    tracks: tuple[TrackHits, ...]

    def __len__(self) -> int:
        return sum(len(one.event) for one in self.tracks)

    def columns(self, begin_ps: int, end_ps: int, columns: int) -> I64:
        """How many start in each of ``columns`` equal parts of a view."""
        counts = np.zeros(columns, np.int64)
        edges = begin_ps + (end_ps - begin_ps) * np.arange(columns + 1, dtype=object) // columns
        for one in self.tracks:
            counts += np.diff(np.searchsorted(one.begin_ps, edges.astype(np.int64)))
        return counts

    def after(self, begin_ps: int, event: int = -1) -> tuple[int, int] | None:
        """(start, event id) of the first hit after this place; None after the last."""
        found = []
        for one in self.tracks:
            at = int(np.searchsorted(one.begin_ps, begin_ps))
            while at < len(one.event) and (one.begin_ps[at], one.event[at]) <= (begin_ps, event):
                at += 1
            if at < len(one.event):
                found.append((int(one.begin_ps[at]), int(one.event[at])))
        return min(found, default=None)

    def before(self, begin_ps: int, event: int = 0) -> tuple[int, int] | None:
        """(start, event id) of the last hit ahead of this place; None ahead of the first."""
        found = []
        for one in self.tracks:
            at = int(np.searchsorted(one.begin_ps, begin_ps, side="right")) - 1
            while at >= 0 and (one.begin_ps[at], one.event[at]) >= (begin_ps, event):
                at -= 1
            if at >= 0:
                found.append((int(one.begin_ps[at]), int(one.event[at])))
        return max(found, default=None)

    def first(self, count: int, begin_ps: int | None = None) -> list[tuple[int, int]]:
        """(start, event id) of the first ``count`` hits, from a time on."""
        candidates: list[tuple[int, int]] = []
        for one in self.tracks:
            at = 0 if begin_ps is None else int(np.searchsorted(one.begin_ps, begin_ps))
            part = slice(at, at + count)
            candidates += zip(one.begin_ps[part].tolist(), one.event[part].tolist(), strict=True)
        return sorted(candidates)[:count]


def search(
    timeline: Timeline,
    query: str,
    *,
    mode: Mode = "substring",
    stat: str = "",
    tracks: Sequence[int] | None = None,
    check: CancellationCheck = waits,
) -> Hits:
    """Find events in the whole trace.

    Args:
        timeline: The session.
        query: Text (upper and lower case are the same) or a regular expression.
        mode: How to read ``query``.
        stat: Look at the values of this stat, of the event or of its kind, instead of names.
        tracks: Only these tracks; all by default.
        check: Called now and then; may raise, and the search is not kept then.

    Raises:
        InvalidPattern: The regular expression is not valid.
    """
    key = (query, mode, stat, None if tracks is None else tuple(tracks))
    kept = timeline.searches.get(key)
    if isinstance(kept, Hits):
        return kept
    matches = _checked(matcher(query, mode), check)
    chosen = timeline.tracks if tracks is None else [timeline.tracks[i] for i in tracks]
    chosen = [track for track in chosen if track.counter is None]
    found = (
        _search_stats(timeline, stat, matches, chosen)
        if stat
        else _search_names(timeline, matches, chosen)
    )
    hits = Hits(tuple(_nonempty(found, check)))
    # Stepping from hit to hit asks the same again; more than one search is rarely looked at.
    timeline.searches.clear()
    timeline.searches[key] = hits
    return hits


def matcher(query: str, mode: Mode) -> Matches:
    """Which texts match the query.

    Expressions are Rust's: they take time in proportion to the text, whatever they are. Python's
    can take forever, and block every other thread meanwhile.

    Raises:
        InvalidPattern: The regular expression is not valid, or too large.
    """
    if mode == "regex":
        return _expression(query)
    low = query.lower()
    return lambda texts: np.fromiter((low in text.lower() for text in texts), bool, len(texts))


def _expression(query: str) -> Matches:
    import polars as pl

    def matches(texts: Sequence[str]) -> Bool:
        found: Bool = pl.Series("", texts, dtype=pl.String).str.contains(query).to_numpy()
        return found

    counts = [int(count[:9]) for pair in _REPEATS.findall(query) for count in pair if count]
    most = max(counts, default=0)
    if len(query) > _LONGEST_PATTERN or most > _MOST_REPEATS:
        raise InvalidPattern(
            f"It is longer than {_LONGEST_PATTERN} characters, or repeats more than "
            f"{_MOST_REPEATS} times."
        )
    try:
        matches([""])
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n\nThis error")[0].strip()
        raise InvalidPattern(reason.rpartition("error: ")[2]) from error
    return matches


def _checked(matches: Matches, check: CancellationCheck) -> Matches:
    """The same, with a check every few thousand texts: there may be millions."""

    def checked(texts: Sequence[str]) -> Bool:
        parts = [np.zeros(0, dtype=bool)]
        for first in range(0, len(texts), _CHECK_TEXTS):
            check()
            parts.append(matches(texts[first : first + _CHECK_TEXTS]))
        return np.concatenate(parts)

    return checked


def _nonempty(found: Iterable[TrackHits], check: CancellationCheck) -> Iterable[TrackHits]:
    for one in found:
        check()
        if len(one.event):
            yield one


def _search_names(
    timeline: Timeline, matches: Matches, tracks: Iterable[Track]
) -> Iterable[TrackHits]:
    good = matches(timeline.names)
    full: dict[int, Bool] = {}
    for track in tracks:
        codes = good[track.labels.name] if len(good) else np.zeros(0, dtype=bool)
        if not track.derived:
            if track.host not in full:
                full[track.host] = _long_names(timeline.profile.hosts[track.host], matches)
            codes = codes | full[track.host]
        yield _hits(timeline, track, np.flatnonzero(codes[track.code]))


def _long_names(host: Host, matches: Matches) -> Bool:
    """Rows of event metadata whose full name matches although a display name is shown."""
    meta = host.space.event_metadata
    found = np.zeros(len(meta), dtype=bool)
    rows = [row for row, label in enumerate(meta.display_name) if label and label != meta.name[row]]
    found[rows] = matches([meta.name[row] for row in rows])
    return found


def _search_stats(
    timeline: Timeline, stat: str, matches: Matches, tracks: Iterable[Track]
) -> Iterable[TrackHits]:
    rows_of: dict[int, tuple[I64, Bool]] = {}
    for track in tracks:
        if track.derived:
            continue
        if track.host not in rows_of:
            rows_of[track.host] = _rows_with(timeline.profile.hosts[track.host], stat, matches)
        rows, kinds = rows_of[track.host]
        first = track.first_event - timeline.first_event[track.host]
        low, high = np.searchsorted(rows, [first, first + len(track.start_ps)]).tolist()
        index = rows[low:high] - first
        if kinds.any():
            index = np.union1d(index, np.flatnonzero(kinds[track.code]))
        yield _hits(timeline, track, index)


def _rows_with(host: Host, stat: str, matches: Matches) -> tuple[I64, Bool]:
    """Event rows, and rows of event metadata, whose stat has a matching value."""
    space = host.space
    kinds = np.zeros(len(space.event_metadata), dtype=bool)
    kinds[_matching(pivot.metadata_stats_by_name(space, (stat,))[stat], matches)] = True
    return np.unique(_matching(pivot.stats_by_name(space, (stat,))[stat], matches)), kinds


def _matching(column: pivot.StatColumn, matches: Matches) -> I64:
    texts = column.texts
    good = matches(texts.values)
    rows: I64 = texts.rows[good[texts.codes]] if len(good) else texts.rows[:0]
    return rows


def _hits(timeline: Timeline, track: Track, index: I64) -> TrackHits:
    if track.select is not None:
        index = np.intersect1d(index, track.select)
    start = track.start_ps[index] + timeline.axis.shift_ps[track.host]
    if np.any(start[1:] < start[:-1]):
        order = np.argsort(start, kind="stable")
        start, index = start[order], index[order]
    return TrackHits(track.id, start, index.astype(np.int64) + track.first_event)
