"""Trace viewer: what ran when, on which track; top names, matches and launch delays of a range.

The page draws tiles (``docs/timeline-format.md``); this answer is the same timeline in tables.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from stepscope.columns.space import I64
from stepscope.errors import UsageError
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Result, Row, Table, ms, us
from stepscope.tables.core.profile import Profile
from stepscope.timeline import CATEGORIES, Timeline, Track, timeline
from stepscope.timeline.listing import listing
from stepscope.timeline.ranges import RETOLD, RangeTotals, events_in, range_totals
from stepscope.timeline.search import InvalidPattern, matcher, search
from stepscope.timeline.selection import time_from

if TYPE_CHECKING:
    import polars as pl


class NameRow(Row):
    """All events of one name in the range."""

    name: Annotated[str, Column("Name", kind="name")]
    category: Annotated[str, Column("Category", kind="category")]
    count: Annotated[int, Column("Events", kind="count", help="Events that touch the range.")]
    total_time_us: Annotated[
        float, Column("Total time", unit="µs", kind="time", help="Clipped to the range.")
    ]
    self_time_us: Annotated[
        float,
        Column(
            "Self time",
            unit="µs",
            kind="time",
            sort="desc",
            help="Without events nested in them on their track.",
        ),
    ]
    avg_time_us: Annotated[float, Column("Average time", unit="µs", kind="time")]
    max_time_us: Annotated[float, Column("Longest", unit="µs", kind="time")]
    longest_event: Annotated[int, Column("Longest event", kind="number", hidden=True)]


class TrackRow(Row):
    """One track of the timeline and what ran on it in the range."""

    track: Annotated[int, Column("Id", kind="number")]
    host: Annotated[str, Column("Host", kind="category")]
    section: Annotated[str, Column("Section", kind="category")]
    name: Annotated[str, Column("Track", kind="name")]
    kind: Annotated[str, Column("Kind", kind="category")]
    derived: Annotated[
        bool,
        Column(
            "Derived", kind="flag", help="Whether the track is computed, not recorded.", hidden=True
        ),
    ]
    depth: Annotated[
        int,
        Column("Depth", kind="count", help="Number of lanes: the maximum nesting of its events."),
    ]
    events: Annotated[int, Column("Events", kind="count", help="Events that touch the range.")]
    busy_ms: Annotated[float, Column("Busy", unit="ms", kind="time")]
    busy_frac: Annotated[float, Column("Busy share", unit="%", kind="ratio")]
    idle_frac: Annotated[float, Column("Idle share", unit="%", kind="ratio")]


class EventRow(Row):
    """One event."""

    event: Annotated[int, Column("Id", kind="number")]
    host: Annotated[str, Column("Host", kind="category")]
    section: Annotated[str, Column("Section", kind="category")]
    track: Annotated[str, Column("Track", kind="category")]
    name: Annotated[str, Column("Name", kind="name")]
    start_ms: Annotated[float, Column("Start", unit="ms", kind="time", sort="asc")]
    duration_us: Annotated[float, Column("Duration", unit="µs", kind="time")]


class CounterRow(Row):
    """One counter over the whole trace; a selection begins with the value that holds then."""

    host: Annotated[str, Column("Host", kind="category")]
    section: Annotated[str, Column("Section", kind="category")]
    name: Annotated[str, Column("Counter", kind="name")]
    unit: Annotated[str, Column("Unit", kind="category")]
    samples: Annotated[int, Column("Samples", kind="count")]
    least: Annotated[float, Column("Least", kind="number")]
    most: Annotated[float, Column("Most", kind="number", sort="desc")]
    last: Annotated[float, Column("Last", kind="number")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of trace_viewer."""

    from_: Annotated[
        str, Help("Begin of the range: 1.5s, 20ms, 7us, or a number of ms; the trace's begin.")
    ] = ""
    to: Annotated[str, Help("End of the range, as in --from; by default the trace's end.")] = ""
    track: Annotated[str, Help("Only tracks whose section or name contains this text.")] = ""
    find: Annotated[str, Help("List the events whose name (or stat) matches this text.")] = ""
    mode: Annotated[Literal["substring", "regex"], Help("How to read the text to find.")] = (
        "substring"
    )
    stat: Annotated[str, Help("Look for the text in the values of this stat, not in names.")] = ""


@dataclass(frozen=True, slots=True)
class Range:
    """The stretch of time that the numbers are about, on the session's axis.

    Attributes:
        from_ms: Begin of the range.
        to_ms: End of the range.
        duration_ms: Length of the range.
        events: Number of events that touch the range.
        distinct_names: Number of different names.
    """

    from_ms: float
    to_ms: float
    duration_ms: float
    events: int
    distinct_names: int


