"""A progress line on stderr for work that takes long."""

from __future__ import annotations

import sys
import time

from stepscope.quantities import size_words
from stepscope.surfaces.format import clean, shorten

_PATIENCE_S = 0.5
_EVERY_S = 0.1


class ProgressLine:
    """Shows progress on a terminal after half a second, and wipes it when done."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._drawn = 0.0
        self._active = sys.stderr.isatty()

    def update(self, stage: str, done: int, total: int) -> None:
        """Take a report: stage, and how many of how many bytes."""
        now = time.monotonic()
        if not self._active or now - self._began < _PATIENCE_S or now - self._drawn < _EVERY_S:
            return
        self._drawn = now
        share = f" {done / total:4.0%} of {size_words(total)}" if total else ""
        sys.stderr.write(f"\r\x1b[2K{shorten(clean(stage), 50)}{share}")
        sys.stderr.flush()

    def stop(self) -> None:
        """Wipe the line; nothing is drawn after this."""
        if self._drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
        self._active = False
        self._drawn = 0.0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
