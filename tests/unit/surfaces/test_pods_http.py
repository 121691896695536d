"""The page of a pod: its answer, the colours of its map, runs too large to open as a whole."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from werkzeug.test import Client

from stepscope import store
from stepscope.session import together
from stepscope.session.workspace import Workspace
from stepscope.surfaces.http import Application, Settings, pods
from stepscope.surfaces.http.security import Guard
from tests.unit.session.test_pod_session import job


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Four ranks, of which rank 3 is late."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = job(tmp_path / "run")
    guard = Guard(Settings(token_required=False), 80)
    return Client(Application(Workspace(store.find(str(folder))), guard))


def body(client: Client, path: str, status: int = 200) -> Any:
    answer = client.get(path)
    assert answer.status_code == status, answer.get_data(as_text=True)
    return answer.get_json()


def tool(client: Client, name: str) -> dict[str, Any]:
    tools: list[dict[str, Any]] = body(client, "/api/v1/tools")["tools"]
    return next(one for one in tools if one["id"] == name)


def test_the_pod_is_a_page_among_those_of_the_tools(client: Client) -> None:
    page = tool(client, "pod")
    assert page["available"]
    assert {"suspects", "evidence", "devices"} <= set(page["tables"])
    found = body(client, "/api/v1/tool/pod?layout=columns")
    assert found["headline"].startswith("rank3 costs 1.5 ms")
    assert found["devices"]["columns"]["host"][0] == "rank3"
    assert found["evidence"]["columns"]["role"][0] == "suspect"


def test_the_page_is_the_same_text_each_time_zipped_or_not(client: Client) -> None:
    path = "/api/v1/tool/pod?layout=columns"
    plain = [client.get(path).get_data() for _ in range(2)]
    zipped = [client.get(path, headers={"Accept-Encoding": "gzip"}) for _ in range(2)]
    assert plain[0] == plain[1]
    assert all(answer.headers["Content-Encoding"] == "gzip" for answer in zipped)
    assert {gzip.decompress(answer.get_data()) for answer in zipped} == {plain[0]}
    one = body(client, f"{path}&host=rank0,rank1")
    assert one["recordings"] == 2
    assert client.get(path).get_data() == plain[0]


def test_of_many_devices_the_page_gets_the_worst(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pods, "MOST_DEVICES", 1)
    found = body(client, "/api/v1/tool/pod?layout=columns")
    assert found["devices"]["columns"]["host"] == ["rank3"]
    assert found["map"]["steps"]["rows"] == 4
    whole = client.get("/api/v1/tool/pod/devices.csv")
    assert len(whole.get_data(as_text=True).splitlines()) == 5


def test_a_colour_of_the_map_is_a_byte_for_each_cell(client: Client) -> None:
    answer = client.get("/api/v1/pod/cells?measure=charged_ms")
    assert np.frombuffer(answer.get_data(), np.uint8).tolist() == [125, 125, 125, 250]
    page = body(client, "/api/v1/tool/pod?layout=columns")
    assert page["map"]["measures"][0]["id"] == "charged_ms"
    assert base64.b64decode(page["first_cells"]) == answer.get_data()
    assert "no measure" in body(client, "/api/v1/pod/cells?measure=x", 400)["what"]


def test_some_hosts_are_a_pod_of_their_own(client: Client) -> None:
    found = body(client, "/api/v1/tool/pod?layout=columns&host=rank0,rank1")
    assert found["recordings"] == 2
    assert found["verdict"] == "even"
    wrong = body(client, "/api/v1/tool/pod?host=rank0,rank9", 404)
    assert "rank9" in wrong["what"]


def test_a_run_too_large_to_open_as_a_whole_still_has_its_pod(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "MOST_HOSTS", 3)
    assert tool(client, "pod")["available"]
    overview = tool(client, "overview_page")
    assert not overview["available"]
    assert "too many to open together" in overview["missing"]
    assert body(client, "/api/v1/tool/pod")["recordings"] == 4
    assert body(client, "/api/v1/tool/overview_page", 400)["error"] == "too-many-together"
    assert body(client, "/api/v1/tool/overview_page?host=rank0,rank3")["hosts"] == [
        "rank0",
        "rank3",
    ]
