"""Steps timed while nothing records."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest

from stepscope.capture import step_clock, tracing
from stepscope.capture.launch import import_hook
from stepscope.capture.step_clock import BATCH, FUNCTION, MARKER, OPTIMIZER, StepClock, hear
from stepscope.schema import names

MS = 1_000_000
MS_PS = 1000 * MS


class Clock:
    """The time that hooks see."""

    now_ns = 10**12

    def __call__(self) -> int:
        return self.now_ns

    def pass_ms(self, ms: float) -> None:
        self.now_ns += int(ms * MS)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    one = Clock()
    monkeypatch.setattr(time, "perf_counter_ns", one)
    yield one
    StepClock().pause()
    step_clock._awaited = None
    tracing.switch(None)


def loop(clock: Clock, ms: float, steps: int, source: str = FUNCTION, which: Any = 1) -> None:
    for _ in range(steps):
        hear(source, which)
        clock.pass_ms(ms)
    hear(source, which)


def test_undisturbed_and_recorded_steps_are_told_apart(clock: Clock) -> None:
    steps = StepClock()
    steps.listen(undisturbed=False)
    loop(clock, 7.0, 10)
    steps.listen(undisturbed=True)
    loop(clock, 2.0, 30)
    steps.pause()
    assert steps.facts() == {
        names.UNDISTURBED_STEP: 2 * MS * 1000,
        names.UNDISTURBED_STEPS: 30,
        names.UNDISTURBED_SOURCE: FUNCTION,
        names.RECORDED_STEP: 7 * MS * 1000,
    }


def test_few_short_steps_tell_nothing_and_few_long_ones_do(clock: Clock) -> None:
    steps = StepClock()
    steps.listen(undisturbed=True)
    loop(clock, 5.0, 19)
    steps.pause()
    assert steps.facts() == {}
    steps.listen(undisturbed=True)
    loop(clock, 900.0, 3, OPTIMIZER)
    steps.pause()
    assert steps.facts()[names.UNDISTURBED_STEP] == 900 * MS * 1000


def test_what_runs_between_two_stretches_is_no_step(clock: Clock) -> None:
    steps = StepClock()
    for _ in range(2):
        steps.listen(undisturbed=True)
        loop(clock, 1.0, 15)
        steps.pause()
        clock.pass_ms(10_000)
        hear(FUNCTION, 1)
    assert steps.facts()[names.UNDISTURBED_STEPS] == 30


def test_markers_are_timed_from_begin_to_end_and_go_before_other_sources(clock: Clock) -> None:
    steps = StepClock()
    tracing.switch(step_clock.marker_emitter())
    steps.listen(undisturbed=True)
    for number in range(25):
        hear(FUNCTION, 7)
        with tracing.step(number):
            clock.pass_ms(3.0)
        with tracing.Trace("no step"):
            clock.pass_ms(1.0)
    steps.pause()
    facts = steps.facts()
    assert facts[names.UNDISTURBED_SOURCE] == MARKER
    assert facts[names.UNDISTURBED_STEP] == 3 * MS * 1000


def test_of_several_functions_the_regular_one_is_the_step(clock: Clock) -> None:
    steps = StepClock()
    steps.listen(undisturbed=True)
    for _ in range(25):
        hear(FUNCTION, "step")
        clock.pass_ms(8.0)
        for _ in range(2):
            hear(FUNCTION, "metric")
            clock.pass_ms(1.0)
    steps.pause()
    assert steps.facts()[names.UNDISTURBED_STEP] == 10 * MS * 1000


def test_an_evaluation_in_a_rest_is_no_undisturbed_step(clock: Clock) -> None:
    steps = StepClock()
    steps.listen(undisturbed=False)
    loop(clock, 7.0, 10, which="train")
    steps.listen(undisturbed=True)
    loop(clock, 2.0, 30, which="evaluate")
    steps.pause()
    assert steps.facts() == {}
    steps.listen(undisturbed=True)
    for ms in (5.0, 6.0) * 50:
        hear(FUNCTION, "train")
        clock.pass_ms(ms)
    steps.pause()
    assert steps.facts()[names.UNDISTURBED_STEP] == pytest.approx(5.5 * MS * 1000, rel=0.1)
    # Even if the recording holds an evaluation, too.
    steps.listen(undisturbed=False)
    loop(clock, 3.0, 10, which="evaluate")
    steps.pause()
    assert steps.facts()[names.RECORDED_STEP] == 7 * MS * 1000


def test_steps_that_ran_are_counted_if_none_was_recorded(clock: Clock) -> None:
    steps = StepClock()
    steps.begin()
    loop(clock, 5.0, 9, OPTIMIZER)
    assert steps.unrecorded_steps() == 10
    steps.listen(undisturbed=True)
    loop(clock, 5.0, 9, OPTIMIZER)
    steps.pause()
    assert steps.unrecorded_steps() == 20
    steps.listen(undisturbed=False)
    loop(clock, 5.0, 2, OPTIMIZER)
    steps.end()
    assert steps.unrecorded_steps() == steps.unrecorded_loop() == 0
    assert not step_clock._followers


def test_a_loop_that_no_session_met_is_counted(clock: Clock) -> None:
    """A program trains one model, then another with an optimizer of its own."""
    steps = StepClock()
    steps.begin()
    steps.listen(undisturbed=False)
    loop(clock, 5.0, 9, OPTIMIZER, which=1)
    steps.listen(undisturbed=True)
    loop(clock, 5.0, 30, OPTIMIZER, which=2)
    steps.end()
    assert (steps.unrecorded_steps(), steps.unrecorded_loop()) == (0, 31)


@pytest.mark.parametrize("surest", [OPTIMIZER, BATCH])
def test_batches_of_each_epochs_loader_are_no_other_loop(clock: Clock, surest: str) -> None:
    steps = StepClock()
    steps.begin()
    steps.listen(undisturbed=False)
    loop(clock, 5.0, 9, surest, which=1)
    for epoch in range(2, 4):
        steps.listen(undisturbed=True)
        loop(clock, 5.0, 30, BATCH, which=epoch)
    steps.end()
    assert steps.unrecorded_loop() == 0


def test_steps_so_far_cost_the_same_however_many_there_are(clock: Clock) -> None:
    steps = StepClock()
    steps.listen(undisturbed=True)
    assert steps.session_steps() is None
    loop(clock, 2.0, 1_000)
    assert steps.heard() == (1_000, 2.0)
    assert steps.session_steps() == 1_000


def test_markers_are_counted_while_they_are_recorded() -> None:
    steps = StepClock()
    steps.listen(undisturbed=False)
    emitted: list[str] = []

    def emit(name: str, _: object) -> Any:
        emitted.append(name)
        return int

    tracing.switch(step_clock.counted(emit))
    for number in range(5):
        with tracing.step(number), tracing.Trace("part"):
            pass
    tracing.switch(None)
    assert steps.steps_so_far() == 5
    assert emitted == ["train", "part"] * 5
    steps.pause()


def test_recorded_and_undisturbed_markers_are_timed_alike(clock: Clock) -> None:
    steps = StepClock()
    for is_undisturbed, ms in ((False, 6.0), (True, 2.0)):
        emit = step_clock.marker_emitter() if is_undisturbed else step_clock.counted(lambda *_: int)
        tracing.switch(emit)
        steps.listen(undisturbed=is_undisturbed)
        for number in range(25):
            with tracing.step(number):
                clock.pass_ms(ms)
            clock.pass_ms(20.0)  # fetches the next batch: no part of a step
    steps.pause()
    facts = steps.facts()
    assert facts[names.RECORDED_STEP] == 6 * MS * 1000
    assert facts[names.UNDISTURBED_STEP] == 2 * MS * 1000
    assert steps.recorder_frac() == pytest.approx(2 / 3)


def known_loop(clock: Clock) -> StepClock:
    """A clock that has heard of a function's calls, of a metric's, and of an optimizer's steps."""
    steps = StepClock()
    steps.listen(undisturbed=True)
    for _ in range(25):
        hear(FUNCTION, "metric")
        loop(clock, 1.0, 1, OPTIMIZER)
    return steps


