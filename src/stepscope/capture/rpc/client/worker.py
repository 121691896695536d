"""One worker's part of a recording: requested, retried if that helps, written on arrival."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from stepscope.capture.file import logdir as places
from stepscope.capture.file.event_count import count_events
from stepscope.capture.file.writer import Writer
from stepscope.capture.rpc.client.channel import Channel
from stepscope.capture.rpc.client.outcome import Progress, WorkerOutcome
from stepscope.capture.rpc.client.preflight import Preflight, is_busy
from stepscope.capture.rpc.client.request import CaptureRequest, CaptureWindow
from stepscope.capture.rpc.protocol.messages import (
    OPTIONS_VERSION,
    XPLANE_TOOL,
    ProfileOptions,
    ProfileRequest,
    ProfileResponse,
    TraceOptions,
)
from stepscope.capture.rpc.protocol.status import CallFailed, Code
from stepscope.capture.rpc.server.request_options import own_configuration
from stepscope.errors import StepscopeError
from stepscope.records import dataclass, replace
from stepscope.urls import is_url

_RETRY_S = 1.0
_CLOCKS_DIFFER_S = 0.05
# All kinds of host annotations but the allocations (bit 0).
_WITHOUT_MEMORY = 0xFFFF_FFFE
_NOT_THERE_ANY_MORE = "The program ended or the connection broke while it recorded."


@dataclass
class RemoteWorker:
    """One worker, and what is known of it.

    Attributes:
        channel: The connection.
        before: What the look at it before the recording said.
        said: Where its progress is shown.
        request: What is asked of all workers.
        window: When all of them record.
        run: Name of the run its file goes to.
        stem: Name of its file.
        stop: Set when the person gives up.
    """

    channel: Channel
    before: Preflight
    said: Progress
    request: CaptureRequest
    window: CaptureWindow
    run: str
    stem: str
    stop: threading.Event

    def outcome(self) -> WorkerOutcome:
        """Record and write; never raises for what the worker or the disk does."""
        if not self.before.ok:
            return self._lost(0, None, self.before.problem, self.before.hint)
        began = time.monotonic()
        error = hint = ""
        for attempt in range(1, self.request.attempts + 1):
            try:
                answer = self._ask(attempt)
            except CallFailed as failed:
                error, hint = self._explained(failed)
                if not _helps_to_repeat(failed) or self.stop.is_set():
                    return self._lost(attempt, began, error, hint)
            else:
                xspace = _xspace_of(answer)
                if xspace:
                    return self._written(xspace, attempt, began)
                error, hint = _nothing(answer)
            self.said.note = error
            if attempt < self.request.attempts and self.stop.wait(_RETRY_S):
                break
        return self._lost(attempt, began, error, hint)

    def _ask(self, attempt: int) -> ProfileResponse:
        """One request. From the second on it begins at once: the others are under way or done."""
        lead_s = max(self.window.start_ns - time.time_ns(), 0) / 1e9 if attempt == 1 else 0.0
        self.said.phase = "waiting" if lead_s > 1.0 else "recording"
        self.said.until_s = time.monotonic() + lead_s + self.window.seconds
        start_ns = self.window.start_ns if attempt == 1 else 0
        timeout_s = lead_s + self.window.seconds + self.window.answer_s
        return self.channel.profile(self._request(start_ns), timeout_s, self.stop)

    def _request(self, start_ns: int) -> ProfileRequest:
        options = self.request.options
        if start_ns and self.before.clock_ahead_s is not None:
            # Said in the worker's own time, so that hosts with different clocks begin together.
            start_ns += int(self.before.clock_ahead_s * 1e9)
        is_ours = bool(self.before.state)
        opts = ProfileOptions(
            version=OPTIONS_VERSION,
            include_dataset_ops=True,
            host_tracer_level=options.host_tracer_level,
            device_tracer_level=options.device_tracer_level,
            python_tracer_level=options.python_tracer_level,
            enable_hlo_proto=options.include_hlo,
            start_timestamp_ns=start_ns,
            duration_ms=0 if self.window.is_open else max(round(self.window.seconds * 1e3), 1),
            trace_options=None if options.memory else TraceOptions(_WITHOUT_MEMORY),
            session_id=self.run,
        )
        if is_ours:
            opts.advanced_configuration = own_configuration(options, self.window.steps)
        return ProfileRequest(
            duration_ms=opts.duration_ms,
            max_events=options.max_events or 0,
            tools=[XPLANE_TOOL],
            opts=opts,
            session_id=self.run,
            host_name=str(self.channel.address),
            emit_xspace=True,
        )

    def _written(self, xspace: bytes, attempt: int, began: float) -> WorkerOutcome:
        self.said.phase, self.said.until_s, self.said.note = "writing", None, ""
        try:
            events = count_events(xspace)
        except ValueError as error:
            what = f"The answer is not a recording: {error}."
            return self._lost(attempt, began, what, "Record again.")
        notes = list(self._notes(attempt))
        try:
            place, said = self._kept(xspace)
        except OSError as error:
            what = f"It was recorded, but could not be stored anywhere: {error}"
            return self._lost(attempt, began, what, "Free some space, or use another LOGDIR.")
        notes += said
        self.said.phase = "done"
        if not events:
            notes.append(
                "There is no event in it: nothing ran in the program while it was recorded, or "
                "the levels leave everything out."
            )
        return WorkerOutcome(
            str(self.channel.address),
            "recorded" if events else "empty",
            path=place,
            bytes=len(xspace),
            events=events,
            seconds=time.monotonic() - began,
            attempts=attempt,
            server=self.before.server,
            notes=tuple(notes),
        )

    def _kept(self, xspace: bytes) -> tuple[str, list[str]]:
        """Write a recording where it belongs, or elsewhere; where it is, and why it is there.

        Raises:
            OSError: It can be written nowhere.
        """
        try:
            writer = Writer.open(self.request.logdir, self.run, self.stem)
            writer.append([xspace])
            writer.deliver()
        except StepscopeError as error:
            path = places.create_spare(self.run, self.stem)
            path.write_bytes(xspace)
            return str(path), [f"{error.what} {error.why} It is kept in {path}."]
        return writer.place, [note.message for note in writer.notes]

    def _notes(self, attempt: int) -> list[str]:
        notes = []
        if attempt > 1:
            notes.append(f"Recorded at the {_nth(attempt)} attempt, later than the other workers.")
        ahead_s = self.before.clock_ahead_s
        trip_s = self.before.round_trip_s or 0.0
        if ahead_s is not None and abs(ahead_s) > max(_CLOCKS_DIFFER_S, trip_s):
            how = "ahead of" if ahead_s > 0 else "behind"
            notes.append(
                f"Its clock is {abs(ahead_s):.3g} s {how} this machine's: times of different "
                "workers do not compare. Synchronise the clocks (NTP)."
            )
        return notes

    def _lost(self, attempts: int, began: float | None, error: str, hint: str) -> WorkerOutcome:
        self.said.phase, self.said.until_s, self.said.note = "failed", None, error
        empty = error.startswith(_NO_EVENTS)
        return WorkerOutcome(
            str(self.channel.address),
            "empty" if empty else "failed",
            seconds=None if began is None else time.monotonic() - began,
            attempts=attempts,
            server=self.before.server,
            error=error,
            hint=hint,
        )

    def _explained(self, failed: CallFailed) -> tuple[str, str]:
        """An error and its fix in words."""
        if failed.code is Code.CANCELLED and self.stop.is_set():
            return "It was cancelled before the answer arrived.", ""
        if failed.code is Code.DEADLINE_EXCEEDED:
            return (
                f"It did not answer within {self.window.answer_s:g} s after the recording.",
                "The program hangs or exports very much: record a shorter time, or give it more "
                "with --answer-s.",
            )
        if is_busy(failed):
            return "It is already being recorded.", "Try again when that recording has ended."
        if failed.code is Code.FAILED_PRECONDITION:
            return failed.message, "Give a duration instead (--duration-ms), or mark steps."
        if failed.code is Code.UNAVAILABLE:
            return f"{_NOT_THERE_ANY_MORE} ({failed.message})", "Look at the program's own output."
        if failed.code is Code.RESOURCE_EXHAUSTED:
            return (
                f"The recording is larger than the server may send: {failed.message}",
                "Record a shorter time or at lower levels.",
            )
        return (
            f"It answered with an error: {failed.code.name}: {failed.message}",
            "The program's own output may say more.",
        )


_NO_EVENTS = "It recorded no events"


def _nothing(answer: ProfileResponse) -> tuple[str, str]:
    if answer.empty_trace:
        return (
            f"{_NO_EVENTS}.",
            "Is the program running steps now? Record longer, or at a higher level.",
        )
    return (
        f"{_NO_EVENTS} that it sent back.",
        "An old server writes the file itself: look in the folder it was started in.",
    )


def _xspace_of(answer: ProfileResponse) -> bytes:
    """The recording in an answer, in whichever field this server puts it."""
    if answer.xspace:
        return answer.xspace
    return next((each.data for each in answer.tool_data if each.name == XPLANE_TOOL), b"")


def _helps_to_repeat(failed: CallFailed) -> bool:
    """Whether the same request may succeed a moment later."""
    return is_busy(failed) or failed.code in (Code.UNAVAILABLE, Code.UNKNOWN)


def _nth(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")


def file_stems(found: list[Preflight]) -> list[str]:
    """File names of workers: host and process where the worker tells them, else its address.

    No two are the same, whatever the workers say of themselves.
    """
    stems: list[str] = []
    for each in found:
        stem = _told_stem(each) or each.address.file_stem
        stems.append(next(name for name in _numbered(stem) if name not in stems))
    return stems


def _told_stem(before: Preflight) -> str:
    host, pid, rank = (before.state.get(key) for key in ("host", "pid", "rank"))
    if not isinstance(host, str) or not isinstance(pid, int):
        return ""
    safe = replace(before.address, host=host, port=pid).file_stem
    return safe + (f"_rank{rank}" if isinstance(rank, int) else "")


def free_run(logdir: str) -> str:
    """The name of a run of now that the log directory does not have yet."""
    names = _numbered(places.run_name())
    if is_url(logdir):
        return next(names)
    root = str(Path(logdir).expanduser().absolute())
    return next(name for name in names if not Path(places.run_folder(root, name)).exists())


def _numbered(name: str) -> Iterator[str]:
    """The name, then the name followed by a number."""
    yield name
    for nth in itertools.count(2):
        yield f"{name}_{nth}"
