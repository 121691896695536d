"""The case studies of ``examples/`` run, and advice names the fix of each first stage.

How close predictions come is measured on a quiet machine (examples/README.md), not here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.measured import TRIES

ROOT = Path(__file__).parents[2]
# The rule that the first change follows.
FIRST_FIX = {
    "slow_input_pipeline": "missing-prefetch",
    "mnist_loop": "python-bound",
    "autoencoder_filters": "largest-part",
    "custom_loop": "retracing",
}


def outcomes(study: str, folder: Path) -> list[dict[str, Any]]:
    """What a study says of its stages, in short form."""
    kept = folder / "outcomes.json"
    script = ROOT / "examples" / f"{study}.py"
    command = [sys.executable, str(script), "--steps", "12", "--json", str(kept)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "fix predicted" in ran.stdout
    found: list[dict[str, Any]] = json.loads(kept.read_text("utf-8"))
    return found


@pytest.mark.slow
@pytest.mark.framework_tf
@pytest.mark.parametrize("study", FIRST_FIX)
def test_advice_predicts_the_first_fix_of_a_case_study(study: str, tmp_path: Path) -> None:
    for _ in range(TRIES):
        first, *rest = outcomes(study, tmp_path)
        if first["fix"] == FIRST_FIX[study] and (first["predicted"] or 0) > 1.05:
            break
    assert first["fix"] == FIRST_FIX[study]
    assert first["predicted"] is not None, first
    assert first["predicted"] > 1.05
    assert first["measured"] is not None
    assert rest[-1]["measured"] is None, "nothing follows the last stage"
