"""``timeline/flame``: trees as columns, cut to the largest nodes, beside another range or run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from stepscope.session.workspace import Workspace
from stepscope.store import find
from stepscope.surfaces.http import Application, Settings
from stepscope.surfaces.http.security import Guard
from tests.profiles import host, line, space

TOKEN = "t"
US = 10**6


def recorded(*events: tuple[str, float, float]) -> bytes:
    return space(host(line("main", *events)))


@pytest.fixture
def client(tmp_path: Path) -> Client:
    runs = {
        "new": recorded(("f", 0, 100), ("g", 10, 30), ("h", 50, 1)),
        "old": recorded(("f", 0, 50), ("x", 10, 10)),
    }
    for name, data in runs.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "vm.xplane.pb").write_bytes(data)
    return Client(Application(Workspace(find(tmp_path)), Guard(Settings(token=TOKEN), 1)))


def ask(client: Client, query: str, status: int = 200) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1:1"}
    got = client.get(f"/api/v1/timeline/flame?run=new&{query}", headers=headers)
    assert got.status_code == status, got.get_data()
    return json.loads(got.get_data())


def nodes(body: Any, *columns: str) -> dict[str, tuple[int, ...]]:
    rows = zip(*(body[column] for column in columns), strict=True)
    return dict(zip(body["name"], rows, strict=True))


def test_a_tree_is_columns_with_parents_first(client: Client) -> None:
    body = ask(client, "")
    got = nodes(body, "parent", "total_ps", "self_ps", "count")
    assert got == {
        "": (-1, 100 * US, 0, 0),
        "f": (0, 100 * US, 69 * US, 1),
        "g": (1, 30 * US, 30 * US, 1),
        "h": (1, 1 * US, 1 * US, 1),
    }


def test_the_smallest_nodes_are_left_out_and_counted(client: Client) -> None:
    body = ask(client, "limit=3")
    assert body["name"] == ["", "f", "g"]
    assert body["left_out"] == 1


def test_another_run_stands_beside_it(client: Client) -> None:
    got = nodes(ask(client, "base_run=old"), "total_ps", "base_total_ps")
    assert got == {
        "": (100 * US, 50 * US),
        "f": (100 * US, 50 * US),
        "g": (30 * US, 0),
        "h": (1 * US, 0),
        "x": (0, 10 * US),
    }


def test_another_range_stands_beside_it(client: Client) -> None:
    stretch = f"base_start_ps=0&base_end_ps={20 * US}"
    got = nodes(ask(client, f"by=name&{stretch}"), "self_ps", "base_self_ps", "base_example")
    assert got["g"] == (30 * US, 10 * US, 1)
    assert got["f"] == (69 * US, 10 * US, 0)


@pytest.mark.parametrize(
    "query", ["by=colour", "by=stack,name", "inverted=maybe", "base_start_ps=5&base_end_ps=5"]
)
def test_what_makes_no_tree_is_refused(client: Client, query: str) -> None:
    assert ask(client, query, 400)["hint"] or query.startswith("base")


def test_an_unknown_run_is_refused(client: Client) -> None:
    assert ask(client, "base_run=nowhere", 404)["error"] == "no-such-run"


def test_the_critical_path_comes_with_lanes_and_sums(client: Client) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1:1"}
    query = f"run=new&start_ps=0&end_ps={100 * US}&event=1"
    body = json.loads(client.get(f"/api/v1/timeline/path?{query}", headers=headers).get_data())
    assert body["pieces"]["event"] == [0, 1, 0, 2, 0]
    assert body["pieces"]["lane"] == [0, 1, 0, 1, 0]
    assert body["work_ps"] + body["gap_ps"] == body["path_end_ps"] == 100 * US
    assert [row["name"] for row in body["names"]] == ["f", "g", "h"]
    assert body["slack_ps"] == 0
    refused = client.get("/api/v1/timeline/path?run=new&host_number=7", headers=headers)
    assert refused.status_code == 400


def test_a_name_stands_between_its_callers_and_callees(client: Client) -> None:
    callers = nodes(ask(client, "of=g&side=callers"), "parent", "total_ps")
    assert callers == {"": (-1, 30 * US), "g": (0, 30 * US), "f": (1, 30 * US)}
    callees = nodes(ask(client, "of=f&base_run=old"), "parent", "total_ps", "base_total_ps")
    assert callees["x"] == (1, 0, 10 * US)
    assert callees["f"] == (0, 100 * US, 50 * US)
    assert ask(client, "of=nothing")["name"] == [""]
    assert "side" in str(ask(client, "of=f&side=above", 400))
