"""Clients that ask too much, too slowly or not at all: the others are still answered."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen

import pytest
from werkzeug.test import Client

from stepscope.session.workspace import Workspace
from stepscope.store import find
from stepscope.surfaces.cli.main import run as command
from stepscope.surfaces.http import Application, Server, Settings
from stepscope.surfaces.http.security import Guard
from stepscope.surfaces.http.server import MOST_CONNECTIONS, Janitor, redirecting_file
from tests.profiles import host, line, space

_BIG = {"Host": "localhost"}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    events = [("a" * 34 + "b", i, 1) for i in range(50)] + [("sgemm", 60, 1)]
    (tmp_path / "a.xplane.pb").write_bytes(space(host(line("t", *events))))
    return tmp_path


@pytest.fixture
def client(logs: Path) -> Client:
    settings = Settings(token_required=False)
    return Client(Application(Workspace(find(logs)), Guard(settings, 1), logs / "none"))


def ask(client: Client, part: str) -> Any:
    return client.get(f"/api/v1/timeline/{part}", headers=_BIG)


@pytest.mark.parametrize(
    ("pattern", "hits"), [("%28a%2B%29%2B%24", 0), ("a%2Bb%24", 50), ("^sg.*m", 1), ("%5Cd", 0)]
)
def test_patterns_that_go_back_and_forth_for_ever_are_answered(
    client: Client, pattern: str, hits: int
) -> None:
    """``(a+)+$`` on 34 letters held Python's lock for more than 40 s."""
    assert ask(client, f"search?mode=regex&q={pattern}").json["count"] == hits


@pytest.mark.parametrize("pattern", ["%28", "x%7B1000%7D", "%28%3F%3Da%29b", "a" * 1001])
def test_patterns_that_are_none_or_too_large_say_why(client: Client, pattern: str) -> None:
    response = ask(client, f"search?mode=regex&q={pattern}")
    assert response.status_code == 400 and response.json["why"], response.json


def test_tracks_named_again_and_again_count_once(client: Client) -> None:
    """80,000 repeats took 93 s and 6.5 GB."""
    once = ask(client, "tile?tracks=0&format=json").json
    assert ask(client, "tile?format=json&tracks=" + "0," * 4000).json == once
    assert ask(client, "tile?tracks=" + "0," * 5000).status_code == 400


def test_few_exports_run_at_a_time_and_a_given_up_one_makes_room(client: Client) -> None:
    under_way = [
        client.get("/api/v1/timeline/export?format=chrome", headers=_BIG, buffered=False)
        for _ in range(3)
    ]
    assert ask(client, "export?format=chrome").status_code == 503
    assert ask(client, "meta").status_code == 200
    for one in under_way:
        one.close()
    again = ask(client, "export?format=chrome")
    assert again.status_code == 200 and again.get_data()