def test_a_program_waits_at_its_next_step_until_the_session_has_begun(clock: Clock) -> None:
    steps, woken, order = known_loop(clock), threading.Event(), []
    assert not steps.is_at_step(holds=True, wake=woken.set)

    def program() -> None:
        hear(FUNCTION, "metric")
        order.append("another place")
        hear(OPTIMIZER, 1)
        order.append("step")

    thread = threading.Thread(target=program)
    thread.start()
    woken.wait()
    assert order == ["another place"]
    assert steps.is_at_step(holds=True, wake=woken.set)
    assert steps.begins_at(OPTIMIZER) and not steps.begins_at(FUNCTION)
    assert steps.is_reached(OPTIMIZER) and not steps.is_reached(MARKER)
    order.append("session")
    steps.listen(undisturbed=False)
    thread.join()
    assert order == ["another place", "session", "step"]
    assert not steps.is_awaiting
    # The step at which the session began is its first one.
    clock.pass_ms(4.0)
    hear(OPTIMIZER, 1)
    assert steps.session_steps() == 1


def test_a_marker_at_which_a_session_begins_is_recorded(clock: Clock) -> None:
    steps, emitted, woken = StepClock(), [], threading.Event()
    tracing.switch(step_clock.marker_emitter())
    steps.listen(undisturbed=True)
    for number in range(3):
        with tracing.step(number):
            clock.pass_ms(1.0)
    assert not steps.is_at_step(holds=True, wake=woken.set)

    def emit(name: str, _: object) -> Any:
        emitted.append(name)
        return int

    def program() -> None:
        with tracing.Trace("no step"), tracing.step(3):
            pass

    thread = threading.Thread(target=program)
    thread.start()
    woken.wait()
    tracing.switch(step_clock.counted(emit))
    steps.listen(undisturbed=False)
    thread.join()
    assert emitted == ["train"]


