"""The trace of a PyTorch profiler that has ended, as a file."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from stepscope.capture.torch.open_at_stop import Ended, ledger
from stepscope.formats.kineto.reading.unfinished import unfinished


class Export:
    """A trace in memory-backed storage if available; the file is removed at the end of a ``with``.

    Args:
        profile: The profiler; this is to be the last reference, for its memory (a kB an event)
            is to go before the trace is read.
        ended: Learns what the profiler left open.
    """

    def __init__(self, profile: Any, ended: Ended) -> None:
        self._profile = profile
        self._ended = ended
        self._folder: Path | None = None

    def write(self) -> None:
        """Write it; once."""
        memory = Path("/dev/shm")
        place = str(memory) if os.access(memory, os.W_OK) else None
        self._folder = Path(tempfile.mkdtemp(prefix="stepscope-", dir=place))
        # A TemporaryDirectory would go when the interpreter begins to end, which may be while the
        # last chunk is still being read.
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._remove.atexit = False
        profile, self._profile = self._profile, None
        try:
            profile.export_chrome_trace(str(self._path))
            self._ended.tell(unfinished(self._path))
        finally:
            ledger.watch(self._ended)

    @property
    def _path(self) -> Path:
        assert self._folder is not None
        return self._folder / "trace.json"

    def __enter__(self) -> Path:
        if self._folder is None:
            self.write()
        return self._path

    def __exit__(self, *exc: object) -> None:
        self._remove()
