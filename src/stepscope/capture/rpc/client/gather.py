"""Recording many workers at once: look at all, begin together, keep whatever comes back.

A worker that is dead, busy, slow or silent costs its own recording and nobody else's: each file
is written as it arrives, and the result has the outcome of every worker.
"""

from __future__ import annotations

import contextlib
import posixpath
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from stepscope.capture.file import logdir as places
from stepscope.capture.rpc.client.channel import Channel, load_grpc
from stepscope.capture.rpc.client.outcome import Progress, RemoteCapture, WorkerOutcome
from stepscope.capture.rpc.client.preflight import Preflight, check
from stepscope.capture.rpc.client.request import CaptureRequest, CaptureWindow
from stepscope.capture.rpc.client.worker import RemoteWorker, file_stems, free_run
from stepscope.capture.rpc.protocol.messages import OPTIONS_VERSION, ProfileOptions, ProfileRequest
from stepscope.capture.rpc.protocol.status import CallFailed
from stepscope.errors import CaptureError
from stepscope.urls import is_url

_RETRY_S = 1.0
_TICK_S = 0.1
# All workers have their request by then: a round trip, and threads that take turns.
_LEAD_S = 0.3
_LEAD_PER_WORKER_S = 0.005
_STEPS_WITHIN_MS = 60_000.0
_PROBE_MS = 1000
_PROBE_ANSWER_S = 30.0
# More than the steps asked for: the window does not begin with a step, and steps vary.
_STEP_MARGIN = 1.15
# Where the worker ends by itself: steps may become slower than they were.
_COUNTED_MARGIN = 1.5

#: Mean step time in ms of a recording given as XSpace bytes; None when it shows no steps.
StepTime = Callable[[bytes], float | None]
Report = Callable[[Sequence[Progress]], None]


