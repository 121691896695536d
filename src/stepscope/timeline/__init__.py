"""The timeline: tracks of events on one axis, and what any stretch of them shows at any zoom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stepscope.timeline.model import CATEGORIES, Section, Timeline, Track
    from stepscope.timeline.session import timeline
    from stepscope.timeline.tiles import LaneRange, Tile, tile

__all__ = ["CATEGORIES", "LaneRange", "Section", "Tile", "Timeline", "Track", "tile", "timeline"]

_HOMES: Final = {
    "CATEGORIES": "model",
    "LaneRange": "tiles",
    "Section": "model",
    "Tile": "tiles",
    "Timeline": "model",
    "Track": "model",
    "tile": "tiles",
    "timeline": "session",
}


def __getattr__(name: str) -> Any:
    """Import public names when first used: a selection needs the axis, not the tracks."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
