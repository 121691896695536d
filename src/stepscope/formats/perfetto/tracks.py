"""Which plane and line of ours each track of a trace becomes, by what describes it."""

from __future__ import annotations

from typing import Final

from stepscope.formats.messages import numbers, submessages
from stepscope.formats.perfetto.packets import (
    Packet,
    PacketBatch,
    States,
    listed,
)
from stepscope.formats.xspace.cold_fields import DamageLog
from stepscope.records import dataclass
from stepscope.schema import names

_UUID, _NAME, _PROCESS, _THREAD, _PARENT, _COUNTER, _STATIC_NAME = 1, 2, 3, 4, 5, 8, 10
_PLANES: Final = ("/device:", "/host:")
#: Planes of ours that viewers show without what tells that they are ours.
_OURS: Final = {
    one.removeprefix(names.CUSTOM_PLANE): one
    for one in (*names.PYTHON_PLANES, names.TELEMETRY_PLANE, names.FLIGHT_PLANE)
}
_FARTHEST_PARENT: Final = 64
_FIRST_OF_IDS: Final = 1 << 61
# Counters that every writer knows by number, with their units; and units by number.
_BUILT_IN: Final = {1: ("thread_time", "ns"), 2: ("thread_instruction_count", "")}
_UNITS: Final = {1: "ns", 3: "bytes"}


@dataclass(slots=True)
class DescribedTrack:
    """What a trace says of a track.

    Attributes:
        name: Of the track itself.
        process, process_name: Of the process, where it is one; -1 for none.
        thread: Number of the thread, where it is one; -1 for none.
        parent: The track it belongs to; 0 for none.
        unit: Of a counter; None where it is none.
        scale: What values of a counter are counted in.
        adds: Whether a counter's values are what came since the one before.
    """

    name: str = ""
    process: int = -1
    process_name: str = ""
    thread: int = -1
    parent: int = 0
    unit: str | None = None
    scale: int = 1
    adds: bool = False


@dataclass(frozen=True, slots=True)
class TrackPlace:
    """Where the events of a track belong: plane, line, and the line's number (0: any)."""

    plane: str
    line: str
    number: int


class Tracks:
    """The tracks of a trace, by number; later packets add to them."""

    def __init__(self) -> None:
        self.known: dict[int, DescribedTrack] = {}
        self._of_process: dict[int, str] = {}
        self._by_id: dict[tuple[int, ...], int] = {}

    def add(
        self, buffer: memoryview, batch: PacketBatch, states: States, damage: DamageLog
    ) -> None:
        """What some packets say of tracks."""
        _, begin, end = submessages(batch.fields, Packet.TRACK)
        found, count = listed(buffer, begin, end, damage), len(begin)
        uuid, parent = numbers(found, _UUID, count), numbers(found, _PARENT, count)
        tracks = [self.known.setdefault(one, DescribedTrack()) for one in uuid.tolist()]
        for track, above in zip(tracks, parent.tolist(), strict=True):
            track.parent = above or track.parent
        for number in (_STATIC_NAME, _NAME):
            of, low, high = submessages(found, number)
            for row, code in zip(of.tolist(), states.texts.codes(low, high).tolist(), strict=True):
                tracks[row].name = states.texts.list[code]
        for number in (_PROCESS, _THREAD, _COUNTER):
            of, low, high = submessages(found, number)
            inner = listed(buffer, low, high, damage)
            mine = [tracks[row] for row in of.tolist()]
            text = {_PROCESS: 6, _THREAD: 5, _COUNTER: 6}[number]
            at, text_low, text_high = submessages(inner, text)
            said = [""] * len(mine)
            codes = states.texts.codes(text_low, text_high)
            for row, code in zip(at.tolist(), codes.tolist(), strict=True):
                said[row] = states.texts.list[code]
            columns = [numbers(inner, field, len(mine)).tolist() for field in (1, 2, 3, 4, 5)]
            for row, track in enumerate(mine):
                self._describe(number, track, said[row], [one[row] for one in columns])

    def _describe(self, what: int, track: DescribedTrack, said: str, values: list[int]) -> None:
        first, second, unit, scale, adds = values
        if what == _PROCESS:
            track.process, track.process_name = first, said or track.process_name
            if track.process_name:
                self._of_process[first] = track.process_name
        elif what == _THREAD:
            track.process, track.thread = first, second
            track.name = track.name or said
        else:
            known, implied = _BUILT_IN.get(first, ("", ""))
            track.name = track.name or known
            track.unit = said or _UNITS.get(unit, implied)
            track.scale, track.adds = max(scale, 1), bool(adds)

    def place(self, uuid: int) -> TrackPlace:
        """Where the events of a track belong."""
        track = self.known.get(uuid, DescribedTrack())
        process = self._process(track)
        plane = process if process.startswith(_PLANES) else _OURS.get(process, "")
        name = track.name or ("track" if track.thread < 0 else f"thread {track.thread}")
        if plane:
            return TrackPlace(plane, name, max(track.thread, 0))
        label = f"{process}/{name}" if process else name
        if track.thread >= 0:
            return TrackPlace(names.HOST_PLANE, label, track.thread)
        return TrackPlace(names.OTHER_EVENTS_PLANE, label, 0)

    def of_id(self, key: tuple[int, ...], name: str, parent: int) -> int:
        """The track of what is asynchronous by its id; made where it is new.

        Args:
            key: What tells it from others.
            name: What it is called.
            parent: The track of its first event's writer.
        """
        number = self._by_id.get(key)
        if number is None:
            number = _FIRST_OF_IDS + len(self._by_id)
            while number in self.known:
                number += 1 << 32
            self._by_id[key] = number
            self.known[number] = DescribedTrack(name=name, parent=parent)
        return number

    def process(self, uuid: int) -> int:
        """The number of the process that a track belongs to; -1 where it is unknown."""
        for _ in range(_FARTHEST_PARENT):
            track = self.known.get(uuid, DescribedTrack())
            if track.process >= 0 or not track.parent:
                return track.process
            uuid = track.parent
        return -1

    def _process(self, track: DescribedTrack) -> str:
        """The name of the process that a track belongs to."""
        for _ in range(_FARTHEST_PARENT):
            if track.process >= 0:
                return track.process_name or self._of_process.get(track.process, "")
            if track.parent not in self.known:
                return ""
            track = self.known[track.parent]
        return ""

    @property
    def is_ours(self) -> bool:
        """Whether processes are planes, as where a viewer of recordings wrote the trace."""
        return any(one.process_name.startswith(_PLANES) for one in self.known.values())
