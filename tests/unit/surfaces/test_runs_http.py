"""The list of runs over HTTP: facts of each, notes that are kept, orders that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from stepscope.session.workspace import Workspace
from stepscope.store import find
from stepscope.store.notes import NAME
from stepscope.surfaces.http import Application, Settings
from stepscope.surfaces.http.security import Guard
from tests.profiles import no_events, worked_example

TOKEN = "t"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1:1"}


@pytest.fixture
def client(tmp_path: Path) -> Client:
    for run, data in (
        ("gpu", worked_example(gpu=True)),
        ("none", no_events()),
        ("cut", b"\x0a\xff\xff"),
    ):
        (tmp_path / run).mkdir()
        (tmp_path / run / "a.xplane.pb").write_bytes(data)
    return Client(Application(Workspace(find(tmp_path)), Guard(Settings(token=TOKEN), 1)))


def facts(client: Client, run: str) -> Any:
    got = client.get(f"/api/v1/runs/facts?run={run}", headers=HEADERS)
    return json.loads(got.get_data())


def test_a_run_tells_its_step_time_verdict_and_device(client: Client) -> None:
    got = facts(client, "gpu")
    assert got["step_time_ms"] == pytest.approx(0.9)
    assert got["headline"] and got["bound_by"] and got["problem"] == ""
    assert got["device"].startswith("1 × ")
    assert facts(client, "gpu") == got
    assert facts(client, "nowhere")["error"] == "no-such-run"


def test_a_run_without_steps_has_no_step_time(client: Client) -> None:
    got = facts(client, "none")
    assert (got["step_time_ms"], got["steps"]) == (None, 0)


def test_notes_are_kept_and_listed_with_the_runs(client: Client, tmp_path: Path) -> None:
    order = {"run": "gpu", "tags": ["before", " before "], "note": " slow input "}
    got = client.post("/api/v1/runs/note", json=order, headers=HEADERS)
    assert got.status_code == 200
    runs = json.loads(client.get("/api/v1/session", headers=HEADERS).get_data())["runs"]
    mine = next(run for run in runs if run["id"] == "gpu")
    assert (mine["tags"], mine["note"]) == (["before"], "slow input")
    assert json.loads((tmp_path / NAME).read_text())["runs"]["gpu"]["tags"] == ["before"]


@pytest.mark.parametrize(
    ("order", "status"),
    [
        ([], 400),
        ({"run": 3}, 400),
        ({"run": "gpu", "tags": "x"}, 400),
        ({"run": "gpu", "tags": [1]}, 400),
        ({"run": "gpu", "note": "n" * 300_000}, 400),
        ({"run": "../gpu", "note": "x"}, 404),
    ],
)
def test_orders_that_are_no_notes_are_refused(
    client: Client, tmp_path: Path, order: Any, status: int
) -> None:
    got = client.post("/api/v1/runs/note", json=order, headers=HEADERS)
    assert got.status_code == status
    assert not (tmp_path / NAME).exists()


def test_only_the_page_itself_may_write(client: Client, tmp_path: Path) -> None:
    order = {"run": "gpu", "note": "x"}
    foreign = HEADERS | {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"}
    assert client.post("/api/v1/runs/note", json=order, headers=foreign).status_code == 403
    assert client.post("/api/v1/runs/note", json=order).status_code in (401, 421)
    assert client.get("/api/v1/runs/note", headers=HEADERS).status_code == 405
    text = client.post("/api/v1/runs/note", data=json.dumps(order), headers=HEADERS)
    assert text.status_code == 400
    assert not (tmp_path / NAME).exists()
