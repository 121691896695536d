"""Addresses elsewhere: each is found and whole; a command tells which of them answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from lint import links


def test_addresses_are_whole_and_encrypted() -> None:
    found = links.addresses(links.pages())
    assert any(address.startswith("https://github.com/stepscope/stepscope") for address in found)
    whole = re.compile(r"https://[\w.-]+\.\w+(/[\w./#?=%&@+~-]*)?")
    assert [address for address in found if not whole.fullmatch(address)] == []


def test_addresses_of_files_of_this_repository_name_files() -> None:
    here = "https://github.com/stepscope/stepscope/blob/main/"
    paths = [one.removeprefix(here) for one in links.addresses(links.pages()) if here in one]
    assert "docs/index.md" in paths
    assert [path for path in paths if not (links.ROOT / path.partition("#")[0]).exists()] == []


def test_an_address_ends_where_the_sentence_does(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "See <https://a.org/b>, [c](https://c.org/d#e) or https://f.org/g. On\n"
        "http://localhost:8790/ and https://HOST/path are your own.\n"
    )
    assert set(links.addresses([page])) == {
        "https://a.org/b",
        "https://c.org/d#e",
        "https://f.org/g",
    }


class _Some(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/there" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def host() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Some)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_what_does_not_answer_is_said(host: str) -> None:
    assert links.answer(f"{host}/there") == ""
    assert "404" in links.answer(f"{host}/gone")


def test_the_command_fails_where_an_address_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("https://a.org/there https://a.org/gone")
    monkeypatch.setattr(links, "answer", lambda one: "404" if one.endswith("gone") else "")
    assert links.main([str(page)]) == 1
    told = capsys.readouterr().out
    assert "answers: https://a.org/there (page.md)" in told and "1 of 2 addresses answer" in told
