"""What counts as an answer of a peer, and what is told of one that gives none."""

from __future__ import annotations

import gzip
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from bench import peers

ANSWERS = {
    "whole": (200, b'[{"cols": [1]}]'),
    "nothing": (200, b"[]"),
    "error": (200, b'{"error": "no such run"}'),
    "page": (200, b"<html>"),
    "missing": (404, b"{}"),
}


class Canned(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body = ANSWERS[self.path.rpartition("/")[2]]
        packed = gzip.compress(body)
        self.send_response(status)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(packed)))
        self.end_headers()
        self.wfile.write(packed)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def base() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Canned) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{{tool}}"
        server.shutdown()
        thread.join()


def test_bytes_are_those_of_the_answer_unpacked(base: str) -> None:
    seconds, size = peers.asked(base, "whole")
    assert seconds > 0
    assert size == len(ANSWERS["whole"][1])


@pytest.mark.parametrize("tool", [name for name in ANSWERS if name != "whole"])
def test_an_error_is_never_a_time(base: str, tool: str) -> None:
    with pytest.raises(peers.NotAnswered):
        peers.asked(base, tool)


def test_a_peer_that_does_not_start_says_why(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "raise SystemExit('no such flag')")
    peer = peers.Peer("broken", command, "/{tool}")
    with (
        pytest.raises(peers.NotAnswered, match="no such flag"),
        peers.started(peer, tmp_path),
    ):
        pass


@pytest.mark.skipif(os.name == "nt", reason="asks for the resources of a child")
def test_each_program_is_run_in_every_round_until_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "FOLDER", tmp_path)
    log = tmp_path / "runs"
    works = [sys.executable, "-Sc", f"open({str(log)!r}, 'a').write('.')"]
    fails = [sys.executable, "-Sc", "raise SystemExit('out of memory')"]
    measured = peers.in_turn({"works": works, "fails": fails}, 2)
    assert log.read_text() == ".."
    assert measured["fails"] == "failed: out of memory"
    assert not isinstance(measured["works"], str)
