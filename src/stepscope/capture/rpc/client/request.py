"""The request to the workers, and when they begin."""

from __future__ import annotations

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.rpc.client.address import Address
from stepscope.errors import UsageError
from stepscope.records import dataclass, field

_LONGEST_MS = 3_600_000
# A worker's answer is waited for as long as TensorFlow's client waits, counted from the end.
_ANSWER_S = 60.0


@dataclass(frozen=True)
class CaptureRequest:
    """What is asked of the workers.

    Attributes:
        addresses: The workers.
        logdir: Where to: a folder or a URL.
        duration_ms: How long; with ``steps``, at most (None: a minute).
        steps: End after this many steps; None: by time alone.
        options: What to record.
        attempts: How often a worker is asked at most.
        answer_s: How long to wait for an answer after the recording should have ended (None: as
            long as the recording, a minute at least).
        connect_s: How long to wait for a connection.

    Raises:
        UsageError: Nothing can be recorded so.
    """

    addresses: tuple[Address, ...]
    logdir: str
    duration_ms: float | None = None
    steps: int | None = None
    options: ProfilerOptions = field(default_factory=ProfilerOptions)
    attempts: int = 3
    answer_s: float | None = None
    connect_s: float = 5.0

    def __post_init__(self) -> None:
        if self.duration_ms is None and self.steps is None:
            raise UsageError("No duration given.", hint="Give a duration or a number of steps.")
        if self.duration_ms is not None and not 0 < self.duration_ms <= _LONGEST_MS:
            raise UsageError(
                f"A recording cannot last {self.duration_ms:g} ms.",
                hint=f"Give 1 to {_LONGEST_MS} ms (an hour).",
            )
        if self.steps is not None and self.steps < 1:
            raise UsageError(f"{self.steps} steps cannot be recorded.", hint="Give 1 or more.")
        if self.attempts < 1:
            raise UsageError("There must be at least one attempt.", hint="Give 1 or more.")
        if self.answer_s is not None and not self.answer_s > 0:
            raise UsageError(
                "The time to answer must be longer than 0 s.", hint="Give more than 0 seconds."
            )


@dataclass(frozen=True)
class CaptureWindow:
    """The time all workers record, on this machine's wall clock.

    Attributes:
        start_ns: When they begin.
        seconds: How long.
        steps: Steps after which a worker that counts them ends early.
        is_open: Whether nothing but the steps is known to end it; ``seconds`` is then the longest.
        answer_s: How long to wait for its answer afterwards.
    """

    start_ns: int
    seconds: float
    steps: int | None
    is_open: bool
    answer_s: float

    @classmethod
    def of(
        cls, request: CaptureRequest, start_ns: int, seconds: float, *, is_open: bool
    ) -> CaptureWindow:
        """The window of a request, its start and length decided."""
        answer_s = max(_ANSWER_S, seconds) if request.answer_s is None else request.answer_s
        return cls(start_ns, seconds, request.steps, is_open, answer_s)
