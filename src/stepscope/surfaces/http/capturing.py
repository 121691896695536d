"""Recording from the pages: one recording at a time, its progress, and the run it becomes.

Off unless the server was started with ``--allow-capture``: a request makes this machine connect
to addresses of the asker's choice and write into the log directory.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from werkzeug.wrappers import Request, Response

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.rpc.client.address import Address, parse_addresses
from stepscope.capture.rpc.client.api import nothing_recorded
from stepscope.capture.rpc.client.channel import Channel, load_grpc
from stepscope.capture.rpc.client.gather import Gathering
from stepscope.capture.rpc.client.outcome import Progress, RemoteCapture, WorkerOutcome
from stepscope.capture.rpc.client.preflight import check
from stepscope.capture.rpc.client.request import CaptureRequest
from stepscope.errors import CaptureError, StepscopeError, UsageError
from stepscope.session.workspace import Workspace
from stepscope.surfaces.envelope import (
    CaptureCheckInfo,
    CaptureChecksInfo,
    CaptureInfo,
    CaptureWorkerInfo,
    ErrorInfo,
)
from stepscope.surfaces.http.answers import json_answer
from stepscope.surfaces.remote import step_time_ms

_JSON = "application/json"
# A person waits for it; a worker that takes longer to connect to counts as out of reach.
_CHECK_S = 3.0
CaptureState = Literal["idle", "running", "done", "failed"]


class CaptureDesk:
    """Takes orders for recordings and says how they go.

    Args:
        workspace: Whose log directory is recorded into, and which shows the new run.
        allowed: Whether orders are taken at all.
    """

    def __init__(self, workspace: Workspace, allowed: bool) -> None:
        self._workspace = workspace
        self.allowed = allowed
        self._lock = threading.Lock()
        self._gathering: Gathering | None = None
        self._outcome: RemoteCapture | None = None
        self._error: StepscopeError | None = None
        self._state: CaptureState = "idle"
        self._run = ""

    def answer(self, request: Request) -> Response:
        """``GET``: how it goes; ``POST``: begin one."""
        self._check_allowed()
        if request.method != "POST":
            return json_answer(request, self.info())
        self.begin(_capture_request(request, self._workspace.found.root))
        return json_answer(request, self.info(), 202)

    def stop(self, request: Request) -> Response:
        """Give up what has not arrived; what has is kept."""
        self._check_allowed()
        with self._lock:
            gathering = self._gathering
        if gathering is not None:
            gathering.stop.set()
        return json_answer(request, self.info(), 202)

    def check(self, request: Request) -> Response:
        """Look at the workers of an order without recording them."""
        self._check_allowed()
        capture = _capture_request(request, self._workspace.found.root)
        load_grpc()
        with ThreadPoolExecutor(len(capture.addresses), "stepscope-check") as pool:
            workers = list(pool.map(_checked, capture.addresses))
        return json_answer(request, CaptureChecksInfo(workers=workers))

    def begin(self, capture: CaptureRequest) -> None:
        """Begin a recording; returns at once.

        Raises:
            CaptureError: One is under way, or grpcio is not installed.
        """
        with self._lock:
            if self._state == "running":
                raise CaptureError(
                    "A recording from these pages is under way.",
                    hint="Wait for it to end, or stop it.",
                    slug="capture-running",
                )
            self._gathering = Gathering(capture, step_time_ms)
            self._outcome = self._error = None
            self._state, self._run = "running", ""
        thread = threading.Thread(target=self._record, name="stepscope-capture", daemon=True)
        thread.start()

    def info(self) -> CaptureInfo:
        """How the last recording goes or went."""
        with self._lock:
            gathering, outcome, error = self._gathering, self._outcome, self._error
            state, run = self._state, self._run
        workers: list[CaptureWorkerInfo] = []
        if outcome is not None:
            workers = [_outcome_info(each) for each in outcome.workers]
        elif gathering is not None:
            workers = [_progress_info(each) for each in gathering.progress]
        problem: ErrorInfo | None = None
        if error is not None:
            told = error.to_dict()
            problem = {
                "error": told["error"],
                "what": told["what"],
                "where": told["where"],
                "why": told["why"],
                "hint": told["hint"],
            }
        return {
            "state": state,
            "workers": workers,
            "run": run,
            "notes": list(outcome.notes) if outcome else [],
            "error": problem,
        }

    def close(self) -> None:
        """Give up what is under way."""
        with self._lock:
            gathering = self._gathering
        if gathering is not None:
            gathering.stop.set()

    def _record(self) -> None:
        gathering = self._gathering
        assert gathering is not None
        outcome: RemoteCapture | None = None
        error: StepscopeError | None = None
        run = ""
        try:
            outcome = gathering.run()
            if outcome.recorded:
                run = self._run_of(outcome.folder)
            else:
                error = nothing_recorded(outcome)
        except StepscopeError as failed:
            error = failed
        except Exception as failed:  # nobody waits for this thread's exceptions
            error = StepscopeError(
                "This is a bug in Stepscope.", why=f"{type(failed).__name__}: {failed}", slug="bug"
            )
        with self._lock:
            self._outcome, self._error, self._run = outcome, error, run
            self._state = "done" if error is None else "failed"

    def _run_of(self, folder: str) -> str:
        """Id of the run in this folder, found by a new search; "" if it is outside what is served.

        A recording that its log directory did not take is kept elsewhere.
        """
        found = self._workspace.refresh()
        return next((run.id for run in found.runs if run.path.rstrip("/") == folder), "")

    def _check_allowed(self) -> None:
        if not self.allowed:
            raise CaptureError(
                "Recording from these pages is not allowed.",
                why="The server was started without --allow-capture.",
                hint="stepscope serve PATH --allow-capture, or record with `stepscope capture`.",
                slug="capture-not-allowed",
            )


def _checked(address: Address) -> CaptureCheckInfo:
    channel = Channel(address)
    try:
        found = check(channel, _CHECK_S)
    finally:
        channel.close()
    return {
        "address": str(address),
        "server": found.server,
        "problem": found.problem,
        "hint": found.hint,
    }


def _capture_request(request: Request, logdir: str) -> CaptureRequest:
    """What a request's JSON asks for."""
    if request.mimetype != _JSON:
        # Also what keeps a form on another site from starting one.
        raise UsageError("The request body must be JSON.", hint=f"Send it as {_JSON}.")
    try:
        asked = json.loads(request.get_data(as_text=True))
    except (ValueError, RecursionError) as error:  # the second: nested thousands deep
        raise UsageError("The request body is not valid JSON.", why=str(error)) from error
    if not isinstance(asked, dict):
        raise UsageError("The request body must be a JSON object.")
    unknown = sorted(asked.keys() - _FIELDS.keys())
    if unknown:
        raise UsageError(f"Unknown field {unknown[0]!r}.", hint=f"Known: {', '.join(_FIELDS)}.")
    given = {name: _typed(name, value) for name, value in asked.items() if value is not None}
    addresses = given.pop("addresses", "")
    own = {field.name for field in dataclasses.fields(CaptureRequest)}
    options = ProfilerOptions(**{name: v for name, v in given.items() if name not in own})
    mine = {name: value for name, value in given.items() if name in own}
    return CaptureRequest(parse_addresses(addresses), logdir, options=options, **mine)


