"""Recordings of real work, compared: equal programs are equal, a planted change is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stepscope
from stepscope.comparison import Comparison
from stepscope.tables.steps.session import session_steps
from stepscope.tables.steps.statistics import F64, StepSample, difference

STEPS = 30


def work(repeat: int) -> None:
    """One step: a layer so many times, and something else beside it.

    Without products of matrices: on a busy machine the threads that share one wait for each
    other longer than twenty times the work takes.
    """
    layer = np.full((160, 160), 0.01)
    with stepscope.Trace("layer"):
        for _ in range(repeat):
            layer = np.tanh(layer + 0.01)
    with stepscope.Trace("sort"):
        np.sort(np.arange(60_000)[::-1] % 977)


def record(folder: Path, repeat: int = 8) -> Path:
    options = stepscope.ProfilerOptions(sample_hz=0, telemetry_hz=0)
    with stepscope.Profile(folder, options):
        for number in range(STEPS):
            with stepscope.step(number):
                work(repeat)
    return folder


def step_times(folder: Path) -> F64:
    found = session_steps(stepscope.open(folder).profile)
    assert found is not None
    return found.duration_ps[found.kept] / 1e9


def test_recordings_of_one_program_show_no_change_in_a_hundred_resamples(tmp_path: Path) -> None:
    work(8)
    times = np.concatenate([step_times(record(tmp_path / str(place))) for place in range(8)])
    chance = np.random.default_rng(1)
    wrong = 0
    for _ in range(100):
        # Both sides are drawn from all recordings, in stretches that keep what neighbours share:
        # whatever else this machine does meanwhile, they are recordings of one program.
        begin = chance.integers(len(times) - 20, size=(2, 10))
        pair = [np.concatenate([times[at : at + 20] for at in side]) for side in begin.tolist()]
        wrong += bool(difference(*map(StepSample.of, pair)).significant)
    assert wrong <= 5


def compared(before: Path, after: Path) -> Comparison:
    found = stepscope.compare(before, after)
    for level in ("parts", "step_parts", "modules", "kernels"):
        total = sum(getattr(found, level)["delta_ms"])
        assert total == pytest.approx(found.delta_ms, rel=1e-3), level
    return found


def test_work_done_twenty_times_as_often_is_found_and_named(tmp_path: Path) -> None:
    work(8)
    found = compared(record(tmp_path / "before"), record(tmp_path / "after", repeat=160))
    row = next(found.parts.rows())
    assert (row["name"], row["kind"]) == ("layer", "slower")
    assert row["runs_before"] == row["runs_after"] == pytest.approx(1.0)


def test_work_left_out_is_a_removed_part(tmp_path: Path) -> None:
    work(8)
    before = record(tmp_path / "before", repeat=160)
    options = stepscope.ProfilerOptions(sample_hz=0, telemetry_hz=0)
    after = tmp_path / "after"
    with stepscope.Profile(after, options):
        for number in range(STEPS):
            with stepscope.step(number), stepscope.Trace("sort"):
                np.sort(np.arange(60_000)[::-1] % 977)
    row = next(compared(before, after).parts.rows())
    assert (row["name"], row["kind"]) == ("layer", "removed")
