"""A trace file as a ``Space``, with what was wrong with it in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from stepscope.columns.space import Space
from stepscope.errors import DecodeError
from stepscope.formats.kineto.kinds_by_name import is_untold
from stepscope.formats.kineto.planes import planes_of
from stepscope.formats.kineto.reading.categories import (
    ARROWS_TO_BACKWARD,
    ARROWS_TO_DEVICES,
    CATEGORIES,
)
from stepscope.formats.kineto.reading.read import read_pieces
from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.steps import StepCount
from stepscope.formats.kineto.viewer_planes import is_from_viewer
from stepscope.formats.xspace.written import space_of
from stepscope.kernels.memory import give_back

# The category that Chrome gives to names of processes and threads.
_METADATA: Final = "__metadata"
_KNOWN: Final = frozenset(
    {*CATEGORIES, *ARROWS_TO_BACKWARD, *ARROWS_TO_DEVICES, "cpu_instant_event", "Trace", ""}
)


def open_trace(pieces: Iterable[bytes], *, file: str = "") -> Space:
    """The recording whose text comes in pieces.

    Args:
        pieces: The text, inflated.
        file: Name for reports.

    Raises:
        DecodeError: It is not a trace, or has no events.
    """
    counted = _Counted(pieces)
    try:
        trace = read_pieces(counted)
    except ValueError as error:
        raise DecodeError(
            f"the JSON is not a trace: {error}",
            offset_bytes=counted.size,
            path="traceEvents",
            file=file,
            kind="trace",
            hint="Give a file that torch.profiler exported (*.pt.trace.json, *.json.gz).",
        ) from error
    events = sum(trace.categories.values())
    if not events and not trace.lost:
        raise DecodeError(
            "the trace has no events: a second profiler was active, or the schedule was still "
            "warming up",
            offset_bytes=counted.size,
            path="traceEvents",
            file=file,
            kind="trace",
            hint="Let the profiled program run past wait and warm-up, with one profiler at a time.",
        )
    notes = list(warnings(trace))
    planes = planes_of(trace, count=StepCount())
    is_cut, lost = trace.damage.is_cut, trace.lost
    del trace  # its columns are as large as those to come
    give_back()
    space = space_of(planes, warnings=notes)
    give_back()  # what the columns were made from: tools need as much
    if is_cut:
        damage = DecodeError(
            "the text ends inside its list of events, which is not ordered by time: events may be "
            "missing anywhere, also in the middle",
            offset_bytes=counted.size,
            path=f"traceEvents[{events + lost}]",
            file=file,
            kind="trace",
            hint="Copy the file again; if its program was killed, this is all there is.",
        )
        object.__setattr__(space, "damage", damage)
    return space


class _Counted:
    """Pieces whose bytes are counted on the way."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.size += len(piece)
            yield piece


def warnings(trace: Trace) -> Iterator[str]:
    """What a reader of numbers must know: repairs, and what is not understood, each counted."""
    damage, repairs = trace.damage, trace.texts.repairs
    for count, text in (
        (
            damage.times - damage.words,
            "Times that are not numbers or too long for microseconds, as nanoseconds since 1970 "
            "are: {}.",
        ),
        (trace.lost, "Events left out, as they are not JSON or lack a name, phase or time: {}."),
        (damage.repaired, "Events with quotes or backslashes that are not escaped, repaired: {}."),
        (damage.words, "Values that JSON does not know (inf, N/A …), taken as unknown: {}."),
        (damage.garbage, "Places between events with other bytes: {}."),
        (damage.head, "Entries beside the events that cannot be read: {}."),
        (damage.after, "Bytes after the end of the trace, as of a second one, left out: {}."),
        (repairs["bytes"], "Distinct texts with bytes that are not UTF-8: {}."),
        (repairs["escapes"], "Distinct texts with backslashes that escape nothing: {}."),
        (repairs["controls"], "Distinct texts with control characters: {}."),
        (repairs["values"], "Distinct values that cannot be read: {}."),
        (trace.untimed, "Events left out, as the recorder did not take their time (it is 0): {}."),
        (trace.unpaired, "Begins or ends of ranges left out, as they lack the other: {}."),
        (trace.negative, "Events shown as instants, as they end before they begin: {}."),
    ):
        if count > 0:
            yield text.format(f"{count:,}")
    if trace.unshown:
        listed = ", ".join(f"{phase} ({count:,})" for phase, count in trace.unshown.items())
        yield f"Events of phases that are not shown are left out: {listed}."
    for key, what in (
        ("samples", "Samples of stacks"),
        ("systemTraceEvents", "The kernel's events"),
    ):
        if held := trace.head.get(key):
            many = f": {len(held):,}" if isinstance(held, list) else ""
            yield f"{what} beside the events are left out{many}."
    if is_from_viewer(trace):
        yield (
            "This is a trace that a viewer derived from a recording, with at most a million of "
            "its events and without its programs. Open the .xplane.pb, if there is one."
        )
        return
    if is_untold(trace):
        return  # recognised by their names
    known = {*_KNOWN, _METADATA}
    unknown = {name: count for name, count in trace.categories.items() if name not in known}
    if unknown:
        listed = ", ".join(f"{name} ({count:,})" for name, count in list(unknown.items())[:12])
        yield f"Events of unknown categories are on the timeline and in no number: {listed}."
