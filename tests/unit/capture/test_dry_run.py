"""What each level of recording costs, measured beside a loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope.capture import control, step_clock
from stepscope.capture.launch import dry_run
from stepscope.capture.launch.dry_run import LEVELS, Measured
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.tracing import step

pytestmark = pytest.mark.timed


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A loop that marks its steps; a level takes a moment."""
    monkeypatch.setattr(dry_run, "_LEVEL_SECONDS", 0.05)
    is_over = threading.Event()

    def loop() -> None:
        number = 0
        while not is_over.is_set():
            with step(number):
                time.sleep(0.001)
            number += 1

    thread = threading.Thread(target=loop)
    thread.start()
    yield
    is_over.set()
    thread.join()
    step_clock.StepClock().listen(undisturbed=True)
    step_clock.StepClock().pause()


def test_every_level_is_measured_beside_undisturbed_steps(program: None) -> None:
    measured = list(dry_run.levels(ProfilerOptions(sample_hz=0, telemetry_hz=0)))
    assert [one.level for one in measured] == list(LEVELS)
    for one in measured:
        assert one.steps >= 3 and one.step_ms and one.plain_ms
        assert one.events > 0 and one.bytes > 0
    assert control.active() is None


def test_reads_of_results_stand_for_steps_and_chunks_do_not_hide_earlier_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dry_run, "_LEVEL_SECONDS", 0.0)
    monkeypatch.setattr(dry_run, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(dry_run, "_STEPS", 9)
    clock = step_clock.StepClock()
    clock.listen(undisturbed=True)
    assert clock.passed() is None
    for _ in range(4):
        step_clock.hear_result("/jax/")
    assert clock.passed() == 4
    counts = iter([None, 2, 5, 1, 4])
    monkeypatch.setattr(clock, "passed", lambda: next(counts))
    passed = dry_run._pass_time(clock, has_steps=True)
    clock.pause()
    assert passed.steps == 9 and passed.step_ms is not None
    assert step_clock.StepClock().passed() is None


def test_a_dry_run_leaves_no_file(
    program: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    options = ProfilerOptions(sample_hz=0, telemetry_hz=0)
    monkeypatch.setattr(dry_run, "LEVELS", {"default": LEVELS["default"]})
    assert len(list(dry_run.levels(options))) == 1
    assert not list(tmp_path.iterdir())


def test_the_list_says_what_is_not_known() -> None:
    lines: list[str] = []
    dry_run.price_list(
        [
            Measured("--host-level 0", 2.2, 2.0, 500, 900, 50_000, 3_000_000, 0.1, 1.0),
            Measured("default", None, 2.0, 0, 90_000, 5_000_000, 120_000_000, 1.5, 1.0),
        ],
        lines.append,
    )
    assert lines[0].startswith("One undisturbed step: 2 ms.")
    assert lines[2].split()[2:6] == ["2.2", "ms", "1.10×", "3"]
    assert not any("≤" in line for line in lines)
    assert "not known" in lines[3] and "120 MB" in lines[3] and "1.5 s" in lines[3]
    assert all(
        LEVELS[level][1] in lines[row] for row, level in ((2, "--host-level 0"), (3, "default"))
    )


@pytest.mark.parametrize(("step_ms", "told"), [(2.6, "1.30×"), (2.3, "≤ 1.35×"), (1.5, "≤ 1.25×")])
def test_no_level_makes_a_step_shorter(step_ms: float, told: str) -> None:
    """On a busy machine undisturbed steps differ from level to level."""
    lines: list[str] = []
    levels = [
        Measured(level, step, plain, 500, 900, 50_000, 0, 0.1, 1.0)
        for level, step, plain in zip(LEVELS, (step_ms, 2.0, 2.0), (2.0, 1.6, 2.0), strict=False)
    ]
    dry_run.price_list(levels, lines.append)
    assert lines[0].startswith("One undisturbed step: 2 ms ± 20 %.")
    assert told in lines[2]
