"""The timeline: tracks of events on one axis, and what any stretch of them shows at any zoom."""

from stepscope.timeline.model import CATEGORIES, Section, Timeline, Track
from stepscope.timeline.session import timeline
from stepscope.timeline.tiles import LaneRange, Tile, tile

__all__ = ["CATEGORIES", "LaneRange", "Section", "Tile", "Timeline", "Track", "tile", "timeline"]
