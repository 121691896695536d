"""Hooks of training loops against fakes of what calls them: which steps, which marks, no raise."""

from __future__ import annotations

import copy
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.capture import control, tracing
from stepscope.capture import summary as summary_module
from stepscope.capture.hooks.callback import LoopCallback, framework_class
from stepscope.capture.hooks.isolation import harmless
from stepscope.capture.hooks.lightning import Callback as LightningCallback
from stepscope.capture.hooks.lightning import batches_of
from stepscope.capture.hooks.loop import LoopRecorder
from stepscope.capture.hooks.schedule import Schedule
from stepscope.capture.hooks.torch import profile
from stepscope.capture.hooks.transformers import Callback as TrainerCallback
from stepscope.capture.result import Capture
from stepscope.errors import CaptureError, UsageError


class Recorder:
    """Stands for the session: notes what the hooks ask of it, and takes marks of steps."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.marks: list[tuple[str, int, bool]] = []
        self.fails: Exception | None = None

    def start(self, logdir: Any, options: Any = None) -> Any:
        if self.fails is not None:
            raise self.fails
        self.asked.append("start")
        tracing.switch(self)  # type: ignore[arg-type]  # takes steps alone
        return SimpleNamespace(finish=self.finish)

    def finish(self, reason: str, *, wait: bool) -> None:
        assert not wait  # the loop goes on meanwhile
        tracing.switch(None)
        self.asked.append("stop")

    def end(self, recording: Any, *, save: bool = True) -> Capture:
        tracing.switch(None)
        self.asked.append("result" if save else "forget")
        return Capture("", 0, 0, 0.0)

    def step(self, name: str, number: int, start_ns: int, end_ns: int) -> None:
        self.marks.append((name, number, end_ns >= start_ns))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    made = Recorder()
    monkeypatch.setattr(control, "start", made.start)
    monkeypatch.setattr(control, "end", made.end)
    yield made
    tracing.switch(None)


def numbers(recorder: Recorder) -> list[int]:
    return [number for _, number, _ in recorder.marks]


def test_named_steps_are_recorded_and_marked(recorder: Recorder) -> None:
    with profile("logs", "3,5", verbose=False) as p:
        for _ in range(10):
            p.step()
    assert recorder.asked == ["start", "stop", "result"]
    assert recorder.marks == [("train", 2, True), ("train", 3, True), ("train", 4, True)]
    assert len(p.captures) == 1


def test_a_schedule_waits_warms_up_records_and_repeats(recorder: Recorder) -> None:
    """Per cycle of 4: one step waits, one is forgotten, two are kept."""
    plan = Schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    phases = []
    for _ in range(12):
        phases.append("-" if not plan.phase.is_recording else "k" if plan.phase.is_kept else "w")
        plan.step_done()
    assert "".join(phases) == "--wkk-wkk---"
    with profile("logs", Schedule(wait=1, warmup=1, active=2, repeat=2), verbose=False) as p:
        for _ in range(10):
            p.step()
    cycle = ["start", "forget", "start", "stop"]
    assert recorder.asked == [*cycle, "result", *cycle, "result"]
    assert numbers(recorder) == [1, 2, 3, 5, 6, 7]
    assert len(p.captures) == 2


def test_cycles_without_a_gap_are_recordings_of_their_own(recorder: Recorder) -> None:
    with profile("logs", Schedule(active=2, repeat=0), verbose=False) as p:
        for _ in range(6):
            p.step()
    assert recorder.asked.count("start") == 4  # the fourth has begun when the loop ends
    assert len(p.captures) == 4


def test_a_schedule_without_a_step_to_record_is_refused() -> None:
    for wrong in ({"active": 0}, {"active": 1, "wait": -1}, {"active": True}):
        with pytest.raises(UsageError, match="cannot be"):
            Schedule(**wrong)


def test_what_is_no_step_is_not_marked(recorder: Recorder) -> None:
    with profile("logs", "1,3", verbose=False) as p:
        p.step()
        p.pause()  # a validation
        p.resume()
        p.step()
        p.pause()
        p.step()  # nothing began: how long it took is not known
    assert numbers(recorder) == [0, 1]


@pytest.mark.parametrize("error", [CaptureError("busy"), RuntimeError("no"), OSError(28, "full")])
def test_a_recording_that_fails_is_logged_once_and_the_loop_goes_on(
    recorder: Recorder, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    recorder.fails = error
    with caplog.at_level(logging.WARNING, "stepscope"), profile("logs", "1,5") as p:
        for _ in range(10):
            p.step()
    assert len(caplog.records) == 1
    assert "this training is not recorded" in caplog.text
    assert p.captures == []


def test_a_hook_that_failed_once_does_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    class Hook:
        is_off = False
        calls = 0

        @harmless
        def work(self, by: int) -> None:
            self.calls += by
            raise RuntimeError("no")

    hook = Hook()
    with caplog.at_level(logging.WARNING, "stepscope"):
        hook.work(1)
        hook.work(by=1)
    assert (hook.is_off, hook.calls, len(caplog.records)) == (True, 1, 1)


def test_a_loop_shorter_than_the_plan_says_so(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "stepscope"), profile("logs", "30,40") as p:
        p.step()
    assert "the loop ended after 1 steps" in caplog.text


def test_a_loop_that_ends_while_it_records_keeps_what_there_is(recorder: Recorder) -> None:
    with profile("logs", "1,40", verbose=False) as p:
        p.step()
        p.step()
    assert recorder.asked == ["start", "stop", "result"]
    assert len(p.captures) == 1


def test_a_loop_that_raises_keeps_what_there_is_and_raises(recorder: Recorder) -> None:
    with pytest.raises(ZeroDivisionError), profile("logs", "1,40", verbose=False):
        raise ZeroDivisionError
    assert recorder.asked == ["start", "stop", "result"]


def test_the_summary_is_printed_at_the_end_beside_the_programs_own_output(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Capture] = []

    def summary(capture: Capture) -> list[str]:
        asked.append(capture)
        return ["one", "two"]

    monkeypatch.setattr(summary_module, "summary", summary)
    with profile("logs", "1,1") as p:
        p.step()
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "\none\ntwo\n")
    assert asked == p.captures


def test_a_copied_callback_is_the_same_recorder() -> None:
    """Trainers copy their callbacks; a thread and a file cannot be."""
    made = LoopRecorder("logs", Schedule(active=1))
    assert copy.deepcopy({"callback": made})["callback"] is made


def lightning(callback: Any, epochs: int, batches: int) -> None:
    """Calls a callback as Lightning's fit loop does."""
    trainer, module = SimpleNamespace(max_steps=-1), object()
    callback.on_validation_start(trainer, module)  # the sanity check
    callback.on_validation_end(trainer, module)
    callback.on_train_start(trainer, module)
    for _ in range(epochs):
        callback.on_train_epoch_start(trainer, module)
        for batch in range(batches):
            callback.on_train_batch_end(trainer, module, None, None, batch)
        callback.on_validation_start(trainer, module)
        callback.on_validation_end(trainer, module)
        callback.on_train_epoch_end(trainer, module)
    callback.on_train_end(trainer, module)


