"""Disconnected clients: the work on their request ends early."""

from __future__ import annotations

from collections.abc import Callable

from werkzeug.wrappers import Request

from stepscope.timeline.cancellation import CancellationCheck, GivenUp, waits


def check_of(request: Request) -> CancellationCheck:
    """What ends the work on a request whose connection is closed, where the server can tell."""
    gone: Callable[[], bool] | None = request.environ.get("waitress.client_disconnected")
    if gone is None:
        return waits

    def check() -> None:
        if gone():
            raise GivenUp

    return check
