"""Requests: any path, query and headers are answered, and never with a bug."""

from __future__ import annotations

import io
import logging
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.mutate import mutated, small_space
from fuzz.target import Target
from stepscope.analysis import TOOLS
from stepscope.session.workspace import Workspace
from stepscope.store import find
from stepscope.surfaces.http import Application, Settings
from stepscope.surfaces.http.security import Guard

_WORDS = (
    b"run", b"host", b"layout=columns", b"top=", b"tracks=0,1", b"start_ps=0", b"end_ps=", b"q=",
    b"mode=regex", b"v=", b"format=", b"width_px=", b"max_slices=", b"columns=", b"id=", b"limit=",
    b"%00", b"%ff", b"..%2f", b"&", b"=", b"?", b"/", b"9" * 25, b"-1", b"1e999", b"nan", b"\xff",
    b"(a+)+$", b"[[", b"csv", b"perfetto", b"xspace", b"tile", b"search", b"range", b"event",
)  # fmt: skip


def _seeds(corpus: Path | None) -> list[bytes]:
    """Each input is method, path, query, Host and body, a line each."""
    paths = ["session", "tools", "progress", "capture", *(f"tool/{tool.id}" for tool in TOOLS)]
    paths += [f"timeline/{part}" for part in ("meta", "tile", "search", "range", "event", "export")]
    pages = ["/", "/index.html", *(f"/api/v1/{path}" for path in paths)]
    return [f"GET\n{path}\nrun=&top=5\nlocalhost\n".encode() for path in pages]


def _mutate(rng: random.Random, seed: bytes) -> bytes:
    data = bytearray(seed if rng.random() < 0.7 else mutated(rng, seed))
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(min(4, len(data)), len(data) + 1)
        data[at : at + rng.choice((0, 0, 1, 3))] = rng.choice(_WORDS)
    return bytes(data)


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.last: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.exc_info[1] if record.exc_info else None


@cache
def _application() -> tuple[Application, _Heard]:
    folder = Path(tempfile.mkdtemp(prefix="stepscope-fuzz-"))
    (folder / "a.xplane.pb").write_bytes(small_space())
    pages = folder / "pages"
    pages.mkdir()
    (pages / "index.html").write_text("<!doctype html>")
    settings = Settings(token_required=False)
    heard = _Heard()
    log = logging.getLogger("stepscope")
    log.addHandler(heard)
    log.propagate = False
    return Application(Workspace(find(folder)), Guard(settings, 1), pages), heard


def _attempt(data: bytes) -> str:
    application, heard = _application()
    lines = [line.decode("latin-1") for line in [*data.split(b"\n", 4), b"", b"", b"", b"", b""]]
    body = lines[4].encode("latin-1")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": lines[0] or "GET",
        "PATH_INFO": lines[1],
        "QUERY_STRING": lines[2],
        "HTTP_HOST": lines[3],
        "SCRIPT_NAME": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    status: list[str] = []
    heard.last = None

    def start(line: str, *_: Any) -> Any:
        status.append(line[:3])

    answer = application(environ, start)
    try:
        for _ in answer:
            pass
    finally:
        if hasattr(answer, "close"):
            answer.close()
    if heard.last is not None:
        raise heard.last
    assert status and status[0] < "500", (status, lines)
    return f"{status[0]} {lines[1][:24]}"


TARGET = Target("http", 0.05, _seeds, _mutate, _attempt)
