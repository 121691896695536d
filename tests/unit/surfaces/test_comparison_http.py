"""The comparison page over HTTP: the runs between two others, read in passing."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from werkzeug.test import Client

from stepscope.session.workspace import Workspace
from stepscope.store import find
from stepscope.surfaces.http import Application, Settings
from stepscope.surfaces.http.security import Guard
from tests.profiles.loops import Kernel, Loop, record

DAYS = [f"2026_01_0{day}_00_00_00" for day in range(1, 8)]
FIRST, LAST = DAYS[0], DAYS[-1]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Seven runs, each with a slower kernel than the one before; the third is not a recording."""
    for place, name in enumerate(DAYS):
        folder = tmp_path / "plugins" / "profile" / name
        folder.mkdir(parents=True)
        loop = Loop(kernels=(Kernel("sgemm", 400 + 50 * place, "d/MatMul:MatMul"),), steps=8)
        (folder / "h.xplane.pb").write_bytes(record(loop)["host-0"])
    (tmp_path / "plugins" / "profile" / DAYS[2] / "h.xplane.pb").write_bytes(b"\xff" * 64)
    return Workspace(find(str(tmp_path)))


@pytest.fixture
def client(workspace: Workspace) -> Client:
    settings = Settings(token_required=False)
    return Client(Application(workspace, Guard(settings, 80)))


def ask(client: Client, query: str) -> dict[str, object]:
    answer = client.get(f"/api/v1/tool/compare?{query}")
    assert answer.status_code == 200, answer.text
    body: dict[str, object] = answer.get_json()
    return body


def runs_of(body: dict[str, object]) -> list[str]:
    rows = body["runs"]
    assert isinstance(rows, list)
    return [row["run"] for row in rows]


def test_runs_between_come_when_they_are_asked_for(client: Client) -> None:
    plain = ask(client, f"run={LAST}&baseline={FIRST}")
    assert runs_of(plain) == [FIRST, LAST]
    course = ask(client, f"run={LAST}&baseline={FIRST}&between=true")
    assert runs_of(course) == [FIRST, DAYS[1], *DAYS[3:]]
    # The answer about the two ends is the same.
    assert course["delta_ms"] == plain["delta_ms"] and course["parts"] == plain["parts"]
    (note,) = [one for one in course["diagnostics"] if one["slug"] == "run-left-out"]  # type: ignore[attr-defined]
    assert DAYS[2] in note["message"]


def test_backwards_they_come_backwards(client: Client) -> None:
    found = ask(client, f"run={DAYS[3]}&baseline={DAYS[6]}&between=true")
    assert runs_of(found) == DAYS[:2:-1]


def test_neighbours_have_none_between_them(client: Client) -> None:
    assert runs_of(ask(client, f"run={LAST}&between=1")) == [DAYS[-2], LAST]


def test_what_pages_look_at_stays_open(client: Client, workspace: Workspace) -> None:
    last, first = workspace.load(LAST), workspace.load(FIRST)
    ask(client, f"run={LAST}&baseline={FIRST}&between=true")
    assert workspace.session(LAST) is last and workspace.session(FIRST) is first
    assert workspace.progress(LAST).state == "ready" and workspace.progress(LAST).stage == ""


