"""The result of a recording: the file, its size, its contents and its warnings."""

from __future__ import annotations

import builtins

from stepscope.capture.recorder import Note
from stepscope.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Capture:
    """A finished recording.

    Attributes:
        path: The file or URL written; "" when nothing was kept (``stop(save=False)``).
        bytes: Size of the file.
        events: Events in it.
        seconds: Recorded time.
        stop_seconds: Time to end and write it.
        counts: Events by recorder.
        warnings: Notes for a person, most severe first.
        finished_by: "stop", "budget", "signal", "exit", "preempted" or "error".
    """

    path: str
    bytes: int
    events: int
    seconds: float
    stop_seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    warnings: tuple[Note, ...] = ()
    finished_by: str = "stop"

    def xspace(self) -> builtins.bytes:
        """The recording as bytes, read back from where it was written."""
        from stepscope.capture.file.logdir import read_bytes

        return read_bytes(self.path) if self.path else b""