def test_nobody_waits_for_the_end_of_a_session(clock: Clock) -> None:
    steps, woken = known_loop(clock), []
    assert not steps.is_at_step(holds=False, wake=lambda: woken.append(1))
    hear(OPTIMIZER, 1)
    assert woken == [1] and steps.is_at_step(holds=False, wake=int)
    assert not steps.begins_at(OPTIMIZER)
    steps.release()
    hear(OPTIMIZER, 1)
    assert woken == [1]


def test_where_no_loop_is_known_no_step_is_awaited(clock: Clock) -> None:
    steps = StepClock()
    steps.listen(undisturbed=True)
    assert steps.is_at_step(holds=True, wake=int)
    assert not steps.is_awaiting


@pytest.mark.parametrize(("pause_ms", "seconds"), [(0.0, 0.105), (900.0, 1.0), (9_000.0, 2.0)])
def test_a_step_after_a_validation_is_awaited_as_long_as_one_took_before(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, pause_ms: float, seconds: float
) -> None:
    steps, start = StepClock(), time.monotonic()
    steps.begin()
    tracing.switch(step_clock.marker_emitter())
    steps.listen(undisturbed=False)
    for number in range(20):
        with tracing.step(number):
            clock.pass_ms(1.0)
        clock.pass_ms(pause_ms * (number == 9))
    monkeypatch.setattr(time, "monotonic", lambda: start)
    assert not steps.is_at_step(holds=False, wake=int)
    monkeypatch.setattr(time, "monotonic", lambda: start + 0.97 * seconds)
    assert not steps.is_at_step(holds=False, wake=int)
    monkeypatch.setattr(time, "monotonic", lambda: start + 1.03 * seconds)
    assert steps.is_at_step(holds=False, wake=int)
    steps.end()


