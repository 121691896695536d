"""Profiler servers that are not ours, each with a fault of its own, in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from stepscope.capture.rpc.client.channel import load_grpc
from stepscope.capture.rpc.protocol.messages import SERVICE, ProfileRequest, ProfileResponse


@dataclass
class ForeignWorker:
    """Answers ``Profile`` as TensorFlow's server does, and nothing of ours.

    Attributes:
        xspace: What a recording holds.
        answer_after_s: How much longer than the recording its answer takes.
        busy_calls: So many calls are refused first, as by a server that records already.
        empty_calls: So many recordings hold nothing first.
        code: Answer every recording with this status.
        requests: Recordings it was asked for (the look before aside).
    """

    xspace: bytes = b"\x0a\x02\x08\x01"
    answer_after_s: float = 0.0
    busy_calls: int = 0
    empty_calls: int = 0
    code: str = ""
    requests: list[ProfileRequest] = field(default_factory=list)
    address: str = ""

    def profile(self, data: bytes, context: Any) -> bytes:
        grpc = load_grpc()
        request = ProfileRequest.decode(data)
        if self.busy_calls:
            self.busy_calls -= 1
            context.abort(grpc.StatusCode.INTERNAL, "Another profiling session active.")
        if request.session_id == "stepscope-preflight":
            return ProfileResponse(empty_trace=True).encode()
        self.requests.append(request)
        assert request.opts is not None
        wait_s = max(request.opts.start_timestamp_ns - time.time_ns(), 0) / 1e9
        time.sleep(wait_s + request.opts.duration_ms / 1e3)
        until = time.monotonic() + self.answer_after_s
        while time.monotonic() < until and context.is_active():
            time.sleep(0.01)
        if self.code:
            context.abort(grpc.StatusCode[self.code], "as told")
        if self.empty_calls:
            self.empty_calls -= 1
            return ProfileResponse(empty_trace=True).encode()
        return ProfileResponse(xspace=self.xspace).encode()


@contextmanager
def serving(worker: ForeignWorker | None) -> Iterator[str]:
    """A server for the worker; None: a gRPC server without a profiler."""
    grpc = load_grpc()
    server = grpc.server(ThreadPoolExecutor(4))
    if worker is not None:
        handler = grpc.unary_unary_rpc_method_handler(worker.profile)
        handlers = grpc.method_handlers_generic_handler(SERVICE, {"Profile": handler})
        server.add_generic_rpc_handlers((handlers,))
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    if worker is not None:
        worker.address = address
    server.start()
    try:
        yield address
    finally:
        server.stop(0)
