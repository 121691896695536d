"""XSpace bytes ⇄ columns, and the compiled kernels over them."""

from __future__ import annotations

from stepscope.columns.core import compiled
from stepscope.columns.decode import decode
from stepscope.columns.space import (
    EventMetadata,
    Events,
    Line,
    Plane,
    Space,
    StatMetadata,
    Stats,
    Unknown,
)

__all__ = [
    "EventMetadata",
    "Events",
    "Line",
    "Plane",
    "Space",
    "StatMetadata",
    "Stats",
    "Unknown",
    "compiled",
    "decode",
]
