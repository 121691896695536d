"""A session as a timeline: its hosts on one axis, each with its sections and tracks."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import replace
from threading import Lock
from typing import Final

import numpy as np

from stepscope.columns import count_of
from stepscope.columns.space import I32, Line
from stepscope.schema import names
from stepscope.tables.core.planes import DEVICE_KINDS, LineKind, PlaneKind, planes
from stepscope.tables.core.presence import entries_starting
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.host.events import timed_events
from stepscope.timeline.axis import axis_of
from stepscope.timeline.counters import counter_tracks
from stepscope.timeline.derive import derived_tracks
from stepscope.timeline.labels import Names, host_labels
from stepscope.timeline.model import (
    Labels,
    Section,
    SectionKind,
    Timeline,
    Track,
    TrackKind,
)

_ORDER: Final = (
    "steps",
    "modules",
    "name_scope",
    "framework_ops",
    "ops",
    "async_ops",
    "source",
    "stream",
    "thread",
    "other",
    "counter",
)
_BY_LINE_NAME: Final[tuple[tuple[tuple[str, ...], TrackKind], ...]] = (
    (names.STEPS_LINES, "steps"),
    (names.NAME_SCOPE_LINES, "name_scope"),
    (names.FRAMEWORK_OPS_LINES, "framework_ops"),
    (names.XLA_MODULES_LINES, "modules"),
    (names.ASYNC_OPS_LINES, "async_ops"),
    (names.XLA_OPS_LINES, "ops"),
    (names.SOURCE_LINES, "source"),
)
_DIGITS = re.compile(r"(\d+)")


@derived
def timeline(profile: Profile) -> Timeline:
    """The session's timeline; tracks are laid out when they are first looked at."""
    index = Names()
    first = np.cumsum([0, *(len(host.space.events) for host in profile.hosts)]).tolist()
    sections: list[Section] = []
    tracks: list[Track] = []
    next_event = first[-1]
    for number, host in enumerate(profile.hosts):
        labels = host_labels(host, index)
        recorded = _recorded(host, number, first[number], labels)
        more = [*derived_tracks(host, recorded, index), *counter_tracks(host)]
        groups = _sections(host, recorded, more)
        for kind, name, members in groups:
            section = len(sections)
            placed = []
            for track in members:
                own = next_event if track.derived and track.counter is None else track.first_event
                if track.derived:
                    next_event += len(track)
                placed.append(
                    replace(track, id=len(tracks), section=section, host=number, first_event=own)
                )
                tracks.append(placed[-1])
            ids = tuple(track.id for track in placed)
            sections.append(Section(section, number, kind, name, ids))
    return Timeline(
        profile=profile,
        axis=axis_of(profile),
        sections=tuple(sections),
        tracks=tuple(tracks),
        names=index.all(),
        first_event=tuple(first),
        events=next_event,
        fingerprint=_fingerprint(profile),
        locks=tuple(Lock() for _ in tracks),
    )


def _recorded(host: Host, number: int, first_event: int, labels: Labels) -> list[Track]:
    """A track for every line of the file that has events in time and is not a counter."""
    space, table = host.space, planes(host)
    timed, texts = timed_events(host), _line_texts(host)
    found = []
    for row, line in enumerate(space.lines):
        if line.end == line.begin or table.line_kind[row] is LineKind.COUNTERS:
            continue
        mine = timed[line.begin : line.end]
        select: I32 | None = None
        if not mine.all():
            select = np.flatnonzero(mine).astype(np.int32)
        found.append(
            Track(
                id=-1,
                section=-1,
                host=number,
                kind=_kind(line, table.plane_kind[line.plane]),
                name=texts[row],
                line=row,
                first_event=first_event + line.begin,
                start_ps=space.events.start_ps[line.begin : line.end],
                duration_ps=space.events.duration_ps[line.begin : line.end],
                code=space.events.metadata[line.begin : line.end],
                labels=labels,
                select=select,
            )
        )
    return [track for track in found if len(track)]


