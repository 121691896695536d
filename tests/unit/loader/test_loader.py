"""Pipelines measured against a clock that only they and the step move."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from stepscope.errors import UsageError
from stepscope.loader import measure
from stepscope.loader.find import find, opener
from stepscope.loader.measure import (
    bytes_of,
    deliver,
    elements_of,
    fed_step_ms,
    judge,
    synthetic_step_ms,
)
from stepscope.surfaces.cli.commands.loader import loader
from tests.profiles import worked_example

BATCH = {"image": np.zeros((8, 4, 4), np.float32), "label": np.zeros(8, np.int64)}


class Clock:
    """Seconds that pass only where something says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(measure, "time", made)
    return made


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that a test has imported, and their folders, are gone after it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


def pipeline(
    clock: Clock, batches: int, batch_s: float = 0.01, start_s: float = 0.5
) -> Callable[[], Iterator[Any]]:
    """So many batches of so many seconds each, the first after a start."""

    def opened() -> Iterator[Any]:
        clock.now += start_s
        for _ in range(batches):
            clock.now += batch_s
            yield BATCH

    return opened


def test_rates_leave_the_first_batch_out(clock: Clock) -> None:
    found, first = deliver(pipeline(clock, 1000), 1.0)
    assert first is BATCH
    assert found.first_seconds == pytest.approx(0.51)
    assert found.batches == 100
    assert found.batch_ms == pytest.approx(10)
    assert found.elements == 800
    assert found.bytes == 100 * (8 * 16 * 4 + 8 * 8)
    assert (found.starts, found.start_seconds) == (0, 0)
    assert found.wait_ms(0.5) == pytest.approx(found.wait_ms(0.95)) == pytest.approx(10)


def test_a_pipeline_that_ends_begins_anew_and_that_costs(clock: Clock) -> None:
    found, _ = deliver(pipeline(clock, 5), 2.0)  # 4, then 5 in 0.55 s each
    assert found.starts == 4
    assert found.start_seconds == pytest.approx(4 * 0.51)
    assert found.wait_ms(1.0) == pytest.approx(510)
    assert found.seconds == pytest.approx(found.batches * 0.01 + 4 * 0.5)


def test_a_generator_that_ends_gives_what_it_had(clock: Clock) -> None:
    once = pipeline(clock, 7)()
    found, _ = deliver(lambda: once, 60.0)
    assert found.batches == 6


@pytest.mark.parametrize("batches", [0, 1])
def test_what_delivers_too_little_is_an_error(clock: Clock, batches: int) -> None:
    once = pipeline(clock, batches)()
    with pytest.raises(UsageError, match="too little"):
        deliver(lambda: once, 1.0)


def test_a_step_is_measured_without_input_and_with_it(clock: Clock) -> None:
    calls: list[Any] = []

    def step(batch: Any) -> None:
        calls.append(batch)
        clock.now += 1.0 if len(calls) % 1000 == 1 else 0.004  # the first compiles

    assert synthetic_step_ms(step, BATCH, 1.0) == pytest.approx(4)
    calls.clear()
    assert fed_step_ms(step, pipeline(clock, 500), 1.0) == pytest.approx(14)


def test_results_are_waited_for_at_the_end(clock: Clock) -> None:
    class Array:
        shape, dtype = (1,), np.dtype("f4")

        def block_until_ready(self) -> None:
            clock.now += 0.5

    took = synthetic_step_ms(lambda _: {"loss": Array()}, BATCH, 0.0)
    assert took == pytest.approx(500)


@pytest.mark.parametrize(
    ("batch_s", "step_ms", "loop_ms", "status"),
    [
        (0.010, None, None, "not compared"),
        (0.010, 4.0, None, "too slow"),
        (0.010, 12.0, None, "close"),
        (0.010, 40.0, None, "fast enough"),
        (0.010, 40.0, 41.0, "fast enough"),
        (0.010, 40.0, 50.0, "too slow"),  # they follow each other
    ],
)
def test_the_verdict(
    clock: Clock, batch_s: float, step_ms: float | None, loop_ms: float | None, status: str
) -> None:
    found, _ = deliver(pipeline(clock, 1000, batch_s), 1.0)
    verdict = judge(found, step_ms, loop_ms)
    assert verdict.status == status
    assert "10 ms" in verdict.summary
    assert verdict.next_steps


