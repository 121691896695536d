"""What a timeline is made of: sections of tracks, the names on them, and the common axis."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from threading import Lock
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.pyramid import Pyramid, build
from stepscope.columns.space import I32, I64, U8
from stepscope.kernels.cores import on_cores
from stepscope.records import dataclass, field
from stepscope.tables.core.profile import Profile

#: What an event is, for colours; the number in a tile is the index here. At most 64.
CATEGORIES: Final = (
    "other",
    "step",
    "module",
    "kernel",
    "copy",
    "collective",
    "op",
    "launch",
    "runtime",
    "input",
    "compile",
    "python",
    "annotation",
    "memory",
    "scope",
    "source",
)
CATEGORY: Final = {name: number for number, name in enumerate(CATEGORIES)}

SectionKind = Literal["device", "host", "python", "other"]
TrackKind = Literal[
    "steps",
    "name_scope",
    "framework_ops",
    "modules",
    "ops",
    "async_ops",
    "source",
    "stream",
    "thread",
    "counter",
    "other",
]
F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Labels:
    """Facts about each code that events of one host (or of one derived track) carry.

    Attributes:
        name: Index into ``Timeline.names``.
        category: Index into ``CATEGORIES``.
    """

    name: I32
    category: U8


@dataclass(frozen=True, eq=False, slots=True)
class CounterTrack:
    """A number over time: it keeps each value until the next.

    Attributes:
        time_ps: Ascending, on the host's own clock.
        value: In ``unit``.
    """

    time_ps: I64
    value: F64
    unit: str


@dataclass(frozen=True, eq=False)
class Track:
    """One track: a thread, a stream, a line that was derived, or a counter.

    Attributes:
        id: Index into ``Timeline.tracks``.
        section: Index into ``Timeline.sections``.
        host: Index into ``Profile.hosts``.
        line: Row in ``Space.lines``; -1 when the file has no such line and it was derived here.
        first_event: Id of its event 0; the others follow.
        start_ps, duration_ps: On the host's own clock, in file order.
        code: Row in ``labels`` of each event.
        select: Events that have a place in time; all when None.
        counter: The series of a counter; events are then none.
    """

    id: int
    section: int
    host: int
    kind: TrackKind
    name: str
    line: int
    first_event: int
    start_ps: I64
    duration_ps: I64
    code: I32
    labels: Labels
    select: I32 | None = None
    counter: CounterTrack | None = None

    def __len__(self) -> int:
        return len(self.start_ps) if self.select is None else len(self.select)

    @property
    def derived(self) -> bool:
        """Whether the file has no such line."""
        return self.line < 0


@dataclass(frozen=True, slots=True)
class Section:
    """Tracks that belong together: one device, the threads of a host, its Python calls."""

    id: int
    host: int
    kind: SectionKind
    name: str
    tracks: tuple[int, ...]

    @property
    def label(self) -> str:
        """The name for people: "GPU:0" for "/device:GPU:0"."""
        return self.name.removeprefix("/device:").removeprefix("/host:")


@dataclass(frozen=True, slots=True)
class Axis:
    """How the clocks of the hosts lie on one axis.

    Attributes:
        origin_ns: What time 0 means: Unix time where the hosts noted when recording began, else on
            the clock of the first host's file.
        shift_ps: What is added to a host's own times, per host.
        aligned_by: "clock", or "first event" when the clocks have nothing to do with each other.
    """

    origin_ns: int
    shift_ps: tuple[int, ...]
    aligned_by: Literal["clock", "first event"]


@dataclass(frozen=True, eq=False)
class Timeline:
    """A session on one axis. Times are ps from the axis' origin, event ids count the session.

    Attributes:
        names: Every text on it, once.
        first_event: Id of event 0 of each host; one more entry closes the last.
        events: Number of ids, derived tracks included.
        fingerprint: Changes when the recording does.
        pyramids: Tracks laid out so far, by id; ``locks`` has one lock for each.
        searches: The last search's hits, by what was asked.
    """

    profile: Profile
    axis: Axis
    sections: tuple[Section, ...]
    tracks: tuple[Track, ...]
    names: tuple[str, ...]
    first_event: tuple[int, ...]
    events: int
    fingerprint: str
    pyramids: dict[int, Pyramid] = field(default_factory=dict, repr=False)
    locks: tuple[Lock, ...] = field(default=(), repr=False)
    searches: dict[Hashable, object] = field(default_factory=dict, repr=False)

    def pyramid(self, track: Track) -> Pyramid:
        """The track's events laid out; built when first asked for."""
        with self.locks[track.id]:
            found = self.pyramids.get(track.id)
            if found is None:
                found = build(track.start_ps, track.duration_ps, track.select)
                self.pyramids[track.id] = found
            return found

    def build_all(self, tracks: Iterable[Track] | None = None) -> None:
        """Lay out all of these tracks, big ones first, as many at a time as there are cores."""
        chosen = self.tracks if tracks is None else tracks
        missing = [track for track in chosen if track.id not in self.pyramids]
        if len(missing) > 1:
            missing.sort(key=len, reverse=True)
            on_cores(self.pyramid, missing, "stepscope-timeline")

    def span_of(self, track: Track) -> tuple[int, int]:
        """First start and last end of a track on the axis."""
        shift = self.axis.shift_ps[track.host]
        if track.counter is not None:
            times = track.counter.time_ps
            return (int(times[0]) + shift, int(times[-1]) + shift) if len(times) else (0, 0)
        begin, end = self.pyramid(track).span()
        return begin + shift, end + shift

    def span(self) -> tuple[int, int]:
        """First start and last end of everything."""
        self.build_all()
        spans = [self.span_of(track) for track in self.tracks if len(track) or track.counter]
        if not spans:
            return 0, 0
        return min(begin for begin, _end in spans), max(end for _begin, end in spans)

    @cached_property
    def _tracks_by_first_event(self) -> tuple[I64, list[Track]]:
        shown = sorted(
            (track for track in self.tracks if track.counter is None), key=lambda t: t.first_event
        )
        return np.asarray([track.first_event for track in shown], dtype=np.int64), shown

    def track_of(self, event: int) -> tuple[Track, int]:
        """The track of an event id, and which of its events it is.

        Raises:
            KeyError: No track shows such an event.
        """
        firsts, shown = self._tracks_by_first_event
        at = int(np.searchsorted(firsts, event, side="right")) - 1
        if at < 0 or event - shown[at].first_event >= len(shown[at].start_ps):
            raise KeyError(event)
        return shown[at], event - shown[at].first_event
