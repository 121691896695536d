"""The application on a port of this machine."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from html import escape
from pathlib import Path
from threading import Thread
from time import monotonic
from types import TracebackType
from typing import Any, Final, cast

from waitress.channel import HTTPChannel
from waitress.server import create_server
from waitress.wasyncore import close_all, loop

from stepscope.errors import StepscopeError, UsageError
from stepscope.quantities import count_words
from stepscope.session.workspace import Workspace
from stepscope.store import Found, find, search
from stepscope.surfaces.format import clean
from stepscope.surfaces.http.app import Application
from stepscope.surfaces.http.security import Guard
from stepscope.surfaces.http.settings import DEFAULT_PORT, Settings
from stepscope.urls import is_url

_THREADS = 8
_NEXT_PORTS = 20
_POLL_SECONDS = 1

# Requests of several viewers queue for a moment; that is not worth a line of log each.
logging.getLogger("waitress.queue").setLevel(logging.ERROR)
# Python's message where a thread or a task would begin while the interpreter ends.
_AT_EXIT = "interpreter shutdown"
#: Beyond this many the server accepts no more until others end.
MOST_CONNECTIONS: Final = 400
# From this many on, those that ask nothing are closed, the longest quiet first.
_CROWDED: Final = MOST_CONNECTIONS // 2
# A request, which is at most 64 KiB here, arrives within this or not at all.
_REQUEST_SECONDS: Final = 20.0
# An answer is read at this rate on average over each such time, or not at all.
_UNREAD_SECONDS: Final = 30.0
_MIN_READ_BYTES_PER_S: Final = 2048


class _CountingChannel(HTTPChannel):
    """A connection that counts what its client has taken."""

    sent_bytes = 0

    def send(self, *arguments: Any, **options: Any) -> int:
        """Send some of the data; return how many bytes the client's system took."""
        size: int = super().send(*arguments, **options)
        self.sent_bytes += size
        return size


class Server:
    """Serves what is at a path until closed; ``url`` is what to open.

    Args:
        path: File, folder or URL of recordings.
        settings: Where and to whom.

    Raises:
        StoreError: There is nothing to serve at the path.
        UsageError: The port is taken or the address cannot be bound.
    """

    def __init__(self, path: str, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.workspace = Workspace(_recorded_into(path) if _records(settings) else find(path))
        listener = _bind(self.settings)
        self.port: int = listener.getsockname()[1]
        self.application = Application(self.workspace, Guard(self.settings, self.port))
        # waitress takes our bound socket: nobody can take the port in between.
        self._sockets: dict[int, Any] = {}
        server = create_server(
            self.application,
            map=self._sockets,
            sockets=[listener],
            threads=_THREADS,
            connection_limit=MOST_CONNECTIONS,
            ident=None,
            max_request_body_size=1 << 16,
            channel_timeout=60,
            # Reads on while a request is worked on, so that a closed connection is noticed.
            channel_request_lookahead=1,
            clear_untrusted_proxy_headers=True,
        )
        # Its types know one of its two kinds of server, and few of its attributes.
        self._server = cast("Any", server)
        self._server.channel_class = _CountingChannel
        self._thread: Thread | None = None
        self._closing = False

    @property
    def url(self) -> str:
        """The address to open, token included."""
        address = self.settings.address
        name = "127.0.0.1" if address in ("0.0.0.0", "::") else address  # compared, not bound
        name = f"[{name}]" if ":" in name else name
        query = f"?token={self.settings.token}" if self.settings.token_required else ""
        return f"http://{name}:{self.port}{self.settings.prefix}/{query}"

    def start(self) -> Server:
        """Serve in a thread of its own; returns at once."""
        self._thread = Thread(target=self.run, name="stepscope-http", daemon=True)
        self._thread.start()
        return self

    def run(self) -> None:
        """Serve in this thread until closed or interrupted; the newest run opens meanwhile."""
        Thread(target=self._warm, name="stepscope-open", daemon=True).start()
        janitor = Janitor(self._server)
        while not self._closing:
            # poll where there is one: select takes no file beyond the 1024th of the process.
            loop(timeout=_POLL_SECONDS, use_poll=True, map=self._sockets, count=1)
            janitor.look()

    def close(self) -> None:
        """Stop serving and let go of the recordings; a second call does nothing."""
        if self._closing:
            return
        self._closing = True
        self._server.pull_trigger()
        if self._thread is not None:
            # Its sockets stay open until it is done: nobody waits on, or writes to, closed ones.
            self._thread.join(5)
            self._thread = None
        close_all(self._sockets, ignore_all=True)
        self.application.close()
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=1)
        self.workspace.close()

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _warm(self) -> None:
        from stepscope.session.rules import import_diagnosis

        try:
            # The first page asks for this, and beside it for the findings.
            self.workspace.load().run_without_findings("overview_page")
            import_diagnosis()
        except StepscopeError:
            pass  # the page asks again and shows the reason
        except Exception as error:  # nobody joins this thread; unlogged, it would be lost
            if _AT_EXIT not in str(error):  # the program has ended, and with it this server
                logging.getLogger(__name__).exception("opening the newest run failed")


