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
        "path": PATH,
        "bytes": 2_400_000,
        "events": 1234,
        "seconds": 3.21,
        "counts": {"jax": 1234},
    }
    return Capture(**{**facts, **more})


def answer(monkeypatch: pytest.MonkeyPatch, overview: object, code: int = 0) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess(command, code, json.dumps(overview).encode())

    monkeypatch.setattr(subprocess, "run", run)


def test_facts_the_path_in_full_and_how_to_look_at_it() -> None:
    assert summary(capture(events=0)) == [
        "Stepscope recorded 3.2 s: 0 events, 2.3 MiB (jax 1,234)",
        f"  {PATH}",
        f"  stepscope serve {PATH.partition('/plugins')[0]}",
    ]


def test_the_command_can_be_copied_whatever_the_folder_is_called() -> None:
    path = "/my logs/plugins/profile/run/host.xplane.pb"
    assert summary(capture(path=path, events=0))[-1] == "  stepscope serve '/my logs'"


OVERVIEW = {
    "headline": "Bound by input.",
    "steps": {"count": 8, "source": "markers", "time_ms": {"mean": 20.0}},
    "breakdown_ms": {"input": 15.0, "host_compute": 4.0, "other": 1.0, "output": 0.0},
}


def test_limit_and_first_findings_are_those_of_the_overview(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    findings = [{"title": f"Title {n}", "message": f"Do {n}"} for n in range(4)]
    findings = [{"title": "", "message": "Untitled"}, *findings]
    answer(monkeypatch, OVERVIEW | {"findings": findings})
    lines = summary(capture())
    assert lines[2:8] == [
        "  Bound by input.",
        "  8 steps (markers), 20 ms on average",
        "  of a step: input 75 %, host compute 20 %, other 5 %",
        "  1. Untitled",
        "  2. Title 0",
        "  3. Title 1",
    ]
    folder = PATH.partition("/plugins")[0]
    assert lines[8:] == [f"  stepscope advise {folder}", f"  stepscope serve {folder}"]


@pytest.mark.parametrize(
    ("undisturbed_ms", "line"),
    [
        (4.0, "  recorded 25 % of the time, at a cost of 8 %; undisturbed, a step takes 4 ms"),
        (19.8, "  recorded 25 % of the time, at a cost of 8 %"),
        (None, "  recorded 25 % of the time, at a cost of 8 %"),
    ],
)
def test_the_price_of_the_recording_is_told(
    monkeypatch: pytest.MonkeyPatch, undisturbed_ms: float | None, line: str
) -> None:
    price = {"recorded_frac": 0.25, "recording_cost_frac": 0.08, "undisturbed_ms": undisturbed_ms}
    answer(monkeypatch, OVERVIEW | {"steps": {**OVERVIEW["steps"], **price}})  # type: ignore[dict-item]
    assert line in summary(capture())


def test_it_is_never_longer_than_fifteen_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(
        monkeypatch,
        OVERVIEW | {"headline": "x" * 300, "findings": [{"title": "y" * 300}] * 9},
    )
    lines = summary(capture(warnings=NOTES, finished_by="budget"))
    assert len(lines) <= MAX_LINES
    assert lines[-1].startswith("  stepscope serve")
    assert all(len(line) <= 100 for line in lines if PATH[:20] not in line)
    assert "  ! and 5 more (Capture.warnings)" in lines


@pytest.mark.parametrize(
    ("headline", "said"),
    [
        (
            f"Input-bound: {'w' * 60}. The larger part {'is read ' * 9}.",
            f"Input-bound: {'w' * 60}.",
        ),
        (f"Waits 1.5 of {'2.5 ms ' * 30}", f"Waits 1.5 of {('2.5 ms ' * 12).rstrip()} …"),
        ("x" * 300, "x" * 97 + "…"),
        ("y" * 97 + ".", "y" * 97 + "."),
    ],
)
def test_a_long_line_ends_with_a_sentence_or_at_a_word(
    monkeypatch: pytest.MonkeyPatch, headline: str, said: str
) -> None:
    answer(monkeypatch, {"headline": headline, "findings": [{"title": headline}]})
    lines = summary(capture())
    assert lines[2] == f"  {said}"
    assert lines[3].startswith("  1. ") and len(lines[3]) > 50


@pytest.mark.parametrize("found", [None, [], {}, {"steps": None, "findings": None}, {"steps": {}}])
def test_a_diagnosis_that_fails_costs_its_lines_only(
    monkeypatch: pytest.MonkeyPatch, found: object
) -> None:
    answer(monkeypatch, found)
    assert summary(capture())[1] == f"  {PATH}"
    answer(monkeypatch, {"headline": "never", "findings": [{"title": "never"}]}, code=1)
    assert "never" not in "".join(summary(capture()))


def test_one_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real process: a program that has ended does not wait for it."""
    monkeypatch.setattr("stepscope.capture.summary.DIAGNOSIS_SECONDS", 0.0)
    assert len(summary(capture())) == 3


def test_a_recording_that_was_not_kept_is_said_not_to_be() -> None:
    assert summary(capture(path="")) == ["Stepscope kept no recording."]