def test_answers_kept_for_ever_depend_on_the_version(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an upgrade a browser would mix old tiles and track ids with a new page."""
    before = ask(client, "meta").json["fingerprint"]
    assert "immutable" in ask(client, f"tile?v={before}").headers["Cache-Control"]
    monkeypatch.setattr("stepscope.surfaces.tiles.versions.__version__", "99")
    assert ask(client, "meta").json["fingerprint"] != before
    assert ask(client, f"tile?v={before}").status_code == 410


@pytest.mark.parametrize(
    "name", ["[::1]evil.com", "evil.com#.localhost", "localhost/", "a b", "localhost:x", "[::1"]
)
def test_host_headers_that_are_no_name_are_refused(client: Client, name: str) -> None:
    assert client.get("/api/v1/session", headers={"Host": name}).status_code == 421


@pytest.mark.parametrize(
    "name", ["localhost", "127.0.0.1:80", "[::1]", "[::1]:8790", "x.localhost"]
)
def test_host_headers_of_this_machine_are_taken(client: Client, name: str) -> None:
    assert client.get("/api/v1/session", headers={"Host": name}).status_code == 200


def test_a_query_of_raw_bytes_is_refused(client: Client) -> None:
    """Found by fuzzing: it was called a bug."""
    environ = {"PATH_INFO": "/api/v1/session", "QUERY_STRING": "run=\xff", "HTTP_HOST": "localhost"}
    assert client.open(environ_overrides=environ).status_code == 400


def test_the_browser_is_not_told_the_token_in_its_arguments() -> None:
    url = "http://127.0.0.1:1/?token=secret&x=<"
    with redirecting_file(url) as path:
        assert "secret" not in str(path)
        assert path.stat().st_mode & 0o077 == 0
        assert "url=http://127.0.0.1:1/?token=secret&amp;x=&lt;" in path.read_text()
    assert not path.exists()


# ------------------------------------------------------------------------ connections


@pytest.fixture
def server(logs: Path) -> Iterator[Server]:
    with Server(str(logs), Settings(port=0, token_required=False)) as running:
        yield running


def test_the_command_serves_without_options(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A default that was no folder once refused every server."""
    settings: list[Settings] = []
    monkeypatch.setattr(
        "stepscope.surfaces.http.serve_forever", lambda _, given, **__: settings.append(given)
    )
    assert command(["serve", str(logs)]) == 0
    assert command(["serve", str(logs), "--source", str(logs)]) == 0
    assert [given.source for given in settings] == ["", str(logs)]


def test_idle_connections_do_not_keep_others_out(server: Server) -> None:
    """Of 100 that said nothing, the 101st client waited forever."""
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
    try:
        with urlopen(f"{server.url}api/v1/session", timeout=60) as answer:
            assert answer.status == 200
    finally:
        for one in idle:
            one.close()


@dataclass(eq=False)
class _Channel:
    request: str | None = None
    requests: list[str] = field(default_factory=list)
    total_outbufs_len: int = 0
    sent_bytes: int = 0
    last_activity: float = field(default_factory=time.time)
    closed: bool = False

    def handle_close(self) -> None:
        self.closed = True


def look(monkeypatch: pytest.MonkeyPatch, channels: list[_Channel], at: list[float]) -> None:
    janitor = Janitor(SimpleNamespace(active_channels=dict(enumerate(channels))))
    for now in at:
        monkeypatch.setattr("stepscope.surfaces.http.server.monotonic", lambda now=now: now)
        janitor.look()


def test_a_request_that_drips_in_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    dripping, resting = _Channel(request="half"), _Channel()
    look(monkeypatch, [dripping, resting], [100, 110])
    assert not dripping.closed
    look(monkeypatch, [dripping, resting], [100, 110, 121])
    assert (dripping.closed, resting.closed) == (True, False)


def test_an_answer_that_is_read_too_slowly_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then once held one of eight threads for ever."""
    dripping, stuck, reading, working = channels = [
        _Channel(total_outbufs_len=size, requests=["one"]) for size in (5, 5, 5, 0)
    ]
    clock = [0.0]
    monkeypatch.setattr("stepscope.surfaces.http.server.monotonic", lambda: clock[0])
    janitor = Janitor(SimpleNamespace(active_channels=dict(enumerate(channels))))
    for clock[0] in (100, 110, 120, 129, 131):
        dripping.sent_bytes += 1000
        reading.sent_bytes += 100_000
        janitor.look()
        if clock[0] < 131:
            assert not any(channel.closed for channel in channels)
    closed = [channel.closed for channel in (dripping, stuck, reading, working)]
    assert closed == [True, True, False, False]


def test_in_a_crowd_the_quietest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    crowd = [_Channel(last_activity=now - i) for i in range(MOST_CONNECTIONS)]
    working = _Channel(last_activity=now - 10_000, requests=["one"])
    look(monkeypatch, [*crowd, working], [100])
    closed = [one.closed for one in crowd]
    assert closed == sorted(closed) and sum(closed) == MOST_CONNECTIONS // 2 + 1
    assert not working.closed
