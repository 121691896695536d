"""A recording session that records nothing of its own: what the service is tested with."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.result import Capture
from stepscope.errors import CaptureError


class FakeDoor:
    """Keeps what it was asked for and gives back the bytes it was made with.

    Attributes:
        xspace: What a recording holds.
        started: Options of each recording, in order.
        person: Whether a person records already.
        period_s: A step takes this long; None when no step is marked.
        begun_ns: Wall clock at each start.
        stopping: Met twice at each stop: once it has begun, and when it may go on.
    """

    def __init__(
        self, xspace: bytes = b"\x0a\x05\x12\x03/x:", period_s: float | None = None
    ) -> None:
        self.xspace = xspace
        self.started: list[ProfilerOptions] = []
        self.begun_ns: list[int] = []
        self.dropped = 0
        self.person = False
        self.period_s = period_s
        self.broken: Exception | None = None
        self._folder: Path | None = None
        self.stopping: threading.Barrier | None = None

    def start(self, logdir: str, options: ProfilerOptions, steps: int | None = None) -> None:
        if self.person or self._folder is not None:
            raise CaptureError("A recording is under way.", where="a person's", slug="capture-busy")
        self.started.append(options)
        self.begun_ns.append(time.time_ns())
        self._folder = Path(logdir)

    def stop(self, *, save: bool) -> Capture:
        folder, self._folder = self._folder, None
        assert folder is not None, "stop without start"
        if self.stopping is not None:
            self.stopping.wait(60)
            self.stopping.wait(60)
        if self.broken is not None:
            raise self.broken
        if not save:
            self.dropped += 1
            return Capture("", 0, 0, 0.1)
        path = folder / f"recording{len(self.started)}.xplane.pb"
        path.write_bytes(self.xspace)
        return Capture(str(path), len(self.xspace), 3 if self.xspace else 0, 0.1)

    def recording(self) -> bool:
        return self._folder is not None

    def owner(self) -> str:
        return "person" if self.person else "remote" if self._folder is not None else ""

    @contextmanager
    def counting(self) -> Iterator[_Steps]:
        yield _Steps(self.period_s)


class _Steps:
    def __init__(self, period_s: float | None) -> None:
        self._period_s = period_s
        self._began = time.monotonic()

    @property
    def count(self) -> int:
        return int((time.monotonic() - self._began) / self._period_s) if self._period_s else 0
