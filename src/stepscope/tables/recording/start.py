"""A program's start: every moment from exec to its first and its steady step has one owner.

Known work (an import, a compilation) owns its time, the innermost first. Any other moment belongs
to the function that the main thread was seen in. A moment at which it was not seen is a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

import numpy as np

from stepscope.columns import (
    innermost,
    median,
    metadata_stats_by_name,
    stats_by_name,
    union_spans,
)
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.processes import processes
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.steps.attribution import steps

Until = Literal["first step", "end of recording"]
#: Kinds of a part beside those that the recorder writes.
GAP, STEPS, NETWORK, LOCK, SLEEP = "gap", "steps", "network", "lock", "sleep"
# Kind of a wait in the program's own code by its reason; threads of the process compute for it.
_KIND_OF_WAIT: Final = {
    "disk": "reading",
    "network": NETWORK,
    "lock": LOCK,
    "processes": "processes",
    "sleep": SLEEP,
    "device": "device",
    "unknown": GAP,
}
_STEADY_STEPS, _STEADY_SPREAD = names.START_STEADY_STEPS, names.START_STEADY_SPREAD
# A function that was seen reading for this share of its time waits for its reads otherwise.
_READER_FRAC: Final = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class StartEvents:
    """Events of one line of the start; ``texts`` and ``numbers`` are stats by name."""

    begin: I64
    end: I64
    name: list[str]
    texts: Mapping[str, list[str]]
    numbers: Mapping[str, I64]

    def __len__(self) -> int:
        return len(self.begin)


@dataclass(slots=True)
class StartPart:
    """One owner's time of a start; times are in ps.

    Attributes:
        kind: One of ``names.START_KINDS``, or one of those above.
        name: Package, function, file or host.
        place: Where most of it was asked for.
        time: Its own time.
        cpu, queue: Processor time of the main thread, and time in the processor's queue.
        waits: The rest by reason.
        bytes: Bytes that the process read meanwhile, or the size of the file.
        count: How often it began; 0 if it was only looked at.
        hits, misses: Lookups in a cache of compiled code.
    """

    kind: str
    name: str
    place: str = ""
    time: int = 0
    cpu: float = 0.0
    queue: float = 0.0
    waits: dict[str, float] | None = None
    bytes: float = 0.0
    count: int = 0
    hits: int = 0
    misses: int = 0

    @property
    def waits_for(self) -> str:
        """Its main reason to wait; "" if it hardly waited."""
        waits = {name: time for name, time in (self.waits or {}).items() if time > 0}
        most = max(waits, key=lambda name: waits[name], default="")
        return most if most and waits[most] > max(self.cpu, self.queue) else ""


@dataclass(frozen=True, slots=True)
class Start:
    """The account of one program's start; times are in ps of the recording's clock.

    Attributes:
        begin: When the process began.
        end: When the account ends.
        until: Event at its end.
        step_source: Source of the steps; "" without one.
        first_step: Begin and end of the first step, if one was seen.
        steady: Begin of the first steady step; None if steps did not become steady.
        parts: Owners, longest first; their times sum to ``end - begin``.
        package_ps: Time within imports of each package, those of others within included.
    """

    begin: int
    end: int
    until: Until
    step_source: str
    first_step: tuple[int, int] | None
    steady: int | None
    parts: tuple[StartPart, ...]
    package_ps: Mapping[str, int]

    @property
    def attributed(self) -> float:
        """Share of the time that is no gap."""
        gap = sum(part.time for part in self.parts if part.kind == GAP)
        return 1 - gap / max(self.end - self.begin, 1)


@derived
def start(host: Host) -> Start | None:
    """The start of the program; None if it was not recorded."""
    spans, looks = _line(host, names.START_SPANS_LINE), _line(host, names.START_LOOKS_LINE)
    if not len(spans) and not len(looks):
        return None
    begin = int(min(one.begin.min() for one in (spans, looks) if len(one)))
    kinds = np.isin(spans.texts[names.START_KIND], names.START_COMPILES)
    compiled = spans.end[kinds] if len(spans) else spans.end
    source, first, steady = _steps(host, compiled)
    # The steps after the first are warm-up until they are steady; without one nothing is known.
    last = int(max(one.end.max() for one in (spans, looks) if len(one)))
    end = last if first is None else max(first[1], steady or _last_compiled(host, first, compiled))
    owners = _Owners(spans, looks, first, begin, max(end, begin + 1))
    return Start(
        begin,
        max(end, begin + 1),
        "end of recording" if first is None else "first step",
        source,
        first,
        steady,
        tuple(sorted(owners.parts(), key=lambda part: -part.time)),
        _packages(spans),
    )


def _steps(host: Host, compiled: I64) -> tuple[str, tuple[int, int] | None, int | None]:
    """Source, first step, and begin of the first steady one.

    Args:
        host: Recording.
        compiled: Ends of spans of tracing and compilation.
    """
    heard = _line(host, names.START_STEPS_LINE)
    if len(heard):
        begin, end = heard.begin, heard.end
        source = heard.texts[names.START_KIND][0]
    else:
        found = steps(host)
        if found is None or found.markers.is_window or not len(found.start_ps):
            return "", None, None
        if processes(host).suffix_of(found.markers.line):  # its parent's start is not its own
            return "", None, None
        begin, end, source = found.start_ps, found.end_ps, found.markers.source
    return source, (int(begin[0]), int(end[0])), _steady(begin, end, compiled)


def _last_compiled(host: Host, first: tuple[int, int], compiled: I64) -> int:
    """End of the last of the first steps in which something was compiled."""
    heard = _line(host, names.START_STEPS_LINE)
    inside = compiled[compiled >= first[0]]
    after = heard.end[heard.end >= inside.max()] if len(inside) else heard.end[:0]
    return int(after.min()) if len(after) else 0


def _steady(begin: I64, end: I64, compiled: I64) -> int | None:
    """Begin of the first of the steps from which on all take about as long."""
    length = end - begin
    if len(length) <= _STEADY_STEPS:
        return None
    usual = median(length[-_STEADY_STEPS:])
    compiles = np.searchsorted(np.sort(compiled), end) > np.searchsorted(np.sort(compiled), begin)
    slow = np.flatnonzero((length > _STEADY_SPREAD * usual) | compiles)
    first = 1 if len(slow) == 0 else int(slow[-1]) + 1  # the first one compiles
    return int(begin[first]) if len(length) - first >= _STEADY_STEPS else None


def _packages(spans: StartEvents) -> dict[str, int]:
    is_import = [kind == "import" for kind in spans.texts[names.START_KIND]]
    rows_of: dict[str, list[int]] = {}
    for row in np.flatnonzero(np.asarray(is_import, bool)).tolist():
        rows_of.setdefault(spans.name[row], []).append(row)
    found = {}
    for package, rows in rows_of.items():
        begin, end = union_spans(spans.begin[rows], spans.end[rows])
        found[package] = int((end - begin).sum())
    return found


class _Owners:
    """Who owns which piece of the time between two moments."""

    def __init__(
        self,
        spans: StartEvents,
        looks: StartEvents,
        first: tuple[int, int] | None,
        begin: int,
        end: int,
    ) -> None:
        self._spans, self._looks = spans, looks
        moments = [spans.begin, spans.end, looks.begin, looks.end, np.asarray([begin, end])]
        moments.append(np.asarray(first or (), np.int64))
        cuts = np.unique(np.concatenate(moments))
        self._cuts = cuts = cuts[(cuts >= begin) & (cuts <= end)]
        self._begin, self._length = cuts[:-1], np.diff(cuts)
        self._readers = _readers(looks)
        self._look = innermost(looks.begin, looks.end, self._begin)
        self._span = innermost(spans.begin, spans.end, self._begin)
        self._is_step = self._begin >= (first[0] if first else end)

    def parts(self) -> Iterator[StartPart]:
        """The owners with all that is known of their time."""
        found: dict[tuple[str, str], StartPart] = {}
        most: dict[tuple[str, str], int] = {}
        table = np.column_stack([self._span, self._look, self._is_step])
        groups, at = np.unique(table, axis=0, return_inverse=True)
        sums = np.bincount(at.reshape(-1), weights=self._length, minlength=len(groups))
        for (span, look, is_step), length in zip(groups.tolist(), sums.tolist(), strict=True):
            key, place = self._owner(span, look, bool(is_step))
            part = found.setdefault(key, StartPart(*key))
            part.time += int(length)
            if place and length > most.get(key, 0):
                part.place, most[key] = place, int(length)
            self._detail(part, look, length)
        self._count(found)
        yield from found.values()

    def _owner(self, span: int, look: int, is_step: bool) -> tuple[tuple[str, str], str]:
        if span >= 0:
            texts = self._spans.texts
            key = (texts[names.START_KIND][span], self._spans.name[span])
            return key, texts[names.START_PLACE][span]
        if look < 0:
            return (GAP, "not seen"), ""
        texts = self._looks.texts
        kind, wait = texts[names.START_KIND][look], texts[names.START_WAIT][look]
        name, place = self._looks.name[look], texts[names.START_PLACE][look]
        if kind == "program":
            kind = _KIND_OF_WAIT.get(wait, kind)
            if kind in (SLEEP, GAP) and name in self._readers:
                return ("reading", self._readers[name]), place
            if is_step and kind in ("program", GAP):
                return (STEPS, "warm-up"), place
        return (kind, name), place

    def _detail(self, part: StartPart, look: int, length: float) -> None:
        """Add processor time, waits and bytes of a part's time, as far as it was looked at."""
        if look < 0:
            return
        numbers = self._looks.numbers
        share = length / max(int(self._looks.end[look] - self._looks.begin[look]), 1)
        cpu = min(1000.0 * float(numbers[names.START_CPU][look]) * share, length)
        queue = min(1000.0 * float(numbers[names.START_QUEUE][look]) * share, length - cpu)
        wait = self._looks.texts[names.START_WAIT][look] or "unknown"
        part.cpu += cpu
        part.queue += queue
        part.waits = part.waits or {}
        part.waits[wait] = part.waits.get(wait, 0.0) + length - cpu - queue
        part.bytes += float(numbers[names.START_BYTES][look]) * share

    def _count(self, found: Mapping[tuple[str, str], StartPart]) -> None:
        texts, sizes = self._spans.texts, self._spans.numbers[names.START_BYTES]
        size_of: dict[tuple[str, str], int] = {}
        within = self._spans.begin < self._cuts[-1]
        for row in np.flatnonzero(within).tolist():
            key = (texts[names.START_KIND][row], self._spans.name[row])
            part = found.get(key)
            if part is None:
                continue  # others own all of its time
            part.count += 1
            part.hits += texts[names.START_CACHE][row] == "hit"
            part.misses += texts[names.START_CACHE][row] == "miss"
            size_of[key] = size_of.get(key, 0) + int(sizes[row])
        for key, size in size_of.items():
            if size:
                found[key].bytes = float(size)


