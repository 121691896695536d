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
