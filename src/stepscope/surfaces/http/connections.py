"""Connections that only take room: they make way for those that ask something."""

from __future__ import annotations

from time import monotonic, time
from typing import Any, Final

#: Beyond this many the server accepts no more until others end.
MOST_CONNECTIONS: Final = 400
# From this many on, those that ask nothing are closed, the longest quiet first.
_CROWDED: Final = MOST_CONNECTIONS // 2
# A request, which is at most 64 KiB here, arrives within this or not at all.
_REQUEST_SECONDS: Final = 20.0
# A client that has read nothing of its answer for this long will not read on.
_UNREAD_SECONDS: Final = 30.0


class Janitor:
    """Closes connections that delay others; waitress by itself waits for the next byte.

    Args:
        server: The waitress server.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._looked = 0.0
        self._begun: dict[Any, float] = {}

    def look(self, every_s: float = 1.0) -> None:
        """Close what should be closed; the server's own thread calls this."""
        now = monotonic()
        if now - self._looked < every_s:
            return
        self._looked = now
        channels = list(self._server.active_channels.values())
        for channel in (*self._unfinished(channels, now), *_unread(channels), *_idle(channels)):
            channel.handle_close()

    def _unfinished(self, channels: list[Any], now: float) -> list[Any]:
        """Connections whose request does not get on, however often a byte of it comes."""
        begun = {one: self._begun.get(one, now) for one in channels if one.request is not None}
        self._begun = begun
        return [one for one, since in begun.items() if now - since > _REQUEST_SECONDS]


def _unread(channels: list[Any]) -> list[Any]:
    """Connections whose answer nobody reads."""
    limit = time() - _UNREAD_SECONDS
    return [one for one in channels if one.total_outbufs_len > 0 and one.last_activity < limit]


def _idle(channels: list[Any]) -> list[Any]:
    """The quietest of those that ask nothing, as many as are too many."""
    resting = [one for one in channels if not one.requests and one.total_outbufs_len == 0]
    resting.sort(key=lambda one: one.last_activity)
    return resting[: max(len(channels) - _CROWDED, 0)]
