"""The state and result of a recording from outside, worker by worker."""

from __future__ import annotations

from typing import Any, Literal

from stepscope.records import dataclass

WorkerPhase = Literal[
    "connecting", "busy", "ready", "waiting", "recording", "writing", "done", "failed"
]
WorkerStatus = Literal["recorded", "empty", "failed"]


@dataclass(slots=True)
class Progress:
    """Where one worker is.

    Attributes:
        address: The worker.
        phase: What happens there now.
        until_s: ``time.monotonic()`` at which this phase should end; None when unknown.
        note: What there is to say about it, such as why it is tried again.
    """

    address: str
    phase: WorkerPhase = "connecting"
    until_s: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class WorkerOutcome:
    """The outcome of one worker.

    Attributes:
        address: The worker.
        status: "recorded", "empty" (it answered without an event) or "failed".
        path: The file or URL written; "" when there is none.
        bytes: Its size.
        events: Events in it.
        seconds: From asking for the recording to having it on the disk; None if never asked.
        attempts: How often it was asked.
        server: What answers there, in words; "" when nothing did.
        error: Why there is no recording; "" when there is one.
        hint: What to do about that.
        notes: What a person should know about this recording.
    """

    address: str
    status: WorkerStatus
    path: str = ""
    bytes: int = 0
    events: int = 0
    seconds: float | None = None
    attempts: int = 0
    server: str = ""
    error: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "address": self.address,
            "status": self.status,
            "path": self.path,
            "bytes": self.bytes,
            "events": self.events,
            "seconds": self.seconds,
            "attempts": self.attempts,
            "server": self.server,
            "error": self.error,
            "hint": self.hint,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class RemoteCapture:
    """A recording of one or more workers.

    Attributes:
        run: Name of the run in the log directory.
        folder: The run's folder; "" when no worker gave anything.
        workers: One outcome per worker, in the order they were named.
        duration_ms: How long was recorded; with steps, at most.
        steps: Steps asked for; None when it was by time.
        notes: What a person should know about all of it.
    """

    run: str
    folder: str
    workers: tuple[WorkerOutcome, ...]
    duration_ms: float
    steps: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def recorded(self) -> tuple[WorkerOutcome, ...]:
        """The workers that gave a recording."""
        return tuple(each for each in self.workers if each.status == "recorded")

    @property
    def lost(self) -> tuple[WorkerOutcome, ...]:
        """The workers that gave none."""
        return tuple(each for each in self.workers if each.status != "recorded")

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "run": self.run,
            "folder": self.folder,
            "duration_ms": self.duration_ms,
            "steps": self.steps,
            "notes": list(self.notes),
            "workers": [each.to_dict() for each in self.workers],
        }
