"""Rules on recordings that the frameworks themselves write: the fault planted is the one found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import stepscope
from stepscope.result import Finding

ROOT = Path(__file__).parents[2]


def found(program: str, folder: Path) -> dict[str, Finding]:
    """What advice says of a program, by rule: of several parts the last."""
    return {one.rule: one for one in told(program, folder)}


def told(program: str, folder: Path) -> tuple[Finding, ...]:
    """What advice says of a program."""
    command = [sys.executable, "-m", "tests.live.rule_programs", program, str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr[-2000:]
    with stepscope.open(folder) as session:
        return tuple(session.findings())


@pytest.mark.framework_tf
def test_summaries_within_a_graph_are_found(tmp_path: Path) -> None:
    finding = found("summaries_in_graph", tmp_path)["print-every-step"]
    assert "write_summary" in finding.message
    assert finding.severity in ("medium", "high")


@pytest.mark.framework_torch
def test_an_optimizer_that_updates_variable_by_variable_is_found(tmp_path: Path) -> None:
    finding = found("optimizer_per_variable", tmp_path)["optimizer-per-variable"]
    assert finding.measured["optimizer"] == "Adam"
    # Each of 122 tensors takes several ops.
    assert float(finding.measured["ops_per_step"]) >= 5 * 122


def test_collections_of_garbage_are_found(tmp_path: Path) -> None:
    finding = found("garbage_in_every_step", tmp_path)["garbage-collection"]
    assert "collections per step" in finding.message
    assert finding.severity in ("medium", "high")