def _readers(looks: StartEvents) -> dict[str, str]:
    """Functions that mostly read, and the name of their reads."""
    whole: dict[str, int] = {}
    reads: dict[str, dict[str, int]] = {}
    lengths = (looks.end - looks.begin).tolist()
    for name, kind, length in zip(looks.name, looks.texts[names.START_KIND], lengths, strict=True):
        function = name.partition(": ")[0]
        whole[function] = whole.get(function, 0) + length
        if kind == "reading":
            named = reads.setdefault(function, {})
            named[name] = named.get(name, 0) + length
    return {
        function: max(named, key=lambda name: named[name])
        for function, named in reads.items()
        if sum(named.values()) >= _READER_FRAC * whole[function]
    }


def _line(host: Host, name: str) -> StartEvents:
    """Events of a line of the plane of the program's own start, in order."""
    space = host.space
    rows = np.concatenate(
        [
            np.arange(line.begin, line.end)
            for line in space.lines
            if line.name == name and space.planes[line.plane].name == names.START_PLANE
        ]
        or [np.zeros(0, np.int64)]
    )
    rows = rows[np.argsort(space.events.start_ps[rows], kind="stable")]
    metadata = space.events.metadata[rows].tolist()
    begin = space.events.start_ps[rows]
    texts = (names.START_KIND, names.START_PLACE, names.START_CACHE, names.START_WAIT)
    numbers = (names.START_CPU, names.START_QUEUE, names.START_BYTES)
    shared = metadata_stats_by_name(space, texts)
    by_name = {
        text: dict(zip(column.rows.tolist(), column.texts.texts(), strict=True))
        for text, column in shared.items()
    }
    columns = stats_by_name(space, numbers)
    values = {}
    for number, column in columns.items():
        known = dict(zip(column.rows.tolist(), column.ints.tolist(), strict=True))
        values[number] = np.asarray([known.get(row, 0) for row in rows.tolist()], np.int64)
    return StartEvents(
        begin,
        begin + space.length_ps[rows],
        [space.event_metadata.name[one] for one in metadata],
        {text: [by_name[text].get(one, "") for one in metadata] for text in texts},
        values,
    )