@dataclass(frozen=True, slots=True)
class Launches:
    """Host calls that launched device work, both begun in the range.

    Attributes:
        count: Number of launches with a known kernel or copy.
        delay_mean_us: Mean delay from the begin of the call to the begin of the work.
        delay_median_us: Median of that delay.
        delay_p95_us: 95th percentile of that delay.
        delay_max_us: Longest such delay.
        gap_median_us: Median from the end of the call to the begin of the work; negative if the
            work began first.
    """

    count: int
    delay_mean_us: float
    delay_median_us: float
    delay_p95_us: float
    delay_max_us: float
    gap_median_us: float


@dataclass(frozen=True, kw_only=True)
class TraceViewer(Result):
    """What ran when, on every thread and device: tracks, top events, matches, launch delays.

    Attributes:
        names: Events in the range, by name and self time. Without ``track``, tracks that repeat the
            same time (steps, scopes, framework ops) are omitted.
        tracks: Tracks with their busy time in the range.
        events: Matches of ``find``; without it, the events of the range if one is given. The same
            tracks are omitted.
        counters: Values of counters and allocators.
        range: The range that the numbers cover.
        launches: Delays of device work after its launch.
        aligned_by: "clock", or "first event" if the hosts' clocks disagree.
    """

    tool = "trace_viewer"
    names: Table[NameRow]
    tracks: Table[TrackRow]
    events: Table[EventRow]
    counters: Table[CounterRow]
    range: Range
    launches: Launches
    aligned_by: str


def trace_viewer(profile: Profile, options: Options = Options()) -> TraceViewer:
    """The timeline of a session in tables."""
    line = timeline(profile)
    begin, end = range_of(line, options.from_, options.to)
    chosen = _chosen(line, options.track)
    only = [track.id for track in chosen] if options.track else None
    totals = range_totals(line, begin, end, only)
    return TraceViewer(
        names=_names(line, totals),
        tracks=_tracks(line, chosen, totals),
        events=_events(line, chosen, begin, end, options),
        counters=_counters(line, chosen),
        range=Range(
            from_ms=ms(begin),
            to_ms=ms(end),
            duration_ms=ms(end - begin),
            events=int(totals.names.count.sum()),
            distinct_names=len(totals.names),
        ),
        launches=_launches(totals.launch_delay_ps, totals.launch_gap_ps),
        aligned_by=line.axis.aligned_by,
    )


def listed_events(
    profile: Profile, begin: str, end: str, *, track: str, find: str, regex: bool
) -> pl.DataFrame:
    """The events of a range as a frame; the arguments are those of ``Session.events``."""
    line = timeline(profile)
    try:
        matches = matcher(find, "regex" if regex else "substring") if find else None
    except InvalidPattern as error:
        raise _no_expression(find, error) from error
    return listing(line, *range_of(line, begin, end), track=track, matches=matches)


def range_of(line: Timeline, begin_text: str, end_text: str) -> tuple[int, int]:
    """Begin and end in ps from texts such as "1.5s"; "" is the trace's own.

    Raises:
        UsageError: A text is not a time, or the range is empty.
    """
    first, last = line.span()
    begin = time_from(begin_text, "begin") if begin_text else first
    # One ps more: an instant at the very end belongs to the trace.
    end = time_from(end_text, "end") if end_text else last + 1
    if end <= begin:
        raise UsageError(
            f"The range from {ms(begin):g} ms to {ms(end):g} ms is empty.",
            hint=f"The trace lasts from {ms(first):g} ms to {ms(last):g} ms.",
        )
    return begin, end


def _no_expression(text: str, error: InvalidPattern) -> UsageError:
    return UsageError(
        f"trace_viewer: {text!r} is not a valid regular expression.",
        why=str(error),
        hint="Escape its special characters, or search for it as plain text.",
    )


def _chosen(line: Timeline, text: str) -> list[Track]:
    low = text.lower()
    found = [
        track
        for track in line.tracks
        if low in track.name.lower() or low in line.sections[track.section].name.lower()
    ]
    if not found:
        sections = ", ".join(dict.fromkeys(section.name for section in line.sections))
        raise UsageError(
            f"trace_viewer: no track or section contains {text!r}.", hint=f"Sections: {sections}."
        )
    return found


def _names(line: Timeline, totals: RangeTotals) -> Table[NameRow]:
    found = totals.names
    example = [line.track_of(event) for event in found.example.tolist()]
    category = [CATEGORIES[t.labels.category[t.code[index]]] for t, index in example]
    return Table(
        NameRow,
        {
            "name": [line.names[name] for name in found.name.tolist()],
            "category": category,
            "count": found.count,
            "total_time_us": found.total_ps / 1e6,
            "self_time_us": found.self_ps / 1e6,
            "avg_time_us": found.total_ps / 1e6 / np.maximum(found.count, 1),
            "max_time_us": found.longest_ps / 1e6,
            "longest_event": found.example,
        },
    )


