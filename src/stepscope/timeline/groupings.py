"""Ways to divide a stretch of time that are worth offering, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.timeline.belonging import OUTSIDE, recorded_groups
from stepscope.timeline.model import Timeline


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups from the root on, as ``flames.flame`` takes them, and their name for people."""

    by: tuple[str, ...]
    label: str


#: The first is the one to begin with.
GROUPINGS: Final = (
    Grouping(("stack",), "stack, all tracks merged"),
    Grouping(("track", "stack"), "track, then stack"),
    Grouping(("section", "stack"), "device or host, then stack"),
    Grouping(("category", "name"), "category, then name"),
    Grouping(("track", "category", "name"), "track, category, name"),
    Grouping(("section", "category", "name"), "device or host, category, name"),
    Grouping(("name",), "name"),
    Grouping(("name", "track"), "name, then track"),
    Grouping(("module", "name"), "module, then name"),
    Grouping(("module", "op", "name"), "module, framework op, name"),
    Grouping(("op", "name"), "framework op, then name"),
    Grouping(("step", "category", "name"), "step, category, name"),
    Grouping(("step", "module", "name"), "step, module, name"),
    Grouping(("name", "step"), "name, then step"),
)


def groupings(timeline: Timeline) -> tuple[Grouping, ...]:
    """Those whose groups the session has: no modules where none was recorded."""
    missing = set(OUTSIDE) - recorded_groups(timeline)
    return tuple(one for one in GROUPINGS if missing.isdisjoint(one.by))
