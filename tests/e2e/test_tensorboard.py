"""The tab in TensorBoard: found by its entry point, served by TensorBoard, told why it is empty."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.tensorboard_process import tensorboard
from tests.profiles import worked_example

pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
pytestmark = pytest.mark.e2e
TAB = "/data/plugin/stepscope"


def get(url: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    try:
        with urlopen(Request(url, headers=headers), timeout=60) as answer:
            return answer.status, answer.read(), dict(answer.headers)
    except HTTPError as error:
        return error.code, error.read(), dict(error.headers)


def body(url: str) -> Any:
    status, data, _ = get(url)
    assert status == 200, data
    return json.loads(data)


def record(logdir: Path, run: str) -> None:
    folder = logdir / "plugins" / "profile" / run
    folder.mkdir(parents=True)
    (folder / "h.xplane.pb").write_bytes(worked_example(gpu=True))


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("logs")
    record(root, "2026_01_01_00_00_00")
    return root


@pytest.fixture(scope="module")
def board(logdir: Path) -> Iterator[str]:
    with tensorboard(logdir, "--path_prefix", "/tb") as address:
        yield f"{address}/tb" if not address.endswith("/tb") else address


def test_the_tab_is_listed_and_begins_with_our_module(board: str) -> None:
    listed = body(f"{board}/data/plugins_listing")["stepscope"]
    assert listed["enabled"] and listed["tab_name"] == "Stepscope"
    assert listed["loading_mechanism"]["module_path"].endswith("/stepscope/index.js")
    status, data, headers = get(f"{board}{TAB}/index.js")
    assert status == 200 and b"render" in data
    assert headers["Content-Type"].startswith("text/javascript")


@pytest.mark.skipif(
    not (STATIC_FOLDER / "index.html").is_file(), reason="the web files are not built"
)
def test_pages_are_served_and_may_be_framed_by_a_notebook(board: str) -> None:
    status, data, headers = get(f"{board}{TAB}/index.html")
    assert status == 200 and b"<script" in data
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors" not in headers["Content-Security-Policy"]


def test_answers_are_those_of_the_server(board: str) -> None:
    found = body(f"{board}{TAB}/api/v1/tool/overview_page")
    assert found["headline"] and found["steps"]


def test_runs_recorded_meanwhile_appear(board: str, logdir: Path) -> None:
    record(logdir, "2026_01_02_00_00_00")
    until = time.monotonic() + 60
    while len(runs := body(f"{board}{TAB}/api/v1/session")["runs"]) < 2:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert runs[0]["id"] == "2026_01_02_00_00_00"


def test_other_pages_may_not_ask_and_nobody_may_record(board: str) -> None:
    status, _, _ = get(f"{board}{TAB}/api/v1/session", **{"Sec-Fetch-Site": "cross-site"})
    assert status == 403
    assert body(f"{board}{TAB}/api/v1/session")["capture_allowed"] is False
    order = Request(f"{board}{TAB}/api/v1/capture", data=b"{}", method="POST")
    with pytest.raises(HTTPError) as refused:
        urlopen(order, timeout=60)
    assert refused.value.code == 403


def test_nothing_climbs_out_of_the_tab(board: str) -> None:
    for name in ("../../../pyproject.toml", "%2e%2e/%2e%2e/__init__.py", "..%2f__init__.py"):
        status, _, _ = get(f"{board}{TAB}/{name}")
        assert status in (400, 404)


def test_an_empty_or_absent_place_is_said_and_watched(tmp_path: Path) -> None:
    logdir = tmp_path / "later"
    with tensorboard(logdir, "--stepscope_allow_capture") as board:
        assert body(f"{board}/data/plugins_listing")["stepscope"]["enabled"]  # to record from it
        found = body(f"{board}{TAB}/api/v1/session")
        assert found["runs"] == [] and found["capture_allowed"]
        assert "no such file or folder" in found["notes"][0]
        record(logdir, "2026_01_01_00_00_00")
        until = time.monotonic() + 60
        while not (found := body(f"{board}{TAB}/api/v1/session"))["runs"]:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert found["notes"] == []


def test_a_place_without_recordings_leaves_the_tab_inactive_until_there_is_one(
    tmp_path: Path,
) -> None:
    with tensorboard(tmp_path) as board:
        assert not body(f"{board}/data/plugins_listing")["stepscope"]["enabled"]
        record(tmp_path, "2026_01_01_00_00_00")
        until = time.monotonic() + 60
        while not body(f"{board}/data/plugins_listing")["stepscope"]["enabled"]:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_what_is_not_read_is_named(tmp_path: Path) -> None:
    from stepscope.surfaces.tensorboard_plugin import _found

    (note,) = _found("", f"a:{tmp_path}").notes
    assert "--logdir_spec" in note and "looked for in --logdir" in note
