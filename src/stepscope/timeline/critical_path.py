"""The critical path of a stretch of time: what its end waited for, back through host and device.

**Activities** are the pieces of threads and streams in which one event is the innermost. **What an
activity waits for**:

- *order*: the piece before it on its thread or stream;
- *launch*: a kernel waits for the call that launched it, to the call's end or to where the kernel
  began if that was earlier;
- *flow*: what a producer scheduled on another thread waits for the producer, in the same way;
- *sync*: a call that waits for a device goes on when the device's work that ended last within the
  call had ended, one that waits for TensorFlow's executor when the last op of its threads had, and
  one that waits for a thread when the last piece of another thread's that waits for nothing had.
  Until then it is not an activity: nobody works in it.

Of all an activity waits for, the one that ended last held it up: the path goes there. Time between
the two is a **gap**, in which nothing recorded explains the wait. Activities and gaps of the path
sum to the stretch up to the path's end. **Slack** is how much later an activity could end with the
path's end where it is, every gap as long as it was (``chains``).

The path **ends** with what ends last on a device or on the loop's thread: the device, where it
works to within 1 % of the stretch's end.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np

from stepscope.columns import innermost
from stepscope.columns.space import I64, Bool
from stepscope.kernels import core
from stepscope.records import dataclass
from stepscope.tables.core.waits import Wait, wait_of
from stepscope.tables.steps.attribution import found_steps
from stepscope.timeline.cancellation import CancellationCheck, waits
from stepscope.timeline.flows import KINDS, flows
from stepscope.timeline.model import Timeline, Track
from stepscope.timeline.ranges import events_in

PathReason = Literal["begin", "order", "launch", "flow", "sync"]
#: Why an activity was held up; the number in ``CriticalPath.reason`` is the index here.
REASONS: Final[tuple[PathReason, ...]] = ("begin", "order", "launch", "flow", "sync")
_BEGIN, _ORDER, _LAUNCH, _FLOW, _SYNC = range(5)
_NEAR_THE_END: Final = 0.01
# The call in which TensorFlow's executor runs a function, and the threads it runs ops on.
_RUNS_A_FUNCTION: Final = "KernelAndDeviceFunc::Run"
_EXECUTOR: Final = "tf_Compute"


@dataclass(frozen=True, eq=False, slots=True)
class CriticalPath:
    """The path through ``begin_ps:end_ps``, in order of time; one row per piece of it.

    Attributes:
        event: Id of the event.
        track: Index into ``Timeline.tracks``.
        start_ps, stop_ps: Of the piece, on the axis.
        reason: Index into ``REASONS``: what it waited for last.
        gap_ps: From the end of that (or the begin of the stretch) to its start.
        pieces_event: Every event with a piece in the stretch, ascending.
        pieces_slack_ps: The least slack of its pieces.
    """

    begin_ps: int
    end_ps: int
    event: I64
    track: I64
    start_ps: I64
    stop_ps: I64
    reason: I64
    gap_ps: I64
    pieces_event: I64
    pieces_slack_ps: I64

    def __len__(self) -> int:
        return len(self.event)

    def slack_of(self, event: int) -> int | None:
        """Slack of an event; None where it has no part in the stretch."""
        at = int(np.searchsorted(self.pieces_event, event))
        if at == len(self.pieces_event) or self.pieces_event[at] != event:
            return None
        return int(self.pieces_slack_ps[at])


@dataclass(slots=True)
class _Pieces:
    """Activities by track and time."""

    event: I64
    track: I64
    start_ps: I64
    end_ps: I64
    on_device: Bool
    is_executor: Bool
    waits_for_device: Bool
    waits_for_executor: Bool
    waits_for_thread: Bool

    def __len__(self) -> int:
        return len(self.event)


def critical_path(
    timeline: Timeline, begin_ps: int, end_ps: int, host: int = 0, check: CancellationCheck = waits
) -> CriticalPath:
    """The path through a stretch on one host and its devices.

    Args:
        timeline: The session.
        begin_ps: On the axis.
        end_ps: End of the stretch.
        host: Index into ``Profile.hosts``.
        check: Called before each track; may raise.
    """
    tracks = [track for track in timeline.tracks if _works(timeline, track, host)]
    timeline.build_all(tracks)
    pieces = _pieces(timeline, tracks, begin_ps, end_ps, check)
    if not len(pieces):
        nothing = np.empty(0, np.int64)
        return CriticalPath(begin_ps, end_ps, *[nothing] * 8)
    loop = _loop_track(timeline, tracks, host, pieces)
    sync = _synced(pieces)
    check()
    before, after, reason = _pairs(timeline, pieces, sync)
    last = _last(pieces, loop, begin_ps, end_ps)
    found = chains(pieces.start_ps, pieces.end_ps, before, after, last)
    way = found.way[::-1]
    held = found.held_by[way]
    stop = pieces.end_ps[way]
    waited_for = np.append(np.int64(begin_ps), stop[:-1])
    events, least = _least_slack(pieces.event, found.slack_ps)
    return CriticalPath(
        begin_ps=begin_ps,
        end_ps=end_ps,
        event=pieces.event[way],
        track=pieces.track[way],
        start_ps=pieces.start_ps[way],
        stop_ps=stop,
        reason=np.where(held >= 0, np.append(reason, _BEGIN)[held], _BEGIN),
        gap_ps=pieces.start_ps[way] - waited_for,
        pieces_event=events,
        pieces_slack_ps=least,
    )


def _works(timeline: Timeline, track: Track, host: int) -> bool:
    """Whether a track is of a thread of the program, or of work on a device."""
    section = timeline.sections[track.section]
    if track.host != host or track.derived or track.counter is not None:
        return False
    kinds = {"host": ("thread",), "device": ("stream", "ops")}
    return track.kind in kinds.get(section.kind, ())


def _pieces(
    timeline: Timeline, tracks: list[Track], begin_ps: int, end_ps: int, check: CancellationCheck
) -> _Pieces:
    empty = np.empty(0, np.int64)
    columns: list[tuple[I64 | Bool, ...]] = []
    names = timeline.names or ("",)
    waits_for = [wait_of(name) for name in names]
    for_device = np.asarray([wait is Wait.DEVICE for wait in waits_for])
    for_thread = np.asarray([wait not in (None, Wait.DEVICE) for wait in waits_for])
    for_executor = np.asarray([name == _RUNS_A_FUNCTION for name in names])
    for track in tracks:
        check()
        shift = timeline.axis.shift_ps[track.host]
        events = events_in(timeline, track, begin_ps, end_ps)
        start = np.maximum(track.start_ps[events] + shift, begin_ps)
        length = np.maximum(track.duration_ps[events], 0)
        stop = np.minimum(track.start_ps[events] + shift + length, end_ps)
        owner, begin, end = _innermost_pieces(start, stop)
        name = track.labels.name[track.code[events[owner]]]
        device = timeline.sections[track.section].kind == "device"
        columns.append(
            (
                track.first_event + events[owner],
                np.full(len(owner), track.id, np.int64),
                begin,
                end,
                np.full(len(owner), device),
                np.full(len(owner), not device and track.name.startswith(_EXECUTOR)),
                for_device[name] & (not device),
                for_executor[name] & (not device),
                for_thread[name] & (not device),
            )
        )
    if not columns:
        none = np.empty(0, bool)
        return _Pieces(empty, empty, empty, empty, none, none, none, none, none)
    return _Pieces(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def _innermost_pieces(start: I64, stop: I64) -> tuple[I64, I64, I64]:
    """Stretches in which one event is the innermost: which, from when, to when; in time order."""
    some = np.flatnonzero(stop > start)
    times = np.unique(np.concatenate([start[some], stop[some]]))
    if not len(times):
        return times, times, times
    owner = innermost(start[some], stop[some], times[:-1])
    # Where events only touch, or overlap in part, one may own several parts in a row.
    changes = np.flatnonzero(np.diff(owner, prepend=-2))
    bounds = np.append(changes, len(owner))
    own = owner[changes]
    kept = own >= 0
    found: I64 = some[own[kept]]
    return found, times[bounds[:-1]][kept], times[bounds[1:]][kept]


def _synced(pieces: _Pieces) -> tuple[I64, I64]:
    """The work that ended last within each call that waited for it, and these calls.

    The calls begin, from here on, where that work ended.
    """
    is_wait = pieces.waits_for_device | pieces.waits_for_executor | pieces.waits_for_thread
    kinds = (
        (pieces.on_device, pieces.waits_for_device),
        (~pieces.on_device & ~is_wait, pieces.waits_for_thread),
        (pieces.is_executor, pieces.waits_for_executor & ~pieces.is_executor),
    )
    found = [_met(pieces, np.flatnonzero(works), np.flatnonzero(call)) for works, call in kinds]
    work, calls = (np.concatenate(column) for column in zip(*found, strict=True))
    pieces.start_ps[calls] = pieces.end_ps[work]
    return work, calls


def _met(pieces: _Pieces, work: I64, calls: I64) -> tuple[I64, I64]:
    """The last of the work to end within each call, where any does."""
    work = work[np.argsort(pieces.end_ps[work], kind="stable")]
    ends = pieces.end_ps[work]
    # A moment before the end of the call, so that something is left of it.
    at = np.searchsorted(ends, pieces.end_ps[calls] - 1, side="right") - 1
    met = at >= 0
    met[met] = ends[at[met]] > pieces.start_ps[calls[met]]
    return work[at[met]], calls[met]


def _pairs(timeline: Timeline, pieces: _Pieces, sync: tuple[I64, I64]) -> tuple[I64, I64, I64]:
    """What waits for what, and why."""
    later = np.flatnonzero(pieces.track[1:] == pieces.track[:-1]) + 1
    arrows = flows(timeline.profile)
    source, target = (_span_of(pieces, side) for side in (arrows.source, arrows.target))
    known = (source.piece >= 0) & (target.piece >= 0) & (source.begin <= target.begin)
    places = _Places(pieces)
    moment = np.minimum(target.begin[known], source.end[known])
    cause = places.ending_by(source.track[known], moment)
    effect = places.ending_by(target.track[known], target.begin[known]) + 1
    good = (cause >= 0) & (effect < len(pieces))
    good[good] = pieces.track[effect[good]] == target.track[known][good]
    good[good] = pieces.end_ps[cause[good]] <= pieces.start_ps[effect[good]]
    kind = np.where(arrows.kind[known] == KINDS.index("launch"), _LAUNCH, _FLOW)
    befores = (later - 1, cause[good], sync[0])
    afters = (later, effect[good], sync[1])
    reasons = (np.full(len(later), _ORDER), kind[good], np.full(len(sync[0]), _SYNC))
    return np.concatenate(befores), np.concatenate(afters), np.concatenate(reasons)


@dataclass(frozen=True, eq=False, slots=True)
class _Spans:
    """Of events: a piece of each (-1: none), its track, and from when to when it has pieces."""

    piece: I64
    track: I64
    begin: I64
    end: I64


def _span_of(pieces: _Pieces, events: I64) -> _Spans:
    order = np.argsort(pieces.event, kind="stable")
    ids = pieces.event[order]
    low, high = (np.searchsorted(ids, events, side=side) for side in ("left", "right"))
    has = high > low
    first = order[np.minimum(low, len(order) - 1)]
    last = order[np.maximum(high - 1, 0)]
    return _Spans(
        np.where(has, first, -1), pieces.track[first], pieces.start_ps[first], pieces.end_ps[last]
    )


class _Places:
    """Finds, on a track, the last piece that ends by a moment."""

    def __init__(self, pieces: _Pieces) -> None:
        self._moments = np.unique(pieces.end_ps)
        self._track = pieces.track
        self._size = len(self._moments) + 1
        rank = np.searchsorted(self._moments, pieces.end_ps)
        self._key = self._tracks(pieces.track) * self._size + rank

    def _tracks(self, track: I64) -> I64:
        """Their order among the pieces, which stand track by track."""
        ids, first = np.unique(self._track, return_index=True)
        order = np.empty(len(ids), np.int64)
        order[np.argsort(first, kind="stable")] = np.arange(len(ids))
        found: I64 = order[np.searchsorted(ids, track)]
        return found

    def ending_by(self, track: I64, moment: I64) -> I64:
        """Row of that piece; the last of another track, or -1, where none ends by then."""
        rank = np.searchsorted(self._moments, moment, side="right") - 1
        key = self._tracks(track) * self._size + rank
        found: I64 = np.searchsorted(self._key, key, side="right") - 1
        return found


def _last(pieces: _Pieces, loop_track: int, begin_ps: int, end_ps: int) -> int:
    """The piece that the path ends with."""
    device = np.flatnonzero(pieces.on_device)
    loop = np.flatnonzero(pieces.track == loop_track)
    latest = [int(rows[np.argmax(pieces.end_ps[rows])]) for rows in (device, loop) if len(rows)]
    if not latest:
        return int(np.argmax(pieces.end_ps))
    near = end_ps - _NEAR_THE_END * (end_ps - begin_ps)
    if len(device) and pieces.end_ps[latest[0]] >= near:
        return latest[0]
    return max(latest, key=lambda row: int(pieces.end_ps[row]))


def _loop_track(timeline: Timeline, tracks: list[Track], host: int, pieces: _Pieces) -> int:
    """The thread of the loop; where it is not known, the thread with the most time."""
    steps = found_steps(timeline.profile.hosts[host])
    line = steps.markers.thread if steps is not None else -1
    for track in tracks:
        if line >= 0 and track.line == line:
            return track.id
    own = ~pieces.on_device
    if not own.any():
        return -1
    length = (pieces.end_ps - pieces.start_ps)[own].astype(np.float64)
    return int(np.argmax(np.bincount(pieces.track[own], length)))


def _least_slack(event: I64, slack: I64) -> tuple[I64, I64]:
    order = np.lexsort((slack, event))
    first = np.flatnonzero(np.diff(event[order], prepend=-1))
    return event[order][first], slack[order][first]


class Chains(NamedTuple):
    """One row per activity.

    Attributes:
        held_by: The pair (row of ``before`` and ``after``) that an activity waited for longest;
            -1 where it waited for none. Of pairs that ended at once the last given counts.
        slack_ps: How much later it could end with nothing ending later than the last activity, or
            than it did where that is later.
        way: The activities from the last one back, each held up by the next.
    """

    held_by: I64
    slack_ps: I64
    way: I64


def chains(start_ps: I64, end_ps: I64, before: I64, after: I64, last: int) -> Chains:
    """What holds up ``last``, and how far everything else is from doing so.

    An activity starts a fixed time after the last one that it waits for has ended (the time that
    was recorded between them), and takes as long as it was recorded to take. So a delay of one
    moves those behind it exactly as far as it reaches them.

    Args:
        start_ps: Of the activities.
        end_ps: Of the activities, each behind its start.
        before: Of each pair the activity that is waited for: it ends by the start of ``after``.
        after: Of each pair the activity that waits.
        last: The activity whose end counts.

    Raises:
        ValueError: An activity takes no time, or one waits for what ends after its start.
    """
    if np.any(end_ps <= start_ps):
        raise ValueError("an activity takes no time")
    if np.any(end_ps[before] > start_ps[after]):
        raise ValueError("an activity waits for what ends after its start")
    count = len(start_ps)
    pairs = np.arange(len(before), dtype=np.int64)
    ranked = np.lexsort((pairs, end_ps[before], after))
    held_by = np.full(count, -1, np.int64)
    held_by[after[ranked]] = ranked  # the last written of each counts
    waited = np.flatnonzero(held_by >= 0)
    holder = np.full(count, -1, np.int64)
    holder[waited] = before[held_by[waited]]
    gap = np.zeros(count, np.int64)
    gap[waited] = start_ps[waited] - end_ps[holder[waited]]
    latest = np.maximum(end_ps, end_ps[last])
    # Activities take time, so that what waits for one always starts behind it.
    order = np.argsort(-start_ps[after], kind="stable")
    margin = (end_ps - start_ps + gap)[after[order]]
    core.wait.latest_ends(before[order].data, after[order].data, margin.data, latest.data)
    way = np.empty(count, np.int64)
    length = core.wait.way_back(holder.data, last, way.data)
    return Chains(held_by, latest - end_ps, way[:length].copy())
