"""The plugin of TensorBoard by itself: places that cannot be searched leave pages that say so."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from werkzeug.test import Client

from stepscope import store
from stepscope.errors import StoreError
from stepscope.session import workspace

plugins = pytest.importorskip("stepscope.surfaces.tensorboard_plugin", exc_type=ImportError)


def pages(logdir: str) -> Client:
    plugin = plugins.Plugin(SimpleNamespace(logdir=logdir, flags=SimpleNamespace()))
    return Client(plugin.get_plugin_apps()["/*"])


def session(client: Client) -> Any:
    answer = client.get("/data/plugin/stepscope/api/v1/session")
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def test_the_home_of_nobody_is_said() -> None:
    found = session(pages("~nobody-of-that-name/logs"))
    assert found["runs"] == [] and "not valid on this system" in found["notes"][0]


def test_an_unknown_error_of_a_search_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: str) -> store.Found:
        raise LookupError("no such bucket")

    def absent(_: str) -> store.Found:
        raise StoreError("It is still not there.")

    monkeypatch.setattr(store, "search", refused)
    monkeypatch.setattr(workspace, "search", absent)  # what pages have looked for again
    assert session(pages(str(tmp_path)))["notes"] == ["LookupError: no such bucket"]