def transformers(callback: Any, epochs: int, batches: int) -> None:
    """Calls a callback as Hugging Face's Trainer does."""
    words: tuple[Any, Any, Any] = (object(), SimpleNamespace(max_steps=epochs * batches), object())
    callback.on_train_begin(*words, model=None)
    for _ in range(epochs):
        callback.on_epoch_begin(*words)
        for _ in range(batches):
            callback.on_step_end(*words)
        callback.on_evaluate(*words, metrics={})
        callback.on_save(*words)
        callback.on_epoch_end(*words)
    callback.on_train_end(*words)


@pytest.mark.parametrize(
    ("kind", "run"), [(LightningCallback, lightning), (TrainerCallback, transformers)]
)
def test_callbacks_mark_every_recorded_step_across_epochs(
    recorder: Recorder, kind: Callable[..., Any], run: Callable[..., None], tmp_path: Path
) -> None:
    callback = kind(tmp_path, "3,6", verbose=False)
    run(callback, epochs=3, batches=4)
    assert recorder.asked == ["start", "stop", "result"]
    assert numbers(recorder) == [2, 3, 4, 5]
    assert len(callback.captures) == 1


@pytest.mark.parametrize(
    ("kind", "run"), [(LightningCallback, lightning), (TrainerCallback, transformers)]
)
def test_callbacks_never_raise_into_training(
    recorder: Recorder, kind: Callable[..., Any], run: Callable[..., None]
) -> None:
    recorder.fails = CaptureError("busy")
    run(kind("logs", "1,2", verbose=False), epochs=1, batches=3)


def test_lightning_writes_what_there_is_when_training_fails(recorder: Recorder) -> None:
    callback = LightningCallback("logs", "1,9", verbose=False)
    trainer = SimpleNamespace(max_steps=20)
    callback.on_train_start(trainer, None)
    callback.on_train_batch_end(trainer, None, None, None, 0)
    callback.on_exception(trainer, None, ValueError())
    assert recorder.asked == ["start", "stop", "result"]


class Framework:
    """Stands for a framework's class of callbacks."""

    def __init__(self) -> None:
        self.state: dict[str, int] = {"epoch": 0}

    def on_fit_start(self) -> str:
        return "the framework's"


def test_a_callback_is_the_frameworks_too_and_is_initialised_as_such() -> None:
    class Callback(LoopCallback, Framework):
        pass

    callback = Callback("logs", "1,1", verbose=False)
    assert callback.state == {"epoch": 0}
    assert callback.on_fit_start() == "the framework's"
    assert callback.captures == []


def test_the_first_installed_framework_lends_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "new_name", None)  # importing it fails
    monkeypatch.setitem(sys.modules, "broken_name", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "old_name", SimpleNamespace(Callback=Framework))
    assert framework_class("Callback", "new_name", "broken_name", "old_name") is Framework
    assert framework_class("Callback", "new_name", "broken_name") is object


FAKES = """
import sys, types
for module, name in (("pytorch_lightning", "Callback"), ("transformers", "TrainerCallback")):
    sys.modules[module] = types.SimpleNamespace(**{name: type(name, (), {"fake": module})})
sys.modules["lightning"] = None
import stepscope
print(stepscope.lightning.Callback("logs").fake, stepscope.transformers.Callback("logs").fake)
"""


def test_the_public_callbacks_are_of_the_frameworks_classes() -> None:
    done = subprocess.run([sys.executable, "-c", FAKES], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pytorch_lightning", "transformers"]


@pytest.mark.parametrize(
    ("trainer", "batches"),
    [
        ({"max_steps": -1, "max_epochs": 2, "num_training_batches": 20}, 40),
        ({"max_steps": 30, "max_epochs": None}, 30),
        ({"max_steps": 30, "accumulate_grad_batches": 4}, 120),
        ({"max_steps": 5, "max_epochs": 2, "num_training_batches": 20}, 5),
        ({"max_steps": -1, "max_epochs": 2, "num_training_batches": float("inf")}, None),
        ({"max_steps": -1, "max_epochs": -1, "num_training_batches": 20}, None),
        ({}, None),
    ],
)
def test_how_long_a_training_of_lightnings_is(
    trainer: dict[str, object], batches: int | None
) -> None:
    """Else steps that never run steadily would be waited for beyond its end."""
    assert batches_of(SimpleNamespace(**trainer)) == batches