def _line_texts(host: Host) -> list[str]:
    """A text for each line; threads of a host that share a name get their ids with it.

    A thread's Python calls are on a plane of their own, under its name and id. Some recorders lose
    the ids of threads: then lines of one plane are counted.
    """
    table, ids, seen = planes(host), dict[tuple[str, int], set[int]](), Counter[tuple[str, int]]()
    keys: list[tuple[str, int]] = []
    texts: list[str] = []
    for row, line in enumerate(host.space.lines):
        is_thread = table.plane_kind[line.plane] in (PlaneKind.HOST, PlaneKind.PYTHON)
        keys.append((line.label, -1 if is_thread else line.plane))
        if line.end > line.begin and table.line_kind[row] is not LineKind.COUNTERS:
            ids.setdefault(keys[-1], set()).add(line.id)
    for key, line in zip(keys, host.space.lines, strict=True):
        shares = not line.label or len(ids.get(key, ())) > 1
        text = f"{line.label or 'line'} {line.id}" if shares else line.label
        seen[text, line.plane] += line.end > line.begin
        again = seen[text, line.plane]
        texts.append(f"{text} ({again})" if again > 1 else text)
    return texts


def _kind(line: Line, plane: PlaneKind) -> TrackKind:
    for starts, kind in _BY_LINE_NAME:
        if line.name.startswith(starts):
            return kind
    if plane is PlaneKind.GPU:
        return "stream"
    return "thread" if plane in (PlaneKind.HOST, PlaneKind.PYTHON) else "other"


def _sections(
    host: Host, recorded: list[Track], more: list[tuple[int, Track]]
) -> list[tuple[SectionKind, str, list[Track]]]:
    """Devices first, then the host's threads, then Python's calls; ``more`` names its plane."""
    space, kinds = host.space, planes(host).plane_kind
    groups: dict[tuple[int, SectionKind, str], list[Track]] = {}
    is_call = entries_starting(host, names.PYTHON_CALL_MARK)
    by_plane = [*((space.lines[track.line].plane, track) for track in recorded), *more]
    for plane, track in by_plane:
        kind: SectionKind
        if kinds[plane] in DEVICE_KINDS:
            kind, rank = "device", 0
        elif kinds[plane] is PlaneKind.HOST:
            # A thread is Python's when most of its events are calls that a Python tracer wrote.
            python = count_of(track.code, is_call) if track.line >= 0 else 0
            is_python = 2 * python > len(track.code)
            kind, rank = ("python", 2) if is_python else ("host", 1)
        elif kinds[plane] is PlaneKind.PYTHON:
            kind, rank = "python", 2
        else:
            kind, rank = "other", 3
        is_ours = kinds[plane] in (PlaneKind.PYTHON, PlaneKind.TELEMETRY)
        name = space.planes[plane].name.removeprefix(names.CUSTOM_PLANE if is_ours else "")
        if kinds[plane] is PlaneKind.HOST and kind == "python":
            name = "Python calls"
        groups.setdefault((rank, kind, name), []).append(track)
    ordered = sorted(groups.items(), key=lambda item: (item[0][0], _natural(item[0][2])))
    return [
        (kind, name, sorted(members, key=lambda t: (_ORDER.index(t.kind), _natural(t.name))))
        for (_rank, kind, name), members in ordered
    ]


def _natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts "stream 10" after "stream 9"."""
    parts = _DIGITS.split(text[:200])
    return tuple((1, int(p), "") if p.isdecimal() else (0, 0, p.lower()) for p in parts)


def _fingerprint(profile: Profile) -> str:
    """Of the names, sizes and ends of the hosts' files."""
    digest = hashlib.blake2b(digest_size=12)
    for host in profile.hosts:
        buffer = host.space.buffer
        facts = f"{host.name}\0{len(buffer)}\0{len(host.space.events)}\0{host.space.origin_ns}\0"
        digest.update(facts.encode("utf-8", "surrogatepass"))
        digest.update(buffer[: 1 << 16])
        digest.update(buffer[max(len(buffer) - (1 << 16), 0) :])
    return digest.hexdigest()
