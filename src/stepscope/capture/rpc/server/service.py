"""The profiler's service, without a transport: requests in bytes → answers, driving the session.

Calls run in threads of their own. None of them holds a lock while it waits, and none touches the
thread that trains: recording is begun and ended from here.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from stepscope.capture.file.logdir import host_name, rank
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.result import Capture
from stepscope.capture.rpc.protocol.messages import (
    OWN_SERVICE,
    SERVICE,
    XPLANE_TOOL,
    MonitorRequest,
    MonitorResponse,
    ProfileRequest,
    ProfileResponse,
    StateResponse,
    TerminateRequest,
    ToolData,
)
from stepscope.capture.rpc.protocol.status import CallFailed, Code
from stepscope.capture.rpc.server.request_options import RecordingPlan
from stepscope.capture.rpc.server.session_protocol import CountedSteps, Door, said_of
from stepscope.capture.runtime.machine import resident_bytes
from stepscope.errors import DecodeError, StepscopeError, UsageError
from stepscope.records import dataclass, field
from stepscope.wire.write import prefix

_POLL_S = 0.02
# Note of a session whose export takes longer than it was given.
_STILL_WRITING = "still-writing"
# A client that asks for steps without a duration waits this long for the first one to end, then
# hears that there are none.
FIRST_STEP_S = 10.0
# Errors of the session that mean "somebody else is recording": clients may try again.
BUSY = ("capture-busy", "capture-active")

_MOST_MONITOR_S = 600.0
_MONITOR_RESERVE_S = 0.5
# A shorter watch says nothing about rates.
_LEAST_MONITOR_S = 0.01
# Module to look for → names of the packages it may have come in. Never imported from here.
_FRAMEWORKS = {
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tf-nightly", "tensorflow-rocm"),
    "jax": ("jax",),
    "torch": ("torch",),
    "keras": ("keras",),
}


@dataclass
class Call:
    """One request in progress.

    Attributes:
        method: Full name, ``/package.Service/Method``.
        request: The request's bytes.
        remaining_s: Seconds until the client gives up; None when it waits forever.
        gone: Set when the client is no longer there.
    """

    method: str
    request: bytes
    remaining_s: float | None = None
    gone: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Reply:
    """An answer: bytes, and a file whose content follows them (the transport removes it)."""

    head: bytes = b""
    file: Path | None = None


@dataclass
class _Recording:
    """The recording under way, or about to begin."""

    session_id: str
    ended: threading.Event = field(default_factory=threading.Event)


class Service:
    """Answers calls for this process; one recording at a time.

    Args:
        door: The recording session of the process.
    """

    def __init__(self, door: Door) -> None:
        self._door = door
        self._lock = threading.Lock()
        # Held while the continuous recording is ended or begun again.
        self._change = threading.Lock()
        self._recording: _Recording | None = None
        self._continuous: ProfilerOptions | None = None
        # Removed by close() alone: a forked child that exits must not take it along.
        self._folder = tempfile.mkdtemp(prefix="stepscope-remote-")
        self._is_closed = False
        self._methods: dict[str, Callable[[Call], Reply]] = {
            f"/{SERVICE}/Profile": self._profile,
            f"/{SERVICE}/Terminate": self._terminate,
            f"/{SERVICE}/Monitor": self._monitor,
            # Two spellings: XLA renamed these; clients of either find theirs.
            f"/{SERVICE}/StartContinuousProfiling": self._start_continuous,
            f"/{SERVICE}/ContinuousProfiling": self._start_continuous,
            f"/{SERVICE}/StopContinuousProfiling": self._stop_continuous,
            f"/{SERVICE}/GetSnapshot": self._snapshot,
            f"/{SERVICE}/GetSnapShot": self._snapshot,
            f"/{OWN_SERVICE}/State": self._state,
        }

    def answer(self, call: Call) -> Reply:
        """Answer one call; raises ``CallFailed`` with the status the client gets."""
        method = self._methods.get(call.method)
        if method is None:
            raise CallFailed(Code.UNIMPLEMENTED, f"There is no method {call.method}.")
        try:
            return method(call)
        except DecodeError as error:
            raise CallFailed(
                Code.INVALID_ARGUMENT, f"The request is malformed: {error.why}"
            ) from error
        except UsageError as error:
            raise CallFailed(Code.INVALID_ARGUMENT, str(error)) from error
        except StepscopeError as error:
            code = Code.ALREADY_EXISTS if error.anchor in BUSY else Code.INTERNAL
            raise CallFailed(code, str(error)) from error

    def close(self) -> None:
        """End what is under way; nothing of it is kept."""
        with self._lock:
            recording = self._recording
            self._is_closed = True
        if recording is not None:
            recording.ended.set()
        with self._change:
            with self._lock:
                continuous, self._continuous = self._continuous, None
            if continuous is not None:
                self._door.stop(save=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    # ------------------------------------------------------------------ one recording

    def _profile(self, call: Call) -> Reply:
        request = ProfileRequest.decode(call.request)
        plan = RecordingPlan.of(request, call.remaining_s)
        recording = self._claim(request.session_id or plan.options_session)
        try:
            if not self._waited(call, recording, plan):
                return Reply(ProfileResponse(empty_trace=True).encode())
            capture = self._record(call, recording, plan)
        finally:
            with self._lock:
                self._recording = None
        return _packed(request, capture)

    def _claim(self, session_id: str) -> _Recording:
        with self._lock:
            if self._recording is not None or self._continuous is not None:
                what = "continuous profiling" if self._continuous else "another recording"
                raise CallFailed(
                    Code.ALREADY_EXISTS,
                    f"This program is busy with {what} requested from outside; "
                    "try again when it has ended.",
                )
            self._recording = _Recording(session_id)
            return self._recording

    def _waited(self, call: Call, recording: _Recording, plan: RecordingPlan) -> bool:
        """Wait for the common start of all workers; False when it was called off meanwhile."""
        while (left := plan.start_ns - time.time_ns()) > 0:
            if recording.ended.wait(min(left / 1e9, _POLL_S)) or call.gone.is_set():
                return False
        return not recording.ended.is_set() and not call.gone.is_set()

    def _record(self, call: Call, recording: _Recording, plan: RecordingPlan) -> Capture:
        """Record for the planned time or steps; fewer when the client ends it or leaves."""
        self._door.start(self._folder, plan.options, plan.steps)
        try:
            with self._door.counting() as steps:
                self._wait(call, recording, plan, steps)
        except BaseException:
            self._door.stop(save=False)
            raise
        return self._door.stop(save=True)

    def _wait(
        self, call: Call, recording: _Recording, plan: RecordingPlan, steps: CountedSteps
    ) -> None:
        """Let the recording run until it is over, or called off (``CallFailed``)."""
        began = time.monotonic()
        while (left := began + plan.seconds - time.monotonic()) > 0 and self._door.recording():
            ended = recording.ended.wait(min(_POLL_S, left))
            if call.gone.is_set() or self._is_closed:
                raise CallFailed(
                    Code.CANCELLED, "The client disconnected, or the server is stopping."
                )
            if ended:
                return
            if plan.steps is None:
                continue
            if steps.count >= plan.steps:
                return
            late = plan.is_open and time.monotonic() - began > FIRST_STEP_S
            if late and steps.count == 0:
                raise CallFailed(
                    Code.FAILED_PRECONDITION,
                    f"The program marked no step within {FIRST_STEP_S:g} s.",
                )

    def _terminate(self, call: Call) -> Reply:
        """End a recording early. One that is not there has ended already: no error."""
        wanted = TerminateRequest.decode(call.request).session_id
        with self._lock:
            recording = self._recording
        if recording is not None and wanted in ("", recording.session_id):
            recording.ended.set()
        return Reply()

    # ------------------------------------------------------------------ continuous recording

    def _start_continuous(self, call: Call) -> Reply:
        options = RecordingPlan.of(ProfileRequest.decode(call.request), None).continuous_options
        self._claim("")
        try:
            self._door.start(self._folder, options)
            with self._lock:
                self._continuous = options
        finally:
            with self._lock:
                self._recording = None
        return Reply()

    def _stop_continuous(self, call: Call) -> Reply:
        with self._changing(call):
            try:
                self._door.stop(save=False)
            finally:
                with self._lock:
                    self._continuous = None
        return Reply()

    def _snapshot(self, call: Call) -> Reply:
        """What was recorded since the start or the last snapshot; recording goes on after it."""
        with self._changing(call) as options:
            try:
                capture = self._door.stop(save=True)
                self._door.start(self._folder, options)
            except BaseException:
                with self._lock:
                    self._continuous = None
                raise
        return _packed(ProfileRequest(emit_xspace=True), capture)

    @contextmanager
    def _changing(self, call: Call) -> Iterator[ProfilerOptions]:
        """Change the continuous recording, which stays claimed; one call after the other.

        Raises:
            CallFailed: None runs, or the client left while another call changed it.
        """
        while not self._change.acquire(timeout=_POLL_S):
            if call.gone.is_set() or self._is_closed:
                raise CallFailed(
                    Code.CANCELLED, "The client disconnected, or the server is stopping."
                )
        try:
            with self._lock:
                options = self._continuous
            if options is None:
                raise CallFailed(
                    Code.FAILED_PRECONDITION,
                    "Continuous profiling is not running; call StartContinuousProfiling first.",
                )
            yield options
        finally:
            self._change.release()

    # ------------------------------------------------------------------ looking

    def _monitor(self, call: Call) -> Reply:
        request = MonitorRequest.decode(call.request)
        text = _watch(self._door, request, call.gone, call.remaining_s)
        return Reply(MonitorResponse(text).encode())

    def _state(self, call: Call) -> Reply:
        return Reply(StateResponse(json.dumps(_program_state(self._door))).encode())


def _packed(request: ProfileRequest, capture: Capture) -> Reply:
    """The answer with the recording in the field this client reads it from.

    C++ clients drop the field ``xspace`` without a word and save the tool data of this name;
    our own client and the continuous methods take ``xspace``.
    """
    late = [note for note in capture.warnings if note.slug == _STILL_WRITING]
    if late:
        raise CallFailed(Code.DEADLINE_EXCEEDED, late[0].message)
    if not capture.path or capture.events == 0:
        if capture.path:
            Path(capture.path).unlink(missing_ok=True)
        return Reply(ProfileResponse(empty_trace=True).encode())
    file = Path(capture.path)
    size = file.stat().st_size
    if request.emit_xspace:
        return Reply(prefix(ProfileResponse.FIELDS["xspace"].number, size), file)
    name = ToolData(name=XPLANE_TOOL).encode()
    data = prefix(ToolData.FIELDS["data"].number, size)
    outer = prefix(ProfileResponse.FIELDS["tool_data"].number, len(name) + len(data) + size)
    return Reply(outer + name + data, file)


def _watch(
    door: Door,
    request: MonitorRequest,
    gone: threading.Event,
    remaining_s: float | None,
) -> str:
    """Watch the program for as long as asked, without recording it; lines of ``what: value``.

    TensorFlow and JAX answer this call on TPUs only; here it works for every program.
    A shorter look is returned when the client's deadline comes first.
    """
    seconds = min(request.duration_ms / 1e3, _MOST_MONITOR_S)
    if remaining_s is not None:
        seconds = max(min(seconds, remaining_s - _MONITOR_RESERVE_S), 0.0)
    cpu_s, began = _cpu_s(), time.monotonic()
    with door.counting() as steps:
        gone.wait(seconds)
        done = steps.count
    elapsed_s = time.monotonic() - began
    lines = [time.strftime("time: %Y-%m-%d %H:%M:%S")] if request.timestamp else []
    lines.append(f"program: pid {os.getpid()}, {Path(sys.argv[0] or 'python').name}")
    if elapsed_s > _LEAST_MONITOR_S:
        cores = (_cpu_s() - cpu_s) / elapsed_s
        lines.append(f"processor: {cores:.2f} of {os.cpu_count()} cores over {elapsed_s:.1f} s")
        lines.append(_step_line(done, elapsed_s))
    if (memory := resident_bytes()) is not None:
        lines.append(f"memory: {memory / 1e6:,.0f} MB resident")
    lines.append(f"threads: {threading.active_count()} of Python")
    owner = door.owner()
    lines.append(f"recording: {f'yes, {said_of(owner)}' if owner else 'no'}")
    return "\n".join(lines) + "\n"


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system


def _step_line(done: int, elapsed_s: float) -> str:
    if not done:
        return "steps: none marked"
    return f"steps: {done / elapsed_s:.2f} a second, {elapsed_s / done * 1e3:.1f} ms each"


def _program_state(door: Door) -> dict[str, Any]:
    """The answer of ``stepscope.Capture/State``.

    ``time_ns`` is this machine's wall clock as the answer is made; ``rank`` is null where no
    launcher gave one; ``owner`` is who records now, "" for nobody.
    """
    return {
        "server": "stepscope",
        "version": _own_version(),
        "host": host_name(),
        "pid": os.getpid(),
        "rank": rank(),
        "python": platform.python_version(),
        "frameworks": _loaded_frameworks(),
        "owner": door.owner(),
        "time_ns": time.time_ns(),
    }


def _loaded_frameworks() -> dict[str, str]:
    """Frameworks that this process has imported, with their versions ("" when unknown)."""
    found = {}
    for module, packages in _FRAMEWORKS.items():
        if module in sys.modules:
            found[module] = next((text for text in map(_installed, packages) if text), "")
    return found


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _own_version() -> str:
    from stepscope import __version__

    return __version__