class Gathering:
    """One recording of many workers.

    Args:
        request: What is asked.
        step_time: Finds the step time in a short recording, for workers that count no steps.

    Attributes:
        stop: Setting it gives up what has not arrived; what has is kept.
        progress: Where each worker is, in the request's order.

    Raises:
        CaptureError: grpcio is not installed.
    """

    def __init__(self, request: CaptureRequest, step_time: StepTime | None = None) -> None:
        load_grpc()
        self.request = request
        self.stop = threading.Event()
        self.progress = [Progress(str(address)) for address in request.addresses]
        self._step_time = step_time

    def run(self, report: Report | None = None) -> RemoteCapture:
        """Record; returns when every worker has answered or was given up.

        Args:
            report: Called with ``progress`` ten times a second, in this thread.

        Raises:
            CaptureError: Steps were asked for and cannot be counted, or no file system is known
                for the log directory's URL.
        """
        _check_place(self.request.logdir)
        channels = [Channel(address) for address in self.request.addresses]
        try:
            with ThreadPoolExecutor(len(channels), "stepscope-worker") as pool:
                try:
                    return self._run(pool, channels, report)
                except BaseException:
                    self.stop.set()  # or leaving the pool would wait for all of them
                    raise
        finally:
            for channel in channels:
                channel.close()

    def _run(
        self, pool: ThreadPoolExecutor, channels: list[Channel], report: Report | None
    ) -> RemoteCapture:
        looks = [
            pool.submit(self._look, channel, said)
            for channel, said in zip(channels, self.progress, strict=True)
        ]
        found = self._results(looks, report)
        seconds, is_open = self._length(channels, found)
        run = free_run(self.request.logdir)
        lead_s = _LEAD_S + _LEAD_PER_WORKER_S * len(channels)
        lead_s += (self.request.options.delay_ms or 0) / 1e3
        start_ns = time.time_ns() + int(lead_s * 1e9)
        window = CaptureWindow.of(self.request, start_ns, seconds, is_open=is_open)
        asked = [
            pool.submit(
                RemoteWorker(
                    channel, before, said, self.request, window, run, stem, self.stop
                ).outcome
            )
            for channel, before, said, stem in zip(
                channels, found, self.progress, file_stems(found), strict=True
            )
        ]
        return self._together(run, self._results(asked, report), seconds)

    def _results(self, futures: list[Future[Any]], report: Report | None) -> list[Any]:
        """Wait for all, telling how far they are; a person's interrupt gives up the rest."""
        while not all(future.done() for future in futures):
            try:
                if report is not None:
                    report(self.progress)
                time.sleep(_TICK_S)
            except KeyboardInterrupt:
                if self.stop.is_set():
                    raise
                self.stop.set()
        if report is not None:
            report(self.progress)
        return [future.result() for future in futures]

    def _look(self, channel: Channel, said: Progress) -> Preflight:
        """Look at a worker until it can record or the attempts are used up."""
        found = check(channel, self.request.connect_s)
        for _ in range(self.request.attempts - 1):
            if not found.busy:
                break
            said.phase, said.note = "busy", found.problem
            if self.stop.wait(_RETRY_S):
                break
            found = check(channel, self.request.connect_s)
        said.phase, said.note = "ready" if found.ok else "failed", found.problem
        return found

    def _length(self, channels: list[Channel], found: list[Preflight]) -> tuple[float, bool]:
        """How long to record, in s, and whether only the steps are known to end it.

        Where a short recording shows how long a step takes, that decides. Servers of ours count
        the steps that are marked and end by themselves, so for them it is an upper bound.
        """
        longest_ms = self.request.duration_ms or _STEPS_WITHIN_MS
        is_open = self.request.duration_ms is None
        ready = [at for at, each in enumerate(found) if each.ok]
        if self.request.steps is None or not ready:
            return longest_ms / 1e3, False
        all_ours = all(found[at].state for at in ready)
        if all_ours and self._step_time is None:
            return longest_ms / 1e3, is_open
        # A foreign worker, where there is one: it cannot do without.
        first = next((at for at in ready if not found[at].state), ready[0])
        step_ms = self._probed_step_ms(channels[first])
        if step_ms is None and all_ours:
            return longest_ms / 1e3, is_open
        if step_ms is None:
            raise _no_steps(channels[first])
        margin = _COUNTED_MARGIN if all_ours else _STEP_MARGIN
        return min((self.request.steps + 1) * step_ms * margin, longest_ms) / 1e3, False

    def _probed_step_ms(self, channel: Channel) -> float | None:
        """The step time of a worker from a second of it; None when it shows no steps."""
        if self._step_time is None:
            return None
        said = next(each for each in self.progress if each.address == str(channel.address))
        said.note = "measuring the step time"
        options = self.request.options
        request = ProfileRequest(
            opts=ProfileOptions(
                version=OPTIONS_VERSION,
                host_tracer_level=options.host_tracer_level,
                device_tracer_level=options.device_tracer_level,
                duration_ms=_PROBE_MS,
            ),
            emit_xspace=True,
            session_id="stepscope-probe",
        )
        try:
            answer = channel.profile(request, _PROBE_MS / 1e3 + _PROBE_ANSWER_S, self.stop)
        except CallFailed:
            return None
        finally:
            said.note = ""
        return self._step_time(answer.xspace) if answer.xspace else None

    def _together(self, run: str, workers: list[WorkerOutcome], seconds: float) -> RemoteCapture:
        paths = [each.path for each in workers if each.path]
        folder = posixpath.dirname(paths[0].replace("\\", "/")) if paths else ""
        notes = []
        if self.stop.is_set():
            notes.append("The recording was interrupted; the parts that had arrived are kept.")
        return RemoteCapture(
            run, folder, tuple(workers), seconds * 1e3, self.request.steps, tuple(notes)
        )


def _check_place(logdir: str) -> None:
    """Find out before anybody records whether a URL can be written at all."""
    if is_url(logdir):
        with contextlib.suppress(OSError, ValueError):  # unreachable now: tried again at the end
            places.exists(logdir)


def _no_steps(channel: Channel) -> CaptureError:
    return CaptureError(
        "This program's steps cannot be counted.",
        where=str(channel.address),
        why="Its server is not Stepscope's, and a recording of one second shows no steps.",
        hint="Give a duration instead (--duration-ms), or start stepscope.server in the program.",
        slug="no-steps-to-count",
    )
