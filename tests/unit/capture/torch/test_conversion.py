"""PyTorch's traces become planes in a process of their own, and the program's goes on as it was."""

from __future__ import annotations

import dataclasses
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope.capture.torch import conversion
from stepscope.capture.torch.conversion import ConversionSettings, Converter
from stepscope.formats.kineto.steps import StepCount, StepMark
from tests.profiles import parse
from tests.unit.formats.kineto.layout import PID, text, x

SETTINGS = ConversionSettings(
    True, StepCount(3, 4_000), [StepMark(PID, "train", 7, 1_000, 2_000)], {0: 1_500_000}
)


@pytest.fixture
def converter() -> Iterator[Converter]:
    made = Converter()
    yield made
    made.close()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    ops = [x("cpu_op", "aten::mm", 10.0 * number, 5.0) for number in range(50)]
    path.write_text(text(ops), "utf-8")
    return path


def test_another_process_makes_what_this_one_would(
    converter: Converter, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(gc, "disable", lambda: asked.append("off"))
    monkeypatch.setattr(conversion, "_here", lambda *_: asked.append("here"))
    elsewhere = converter.convert(trace, SETTINGS, 60)
    assert asked == []
    monkeypatch.undo()
    here = conversion._here(trace, SETTINGS)
    assert elsewhere.seconds > 0
    assert dataclasses.replace(elsewhere, seconds=0.0) == here
    assert elsewhere.events == 51  # and the step that the loop reported
    assert {plane.name for plane in parse(elsewhere.xspace).planes} >= {"/host:CPU"}


def test_ops_that_were_not_asked_for_are_counted(converter: Converter, trace: Path) -> None:
    done = converter.convert(trace, dataclasses.replace(SETTINGS, ops=False), 60)
    assert (done.events, done.omitted) == (1, 50)  # the step that the loop reported


def test_the_process_stays_for_the_next_trace_and_another_takes_its_place(
    converter: Converter, trace: Path
) -> None:
    converter.prepare()
    process = converter._process
    assert process is not None
    first = converter.convert(trace, SETTINGS, 60)
    assert converter._process is process
    assert converter.convert(trace, SETTINGS, 60).events == first.events
    assert converter._process is process
    process.kill()
    assert converter.convert(trace, SETTINGS, 60).seconds > 0
    assert converter._process is not process
    converter.close()
    assert process.poll() is not None


@pytest.mark.parametrize("failing", ["no interpreter", "exit", "output"])
def test_where_no_process_can_be_had_it_is_done_here(
    converter: Converter, trace: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    if failing == "no interpreter":
        monkeypatch.setattr(sys, "executable", "")
    else:
        code = "exit(1)" if failing == "exit" else "print('Traceback')"

        def started() -> subprocess.Popen[str]:
            pipe = subprocess.PIPE
            return subprocess.Popen(
                [sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True
            )

        monkeypatch.setattr(conversion, "_started", started)
    done = converter.convert(trace, SETTINGS, 60)
    assert (done.events, done.seconds) == (51, 0.0)


def test_settings_arrive_as_they_were_sent() -> None:
    assert ConversionSettings.from_text(SETTINGS.to_text()) == SETTINGS
    empty = ConversionSettings(False, StepCount())
    assert dataclasses.asdict(ConversionSettings.from_text(empty.to_text())) == dataclasses.asdict(
        empty
    ) | {"marks": []}


def test_what_is_not_a_trace_is_an_error(converter: Converter, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("not a trace", "utf-8")
    with pytest.raises(ValueError, match="traceEvents"):
        converter.convert(path, SETTINGS, 60)


@pytest.mark.parametrize("is_on", [True, False])
def test_the_programs_collector_stays_as_the_program_has_it(
    converter: Converter, trace: Path, monkeypatch: pytest.MonkeyPatch, is_on: bool
) -> None:
    """Also where no other process can be had, and the conversion is done in the program's."""
    before = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        converter.convert(trace, SETTINGS, 60)
        assert gc.isenabled() is is_on
        monkeypatch.setattr(sys, "executable", "")
        converter.convert(trace, SETTINGS, 60)
        assert gc.isenabled() is is_on
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="this system has no niceness")
def test_the_programs_threads_run_before_the_conversion() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as waiting:
        before = os.getpriority(os.PRIO_PROCESS, waiting.pid)
        conversion._yield_processors(waiting.pid)
        after = os.getpriority(os.PRIO_PROCESS, waiting.pid)
        waiting.communicate(b"\n")
    assert after > before or before == 19
