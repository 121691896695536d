"""Everything about one event: stats, family, links, and the others of its name."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns import pivot
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.timeline.flows import KINDS, flows
from stepscope.timeline.model import F64, Timeline, Track
from stepscope.timeline.places import EventPlace, children_of, parent_of, place, place_in

BINS: Final = 40


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow to or from the event: its kind, and the event at the other end."""

    kind: str
    other: EventPlace


@dataclass(frozen=True, eq=False, slots=True)
class Occurrences:
    """All events of one name, in the whole session.

    Attributes:
        count: How many.
        total_ps: Sum of their durations.
        quantiles_ps: Least, 25 %, median, 75 %, 95 %, 99 % and most.
        longer: How many are longer than the event.
        bin_edge_ps, bin_count: Distribution: edges (one more than bins, geometric) and counts.
        previous, next: Event ids of the neighbours in time on the same track, -1 without.
        longest: Event id of the longest.
    """

    count: int
    total_ps: int
    quantiles_ps: tuple[int, ...]
    longer: int
    bin_edge_ps: F64
    bin_count: I64
    previous: int
    next: int
    longest: int


@dataclass(frozen=True, eq=False, slots=True)
class Details:
    """One event with all that is known about it.

    Attributes:
        place: Where it is.
        full_name: The name as recorded, where another is shown.
        self_ps: Duration without its children on the track.
        stats: Name and value, those of its kind first.
        parent: The event that contains it.
        children: Ids of the events right below, by time.
        into, out_of: Arrows that end and that start here.
        occurrences: The others of its name.
    """

    place: EventPlace
    full_name: str
    self_ps: int
    stats: tuple[tuple[str, int | float | str | bytes | None], ...]
    parent: EventPlace | None
    children: I64
    into: tuple[Link, ...]
    out_of: tuple[Link, ...]
    occurrences: Occurrences


def details(timeline: Timeline, event: int) -> Details:
    """All about one event.

    Raises:
        KeyError: There is no such event on the timeline.
    """
    track, index = timeline.track_of(event)
    own = place_in(timeline, track, index)
    children = children_of(timeline, own)
    covered = int(np.maximum(track.duration_ps[children], 0).sum())
    arrows = flows(timeline.profile)
    return Details(
        place=own,
        full_name=_full_name(timeline, track, index),
        self_ps=own.duration_ps - covered,
        stats=_stats(timeline, track, index),
        parent=parent_of(timeline, own),
        children=track.first_event + children,
        into=_links(timeline, [(r, int(arrows.source[r])) for r in arrows.into(event)]),
        out_of=_links(timeline, [(r, int(arrows.target[r])) for r in arrows.out_of(event)]),
        occurrences=occurrences(timeline, own),
    )


def _full_name(timeline: Timeline, track: Track, index: int) -> str:
    if track.derived:
        return timeline.names[int(track.labels.name[track.code[index]])]
    meta = timeline.profile.hosts[track.host].space.event_metadata
    return meta.name[int(track.code[index])]


def _stats(
    timeline: Timeline, track: Track, index: int
) -> tuple[tuple[str, int | float | str | bytes | None], ...]:
    if track.derived:
        return ()
    row = track.first_event - timeline.first_event[track.host] + index
    return tuple(pivot.event_stats(timeline.profile.hosts[track.host].space, row))


def _links(timeline: Timeline, ends: list[tuple[int, int]]) -> tuple[Link, ...]:
    """Links to the other ends that are on the timeline."""
    arrows, found = flows(timeline.profile), []
    for row, other in ends:
        try:
            found.append(Link(KINDS[arrows.kind[row]], place(timeline, other)))
        except KeyError:
            continue  # its line is not drawn
    return tuple(found)


def occurrences(timeline: Timeline, own: EventPlace) -> Occurrences:
    """All events that are called like this one."""
    durations, ids, beside = [], [], np.empty(0, np.int64)
    for track in timeline.tracks:
        codes = np.flatnonzero(track.labels.name == own.name)
        if track.counter is not None or not len(codes):
            continue
        rows = np.flatnonzero(
            np.isin(track.code, codes) if len(codes) > 1 else track.code == codes[0]
        )
        durations.append(np.maximum(track.duration_ps[rows], 0))
        ids.append(rows + track.first_event)
        if track.id == own.track:
            beside = ids[-1][np.argsort(track.start_ps[rows], kind="stable")]
    lengths, events = np.concatenate(durations), np.concatenate(ids)
    points = np.quantile(lengths, [0, 0.25, 0.5, 0.75, 0.95, 0.99, 1])
    edges, counts = distribution(lengths)
    at = int(np.flatnonzero(beside == own.event)[0])
    return Occurrences(
        count=len(lengths),
        total_ps=int(lengths.sum()),
        quantiles_ps=tuple(int(point) for point in points),
        longer=int((lengths > own.duration_ps).sum()),
        bin_edge_ps=edges,
        bin_count=counts,
        previous=int(beside[at - 1]) if at else -1,
        next=int(beside[at + 1]) if at + 1 < len(beside) else -1,
        longest=int(events[np.argmax(lengths)]),
    )


def distribution(lengths: I64) -> tuple[F64, I64]:
    """Return edges and counts of geometric bins; instants count into the first."""
    least, most = max(int(lengths.min()), 1), max(int(lengths.max()), 1)
    if least == most:
        return np.asarray([least, most], dtype=np.float64), np.asarray([len(lengths)])
    edges = np.geomspace(least, most, BINS + 1)
    edges[0], edges[-1] = 0, most + 1
    counts = np.diff(np.searchsorted(np.sort(lengths), edges))
    edges[0], edges[-1] = least, most
    return edges, counts