_FIELDS: dict[str, tuple[type, ...]] = {
    "addresses": (str,),
    "duration_ms": (int, float),
    "steps": (int,),
    "host_tracer_level": (int,),
    "python_tracer_level": (int,),
    "device_tracer_level": (int,),
    "delay_ms": (int,),
    "attempts": (int,),
}


def _typed(name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, _FIELDS[name]):
        wanted = "a text" if _FIELDS[name] == (str,) else "a number"
        raise UsageError(f"{name} cannot be {value!r}.", hint=f"Give {wanted}.")
    return value


def _progress_info(progress: Progress) -> CaptureWorkerInfo:
    left_s = None if progress.until_s is None else max(progress.until_s - time.monotonic(), 0.0)
    return {
        "address": progress.address,
        "phase": progress.phase,
        "left_s": left_s,
        "events": None,
        "bytes": None,
        "error": progress.note if progress.phase in ("failed", "busy") else "",
        "hint": "",
        "notes": [progress.note] if progress.note and progress.phase != "failed" else [],
    }


def _outcome_info(outcome: WorkerOutcome) -> CaptureWorkerInfo:
    recorded = outcome.status == "recorded"
    return {
        "address": outcome.address,
        "phase": "done" if recorded else "failed",
        "left_s": None,
        "events": outcome.events if recorded else None,
        "bytes": outcome.bytes if recorded else None,
        "error": outcome.error,
        "hint": outcome.hint,
        "notes": list(outcome.notes),
    }
