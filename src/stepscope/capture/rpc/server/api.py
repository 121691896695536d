"""``stepscope.server``: lets this program be recorded from outside.

>>> import stepscope
>>> stepscope.server.start(6009)  # doctest: +SKIP

From then on ``stepscope capture HOST:6009 LOGDIR``, TensorFlow's ``client.trace`` and the capture
button of TensorBoard's profiler record it. Nothing is recorded, and nothing costs, until then.
"""

from __future__ import annotations

import atexit
from types import TracebackType

from stepscope.capture.rpc.client.address import joined
from stepscope.capture.rpc.server.bridge import Bridge
from stepscope.capture.rpc.server.service import Service
from stepscope.capture.rpc.server.session_protocol import Door, process_door
from stepscope.errors import UsageError

__all__ = ["CaptureServer", "start"]


class CaptureServer:
    """A running server; stops with the program, or before it with ``stop``.

    Attributes:
        host: Address it listens on.
        port: Port it listens on, also where 0 was asked for.
    """

    def __init__(self, bridge: Bridge, host: str) -> None:
        self._bridge: Bridge | None = bridge
        self.host = host
        self.port = bridge.port
        atexit.register(self.stop)

    @property
    def address(self) -> str:
        """``host:port``, as ``stepscope capture`` takes it."""
        return joined(self.host, self.port)

    @property
    def alive(self) -> bool:
        """Whether it still answers."""
        return self._bridge is not None and self._bridge.alive

    def stop(self) -> None:
        """Stop listening. A recording under way is dropped. A second call does nothing."""
        atexit.unregister(self.stop)
        bridge, self._bridge = self._bridge, None
        if bridge is not None:
            bridge.close()

    def __enter__(self) -> CaptureServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<stepscope.server on {self.address}{'' if self.alive else ', stopped'}>"


def start(port: int = 0, host: str = "127.0.0.1", *, door: Door | None = None) -> CaptureServer:
    """Listen for requests to record this program; returns at once, costs nothing until one comes.

    gRPC runs in a separate process, so that forked data loader workers are
    safe. Anyone who reaches the port may record: bind other addresses than loopback only in a
    network you trust, or go through an SSH tunnel.

    Args:
        port: 0 takes a free one; ``.port`` of the answer says which.
        host: Address to listen on.
        door: The session to drive, for tests; that of the process by default.

    Raises:
        CaptureError: The port is taken, or grpcio is not installed.
        UsageError: The port is out of range.
    """
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise UsageError(
            f"The port cannot be {port!r}.", hint="Give a number from 0 (any free one) to 65535."
        )
    service = Service(door or process_door())
    try:
        return CaptureServer(Bridge(joined(host, port), service), host)
    except BaseException:
        service.close()
        raise
