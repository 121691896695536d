"""Folders of plain web servers are listed by their index pages, and by nothing else."""

from __future__ import annotations

import gzip
import http.server
import pickle
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

import stepscope
from stepscope.errors import StoreError
from stepscope.store import find, read, web
from stepscope.store.described import described
from stepscope.store.web import links_below
from tests.profiles import worked_example
from tests.unit.formats.torch_memory.snapshot import training

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp", reason="fsspec's http:// needs aiohttp")
DATA = worked_example(gpu=False)
NGINX = """<html><head><title>Index of /logs/</title></head><body><h1>Index of /logs/</h1><hr><pre>
<a href="../">../</a>
<a href="run%201/">run 1/</a>                   23-Nov-2026 10:00       -
<a href="a.xplane.pb">a.xplane.pb</a>           23-Nov-2026 10:00   12345
</pre><hr></body></html>"""
APACHE = """<table><tr><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Date</a></th>
<tr><td><a href="/">Parent Directory</a></td><td>&nbsp;</td></tr>
<tr><td><A HREF='a.xplane.pb'>a.xplane.pb</A></td><td>2026-11-23 10:00</td></tr>
<tr><td><a href="/logs/b.xplane.pb">b</a></td></tr></table>"""
BELOW = "http://h:80/logs/"


def test_links_of_servers_that_people_have() -> None:
    assert links_below(BELOW, NGINX) == {
        "run 1/": f"{BELOW}run%201/",
        "a.xplane.pb": f"{BELOW}a.xplane.pb",
    }
    assert set(links_below(BELOW, APACHE)) == {"a.xplane.pb", "b.xplane.pb"}


@pytest.mark.parametrize(
    "target",
    [
        "../a.xplane.pb",
        "/a.xplane.pb",
        "/logs",
        "/logs/",
        "",
        ".",
        "./..",
        "%2e%2e/",
        "..%2fa.xplane.pb",
        "x%2f..%2f..%2fa.xplane.pb",
        "a%00.xplane.pb",
        "a%5cb.xplane.pb",
        "deep/er/a.xplane.pb",
        "//other/logs/a.xplane.pb",
        "http://other/logs/a.xplane.pb",
        "https://h:80/logs/a.xplane.pb",
        "http://h:81/logs/a.xplane.pb",
        "http://h:x/a.xplane.pb",
        "http://[h/a.xplane.pb",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "a.xplane.pb?raw=1",
        "a.xplane.pb#top",
    ],
)
def test_links_that_lead_elsewhere_are_not_followed(target: str) -> None:
    assert links_below(BELOW, f'<a href="{target}">x</a>') == {}


def test_links_of_one_page_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MOST_LINKS", 10)
    page = "".join(f'<a href="{n}.xplane.pb">' for n in range(100))
    assert len(links_below(BELOW, page)) == 10


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A folder behind Python's own server, which does not know ranges."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=tmp_path)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", tmp_path
        server.shutdown()


def logs(folder: Path) -> None:
    """Two hosts of a run, a snapshot, and another file."""
    run = folder / "logs" / "plugins" / "profile" / "r 1"
    run.mkdir(parents=True)
    (run / "a.xplane.pb").write_bytes(DATA)
    (run / "b.xplane.pb.gz").write_bytes(gzip.compress(DATA))
    (folder / "logs" / "deep").mkdir()
    (folder / "logs" / "deep" / "m.pickle").write_bytes(pickle.dumps(training()))
    (folder / "logs" / "notes.txt").write_text("a b")
    (folder / "above.xplane.pb").write_bytes(DATA)


def test_a_served_folder_is_found_as_it_is_here(served: tuple[str, Path]) -> None:
    url, folder = served
    logs(folder)
    here = {tuple(run.hosts): run for run in find(folder / "logs").runs}
    for asked in (f"{url}/logs", f"{url}/logs/"):
        found = find(asked)
        assert {tuple(run.hosts) for run in found.runs} == set(here)
        for run in found.runs:
            mine = here[tuple(run.hosts)]
            for far, near in zip(run.sources, mine.sources, strict=True):
                assert (far.size_bytes, far.format) == (near.size_bytes, near.format)
                assert abs(far.modified - near.modified) < 2
                assert described(far) == described(near)
                with read(far.path) as contents, read(near.path) as wanted:
                    assert contents.buffer == wanted.buffer
    with stepscope.open(f"{url}/logs/deep/") as opened:
        assert len(opened.events()) > 0


def test_a_page_without_recordings_says_where_it_looked(served: tuple[str, Path]) -> None:
    url, folder = served
    (folder / "logs").mkdir()
    (folder / "logs" / "notes.txt").write_text("a b")
    with pytest.raises(StoreError) as caught:
        find(f"{url}/logs/")
    assert caught.value.anchor == "no-recording"
    with pytest.raises(StoreError) as caught:
        find(f"{url}/nowhere/")
    assert caught.value.anchor == "no-such-path"


class _Endless(BaseHTTPRequestHandler):
    """Every folder has a folder, every page is long, and every file is sent whole."""

    pages: ClassVar[int] = 0
    sent: ClassVar[int] = 0
    name: ClassVar[str] = "x"

    def do_GET(self) -> None:
        """A page, or a file of 64 MB."""
        is_page = self.path.endswith("/")
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if is_page else "application/octet-stream")
        if not is_page:
            self.send_header("Content-Length", str(64 << 20))
        self.end_headers()
        if self.command == "HEAD":
            return
        try:
            if is_page:
                type(self).pages += 1
                links = "".join(f'<a href="{n}/">{n}</a>' for n in range(30))
                self.wfile.write(f'<a href="big.xplane.pb">b</a>{links}'.encode())
                return
            for _ in range(64):
                self.wfile.write(DATA[:100] + bytes((1 << 20) - 100))
                type(self).sent += 1
        except OSError:  # the caller has seen enough
            self.close_connection = True

    do_HEAD = do_GET

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def test_a_server_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MOST_PAGES", 40)
    monkeypatch.setattr(_Endless, "pages", 0)
    monkeypatch.setattr(_Endless, "sent", 0)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Endless) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        found = find(f"http://127.0.0.1:{server.server_port}/logs/")
        server.shutdown()
    assert _Endless.pages <= 41  # the first is asked for twice: is it a folder?
    assert len(found.runs) == 40
    assert any("open a folder further in" in miss.reason for miss in found.misses)
    # Of 40 files of 64 MB each no more than their begins, and what was on its way.
    assert _Endless.sent < 40 * 32
