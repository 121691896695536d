"""Recording from the pages: who may order it, what it answers, and the run it becomes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from stepscope.capture.rpc.server import api as profiler_server
from stepscope.errors import UsageError
from stepscope.session.workspace import Workspace
from stepscope.store import search
from stepscope.surfaces.http import Application, Server, Settings
from stepscope.surfaces.http.security import Guard
from tests.profiles import worked_example
from tests.unit.capture.rpc.fake_door import FakeDoor

pytest.importorskip("grpc", reason="grpcio is not installed")

TOKEN = "the-right-token"
AUTHORISED = {"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1:1"}
ORDER = "/api/v1/capture"
PATIENCE_S = 30.0


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return make(tmp_path / "logs")


@pytest.fixture
def worker() -> Iterator[str]:
    door = FakeDoor(worked_example(gpu=False, steps=4))
    with profiler_server.start(0, door=door) as started:
        yield started.address


def make(logs: Path, allow_capture: bool = True) -> Client:
    logs.mkdir(exist_ok=True)
    settings = Settings(token=TOKEN, allow_capture=allow_capture)
    return Client(Application(Workspace(search(logs)), Guard(settings, 8790), logs))


def order(client: Client, body: Any, **headers: str) -> TestResponse:
    data = body if isinstance(body, str) else json.dumps(body)
    sent = AUTHORISED | {"Content-Type": "application/json"} | headers
    return client.post(ORDER, data=data, headers=sent)


def info(response: TestResponse) -> Any:
    return json.loads(response.get_data())


def finished(client: Client) -> Any:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        told = info(client.get(ORDER, headers=AUTHORISED))
        if told["state"] != "running":
            return told
        time.sleep(0.05)
    raise AssertionError("the recording did not end")


def test_a_recording_becomes_a_run_of_the_pages(client: Client, worker: str) -> None:
    before = info(client.get("/api/v1/session", headers=AUTHORISED))
    assert (before["runs"], before["default_run"]) == ([], "")
    assert before["capture_allowed"] is True
    response = order(client, {"addresses": f"{worker},127.0.0.1:1", "duration_ms": 50})
    assert (response.status_code, info(response)["state"]) == (202, "running")
    told = finished(client)
    assert told["state"] == "done"
    good, dead = told["workers"]
    assert (good["phase"], good["events"] > 10, good["error"]) == ("done", True, "")
    assert (dead["phase"], dead["events"]) == ("failed", None)
    assert "cannot be reached" in dead["error"]
    after = info(client.get("/api/v1/session", headers=AUTHORISED))
    assert after["default_run"] == told["run"] == after["runs"][0]["id"]
    overview = client.get("/api/v1/tool/overview_page", headers=AUTHORISED)
    assert info(overview)["steps"]["count"] >= 2


def test_a_run_that_was_open_stays_open(tmp_path: Path, worker: str) -> None:
    run = tmp_path / "logs" / "2024_02_01_00_00_00"
    run.mkdir(parents=True)
    (run / "a.xplane.pb").write_bytes(worked_example(gpu=True))
    client = make(tmp_path / "logs")
    client.get("/api/v1/tool/overview_page", headers=AUTHORISED)
    order(client, {"addresses": worker, "duration_ms": 20})
    told = finished(client)
    progress = client.get("/api/v1/progress?run=2024_02_01_00_00_00", headers=AUTHORISED)
    assert info(progress)["state"] == "ready"
    assert told["run"] != "2024_02_01_00_00_00"


def test_nothing_recorded_is_an_error_with_the_reasons(client: Client) -> None:
    order(client, {"addresses": "127.0.0.1:1", "duration_ms": 20})
    told = finished(client)
    assert told["state"] == "failed"
    assert told["error"]["error"] == "nothing-recorded"
    assert "127.0.0.1:1" in told["error"]["why"]


def test_a_second_order_waits_its_turn_and_the_first_can_be_stopped(
    client: Client, worker: str
) -> None:
    order(client, {"addresses": worker, "duration_ms": 600_000})
    second = order(client, {"addresses": worker, "duration_ms": 20})
    assert (second.status_code, info(second)["error"]) == (409, "capture-running")
    stopped = client.post(f"{ORDER}/stop", headers=AUTHORISED)
    assert stopped.status_code == 202
    assert finished(client)["state"] == "failed"
    order(client, {"addresses": worker, "duration_ms": 20})
    assert finished(client)["state"] == "done"


def test_without_the_flag_nobody_records(tmp_path: Path, worker: str) -> None:
    run = tmp_path / "logs" / "r"
    run.mkdir(parents=True)
    (run / "a.xplane.pb").write_bytes(worked_example(gpu=True))
    client = make(tmp_path / "logs", allow_capture=False)
    refused = order(client, {"addresses": worker, "duration_ms": 20})
    assert (refused.status_code, info(refused)["error"]) == (403, "capture-not-allowed")
    assert info(client.get("/api/v1/session", headers=AUTHORISED))["capture_allowed"] is False
    assert len(list(tmp_path.rglob("*.pb"))) == 1


def test_without_the_token_nobody_records(client: Client, worker: str) -> None:
    asked = {"addresses": worker, "duration_ms": 20}
    assert order(client, asked, Authorization="Bearer wrong").status_code == 403
    assert order(client, asked, Authorization="").status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:2"},
        {"Origin": "null"},
        {"Host": "rebound.example"},
    ],
)
def test_other_pages_may_not_order(client: Client, worker: str, headers: dict[str, str]) -> None:
    response = order(client, {"addresses": worker, "duration_ms": 20}, **headers)
    assert response.status_code in (403, 421)
    assert info(client.get(ORDER, headers=AUTHORISED))["state"] == "idle"


def test_the_page_itself_may_order(client: Client, worker: str) -> None:
    response = order(client, {"addresses": worker, "duration_ms": 20}, Origin="http://127.0.0.1:1")
    assert response.status_code == 202
    finished(client)


def test_a_form_of_another_site_is_no_order(client: Client, worker: str) -> None:
    asked = {"addresses": worker, "duration_ms": 20}
    assert order(client, asked, **{"Content-Type": "text/plain"}).status_code == 400


@pytest.mark.parametrize(
    "asked",
    [
        "{",
        "[]",
        "[" * 50_000,
        {},
        {"addresses": "a:1"},
        {"addresses": "nonsense", "duration_ms": 5},
        {"addresses": 7, "duration_ms": 5},
        {"addresses": "a:1", "duration_ms": "soon"},
        {"addresses": "a:1", "duration_ms": True},
        {"addresses": "a:1", "duration_ms": -1},
        {"addresses": "a:1", "duration_ms": 5, "host_tracer_level": -1},
        {"addresses": "a:1", "duration_ms": 5, "logdir": "/etc"},
        {"addresses": "a:1", "duration_ms": 5, "attempts": 0},
    ],
)
def test_an_order_that_means_nothing_is_refused(client: Client, asked: Any) -> None:
    assert order(client, asked).status_code == 400
    assert info(client.get(ORDER, headers=AUTHORISED))["state"] == "idle"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_not_answered(client: Client, method: str) -> None:
    assert client.open(ORDER, method=method, headers=AUTHORISED).status_code == 405


def test_stopping_is_an_order_not_a_link(client: Client) -> None:
    assert client.get(f"{ORDER}/stop", headers=AUTHORISED).status_code == 405


def test_levels_and_delay_reach_the_worker(client: Client) -> None:
    door = FakeDoor(worked_example(gpu=False, steps=4))
    with profiler_server.start(0, door=door) as started:
        asked = {
            "addresses": started.address,
            "duration_ms": 20,
            "host_tracer_level": 3,
            "python_tracer_level": 1,
            "device_tracer_level": 0,
            "delay_ms": 200,
            "attempts": 1,
        }
        order(client, asked)
        assert finished(client)["state"] == "done"
    (options,) = door.started
    assert (options.host_tracer_level, options.python_tracer_level) == (3, 1)
    assert options.device_tracer_level == 0


def test_recording_from_the_pages_needs_the_token() -> None:
    with pytest.raises(UsageError) as caught:
        Settings(token_required=False, allow_capture=True)
    assert caught.value.anchor == "token-required"


def test_an_empty_folder_is_served_where_it_will_be_recorded_into(tmp_path: Path) -> None:
    with Server(str(tmp_path / "new"), Settings(port=0, allow_capture=True)) as running:
        assert running.workspace.runs == ()
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(worked_example(gpu=False))
    with pytest.raises(UsageError, match="not a file"):
        Server(str(file), Settings(port=0, allow_capture=True))
