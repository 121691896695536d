"""The lines a program prints when its recording is done."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from stepscope.capture.recorder import Note
from stepscope.capture.result import Capture
from stepscope.capture.summary import MAX_LINES, summary

PATH = "/logs/" + "deep/" * 40 + "plugins/profile/run/host.xplane.pb"
NOTES = tuple(Note(f"n{n}", "warning", f"Something about {n}. " * 20) for n in range(9))


def capture(**more: Any) -> Capture:
    facts: dict[str, Any] = {
        "path": PATH, "bytes": 2_400_000, "events": 1234, "seconds": 3.21, "counts": {"jax": 1234},
    }  # fmt: skip
    return Capture(**{**facts, **more})


def answer(monkeypatch: pytest.MonkeyPatch, found: object, code: int = 0) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess(command, code, json.dumps(found).encode())

    monkeypatch.setattr(subprocess, "run", run)


def test_facts_the_path_in_full_and_how_to_look_at_it() -> None:
    assert summary(capture(), diagnose=False) == [
        "Stepscope recorded 3.2 s: 1,234 events, 2.3 MiB (jax 1,234)",
        f"  {PATH}",
        f"  stepscope serve {PATH.partition('/plugins')[0]}",
    ]


def test_the_command_can_be_copied_whatever_the_folder_is_called() -> None:
    path = "/my logs/plugins/profile/run/host.xplane.pb"
    assert summary(capture(path=path), diagnose=False)[-1] == "  stepscope serve '/my logs'"


def test_the_diagnosis_is_the_overviews(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(
        monkeypatch,
        {
            "headline": "Bound by input.",
            "steps": {"count": 8, "source": "markers", "time_ms": {"mean": 20.0}},
            "breakdown_ms": {"input": 15.0, "host_compute": 4.0, "other": 1.0, "output": 0.0},
            "findings": [{"message": f"Do {n}"} for n in range(5)],
        },
    )
    lines = summary(capture())
    assert "  Bound by input." in lines
    assert "  8 steps (markers), 20 ms on average" in lines
    assert "  of a step: input 75%, host compute 20%, other 5%" in lines
    assert [line for line in lines if "→" in line] == ["  → Do 0", "  → Do 1", "  → Do 2"]


def test_it_is_never_longer_than_fifteen_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, {"headline": "x" * 300, "findings": [{"message": "y" * 300}] * 9})
    lines = summary(capture(warnings=NOTES, finished_by="budget"))
    assert len(lines) <= MAX_LINES
    assert lines[-1].startswith("  stepscope serve")
    assert all(len(line) <= 100 for line in lines if PATH[:20] not in line)
    assert "  ! and 5 more (Capture.warnings)" in lines


@pytest.mark.parametrize("found", [None, [], {}, {"steps": None, "findings": None}, {"steps": {}}])
def test_a_diagnosis_that_fails_costs_its_lines_only(
    monkeypatch: pytest.MonkeyPatch, found: object
) -> None:
    answer(monkeypatch, found)
    assert summary(capture())[1] == f"  {PATH}"
    answer(monkeypatch, {"headline": "never"}, code=1)
    assert "never" not in "".join(summary(capture()))


def test_a_recording_that_was_not_kept_is_said_not_to_be() -> None:
    assert summary(capture(path="")) == ["Stepscope kept no recording."]
