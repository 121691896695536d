"""A real S3 server on this machine, behind a proxy that delays, refuses and cuts: the same pod.

Needs ``s3fs`` and ``moto[server]``, which pin many packages: an environment of their own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

import stepscope
from stepscope.errors import StoreError
from stepscope.session import pod as pods
from stepscope.store import find, ranges
from stepscope.summary.build import summarise
from tests.unit.session.test_pod_session import job

pytest.importorskip("s3fs", reason="needs s3fs")
moto = pytest.importorskip("moto.server", reason="needs moto[server]")

_BUSY = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"


class Troubled(BaseHTTPRequestHandler):
    """Passes requests on to the server; of those for objects some fail."""

    protocol_version = "HTTP/1.1"
    server_port: ClassVar[int] = 0
    dice: ClassVar[random.Random] = random.Random(3)
    refuse: ClassVar[float] = 0.0
    cut: ClassVar[float] = 0.0
    delay_s: ClassVar[float] = 0.0
    failed: ClassVar[int] = 0

    def do_GET(self) -> None:
        """Any of the methods."""
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        is_object = self.command == "GET" and "list-type" not in self.path
        if is_object and self.dice.random() < self.refuse:
            type(self).failed += 1
            self._answer(503, {}, _BUSY)
            return
        upstream = HTTPConnection("127.0.0.1", self.server_port, timeout=30)
        upstream.request(self.command, self.path, body, dict(self.headers.items()))
        answer = upstream.getresponse()
        data = answer.read()
        if is_object and len(data) > 100 and self.dice.random() < self.cut:
            type(self).failed += 1
            self._answer(answer.status, dict(answer.getheaders()), data, data[: len(data) // 2])
            self.close_connection = True
            return
        self._answer(answer.status, dict(answer.getheaders()), data)
        upstream.close()

    do_PUT = do_POST = do_DELETE = do_GET

    def do_HEAD(self) -> None:
        """Sizes and etags."""
        upstream = HTTPConnection("127.0.0.1", self.server_port, timeout=30)
        upstream.request("HEAD", self.path, headers=dict(self.headers.items()))
        answer = upstream.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            self.send_header(name, value)
        self.end_headers()

    def _answer(
        self, status: int, headers: dict[str, str], whole: bytes, sent: bytes | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(whole)))
        self.end_headers()
        self.wfile.write(whole if sent is None else sent)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, Path, type[Troubled]]]:
    """The URL of a job of four ranks, its local folder, and the proxy before the server."""
    import fsspec

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    monkeypatch.setattr(Troubled, "server_port", port)
    for name in ("refuse", "cut", "failed"):
        monkeypatch.setattr(Troubled, name, 0)
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Troubled)
    Thread(target=proxy.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")  # what is tried again is ours to try
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(ranges, "RANGE_BYTES", 1000)
    monkeypatch.setattr(ranges, "_FIRST_WAIT_S", 0.01)
    folder = job(tmp_path / "run")
    fsspec.filesystem("s3", skip_instance_cache=True).clear_instance_cache()
    system = fsspec.filesystem("s3")
    name = f"jobs-{proxy.server_port}"  # the servers of one process share what they hold
    system.mkdir(name)
    system.put(f"{folder}/", f"{name}/run/", recursive=True)
    try:
        yield f"s3://{name}/run", folder, Troubled
    finally:
        system.clear_instance_cache()
        proxy.shutdown()
        server.stop()


def pod(path: str) -> dict[str, Any]:
    with stepscope.open(path) as session:
        found = session.pod(engine="here", keep="no").to_dict()
    return {name: value for name, value in found.items() if name != "session"}


def test_a_pod_in_a_bucket_is_the_pod_on_disk(
    bucket: tuple[str, Path, type[Troubled]],
) -> None:
    url, folder, _ = bucket
    assert pod(url) == pod(str(folder))


@pytest.mark.parametrize(("refuse", "cut"), [(0.25, 0.0), (0.0, 0.25), (0.15, 0.15)])
def test_refused_and_cut_answers_change_nothing(
    bucket: tuple[str, Path, type[Troubled]],
    monkeypatch: pytest.MonkeyPatch,
    refuse: float,
    cut: float,
) -> None:
    url, folder, proxy = bucket
    monkeypatch.setattr(ranges, "ATTEMPTS", 20)
    monkeypatch.setattr(proxy, "refuse", refuse)
    monkeypatch.setattr(proxy, "cut", cut)
    assert pod(url) == pod(str(folder))
    assert proxy.failed > 0


def test_an_object_rewritten_while_it_is_read_fails(
    bucket: tuple[str, Path, type[Troubled]], monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    url, folder, _ = bucket
    real = summarise

    def rewritten(*what: Any) -> Any:
        data = (folder / "rank0.pt.trace.json").read_bytes()
        fsspec.filesystem("s3").pipe(f"{url}/rank0.pt.trace.json", data + b" ")
        return real(*what)

    monkeypatch.setattr(pods, "summarise", rewritten)
    source = next(one for one in find(url).runs[0].sources if one.host == "rank0")
    with pytest.raises(StoreError) as caught:
        pods.summary_of(source)
    assert caught.value.anchor == "written-meanwhile"
