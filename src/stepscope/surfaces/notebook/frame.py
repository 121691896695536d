"""The pages in a frame of a notebook's cell, served by the notebook's own process.

Browsers keep cookies from frames in another site's page, which a notebook's often is
(another port of another name, Colab, an editor). So the token is part of the path: anyone who has
the address has the token, in any frame and behind any proxy.
"""

from __future__ import annotations

import os
import sys
from html import escape
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from stepscope.errors import UsageError
from stepscope.records import dataclass
from stepscope.urls import is_url

if TYPE_CHECKING:
    from stepscope.session import Session
    from stepscope.surfaces.http import Server

_lock: Final = Lock()
_servers: Final[dict[str, Server]] = {}


@dataclass(frozen=True, slots=True)
class Frame:
    """The pages at an address, drawn where a notebook shows values.

    Attributes:
        url: The address; it opens in a tab of this machine's browser, too.
        port: The port of this machine it is served at.
        height: Of the frame, in pixels.
        is_colab: Whether Colab must be asked for the address of the port.
    """

    url: str
    port: int
    height: int
    is_colab: bool = False

    def __repr__(self) -> str:
        return f"<stepscope pages at {self.url}>"

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #8884;border-radius:4px"
        if not self.is_colab:
            return f'<iframe src="{escape(self.url)}" style="{style}"></iframe>'
        path = escape(self.url.split(f":{self.port}/", 1)[1])
        # Its page may only frame what Colab itself hands on from the machine.
        return (
            f'<iframe data-path="{path}" style="{style}"></iframe><script>(async () => {{'
            "const frame = document.currentScript?.previousElementSibling "
            '?? document.querySelector("iframe[data-path]");'
            f"frame.src = (await google.colab.kernel.proxyPort({self.port})) + frame.dataset.path;"
            "})()</script>"
        )


def show(
    what: str | os.PathLike[str] | Session = ".",
    page: str = "overview_page",
    *,
    run: str | None = None,
    height: int = 760,
    proxy: str | None = None,
) -> Frame:
    """The pages of a recording, as the last value of a notebook's cell.

    This process serves them, to anyone who has the address, until it ends; the same place asked for
    again is served by the same server, and runs recorded meanwhile appear there.

    Args:
        what: A path as ``stepscope.open`` takes it, or an open session, which is not read again.
        page: The tool to begin with: its id.
        run: Which run, as ``stepscope.open`` takes it; by default the session's, and its host where
            it is over one of several, else the newest.
        height: Of the frame, in pixels.
        proxy: Where the browser reaches a port of this machine, ``{port}`` in it being that, such
            as "/user/me/proxy/{port}" of a hub with jupyter-server-proxy. By default that of
            JupyterHub or Colab where this runs in one, else this machine itself.

    Raises:
        StoreError: There is nothing to show at the path.
        UsageError: There is no such run.
    """
    server, shown = _server_of(what)
    if run:
        shown = {"run": _run_at(server, run)}
    query = urlencode(shown)
    place = f"#/{page}?{query}" if query else f"#/{page}"
    base = _proxied(proxy, server.port)
    url = f"{base}{server.settings.prefix}/{place}" if base else f"{server.url}{place}"
    is_colab = base is None and "google.colab" in sys.modules
    return Frame(url, server.port, height, is_colab)


def _place(path: str) -> str:
    return path if is_url(path) else os.path.realpath(Path(path).expanduser())


def _server_of(what: str | os.PathLike[str] | Session) -> tuple[Server, dict[str, str]]:
    """The server of a place, started where there is none, and what to show; {}: the newest run."""
    from stepscope.session import Session

    if not isinstance(what, Session):
        return _server_at(_place(os.fspath(what))), {}
    server = _server_at(what.root)
    if what.name not in [run.id for run in server.workspace.runs]:  # younger than the server
        server.workspace.refresh()
    server.workspace.adopt(what)
    shown = {"run": what.name}
    if len(what.hosts) == 1 < len(what.recording.run.hosts):
        shown["host"] = what.hosts[0]
    return server, shown


def _run_at(server: Server, name: str) -> str:
    """The id of a run, which pages want in full."""
    from stepscope.session.pick import pick_run

    try:
        return pick_run(server.workspace.found, name).id
    except UsageError:  # it may be younger than the server
        return pick_run(server.workspace.refresh(), name).id


def _server_at(root: str) -> Server:
    from stepscope.surfaces.http import Server, Settings

    with _lock:
        server = _servers.get(root)
        if server is None:
            server = _servers[root] = Server(root, Settings(port=0, framed=True)).start()
    return server


def _proxied(proxy: str | None, port: int) -> str | None:
    """Where a port is reached from the browser, without a slash at the end; None: as it is."""
    if proxy is None:
        prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "")
        proxy = f"{prefix.rstrip('/')}/proxy/{{port}}" if prefix else None
    return proxy.replace("{port}", str(port)).rstrip("/") if proxy is not None else None
