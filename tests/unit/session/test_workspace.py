"""Many runs in one workspace."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Event

import pytest

from stepscope.errors import DecodeError, UsageError
from stepscope.session import workspace
from stepscope.session.workspace import Workspace
from stepscope.store import find
from tests.profiles import worked_example


def make(root: Path, *runs: str) -> Workspace:
    for run in runs:
        folder = root / run
        folder.mkdir()
        (folder / "a.xplane.pb").write_bytes(worked_example(gpu=False))
        (folder / "b.xplane.pb").write_bytes(worked_example(gpu=True))
    return Workspace(find(root))


def test_sessions_of_a_run_share_its_hosts(tmp_path: Path) -> None:
    runs = make(tmp_path, "r")
    whole, one = runs.load("r"), runs.load("r", "a")
    assert runs.session("r") is whole
    assert one.profile.hosts[0] is whole.profile.hosts[0]


def test_progress_goes_from_idle_to_ready(tmp_path: Path) -> None:
    runs = make(tmp_path, "r")
    assert runs.progress("r").state == "idle"
    runs.load("r")
    assert runs.progress("r").state == "ready"


def test_failure_is_kept_for_whoever_asks_next(tmp_path: Path) -> None:
    (tmp_path / "a.xplane.pb").write_bytes(b"text, not a profile, and more than a line of it\n" * 9)
    runs = Workspace(find(tmp_path))
    with pytest.raises(DecodeError):
        runs.load()
    assert runs.progress().state == "failed"
    assert "not a readable XSpace" in runs.progress().message


def test_files_tell_what_is_known_so_far(tmp_path: Path) -> None:
    runs = make(tmp_path, "r", "s")
    assert {report.state for report in runs.files} == {"waiting"}
    runs.load("r")
    states = {Path(report.path).parent.name: report.state for report in runs.files}
    assert states == {"r": "opened", "s": "waiting"}


def test_oldest_runs_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MAX_DECODED_RUNS", 2)
    runs = make(tmp_path, "r", "s", "t")
    first = runs.load("r")
    runs.load("s")
    runs.load("t")
    assert runs.progress("r").state == "idle"
    assert first.overview_page().headline, "a session in use outlives its place"
    assert runs.session("r") is not first


def test_large_runs_are_let_go_sooner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"r{number}" for number in range(7)]
    runs = make(tmp_path, *names)
    size = next(run.size_bytes for run in runs.runs)
    monkeypatch.setattr(workspace, "MAX_DECODED_BYTES", 5 * size)
    for name in names:
        runs.load(name)
    assert [runs.is_open(name) for name in names] == [False] * 2 + [True] * 5
    monkeypatch.setattr(workspace, "MAX_DECODED_BYTES", size)
    runs.load("r0")
    assert sum(map(runs.is_open, names)) == 4


def test_unknown_run_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        make(tmp_path, "r").session("nope")


def test_runs_recorded_meanwhile_appear_and_open_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "_PATIENCE_SECONDS", 60)
    runs = make(tmp_path, "r")
    opened = runs.load("r")
    make(tmp_path, "s")
    assert [run.id for run in runs.runs] == ["r"]
    assert {run.id for run in runs.follow().runs} == {"r", "s"}
    assert runs.session("r") is opened
    assert runs.load("s").hosts == ("a", "b")


def test_a_place_that_takes_long_to_search_is_searched_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = make(tmp_path, "r")
    now, searches = [100.0], []

    def slow(root: str) -> object:
        searches.append(now[0])
        now[0] += 3
        return find(root)

    monkeypatch.setattr(workspace, "monotonic", lambda: now[0])
    monkeypatch.setattr(workspace, "search", slow)
    monkeypatch.setattr(workspace, "_PATIENCE_SECONDS", 60)
    for now[0] in (100.0, 104.0, 132.9, 133.1, 140.0):
        runs.follow()
    assert searches == [100.0, 133.1]


def test_nobody_waits_long_for_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = make(tmp_path, "r")
    make(tmp_path, "s")
    may_end, begun = Event(), []

    def stuck(root: str) -> object:
        begun.append(root)
        assert may_end.wait(60)
        return find(root)

    monkeypatch.setattr(workspace, "search", stuck)
    monkeypatch.setattr(workspace, "_PATIENCE_SECONDS", 0.01)
    for _ in range(3):
        assert [run.id for run in runs.follow().runs] == ["r"]
    assert len(begun) == 1, "one search at a time"
    may_end.set()
    with runs._searching:  # until it has ended
        assert {run.id for run in runs.runs} == {"r", "s"}


def test_what_was_found_is_kept_while_the_place_is_gone(tmp_path: Path) -> None:
    runs = make(tmp_path, "r")
    shutil.rmtree(tmp_path / "r")
    tmp_path.rmdir()
    assert [run.id for run in runs.follow().runs] == ["r"]


@pytest.mark.parametrize("ask", ["session", "load", "progress"])
def test_a_run_recorded_since_the_search_opens_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    monkeypatch.setattr(workspace, "_PATIENCE_SECONDS", 60)
    runs = make(tmp_path, "r")
    make(tmp_path, "recorded_since")
    assert getattr(runs, ask)("recorded_since") is not None
    assert {run.id for run in runs.runs} == {"r", "recorded_since"}
