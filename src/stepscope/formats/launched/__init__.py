"""What recorders of GPUs have in common, whatever their files look like.

Threads call a runtime inside of ranges that the program marked; calls launch kernels and copies
on streams; the number of a launch, unique within its process, joins the two. A reader fills
``Recorded``, ``to_space`` makes of it the planes, lines and stats that every tool reads.
"""

from __future__ import annotations

from stepscope.formats.launched.recorded import (
    Allocations,
    Column,
    Counter,
    DeviceEvents,
    HostEvents,
    Recorded,
    Stream,
    Thread,
)
from stepscope.formats.launched.space import to_space

__all__ = [
    "Allocations",
    "Column",
    "Counter",
    "DeviceEvents",
    "HostEvents",
    "Recorded",
    "Stream",
    "Thread",
    "to_space",
]
