"""What recorders of GPUs have in common, whatever their files look like.

Threads call a runtime inside of ranges that the program marked; calls launch kernels and copies
on streams; the number of a launch, unique within its process, joins the two. A reader fills
``LaunchedRecording``, ``to_space`` makes of it the planes, lines and stats that every tool reads.
"""

from __future__ import annotations

from stepscope.formats.launched.recorded import (
    Counter,
    DeviceWork,
    HostEvents,
    HostThread,
    LaunchedRecording,
    MemoryEvents,
    NamedValues,
    Stream,
)
from stepscope.formats.launched.space import to_space

__all__ = [
    "Counter",
    "DeviceWork",
    "HostEvents",
    "HostThread",
    "LaunchedRecording",
    "MemoryEvents",
    "NamedValues",
    "Stream",
    "to_space",
]