def test_each_is_read_once(
    client: Client, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(client, f"run={LAST}&baseline={FIRST}&between=true")
    monkeypatch.setattr(workspace, "aside", lambda *_: pytest.fail("read again"))
    assert runs_of(ask(client, f"run={DAYS[5]}&baseline={FIRST}&between=true")) == [
        FIRST,
        DAYS[1],
        *DAYS[3:6],
    ]


def test_reading_ends_with_the_client(client: Client, workspace: Workspace) -> None:
    asked: list[str] = []
    aside = workspace.aside

    def watched(run: str, *rest: object) -> object:
        asked.append(run)
        return aside(run, *rest)  # type: ignore[arg-type]

    workspace.aside = watched  # type: ignore[method-assign, assignment]
    answer = client.get(
        f"/api/v1/tool/compare?run={LAST}&baseline={FIRST}&between=true",
        environ_overrides={"waitress.client_disconnected": lambda: len(asked) >= 2},
    )
    assert answer.status_code == 499 and asked == [DAYS[1], DAYS[2]]
    assert workspace.progress(LAST).state == "ready"


def test_a_wrong_flag_is_named(client: Client) -> None:
    answer = client.get(f"/api/v1/tool/compare?run={LAST}&between=maybe")
    assert answer.status_code == 400
    assert "between cannot be 'maybe'" in answer.get_json()["what"]


def vanish(workspace: Workspace, name: str) -> None:
    """A run is deleted, and another page has the place searched again."""
    (path,) = (run.path for run in workspace.runs if run.id == name)
    shutil.rmtree(path)
    workspace.refresh()


@pytest.mark.parametrize("what", ["tool/compare?", "tools?"])
def test_a_run_may_vanish_once_it_is_read(
    client: Client, workspace: Workspace, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = workspace.load

    def loaded(run: str | None = None, host: str | None = None) -> Any:
        session = load(run, host)
        if run == DAYS[4]:
            vanish(workspace, DAYS[4])
        return session

    monkeypatch.setattr(workspace, "load", loaded)
    answer = client.get(f"/api/v1/{what}run={DAYS[4]}")
    assert answer.status_code == 200, answer.text
    # Its baseline is then the newest.
    assert LAST in answer.text


def test_a_run_that_vanishes_on_the_way_hides_no_other(
    client: Client, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = workspace.aside

    def watched(run: str, *rest: Any) -> Any:
        if run == DAYS[1]:
            vanish(workspace, DAYS[4])
        return aside(run, *rest)

    monkeypatch.setattr(workspace, "aside", watched)
    course = ask(client, f"run={LAST}&baseline={FIRST}&between=true")
    assert runs_of(course) == [FIRST, DAYS[1], DAYS[3], DAYS[5], LAST]
    said = [one["message"] for one in course["diagnostics"] if one["slug"] == "run-left-out"]  # type: ignore[attr-defined]
    assert any(DAYS[4] in one for one in said)


def test_other_pages_are_answered_while_a_course_is_read(
    client: Client, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = workspace.aside
    reading, go_on = Event(), Event()

    def slow(run: str, *rest: Any) -> Any:
        reading.set()
        assert go_on.wait(60)
        return aside(run, *rest)

    monkeypatch.setattr(workspace, "aside", slow)
    course = f"run={LAST}&baseline={FIRST}&between=true"
    first = Thread(target=ask, args=(client, course), daemon=True)
    first.start()
    assert reading.wait(60)
    answers: list[list[str]] = []
    other = Thread(
        target=lambda: answers.append(runs_of(ask(client, f"run={LAST}&baseline={FIRST}"))),
        daemon=True,
    )
    other.start()
    try:
        other.join(60)
        assert answers == [[FIRST, LAST]]
        # Who waits for the same course and leaves is not kept until it is read.
        left = client.get(
            f"/api/v1/tool/compare?{course}",
            environ_overrides={"waitress.client_disconnected": lambda: True},
        )
        assert left.status_code == 499
    finally:
        go_on.set()
        first.join(60)


def test_further_starts_of_both_sides_are_asked_for_by_name(client: Client) -> None:
    plain = ask(client, f"run={LAST}&baseline={FIRST}")
    assert plain["starts"] is None
    found = ask(client, f"run={LAST}&baseline={FIRST}&starts={DAYS[5]}&baseline_starts={DAYS[1]}")
    starts = found["starts"]
    assert isinstance(starts, dict)
    # 400 and 450 µs against 650 and 700.
    assert starts["delta_ms"] == pytest.approx(0.25)
    assert [row["run"] for row in starts["runs"]] == [FIRST, DAYS[1], LAST, DAYS[5]]
    one = ask(client, f"run={LAST}&baseline={FIRST}&starts={DAYS[5]}")["starts"]
    assert isinstance(one, dict)
    assert one["interval_ms"] is None
    gone = client.get(f"/api/v1/tool/compare?run={LAST}&baseline={FIRST}&starts=nothing")
    assert gone.status_code >= 400
