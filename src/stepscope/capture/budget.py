"""The budget of a recording, and when its next chunk is due."""

from __future__ import annotations

import math
import time
from typing import Final

from stepscope.capture.options import ProfilerOptions

# The rate of events is known after a chunk; with a budget, the first chunk is this short.
_PROBE_SECONDS: Final = 0.25
# End a little before the estimate reaches the budget, so as not to exceed it.
_CAUTION: Final = 0.9


class Budget:
    """How much of its seconds, events and bytes a recording has used.

    A framework does not report its number of events until it hands them over. They are counted at
    each chunk, and estimated in between from the rate of the previous chunk.
    """

    def __init__(self, options: ProfilerOptions) -> None:
        self._options = options
        self._counts = options.max_events is not None or options.max_bytes is not None
        self._begun = self._chunk_begun = 0.0
        self._events = self._bytes = 0
        self._event_rate = self._byte_rate = 0.0

    def begin(self) -> None:
        """Recording begins now."""
        self._begun = self._chunk_begun = time.monotonic()

    def chunk(self, events: int, size: int) -> None:
        """A chunk was written.

        Args:
            events: Events of all chunks so far.
            size: Bytes of this chunk.
        """
        now = time.monotonic()
        seconds = max(now - self._chunk_begun, 1e-3)
        self._event_rate = (events - self._events) / seconds
        self._byte_rate = size / seconds
        self._events = events
        self._bytes += size
        self._chunk_begun = now

    def spent(self) -> str:
        """The part that is used up, in words; "" if none is."""
        options, now = self._options, time.monotonic()
        if options.max_seconds is not None and now - self._begun >= options.max_seconds:
            return f"{options.max_seconds:g} s"
        open_seconds = now - self._chunk_begun
        events = self._events + self._event_rate * open_seconds
        if options.max_events is not None and events >= options.max_events * _CAUTION:
            return f"{options.max_events:,} events"
        size = self._bytes + self._byte_rate * open_seconds
        if options.max_bytes is not None and size >= options.max_bytes * _CAUTION:
            return f"{options.max_bytes:,} bytes"
        return ""

    def cut_due(self) -> bool:
        """Whether what is recorded so far should be written now."""
        limit = self._options.chunk_seconds or math.inf
        if self._counts and not self._event_rate:
            limit = min(limit, _PROBE_SECONDS)
        return time.monotonic() - self._chunk_begun >= limit
