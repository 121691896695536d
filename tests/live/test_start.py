"""Starts of real programs: one owner per moment, and the planted cause first."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import stepscope
from stepscope.analysis.startup import Startup
from tests.live import start_programs

_ATTRIBUTED_FRAC = 0.98


def _recorded(folder: Path, source: str) -> stepscope.Session:
    (folder / "program.py").write_text(source)
    (folder / "slowpackage.py").write_text(start_programs.SLOW_PACKAGE)
    command = [sys.executable, "-m", "stepscope", "record", "-q", "-o", "logs", "program.py"]
    # Children inherit no recording: a subprocess is waited for, not recorded.
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return stepscope.open(folder / "logs")


def _account(session: stepscope.Session) -> Startup:
    """The account, whose parts are disjoint and whole."""
    found = session.startup()
    parts = list(found.parts.records())
    assert sum(part.time_ms for part in parts) == pytest.approx(found.start_ms)
    assert found.attributed_frac >= _ATTRIBUTED_FRAC, parts
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="waits are told apart by Linux's /proc")
@pytest.mark.parametrize("cause", start_programs.PROGRAMS)
def test_planted_cause_comes_first(tmp_path: Path, cause: str) -> None:
    session = _recorded(tmp_path, start_programs.PROGRAMS[cause])
    found = _account(session)
    assert found.step_source == "step markers"
    # The first part that is neither Python's nor Stepscope's own start: a busy machine slows these.
    first = next(
        part for part in found.parts.records() if part.kind not in ("interpreter", "recorder")
    )
    kind = {"slow-import": "import"}.get(cause, cause.removeprefix("start-"))
    assert first.kind == kind, found.headline
    starts = [one for one in session.findings() if one.rule == "slow-start"]
    assert starts and starts[0].cause == cause, starts


_ASKED = "import stepscope\nstepscope.init(start='logs')\n"


def _run(folder: Path, source: str) -> stepscope.Session:
    (folder / "program.py").write_text(source)
    (folder / "slowpackage.py").write_text(start_programs.SLOW_PACKAGE)
    subprocess.run([sys.executable, "program.py"], cwd=folder, check=True)
    return stepscope.open(folder / "logs")


def test_a_start_that_the_program_asks_for_ends_when_steps_are_steady(tmp_path: Path) -> None:
    loop = "for number in range(20):\n    with stepscope.step(number): time.sleep(0.05)\n"
    source = f"{_ASKED}import slowpackage, time\n{loop}time.sleep(3)"
    session = _run(tmp_path, source)
    found = _account(session)
    assert (found.until, found.step_source) == ("steady step", "step markers")
    kinds = {part.kind: part.time_ms for part in found.parts.records()}
    assert {"interpreter", "recorder", "import"} <= set(kinds)
    assert kinds["import"] >= 2000
    # The sleep after the steps is no part of it.
    assert kinds.get("sleep", 0) < 2000


def test_the_time_before_init_is_a_gap(tmp_path: Path) -> None:
    source = f"import pytest\n{_ASKED}{start_programs.PROGRAMS['slow-import']}"
    found = _run(tmp_path, source).startup()
    (gap,) = (part for part in found.parts.records() if part.kind == "gap")
    assert gap.name == "the time before stepscope.init()"
    assert found.attributed_frac == pytest.approx(1 - gap.time_ms / found.start_ms)


def test_record_has_the_start_already(tmp_path: Path) -> None:
    source = f"{_ASKED}{start_programs.PROGRAMS['slow-import']}"
    assert _recorded(tmp_path, source).startup().step_source == "step markers"
    assert len(list((tmp_path / "logs").rglob("*.pb"))) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="waits are told apart by Linux's /proc")
@pytest.mark.parametrize("cause", start_programs.OTHERS)
def test_planted_work_of_the_program_comes_first(tmp_path: Path, cause: str) -> None:
    kind, word, source = start_programs.OTHERS[cause]
    found = _account(_recorded(tmp_path, source))
    first = next(
        part for part in found.parts.records() if part.kind not in ("interpreter", "recorder")
    )
    assert (first.kind, word in first.name) == (kind, True), found.headline


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_a_late_rank_is_waited_for(tmp_path: Path) -> None:
    found = _account(_recorded(tmp_path, start_programs.LATE_RANK))
    waits = [part for part in found.parts.records() if part.kind == "processes"]
    assert waits[0].name == "init_process_group"
    assert waits[0].time_ms >= 2000


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")
def test_jax_compilation_is_timed_by_function(tmp_path: Path) -> None:
    found = _account(_recorded(tmp_path, start_programs.JAX_COMPILES))
    parts = {(part.kind, part.name) for part in found.parts.records()}
    assert {("compilation", "jit(step)"), ("device", "JAX's devices")} <= parts
    assert any(kind == "tracing" and "step" in name for kind, name in parts)
    assert any(row.package == "jax" for row in found.imports.records())


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="needs TensorFlow")
def test_tensorflow_retracing_is_counted_by_function(tmp_path: Path) -> None:
    found = _account(_recorded(tmp_path, start_programs.TENSORFLOW_RETRACES))
    traced = [part for part in found.parts.records() if part.kind == "tracing"]
    assert traced[0].name == "step"
    assert traced[0].count == 6


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_torch_reads_are_timed_by_file(tmp_path: Path) -> None:
    found = _account(_recorded(tmp_path, start_programs.TORCH_LOADS))
    parts = {(part.kind, part.name): part for part in found.parts.records()}
    read = parts["reading", "torch.load: model.pt"]
    assert read.read_bytes > 64 * 64 * 4
    assert found.step_source == "optimizer steps"
