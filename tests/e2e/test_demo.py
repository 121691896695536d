"""The first five minutes: the demo records a real run, and the diagnosis names the culprit."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dev
from tests.conftest import ROOT


def python(*arguments: str, timeout_s: float = 240) -> str:
    """Run Python with these arguments; what it printed."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def diagnose(program: str, logdir: Path, *flags: str) -> dict[str, Any]:
    """Record an example and ask for its overview."""
    said = python(f"examples/{program}", "--logdir", str(logdir), "--steps", "14", *flags)
    assert "ms per step" in said
    answer = python("-m", "stepscope", "show", "overview_page", str(logdir), "--format", "json")
    overview: dict[str, Any] = json.loads(answer)
    return overview


def check_slow_and_fixed(program: str, folder: Path) -> None:
    slow = diagnose(program, folder / "slow")
    assert slow["bound_by"] == "input"
    assert slow["steps"]["source"] == "markers"
    assert 10 <= slow["steps"]["count"] <= 14
    assert sum(slow["breakdown_ms"].values()) == pytest.approx(slow["steps"]["time_ms"]["mean"])
    assert any("input" in finding["rule"] for finding in slow["findings"])

    fixed = diagnose(program, folder / "fixed", "--fixed")
    assert fixed["bound_by"] != "input"
    assert fixed["breakdown_ms"]["input"] < slow["breakdown_ms"]["input"] / 2


@pytest.mark.framework_tf
def test_the_tensorflow_example_is_input_bound_until_repaired(tmp_path: Path) -> None:
    check_slow_and_fixed("slow_input_cnn.py", tmp_path)


@pytest.mark.framework_jax
def test_the_jax_example_is_input_bound_until_repaired(tmp_path: Path) -> None:
    check_slow_and_fixed("slow_input_jax.py", tmp_path)


def test_the_sample_needs_no_framework(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "ensure_environment", lambda **_: None)
    monkeypatch.setattr(dev, "PYTHON", Path(sys.executable))
    chosen = argparse.Namespace(path=None, record=None, serve=False)
    assert dev.demo(chosen) == 0
    said = capfd.readouterr().out
    assert "input" in said.lower()
    assert "DecodeJpeg" in said
