"""SQL over HTTP: the same closed door, answers as tables, files to save."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest
from werkzeug.test import Client

from stepscope.session.workspace import Workspace
from stepscope.sql.database import QueryLimits
from stepscope.sql.tables import TABLES
from stepscope.store import find
from stepscope.surfaces.http import Application, Settings
from stepscope.surfaces.http import queries as module
from stepscope.surfaces.http.security import Guard
from stepscope.surfaces.query_answer import answer_table
from tests.profiles import worked_example

TOKEN = "t"
_HEADERS = {"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1:1"}


@pytest.fixture
def client(tmp_path: Path) -> Client:
    (tmp_path / "a.xplane.pb").write_bytes(worked_example(gpu=True))
    return Client(Application(Workspace(find(tmp_path)), Guard(Settings(token=TOKEN), 1)))


def ask(client: Client, query: str, path: str = "sql") -> tuple[int, bytes]:
    got = client.get(f"/api/v1/{path}?q={quote(query)}", headers=_HEADERS)
    return got.status_code, got.get_data()


def body(client: Client, query: str) -> Any:
    status, data = ask(client, query)
    assert status == 200, data
    return json.loads(data)


def test_the_tables_are_listed_with_their_columns(client: Client) -> None:
    got = json.loads(client.get("/api/v1/sql/tables", headers=_HEADERS).get_data())
    assert [table["name"] for table in got["tables"]] == list(TABLES)
    assert got["tables"][0]["columns"][0]["name"] == "host"


def test_an_answer_is_a_table_with_units(client: Client) -> None:
    got = body(client, "SELECT step_num, step_time_ms, kept FROM steps ORDER BY step_num LIMIT 2")
    assert got["columns"] == {
        "step_num": [0, 1],
        "step_time_ms": [0.9, 0.9],
        "kept": [False, True],
    }
    kinds = [(column["unit"], column["kind"]) for column in got["schema"]]
    assert kinds == [("", "count"), ("ms", "time"), ("", "flag")]
    assert not got["cut"]


def test_long_answers_are_cut_and_say_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SHOWN", QueryLimits(rows=3))
    got = body(client, "SELECT * FROM events")
    assert (got["rows"], got["cut"]) == (3, True)


@pytest.mark.parametrize("path", ["sql", "sql.csv"])
@pytest.mark.parametrize(
    ("query", "slug"),
    [
        ("SELECT * FROM read_csv('/etc/passwd')", "sql-closed"),
        ("DROP TABLE events", "sql"),
        ("SELECT nope FROM steps", "sql"),
        ("", "sql"),
    ],
)
def test_what_is_refused_is_refused_here_too(
    client: Client, query: str, slug: str, path: str
) -> None:
    status, data = ask(client, query, path)
    assert status == 422
    assert json.loads(data)["error"] == slug


def test_answers_are_saved_as_files(client: Client) -> None:
    query = "SELECT step_num, '=1+1' AS note FROM steps ORDER BY step_num LIMIT 1"
    rows = list(csv.reader(io.StringIO(ask(client, query, "sql.csv")[1].decode())))
    assert rows == [["step_num", "note"], ["0", "'=1+1"]]
    assert json.loads(ask(client, query, "sql.json")[1]) == [{"step_num": 0, "note": "=1+1"}]
    assert pl.read_parquet(ask(client, query, "sql.parquet")[1])["step_num"].to_list() == [0]
    assert ask(client, query, "sql.exe")[0] == 400


def test_values_that_json_cannot_hold_are_told_as_text_or_not_available() -> None:
    frame = pl.DataFrame(
        {
            "a_us": [1.5, float("nan"), float("inf")],
            "big": [2**60, 1, None],
            "small": pl.Series([1, None, 3], dtype=pl.UInt8),
            "l": [[1], [], None],
        }
    )
    assert answer_table(frame).to_dict() == {
        "a_us": [1.5, None, None],
        "big": [str(2**60), "1", None],
        "small": [1, None, 3],
        "l": ["[1]", "[]", None],
    }


def test_an_answer_with_times_is_a_track_too(client: Client) -> None:
    query = "SELECT name, start_us, duration_us, event FROM kernels ORDER BY start_us"
    rows = body(client, query)
    assert rows["has_times"]
    status, data = ask(client, query, "sql/lanes")
    assert status == 200
    track = json.loads(data)
    assert track["name"] == rows["columns"]["name"]
    assert track["event"] == rows["columns"]["event"]
    assert track["begin_ps"] == [round(start * 1e6) for start in rows["columns"]["start_us"]]
    assert track["lanes"] == 1 + max(track["lane"])
    assert not body(client, "SELECT name FROM kernels")["has_times"]
    status, data = ask(client, "SELECT name FROM kernels", "sql/lanes")
    assert status == 422
    assert "no times" in json.loads(data)["what"]


def test_queries_leave_threads_of_the_server_for_pages(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_seats", BoundedSemaphore(1))
    with module._seats:
        for path in ("sql", "sql/lanes", "sql.csv"):
            status, data = ask(client, "SELECT count(*) AS n FROM events", path)
            assert status == 503
            assert b"server-busy" in data
    assert body(client, "SELECT 1 AS n FROM steps LIMIT 1")["rows"] == 1
    ask(client, "SELECT nothing FROM events")
    assert body(client, "SELECT 1 AS n FROM steps LIMIT 1")["rows"] == 1
