"""Questions whose client has gone are not worked on to their end."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from threading import Event

import pytest
from werkzeug.test import Client

from stepscope.session.workspace import Workspace
from stepscope.store import find
from stepscope.surfaces.http import Application, Server, Settings
from stepscope.surfaces.http.security import Guard
from stepscope.timeline import LaneRange, search, tile, timeline
from stepscope.timeline.cancellation import GivenUp
from stepscope.timeline.ranges import range_totals
from tests.profiles import host, line, space

NAMES = 5000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [line(f"t{i}", *((f"n{i}-{k}", k, 1) for k in range(NAMES // 5))) for i in range(5)]
    (tmp_path / "a.xplane.pb").write_bytes(space(host(*lines)))
    return tmp_path


class Leaving:
    """A client that goes away at the n-th look."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.looks = 0

    def gone(self) -> bool:
        self.looks += 1
        return self.looks > self.after

    def check(self) -> None:
        if self.gone():
            raise GivenUp


def test_tiles_searches_and_statistics_look_up_between_their_parts(folder: Path) -> None:
    found = timeline(Workspace(find(str(folder))).load().profile)
    begin, end = found.span()
    wanted = [LaneRange(track.id) for track in found.tracks]
    with pytest.raises(GivenUp):
        tile(found, wanted, begin, end, 100, check=Leaving(3).check)
    with pytest.raises(GivenUp):
        range_totals(found, begin, end, check=Leaving(2).check)
    leaving = Leaving(4)
    with pytest.raises(GivenUp):
        search.search(found, "n", check=leaving.check)
    assert leaving.looks == 5, "of 5,000 names it looked at 1,280"
    assert len(search.search(found, "n")) == NAMES, "half a search is not kept"


@pytest.mark.parametrize("part", ["tile", "search?q=n", "range", "meta"])
def test_a_request_whose_client_left_the_line_is_not_begun(folder: Path, part: str) -> None:
    settings = Settings(token_required=False)
    client = Client(Application(Workspace(find(str(folder))), Guard(settings, 80)))
    gone = {"waitress.client_disconnected": lambda: True}
    answer = client.get(f"/api/v1/timeline/{part}", environ_overrides=gone)
    assert answer.status_code == 499 and answer.data == b""
    there = {"waitress.client_disconnected": lambda: False}
    assert client.get(f"/api/v1/timeline/{part}", environ_overrides=there).status_code == 200


def test_the_server_notices_that_a_connection_closes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, asked = Event(), []

    def slow(query: str, mode: str) -> object:
        def matches(text: str) -> bool:
            begun.set()
            asked.append(text)
            time.sleep(0.001)
            return False

        return matches

    monkeypatch.setattr(search, "matcher", slow)
    with Server(str(folder), Settings(port=0, token_required=False)) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            request = "GET /api/v1/timeline/search?q=n HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n"
            connection.sendall(request.format(server.port).encode())
            assert begun.wait(20)
        before = -1
        while before != len(asked):
            before = len(asked)
            time.sleep(0.3)
    assert 0 < len(asked) < NAMES