def _records(settings: Settings | None) -> bool:
    return settings is not None and settings.allow_capture


def _recorded_into(path: str) -> Found:
    """Return the recordings at a path that will be recorded into; there may be none yet."""
    if not is_url(path):
        folder = Path(path).expanduser()
        if folder.is_file():
            raise UsageError(
                "Recordings need a log directory, not a file.",
                where=path,
                hint="With --allow-capture give a log directory.",
            )
        folder.mkdir(parents=True, exist_ok=True)
    return search(path)


def _bind(settings: Settings) -> socket.socket:
    if settings.port is not None:
        return _listen(settings.address, settings.port)
    for port in range(DEFAULT_PORT, DEFAULT_PORT + _NEXT_PORTS):
        try:
            return _listen(settings.address, port)
        except UsageError as error:
            if error.anchor != "port-taken":
                raise
    return _listen(settings.address, 0)


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.strip("[]"), port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        taken = error.errno in (48, 98, 10048)
        raise UsageError(
            f"Port {port} is taken." if taken else f"{address}:{port} cannot be bound.",
            where=f"{address}:{port}",
            why=error.strerror or str(error),
            hint="Give another --port, or --port 0 for a free one."
            if taken
            else "Check --host and --port.",
            slug="port-taken" if taken else "cannot-bind",
        ) from error
    listener.setblocking(False)
    return listener


def serve_forever(path: str, settings: Settings, *, browser: bool) -> None:
    """Serve until interrupted; prints the address, and opens it where there is a screen."""
    server = Server(path, settings)
    root = clean(server.workspace.found.root)
    print(f"Serving {root}: {count_words(len(server.workspace.runs), 'run')}")
    print(f"Open {server.url}", flush=True)
    print("Ctrl+C stops.", file=sys.stderr)
    with ExitStack() as stack:
        stack.callback(server.close)
        if browser and _has_screen():
            webbrowser.open(stack.enter_context(redirecting_file(server.url)).as_uri())
        with suppress(KeyboardInterrupt):
            server.run()


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


class Janitor:
    """Closes connections that only take room, in favour of those that ask something.

    Waitress by itself waits for the next byte.

    Args:
        server: The waitress server.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._looked = 0.0
        self._begun: dict[Any, float] = {}
        self._unread: dict[Any, tuple[float, int]] = {}

    def look(self, every_s: float = 1.0) -> None:
        """Close what should be closed; the server's own thread calls this."""
        now = monotonic()
        if now - self._looked < every_s:
            return
        self._looked = now
        channels = list(self._server.active_channels.values())
        for channel in (
            *self._unfinished(channels, now),
            *self._read_too_slowly(channels, now),
            *_idle(channels),
        ):
            channel.handle_close()

    def _unfinished(self, channels: list[Any], now: float) -> list[Any]:
        """Connections whose request does not get on, however often a byte of it comes."""
        begun = {one: self._begun.get(one, now) for one in channels if one.request is not None}
        self._begun = begun
        return [one for one, since in begun.items() if now - since > _REQUEST_SECONDS]

    def _read_too_slowly(self, channels: list[Any], now: float) -> list[Any]:
        """Connections whose clients hold an answer, and the thread that writes it, for too long."""
        slow = []
        before, self._unread = self._unread, {}
        for channel in channels:
            if channel.total_outbufs_len == 0:
                continue
            since, sent = before.get(channel, (now, channel.sent_bytes))
            if now - since > _UNREAD_SECONDS:
                if channel.sent_bytes - sent < _MIN_READ_BYTES_PER_S * (now - since):
                    slow.append(channel)
                since, sent = now, channel.sent_bytes
            self._unread[channel] = since, sent
        return slow


def _idle(channels: list[Any]) -> list[Any]:
    """The quietest of those that ask nothing, as many as are too many."""
    resting = [one for one in channels if not one.requests and one.total_outbufs_len == 0]
    resting.sort(key=lambda one: one.last_activity)
    return resting[: max(len(channels) - _CROWDED, 0)]


@contextmanager
def redirecting_file(url: str) -> Iterator[Path]:
    """A page that leads a browser to ``url``, readable by this user only; removed at the end.

    Every user of a machine may read the arguments of every program, the browser's among them.
    """
    with tempfile.NamedTemporaryFile(  # made with mode 0600
        "w", prefix="stepscope-", suffix=".html", encoding="utf-8", delete=False
    ) as file:
        to = escape(url, quote=True)
        file.write(
            '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0;url={to}">'
            f'<title>Stepscope</title><p><a href="{to}">Open Stepscope</a></p>'
        )
    path = Path(file.name)
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink()