def _tracks(line: Timeline, chosen: list[Track], totals: RangeTotals) -> Table[TrackRow]:
    shown = [track for track in chosen if track.counter is None]
    by_track = {one.track: one for one in totals.tracks}
    length = totals.end_ps - totals.begin_ps
    busy = [by_track[t.id].busy_ps if t.id in by_track else 0 for t in shown]
    return Table(
        TrackRow,
        {
            "track": [track.id for track in shown],
            **_where(line, shown),
            "name": [track.name for track in shown],
            "kind": [track.kind for track in shown],
            "derived": [track.derived for track in shown],
            "depth": [line.pyramid(track).lanes for track in shown],
            "events": [by_track[t.id].events if t.id in by_track else 0 for t in shown],
            "busy_ms": [ms(time) for time in busy],
            "busy_frac": [time / length for time in busy],
            "idle_frac": [1 - time / length for time in busy],
        },
    )


def _where(line: Timeline, tracks: list[Track]) -> dict[str, list[str]]:
    return {
        "host": [line.profile.hosts[track.host].name for track in tracks],
        "section": [line.sections[track.section].name for track in tracks],
    }


def _events(
    line: Timeline, chosen: list[Track], begin_ps: int, end_ps: int, options: Options
) -> Table[EventRow]:
    """Matches, or the range's events, by start; what tracks tell again only when asked for."""
    shown = [
        track
        for track in chosen
        if track.counter is None and (options.track or track.kind not in RETOLD)
    ]
    parts: list[tuple[Track, I64]] = []
    if options.find:
        try:
            hits = search(
                line,
                options.find,
                mode=options.mode,
                stat=options.stat,
                tracks=[track.id for track in shown],
            )
        except InvalidPattern as error:
            raise _no_expression(options.find, error) from error
        for one in hits.tracks:
            track = line.tracks[one.track]
            index = one.event - track.first_event
            stop = one.begin_ps + np.maximum(track.duration_ps[index], 0)
            inside = (one.begin_ps < end_ps) & ((stop > begin_ps) | (one.begin_ps >= begin_ps))
            parts.append((track, index[inside]))
    elif options.from_ or options.to:
        parts = [(track, events_in(line, track, begin_ps, end_ps)) for track in shown]
    return _event_table(line, [(track, index) for track, index in parts if len(index)])


def _event_table(line: Timeline, parts: list[tuple[Track, I64]]) -> Table[EventRow]:
    if not parts:
        return Table.empty(EventRow)
    tracks, sizes = [track for track, _ in parts], [len(index) for _, index in parts]
    shifts = [line.axis.shift_ps[track.host] for track in tracks]
    start = np.concatenate(
        [t.start_ps[index] + shift for (t, index), shift in zip(parts, shifts, strict=True)]
    )
    order = np.argsort(start, kind="stable")
    of = np.repeat(np.arange(len(parts)), sizes)[order].tolist()
    name = np.concatenate([t.labels.name[t.code[index]] for t, index in parts])[order]
    where = _where(line, tracks)
    columns: dict[str, Any] = {
        "event": np.concatenate([t.first_event + index for t, index in parts])[order],
        "host": [where["host"][i] for i in of],
        "section": [where["section"][i] for i in of],
        "track": [tracks[i].name for i in of],
        "name": [line.names[i] for i in name.tolist()],
        "start_ms": start[order] / 1e9,
        "duration_us": np.concatenate([np.maximum(t.duration_ps[index], 0) for t, index in parts])[
            order
        ]
        / 1e6,
    }
    return Table(EventRow, columns)


def _counters(line: Timeline, chosen: list[Track]) -> Table[CounterRow]:
    shown = [(t, t.counter) for t in chosen if t.counter is not None and len(t.counter.time_ps)]
    return Table(
        CounterRow,
        {
            **_where(line, [track for track, _ in shown]),
            "name": [track.name for track, _ in shown],
            "unit": [counter.unit for _, counter in shown],
            "samples": [len(counter.time_ps) for _, counter in shown],
            "least": [float(counter.value.min()) for _, counter in shown],
            "most": [float(counter.value.max()) for _, counter in shown],
            "last": [float(counter.value[-1]) for _, counter in shown],
        },
    )


def _launches(delay: I64, gap: I64) -> Launches:
    if not len(delay):
        return Launches(0, nan, nan, nan, nan, nan)
    return Launches(
        count=len(delay),
        delay_mean_us=us(delay.mean()),
        delay_median_us=us(float(np.median(delay))),
        delay_p95_us=us(float(np.quantile(delay, 0.95))),
        delay_max_us=us(int(delay.max())),
        gap_median_us=us(float(np.median(gap))),
    )


TOOL = Tool(
    id="trace_viewer",
    short="timeline",
    title="Timeline",
    tab="Tracks",
    run=trace_viewer,
    options=Options,
    result=TraceViewer,
)
