"""The program's end of the pipe to the process that speaks gRPC: a thread that waits for calls."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import BinaryIO, cast

from stepscope.capture.file.compact import RECORD_VARIABLE
from stepscope.capture.rpc.protocol.frames import FrameWriter, Header, read_frame
from stepscope.capture.rpc.protocol.status import CallFailed, Code
from stepscope.capture.rpc.server.service import Call, Reply, Service
from stepscope.errors import CaptureError

_log = logging.getLogger("stepscope")
_START_S = 60.0
_END_S = 5.0

# What the process runs: it must find this package and grpcio wherever the program found them, and
# must not take a module of the working directory for one of the standard library.
_PROGRAM = (
    "import json, sys; sys.path.extend(p for p in json.loads(sys.argv[1]) if p not in sys.path); "
    "from stepscope.capture.rpc.server.sidecar import main; main()"
)


class Bridge:
    """A process that serves an address, and the thread that answers what it is asked.

    Args:
        address: ``host:port`` to listen on; port 0 takes a free one.
        service: What answers the calls.

    Raises:
        CaptureError: The port is taken, grpcio is missing, or the process does not start.
    """

    def __init__(self, address: str, service: Service) -> None:
        self._service = service
        self._pid = os.getpid()
        self._is_closing = False
        self._calls: dict[int, Call] = {}
        self._lock = threading.Lock()
        self._process = _spawn(address)
        self._incoming = cast("BinaryIO", self._process.stdout)
        self._writer = FrameWriter(cast("BinaryIO", self._process.stdin))
        self.port = self._ready(address)
        self._thread = threading.Thread(target=self._serve, name="stepscope-server", daemon=True)
        self._thread.start()
        _LIVE.add(self)

    @property
    def alive(self) -> bool:
        """Whether calls are answered."""
        return os.getpid() == self._pid and self._process.poll() is None

    def close(self) -> None:
        """End the process and what it was asked for. In a forked child: let go of the pipe."""
        _LIVE.discard(self)
        if os.getpid() != self._pid:
            return self.forget()
        self._is_closing = True
        self._give_up()
        with contextlib.suppress(OSError):
            cast("BinaryIO", self._process.stdin).close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join(_END_S)
        self._incoming.close()
        self._service.close()
        return None

    def _give_up(self) -> None:
        """Nobody waits for the calls in progress any more."""
        with self._lock:
            calls = list(self._calls.values())
        for call in calls:
            call.gone.set()

    def forget(self) -> None:
        """In a forked child: close the copies of the pipe, so that it ends with the parent."""
        self._process.returncode = 0  # it is the parent's child, not to be waited for here
        for file in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                cast("BinaryIO", file).close()

    def _ready(self, address: str) -> int:
        timer = threading.Timer(_START_S, self._process.kill)
        timer.daemon = True
        timer.start()
        frame = read_frame(self._incoming)
        timer.cancel()
        header: Header = frame[0] if frame else {"kind": "failed", "why": "died", "message": ""}
        if header["kind"] == "ready":
            return int(header["port"])
        cast("BinaryIO", self._process.stdin).close()
        self._incoming.close()
        code = self._process.wait()
        raise _not_started(address, header, code)

    def _serve(self) -> None:
        while (frame := read_frame(self._incoming)) is not None:
            header, request = frame
            if header["kind"] == "cancel":
                with self._lock:
                    call = self._calls.get(header["id"])
                if call is not None:
                    call.gone.set()
                continue
            call = Call(header["method"], request, header["remaining_s"])
            with self._lock:
                self._calls[header["id"]] = call
            # The process takes 24 calls at once at most, so these are few.
            threading.Thread(
                target=self._answer, args=(header["id"], call), name="stepscope-call", daemon=True
            ).start()
        if not self._is_closing:
            self._give_up()
            _log.warning(
                "stepscope: the process that answers for stepscope.server has ended (code %s); "
                "call stepscope.server.start again to be recorded from outside.",
                self._process.wait(),
            )

    def _answer(self, number: int, call: Call) -> None:
        head: Header = {"kind": "answer", "id": number, "code": 0}
        reply = Reply()
        try:
            reply = self._service.answer(call)
        except CallFailed as failed:
            head |= {"code": int(failed.code), "message": failed.message}
        except Exception as error:  # a bug must not end the thread without an answer
            text = f"This is a bug in Stepscope: {type(error).__name__}: {error}"
            head |= {"code": int(Code.INTERNAL), "message": text}
        finally:
            with self._lock:
                self._calls.pop(number, None)
        if reply.file is not None:
            head["file"] = str(reply.file)
        try:
            self._writer.write(head, [reply.head])
        except (OSError, ValueError):  # the process is gone, or the pipe was closed meanwhile
            if reply.file is not None:
                reply.file.unlink(missing_ok=True)


def _spawn(address: str) -> subprocess.Popen[bytes]:
    if not sys.executable:
        raise CaptureError(
            "The server cannot start its gRPC process.",
            where=address,
            why="This Python is embedded and has no executable (sys.executable).",
            hint="Record from inside: stepscope.start(logdir) … stepscope.stop().",
            slug="server-process",
        )
    places = [str(Path(entry or ".").absolute()) for entry in sys.path]
    places.append(str(Path(__file__).parents[4]))
    environment = {
        **{name: value for name, value in os.environ.items() if name != RECORD_VARIABLE},
        "PYTHONSAFEPATH": "1",
        "GRPC_ENABLE_FORK_SUPPORT": "0",
        "GRPC_VERBOSITY": os.environ.get("GRPC_VERBOSITY", "NONE"),
    }
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, json.dumps(places), address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment,
        )
    except OSError as error:
        raise CaptureError(
            "The gRPC process could not be started.",
            where=sys.executable,
            why=error.strerror or str(error),
            hint="Record from inside: stepscope.start(logdir) … stepscope.stop().",
            slug="server-process",
        ) from error


def _not_started(address: str, header: Header, code: int) -> CaptureError:
    if header["why"] == "grpcio":
        return CaptureError(
            "Recording from outside needs grpcio.",
            where=sys.executable,
            why=header["message"],
            hint='pip install "stepscope[capture]"',
            slug="capture-extra",
        )
    if header["why"] == "bind":
        return CaptureError(
            f"{address} is not available to listen on.",
            where=address,
            why="Another process is listening there, or this machine has no such address "
            f"({header['message']}).",
            hint="Give another port; with port 0 the server takes a free one, see its .port.",
            slug="server-port",
        )
    return CaptureError(
        "The gRPC process did not start.",
        where=address,
        why=f"It ended with code {code} before it listened.",
        hint="Its message is on standard error; `stepscope doctor` checks grpcio.",
        slug="server-process",
    )


_LIVE: weakref.WeakSet[Bridge] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for bridge in list(_LIVE):
        bridge.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
