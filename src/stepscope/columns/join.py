"""Two spaces as one, on the clock of the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.merge import merged
from stepscope.columns.space import (
    I64,
    KIND_BYTES,
    KIND_REF,
    KIND_STR,
    EventMetadata,
    Events,
    Line,
    Plane,
    Space,
    StatMetadata,
    Stats,
)

T = TypeVar("T")
N = TypeVar("N", bound=np.generic)


def joined(space: Space, other: Space, shift_ps: int, planes: Sequence[str]) -> Space:
    """The planes of both, those of equal names as one.

    Args:
        space: The first, whose clock and buffer stay.
        other: The second; its texts are names of stats, as readers of other formats leave them.
        shift_ps: Added to the starts of the second's events.
        planes: What the second's planes are called from here on.

    Raises:
        ValueError: The second has texts in a buffer of its own.
    """
    stats = (other.event_stats, other.plane_stats, other.metadata_stats)
    if any(np.isin(one.kind, (KIND_STR, KIND_BYTES)).any() for one in stats):
        raise ValueError("the texts of the second space are in a buffer of its own")
    first_name, first_text = len(space.event_metadata), len(space.stat_metadata)
    first_stat, first_shared = len(space.event_stats), len(space.metadata_stats)
    both = replace(
        space,
        planes=(*space.planes, *_planes(space, other, planes)),
        lines=(*space.lines, *_lines(space, other, shift_ps)),
        events=Events(
            metadata=_after(space.events.metadata, other.events.metadata, first_name),
            start_ps=_after(space.events.start_ps, other.events.start_ps, shift_ps),
            duration_ps=_after(space.events.duration_ps, other.events.duration_ps),
            data=_after(space.events.data, other.events.data),
            stat_begin=_begins(space.events.stat_begin, other.events.stat_begin, first_stat),
            occurrences={
                **space.events.occurrences,
                **_moved(other.events.occurrences, len(space.events)),
            },
        ),
        event_stats=_stats(space.event_stats, other.event_stats, first_text),
        plane_stats=_stats(space.plane_stats, other.plane_stats, first_text),
        metadata_stats=_stats(space.metadata_stats, other.metadata_stats, first_text),
        event_metadata=_event_metadata(space, other, first_shared),
        stat_metadata=_stat_metadata(space, other),
        errors=(*space.errors, *other.errors),
        warnings=(*space.warnings, *other.warnings),
    )
    return merged(both)


def _after(first: NDArray[N], second: NDArray[Any], more: int = 0) -> NDArray[N]:
    """The second after the first, with a number added to it, in the type of the first."""
    out = np.empty(len(first) + len(second), first.dtype)
    out[: len(first)] = first
    out[len(first) :] = second + more if more else second
    return out


def _begins(first: I64, second: I64, more: int) -> I64:
    return _after(first[:-1], second, more)


def _moved(rows: dict[int, T], more: int) -> dict[int, T]:
    return {row + more: value for row, value in rows.items()}


def _planes(space: Space, other: Space, names: Sequence[str]) -> list[Plane]:
    lines, stats = len(space.lines), len(space.plane_stats)
    return [
        Plane(
            one.id,
            name,
            one.line_begin + lines,
            one.line_end + lines,
            one.stat_begin + stats,
            one.stat_end + stats,
        )
        for one, name in zip(other.planes, names, strict=True)
    ]


def _lines(space: Space, other: Space, shift_ps: int) -> list[Line]:
    events = len(space.events)
    return [
        replace(
            line,
            plane=line.plane + len(space.planes),
            begin=line.begin + events,
            end=line.end + events,
            # What is written out begins on the first's clock.
            timestamp_ns=space.origin_ns + (line.shift_ps + shift_ps) // 1000,
            shift_ps=line.shift_ps + shift_ps,
        )
        for line in other.lines
    ]


def _stats(first: Stats, second: Stats, texts: int) -> Stats:
    key = np.where(second.key >= 0, second.key + texts, second.key)
    value = np.where(second.kind == KIND_REF, second.value + np.uint64(texts), second.value)
    return Stats(
        _after(first.key, key), _after(first.kind, second.kind), _after(first.value, value)
    )


def _event_metadata(space: Space, other: Space, stats: int) -> EventMetadata:
    one, two, rows = space.event_metadata, other.event_metadata, len(space.event_metadata)
    return EventMetadata(
        plane=_after(one.plane, two.plane, len(space.planes)),
        id=_after(one.id, two.id),
        name=[*one.name, *two.name],
        display_name=[*one.display_name, *two.display_name],
        stat_begin=_begins(one.stat_begin, two.stat_begin, stats),
        metadata={**one.metadata, **_moved(two.metadata, rows)},
        child_id={**one.child_id, **_moved(two.child_id, rows)},
        present=_after(one.present, two.present),
        own_id={**one.own_id, **_moved(two.own_id, rows)},
    )


def _stat_metadata(space: Space, other: Space) -> StatMetadata:
    one, two = space.stat_metadata, other.stat_metadata
    return StatMetadata(
        plane=_after(one.plane, two.plane, len(space.planes)),
        id=_after(one.id, two.id),
        name=[*one.name, *two.name],
        description=[*one.description, *two.description],
        present=_after(one.present, two.present),
        own_id={**one.own_id, **_moved(two.own_id, len(one))},
    )
