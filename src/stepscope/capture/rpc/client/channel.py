"""One worker's server, seen from the client: typed calls, and statuses as ``CallFailed``.

grpcio is imported here, when the first channel is made, and in the sidecar; nowhere else.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from stepscope.capture.rpc.client.address import Address
from stepscope.capture.rpc.protocol.codec import Message
from stepscope.capture.rpc.protocol.messages import (
    OWN_SERVICE,
    SERVICE,
    MonitorRequest,
    MonitorResponse,
    ProfileRequest,
    ProfileResponse,
    StateResponse,
    TerminateRequest,
)
from stepscope.capture.rpc.protocol.status import CallFailed, Code
from stepscope.errors import CaptureError, DecodeError

M = TypeVar("M", bound=Message)

_FORK_SUPPORT = "GRPC_ENABLE_FORK_SUPPORT"
_POLL_S = 0.05


class Channel:
    """Calls to one worker. Connecting happens in the background, when it is first needed."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._grpc = load_grpc()
        self._channel = self._grpc.insecure_channel(
            str(address),
            options=[
                ("grpc.max_receive_message_length", -1),
                ("grpc.max_send_message_length", -1),
                # Workers are named directly; a proxy for the web does not lead to them.
                ("grpc.enable_http_proxy", 0),
                # Two clients of one process must not share a connection that is being closed.
                ("grpc.use_local_subchannel_pool", 1),
                ("grpc.initial_reconnect_backoff_ms", 200),
                ("grpc.max_reconnect_backoff_ms", 1000),
            ],
        )

    def connect(self, timeout_s: float) -> None:
        """Wait until the worker is reached; ``CallFailed`` UNAVAILABLE with the reason if not."""
        try:
            # gRPC tries forever and hides the reason; a plain connection reports it.
            place = (self.address.host, self.address.port)
            socket.create_connection(place, timeout=timeout_s).close()
        except OSError as error:
            late = isinstance(error, TimeoutError)
            why = f"nothing answers within {timeout_s:g} s" if late else error.strerror or error
            raise CallFailed(Code.UNAVAILABLE, f"{why}.") from error
        ready = self._grpc.channel_ready_future(self._channel)
        try:
            ready.result(timeout=timeout_s)
        except self._grpc.FutureTimeoutError:
            raise CallFailed(
                Code.UNAVAILABLE, f"the server there does not speak gRPC ({timeout_s:g} s)."
            ) from None
        finally:
            ready.cancel()

    def state(self, timeout_s: float) -> dict[str, Any]:
        """What a server of ours says of itself; others fail with UNIMPLEMENTED."""
        answer = self._call(OWN_SERVICE, "State", StateResponse(), timeout_s, None)
        try:
            state = json.loads(StateResponse.decode(answer).json)
        except (ValueError, DecodeError) as error:
            raise CallFailed(Code.INTERNAL, f"The state cannot be read: {error}") from error
        if not isinstance(state, dict):
            raise CallFailed(Code.INTERNAL, "The answer is not a state.")
        return state

    def profile(
        self, request: ProfileRequest, timeout_s: float, stop: threading.Event | None = None
    ) -> ProfileResponse:
        """Record; waits for the recording. Setting ``stop`` gives up (CANCELLED)."""
        return self._typed(ProfileResponse, "Profile", request, timeout_s, stop)

    def terminate(self, session_id: str, timeout_s: float) -> None:
        """End a recording early: its ``profile`` answers with what there is."""
        self._call(SERVICE, "Terminate", TerminateRequest(session_id), timeout_s, None)

    def monitor(self, request: MonitorRequest, timeout_s: float) -> str:
        """A look at the program, as text."""
        return self._typed(MonitorResponse, "Monitor", request, timeout_s, None).data

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def _typed(
        self,
        kind: type[M],
        method: str,
        request: Message,
        timeout_s: float,
        stop: threading.Event | None,
    ) -> M:
        answer = self._call(SERVICE, method, request, timeout_s, stop)
        try:
            return kind.decode(answer)
        except DecodeError as error:
            raise CallFailed(Code.DATA_LOSS, f"The answer cannot be read: {error.why}") from error

    def _call(
        self,
        service: str,
        method: str,
        request: Message,
        timeout_s: float,
        stop: threading.Event | None,
    ) -> bytes:
        call: Callable[..., Any] = self._channel.unary_unary(f"/{service}/{method}").future
        pending = call(request.encode(), timeout=timeout_s)
        if stop is not None:
            done = threading.Event()
            pending.add_done_callback(lambda _: done.set())
            while not done.wait(_POLL_S):
                if stop.is_set():
                    pending.cancel()
        try:
            answer: bytes = pending.result()
        except self._grpc.FutureCancelledError:
            raise CallFailed(Code.CANCELLED, "Cancelled before it ended.") from None
        except self._grpc.RpcError as error:
            raise CallFailed(Code(error.code().value[0]), error.details() or "") from None
        return answer


def load_grpc() -> Any:
    """The module ``grpc``; raises ``CaptureError`` where it is not installed.

    Its handlers around fork stop worker processes of the program it is loaded into, so they are
    left off unless the person has set them; the environment is as before afterwards.
    """
    first = "grpc" not in sys.modules and _FORK_SUPPORT not in os.environ
    if first:
        os.environ[_FORK_SUPPORT] = "0"
    try:
        import grpc

        if first:
            # The variable is read when the first channel is made, not at import.
            grpc.insecure_channel("127.0.0.1:1").close()
    except ImportError as error:
        raise CaptureError(
            "Recording from outside needs grpcio.",
            why=str(error),
            hint='pip install "stepscope[capture]"',
            slug="capture-extra",
        ) from error
    finally:
        if first:
            del os.environ[_FORK_SUPPORT]
    return grpc
