"""Starts of programs, drawn in milliseconds: spans of known work, looks, and the first steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from stepscope.schema import names
from tests.profiles.model import Event, Kind, Plane, line, plane

_US_PER_MS = 1000


class Span(NamedTuple):
    """Known work from one millisecond to another."""

    kind: str
    name: str
    begin: float
    end: float
    place: str = ""
    size: int = 0
    cache: str = ""


class Look(NamedTuple):
    """The main thread from one millisecond to another; ``cpu`` and ``queue`` in ms."""

    name: str
    begin: float
    end: float
    wait: str = ""
    cpu: float = 0.0
    queue: float = 0.0
    kind: str = "program"
    place: str = ""
    size: int = 0


def start(
    spans: list[Span] | None = None,
    looks: list[Look] | None = None,
    steps: list[tuple[float, float]] | None = None,
) -> Plane:
    """The plane of a start; names are unique in it."""
    kinds: dict[str, Kind] = {}
    known, seen = [], []
    for span in spans or []:
        shared = {names.START_KIND: span.kind, names.START_PLACE: span.place}
        _share(kinds, span.name, {**shared, names.START_CACHE: span.cache})
        known.append(_event(span.name, span.begin, span.end, {names.START_BYTES: span.size}))
    for look in looks or []:
        shared = {names.START_KIND: look.kind, names.START_PLACE: look.place}
        _share(kinds, look.name, {**shared, names.START_WAIT: look.wait})
        numbers = {
            names.START_CPU: round(look.cpu * 1e6),
            names.START_QUEUE: round(look.queue * 1e6),
            names.START_BYTES: look.size,
        }
        seen.append(_event(look.name, look.begin, look.end, numbers))
    stepped = [_event("heard step", *one, {}) for one in steps or []]
    _share(kinds, "heard step", {names.START_KIND: "step markers"})
    return plane(
        names.START_PLANE,
        line(names.START_SPANS_LINE, *known, id=1),
        line(names.START_LOOKS_LINE, *seen, id=2),
        line(names.START_STEPS_LINE, *stepped, id=3),
        kinds=kinds,
    )


def _share(kinds: dict[str, Kind], name: str, stats: Mapping[str, Any]) -> None:
    known = kinds.setdefault(name, Kind(stats=stats))
    assert known.stats == stats, f"{name} is of two kinds"


def _event(name: str, begin: float, end: float, stats: Mapping[str, Any]) -> Event:
    return Event(name, begin * _US_PER_MS, (end - begin) * _US_PER_MS, stats)
