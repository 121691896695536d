"""The process that speaks gRPC for a program: calls in from the network, out over a pipe, and back.

gRPC's threads do not survive a fork, and a training program forks its data loader workers: with
a server of grpcio inside, 4 of 4 runs of a PyTorch loader lost a worker while captures were
under way. Here it runs beside the program, which keeps a pipe and a plain thread. It does not
parse messages: bytes go through, and a recording comes as a file that it reads itself, so that the
program's interpreter never copies it.

Ends when the pipe closes, which is also what happens when the program dies.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any, BinaryIO

from stepscope.capture.rpc.protocol.frames import FrameWriter, Header, read_frame
from stepscope.capture.rpc.protocol.messages import METHODS, OWN_METHODS, OWN_SERVICE, SERVICE
from stepscope.capture.rpc.protocol.status import Code

# A call holds a thread while it records; the others are for State, Monitor and Terminate.
_THREADS = 32
_MOST_CALLS = 24

_Answer = tuple[Header, bytes]
_Behaviour = Callable[[bytes, Any], bytes]


class _Calls:
    """Calls that wait for the program."""

    def __init__(self, writer: FrameWriter) -> None:
        self._writer = writer
        self._lock = Lock()
        self._ids = count(1)
        self._waiting: dict[int, SimpleQueue[_Answer | None]] = {}

    def ask(self, method: str, request: bytes, context: Any) -> bytes:
        """Hand a call to the program and wait; aborts the call with the program's status."""
        queue: SimpleQueue[_Answer | None] = SimpleQueue()
        with self._lock:
            call = next(self._ids)
            self._waiting[call] = queue
        context.add_callback(lambda: self._gone(call))
        head = {"kind": "call", "id": call, "method": method}
        head["remaining_s"] = context.time_remaining()
        try:
            self._writer.write(head, [request])
            answer = queue.get()
        except OSError:
            answer = None
        with self._lock:
            self._waiting.pop(call, None)
        if answer is None:
            _abort(context, Code.UNAVAILABLE, "The program has ended.")
            raise AssertionError("abort raises")
        header, payload = answer
        if header["code"]:
            _abort(context, Code(header["code"]), header["message"])
        return _joined(header.get("file", ""), payload)

    def _gone(self, call: int) -> None:
        """The client has its answer, gave up or was cut off; the program learns of the latter."""
        with self._lock:
            queue = self._waiting.pop(call, None)
        if queue is not None:
            queue.put(None)
            try:
                self._writer.write({"kind": "cancel", "id": call})
            except OSError:
                return  # the program is gone, and with it the call

    def answer(self, header: Header, payload: bytes) -> None:
        """Take the program's answer; one that nobody waits for is dropped with its file."""
        with self._lock:
            queue = self._waiting.get(header["id"])
        if queue is not None:
            queue.put((header, payload))
        elif header.get("file"):
            Path(header["file"]).unlink(missing_ok=True)

    def end(self) -> None:
        """The program is gone: nobody waits any longer."""
        with self._lock:
            queues = list(self._waiting.values())
        for queue in queues:
            queue.put(None)


def _abort(context: Any, code: Code, message: str) -> None:
    import grpc

    status = next(each for each in grpc.StatusCode if each.value[0] == code)
    context.abort(status, message)


def _joined(file: str, payload: bytes) -> bytes:
    """The answer: the bytes given, then those of the file, which is then removed."""
    if not file:
        return payload
    path = Path(file)
    try:
        return payload + path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


def _handlers(calls: _Calls) -> list[Any]:
    import grpc

    def behaviour(method: str) -> _Behaviour:
        return lambda request, context: calls.ask(method, request, context)

    return [
        grpc.method_handlers_generic_handler(
            service,
            {
                name: grpc.unary_unary_rpc_method_handler(behaviour(f"/{service}/{name}"))
                for name in methods
            },
        )
        for service, methods in ((SERVICE, METHODS), (OWN_SERVICE, OWN_METHODS))
    ]


def _listen(calls: _Calls, address: str) -> tuple[Any, int]:
    import grpc

    server = grpc.server(
        ThreadPoolExecutor(_THREADS),
        options=[
            ("grpc.max_send_message_length", -1),
            # Without this a second server shares the port and gets a part of the calls.
            ("grpc.so_reuseport", 0),
        ],
        maximum_concurrent_rpcs=_MOST_CALLS,
    )
    server.add_generic_rpc_handlers(_handlers(calls))
    port = server.add_insecure_port(address)
    server.start()
    return server, port


def serve(address: str, incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Serve until the program closes its end of the pipe."""
    writer = FrameWriter(outgoing)
    calls = _Calls(writer)
    try:
        server, port = _listen(calls, address)
    except ImportError as error:
        return writer.write({"kind": "failed", "why": "grpcio", "message": str(error)})
    except RuntimeError as error:  # what grpcio raises for an address that cannot be bound
        return writer.write({"kind": "failed", "why": "bind", "message": str(error)})
    writer.write({"kind": "ready", "port": port})
    while (frame := read_frame(incoming)) is not None:
        calls.answer(*frame)
    calls.end()
    server.stop(0.5).wait()
    return None


def main() -> None:
    """The process: the address is its argument, the pipe its standard input and output."""
    # Ctrl-C in the terminal goes to the whole group; the program decides when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    incoming = os.fdopen(os.dup(0), "rb", buffering=0)
    outgoing = os.fdopen(os.dup(1), "wb", buffering=0)
    # Whatever prints goes where errors go, not between the frames.
    os.dup2(2, 1)
    serve(sys.argv[-1], incoming, outgoing)
    os._exit(0)  # threads of calls may still wait; the program they wait for is gone


if __name__ == "__main__":
    main()