@pytest.mark.parametrize(
    ("batch", "elements", "size"),
    [
        (BATCH, 8, 576),
        ((np.zeros((4, 2)), [np.zeros(4, np.uint8)]), 4, 68),
        ((np.zeros((28, 28, 3), np.uint8), np.int64(3)), None, 2360),  # one image and its label
        ((np.zeros(4), np.zeros(5)), None, 72),
        ([1, 2], None, None),
        (np.asarray(["a", b"b"], object), 2, None),
        (SimpleNamespace(shape=(2, 3), dtype=SimpleNamespace(size=4)), 2, 24),  # as TensorFlow's
        (SimpleNamespace(shape=(2, None), dtype=SimpleNamespace(size=4)), 2, None),
    ],
)
def test_what_a_batch_holds(batch: Any, elements: int | None, size: int | None) -> None:
    assert (elements_of(batch), bytes_of(batch)) == (elements, size)


def test_a_pipeline_is_found_by_file_and_by_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mytrain.py").write_text(
        "import helper_of_mine\nclass data:\n    loader = [1, 2]\ndef make(): return iter([3])\n"
    )
    (tmp_path / "helper_of_mine.py").write_text("")
    assert find(f"{tmp_path}/mytrain.py:data.loader") == [1, 2]
    assert list(opener(find(f"{tmp_path}/mytrain.py:make"), "make")()) == [3]
    monkeypatch.chdir(tmp_path)
    assert find("mytrain:data.loader") == [1, 2]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("train.py", "does not name"),
        (":make", "does not name"),
        ("nowhere.py:make", "no such file"),
        ("no_such_module_here:make", "no such module"),
        ("json:make", "no 'make' in json"),
    ],
)
def test_what_cannot_be_found_is_said(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        find(name)


def test_what_is_no_pipeline_is_said() -> None:
    with pytest.raises(UsageError, match="cannot be iterated"):
        opener(7, "seven")
    with pytest.raises(UsageError, match="returns a int"):
        opener(lambda: 7, "make")()


def test_the_command_says_rates_and_verdict(tmp_path: Path) -> None:
    (tmp_path / "input_of_mine.py").write_text(
        "import numpy as np\nbatches = [np.zeros((4, 2), 'f4')] * 1000\n"
        "def step(batch): return batch.sum()\n"
    )
    name = f"{tmp_path}/input_of_mine.py"
    run = CliRunner()
    done = run.invoke(loader, [f"{name}:batches", "--seconds", "0.01", "--step-ms", "5"])
    assert done.exit_code == 0, done.output
    assert "fast enough" in done.output and "elements/s" in done.output
    done = run.invoke(
        loader, [f"{name}:batches", "--seconds", "0.01", "--step", f"{name}:step", "-f", "json"]
    )
    said = json.loads(done.output)
    assert said["elements_per_s"] == pytest.approx(4 * said["batches_per_s"])
    assert said["bytes_per_s"] == pytest.approx(32 * said["batches_per_s"])
    assert said["step_ms"] > 0 and said["loop_ms"] > 0
    both = run.invoke(loader, [f"{name}:batches", "--step-ms", "5", "--step", "x:y"])
    assert both.exit_code == 2


def test_the_time_of_a_step_comes_from_a_recording_without_its_input(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(worked_example(gpu=True))
    (tmp_path / "batches_of_mine.py").write_text("batches = [1] * 1000\n")
    name = f"{tmp_path}/batches_of_mine.py:batches"
    arguments = [name, "--seconds", "0.01", "--recording", str(tmp_path), "-f", "json"]
    said = json.loads(CliRunner().invoke(loader, arguments).output)
    # The worked example's step of 900 µs waits 230 µs for its input.
    assert 0 < said["step_ms"] < 0.9
    assert said["elements_per_s"] is None
