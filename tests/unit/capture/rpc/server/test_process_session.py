"""The service on the real session of a process: arbitration, steps, what is in the recording."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

import stepscope
from stepscope.capture import control, tracing
from stepscope.capture.file.event_count import count_events
from stepscope.capture.rpc.protocol.messages import (
    SERVICE,
    ConfigValue,
    ProfileOptions,
    ProfileRequest,
)
from stepscope.capture.rpc.protocol.status import CallFailed, Code
from stepscope.capture.rpc.server.process_session import SessionDoor, StepCounter
from stepscope.capture.rpc.server.service import Call, Service
from stepscope.formats.xspace import decode

pytestmark = pytest.mark.timed

QUICK = {
    "stepscope_sample_hz": ConfigValue.of("0.0"),
    "stepscope_telemetry_hz": ConfigValue.of("0.0"),
}


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service(SessionDoor())
    yield made
    made.close()
    assert control.active() is None


@pytest.fixture
def stepping() -> Iterator[threading.Event]:
    """A thread that marks a step of 10 ms after the other."""
    over = threading.Event()

    def run() -> None:
        number = 0
        while not over.is_set():
            with stepscope.Trace("train", step_num=number, _r=1):
                time.sleep(0.01)
            number += 1

    thread = threading.Thread(target=run)
    thread.start()
    yield over
    over.set()
    thread.join()


def profile(ms: int, **more: ConfigValue) -> Call:
    opts = ProfileOptions(
        version=1,
        duration_ms=ms,
        # Where other tests have loaded TensorFlow, steps go through it, and 0 is "nothing" to it.
        host_tracer_level=2,
        advanced_configuration=QUICK | more,
    )
    return Call(f"/{SERVICE}/Profile", ProfileRequest(opts=opts, emit_xspace=True).encode())


def recorded(service: Service, call: Call) -> Path:
    reply = service.answer(call)
    assert reply.file is not None
    return reply.file


def test_marked_steps_are_in_the_recording(
    service: Service, stepping: threading.Event, tmp_path: Path
) -> None:
    file = recorded(service, profile(500))
    assert count_events(file.read_bytes()) > 10
    kept = tmp_path / "host.xplane.pb"
    file.rename(kept)
    page = stepscope.open(str(kept)).overview_page()
    assert page.steps.source == "markers"
    assert page.steps.count > 10
    # Each sleeps for 10 ms, and on a busy machine wakes up later; together they fit the recording.
    assert page.steps.time_ms.mean > 9.5
    whole = page.steps.time_ms.mean * page.steps.count
    assert 0.5 < whole / page.environment.profile_duration_ms <= 1.0


def test_a_recording_ends_after_the_steps_asked_for(
    service: Service, stepping: threading.Event
) -> None:
    file = recorded(service, profile(30_000, stepscope_steps=ConfigValue.of(20)))
    space = decode(file.read_bytes())
    named = [space.event_metadata.name[row] for row in space.events.metadata.tolist()]
    assert named.count("train") == 20
    assert tracing.emitter() is None


def test_a_persons_recording_ends_the_one_from_outside(service: Service, tmp_path: Path) -> None:
    done: list[object] = []
    call = profile(20_000)
    thread = threading.Thread(target=lambda: done.append(service.answer(call)))
    thread.start()
    until = time.monotonic() + 20
    while control.active() is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    began = time.monotonic()
    options = stepscope.ProfilerOptions(sample_hz=0, telemetry_hz=0)
    stepscope.start(str(tmp_path), options)
    thread.join(10)
    assert time.monotonic() - began < 10
    assert len(done) == 1
    assert Path(stepscope.stop().path).is_file()


def test_while_a_person_records_a_request_is_told_to_wait(service: Service, tmp_path: Path) -> None:
    options = stepscope.ProfilerOptions(sample_hz=0, telemetry_hz=0)
    with stepscope.Profile(str(tmp_path), options) as mine:
        with pytest.raises(CallFailed) as caught:
            service.answer(profile(10))
        assert caught.value.code is Code.ALREADY_EXISTS
    assert mine.capture is not None
    assert Path(mine.capture.path).is_file()


def test_a_budget_ends_a_recording_before_its_time(service: Service) -> None:
    began = time.monotonic()
    service.answer(profile(20_000, stepscope_max_seconds=ConfigValue.of("0.3")))
    assert time.monotonic() - began < 10


def test_a_counter_counts_what_ends_and_leaves_no_trace() -> None:
    counter = StepCounter()
    counter.hook()
    with stepscope.step(1):
        assert counter.count == 0
    with stepscope.Trace("not a step"):
        pass
    assert counter.count == 1
    counter.unhook()
    with stepscope.step(2):
        pass
    assert counter.count == 1
    assert tracing.emitter() is None


class Marker:
    """Marks steps as ``tf.profiler.experimental.Trace`` and JAX's annotation do."""

    def __init__(self, name: str, **metadata: object) -> None:
        self.name, self.metadata = name, metadata

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


@pytest.mark.parametrize(
    ("module", "kind", "metadata"),
    [
        ("tensorflow.python.profiler.trace", "Trace", {"step_num": 3, "_r": 1}),
        ("tensorflow.python.profiler.trace", "Trace", {"step_num": 3}),
        ("jax._src.profiler", "StepTraceAnnotation", {}),
    ],
)
def test_a_counter_counts_the_steps_that_frameworks_mark(
    monkeypatch: pytest.MonkeyPatch, module: str, kind: str, metadata: dict[str, object]
) -> None:
    own = {"__init__": Marker.__init__, "__exit__": Marker.__exit__} if kind == "Trace" else {}
    made: Any = type(kind, (Marker,), own)
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(**{kind: made}))
    methods = made.__init__, made.__exit__
    reached: list[int] = []
    counter = StepCounter(2, lambda: reached.append(counter.count))
    with made("before", **metadata) as before:
        counter.hook()
    assert before.name == "before"
    for _ in range(3):
        with made("train", **metadata) as marker:
            assert marker.metadata == metadata
    if kind == "Trace":
        with made("load", rows=3):
            pass
    assert (counter.count, reached) == (3, [2])
    counter.unhook()
    with made("train", **metadata):
        pass
    assert counter.count == 3
    assert (made.__init__, made.__exit__) == methods


def test_a_counter_hands_on_to_who_listened_before() -> None:
    heard: list[str] = []

    def listener(name: str, metadata: object) -> object:
        heard.append(name)
        return lambda: heard.append("end")

    tracing.switch(listener)  # type: ignore[arg-type]  # the shape is what counts
    try:
        counter = StepCounter()
        counter.hook()
        with stepscope.step(1, "a"):
            pass
        assert (heard, counter.count) == (["a", "end"], 1)
        counter.unhook()
        assert tracing.emitter() is listener
    finally:
        tracing.switch(None)
