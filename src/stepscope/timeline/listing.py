"""The events of a stretch of time as a frame, for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepscope.columns.space import I64
from stepscope.timeline.model import CATEGORIES, Timeline, Track
from stepscope.timeline.ranges import events_in
from stepscope.timeline.search import Matches

if TYPE_CHECKING:
    import polars as pl


def listing(
    timeline: Timeline,
    begin_ps: int,
    end_ps: int,
    *,
    track: str = "",
    matches: Matches | None = None,
) -> pl.DataFrame:
    """The recorded events that touch a range, by start.

    Args:
        timeline: The session.
        begin_ps: On the axis.
        end_ps: End of the range.
        track: Only tracks whose section or name contains this text, in any case.
        matches: Only events whose name it takes.

    Returns:
        event (its id on the timeline), host, section, track, name, category, start_us (on the
        axis), duration_us. Texts are categories.
    """
    low = track.lower()
    chosen = [
        one
        for one in timeline.tracks
        if one.counter is None
        and not one.derived
        and (low in one.name.lower() or low in timeline.sections[one.section].name.lower())
    ]
    timeline.build_all(chosen)
    good = None
    if matches is not None:
        good = matches(timeline.names)
    parts = []
    for one in chosen:
        index = events_in(timeline, one, begin_ps, end_ps)
        if good is not None:
            index = index[good[one.labels.name[one.code[index]]]]
        if len(index):
            parts.append((one, index))
    return _frame(timeline, parts)


def _frame(timeline: Timeline, parts: list[tuple[Track, I64]]) -> pl.DataFrame:
    import polars as pl

    none: I64 = np.empty(0, np.int64)
    of = np.repeat(np.arange(len(parts)), [len(index) for _, index in parts])
    start = np.concatenate(
        [none, *(t.start_ps[i] + timeline.axis.shift_ps[t.host] for t, i in parts)]
    )
    order = np.argsort(start, kind="stable")
    code = [(t.labels, t.code[i]) for t, i in parts]
    duration = [np.maximum(t.duration_ps[i], 0) for t, i in parts]
    event = np.concatenate([none, *(t.first_event + i for t, i in parts)])
    name = np.concatenate([none, *(labels.name[c] for labels, c in code)])
    category = np.concatenate([none, *(labels.category[c] for labels, c in code)])
    hosts, sections = timeline.profile.hosts, timeline.sections
    of = of[order]

    def words(texts: list[str], at: I64) -> pl.Series:
        return pl.Series(texts, dtype=pl.String).cast(pl.Categorical).gather(at)

    return pl.DataFrame(
        {
            "event": event[order],
            "host": words([hosts[t.host].name for t, _ in parts], of),
            "section": words([sections[t.section].name for t, _ in parts], of),
            "track": words([t.name for t, _ in parts], of),
            "name": words(list(timeline.names), name[order]),
            "category": words(list(CATEGORIES), category[order]),
            "start_us": start[order] / 1e6,
            "duration_us": np.concatenate([none, *duration])[order] / 1e6,
        }
    )