def test_a_loop_that_is_over_is_not_awaited_for_ever(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, start = known_loop(clock), time.monotonic()
    assert not steps.is_at_step(holds=True, wake=int)
    monkeypatch.setattr(time, "monotonic", lambda: start + 3600)
    assert steps.is_at_step(holds=True, wake=int)


def test_nothing_is_kept_while_nobody_listens() -> None:
    hear(FUNCTION, 1)
    assert step_clock._listening is None


def test_calls_of_a_method_are_heard_and_made(clock: Clock) -> None:
    class Model:
        def train_on_batch(self, ms: float, *, times: int = 1) -> float:
            clock.pass_ms(ms * times)
            return ms

    import_hook._hear_calls(Model, "train_on_batch", FUNCTION)
    steps, model = StepClock(), Model()
    steps.listen(undisturbed=True)
    assert [model.train_on_batch(2.0, times=2) for _ in range(22)] == [2.0] * 22
    steps.pause()
    assert steps.facts()[names.UNDISTURBED_STEP] == 4 * MS * 1000


def test_an_optimizers_step_is_heard_after_the_range_that_marks_it(clock: Clock) -> None:
    class Optimizer:
        @staticmethod
        def profile_hook_step(step: Any) -> Any:
            def marked(*args: Any) -> Any:
                clock.pass_ms(3.0)
                result = step(*args)
                clock.pass_ms(1.0)
                return result

            return marked

    class Sgd(Optimizer):
        def step(self, rate: float) -> float:
            return rate

    module: Any = ModuleType("torch.optim.optimizer")
    module.Optimizer = Optimizer
    import_hook._hear_optimizers(module)
    stepped: Any = Optimizer.profile_hook_step(Sgd.step)
    steps, optimizer = StepClock(), Sgd()
    steps.listen(undisturbed=True)
    began_ns = clock.now_ns
    assert stepped(optimizer, 0.5) == 0.5
    assert step_clock._listening is not None
    heard = step_clock._listening.began_ns[OPTIMIZER, id(optimizer)]
    assert heard == [began_ns + 4 * MS]


def test_sessions_begin_at_reads_of_results_where_no_step_is_heard(clock: Clock) -> None:
    """JAX calls a compiled function without Python: its loop is heard of where it reads."""
    method = MagicMock(__qualname__=None)  # as nanobind's
    kind = type("ArrayImpl", (), {"_value": property(lambda _: 1.0), "block_until_ready": method})
    module = ModuleType("jax._src.array")
    module.__file__ = "/packages/jax/_src/array.py"
    vars(module)["ArrayImpl"] = kind
    import_hook.AFTER[module.__name__](module)
    array: Any = kind()
    woken: list[int] = []

    def train(steps_run: int, ms: float = 5.0, *, reads: int = 1) -> None:
        for number in range(steps_run):
            clock.pass_ms(ms)
            for _ in range(reads):
                array.block_until_ready()
            if number == 0:
                assert array._value == 1.0  # a line that is not the loop's

    steps = StepClock()
    steps.listen(undisturbed=False)
    assert steps.is_at_step(holds=False, wake=int)  # nothing is known yet
    train(30)
    assert steps.session_steps() is None and steps.facts() == {}
    assert not steps.is_at_step(holds=False, wake=lambda: woken.append(1))
    assert array._value == 1.0 and not woken
    train(1)
    assert woken and steps.is_at_step(holds=False, wake=int)
    # The line is known in the next stretch, too.
    steps.listen(undisturbed=True)
    assert not steps.is_at_step(holds=False, wake=int)
    train(1)
    assert steps.is_at_step(holds=False, wake=int)
    # So its steps are compared, which nothing counts; several reads in a row are none.
    train(30, 2.0)
    steps.listen(undisturbed=True)
    facts = steps.facts()
    assert facts[names.UNDISTURBED_SOURCE] == step_clock.READ
    assert (facts[names.UNDISTURBED_STEP], facts[names.RECORDED_STEP]) == (2 * MS_PS, 5 * MS_PS)
    train(90, reads=3)
    steps.end()
    assert steps.facts() == {}


def test_asking_whether_a_module_exists_leaves_its_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow asks for Keras and imports it later: steps of tf.keras were not marked."""
    (tmp_path / "hooked_module.py").write_text("value = 1\n")
    prepared: list[ModuleType] = []
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(import_hook.AFTER, "hooked_module", prepared.append)
    monkeypatch.setattr(sys, "meta_path", [import_hook._Finder(), *sys.meta_path])
    assert importlib.util.find_spec("hooked_module") is not None
    assert prepared == []
    module = importlib.import_module("hooked_module")
    monkeypatch.delitem(sys.modules, "hooked_module")
    importlib.import_module("hooked_module")
    assert prepared == [module]
