"""Lightning's and Hugging Face's own trainers, with our callbacks among theirs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import stepscope
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.attribution import HostSteps, steps
from tests.live.test_torch import PATHS, ROOT

pytestmark = pytest.mark.framework_torch
# A batch takes 4 ms to load, an evaluation 200 ms (trainer_programs).
LOAD_MS, EVALUATION_PS = 4, 200 * 10**9


@pytest.fixture(scope="module", params=["lightning", "transformers"])
def recordings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Path]]:
    """The files of each program, by its name."""
    framework = request.param
    if find_spec("torch") is None or find_spec(framework) is None:
        pytest.skip(f"torch and {framework} are not installed")
    folder = tmp_path_factory.mktemp(framework)
    done = subprocess.run(
        [sys.executable, "-m", "tests.live.trainer_programs", framework, str(folder)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": PATHS, "HF_HUB_OFFLINE": "1"},
        timeout=280,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("Stepscope recorded") == 2, done.stderr
    said = json.loads((folder / "said.json").read_text("utf-8"))
    return {name: [Path(path) for path in paths] for name, paths in said.items()}


def marked(recordings: dict[str, list[Path]], name: str) -> HostSteps:
    (path,) = recordings[name]
    found = steps(Host("h", decode(path.read_bytes())))
    assert found is not None and found.markers.source == "markers"
    return found


def test_ten_steady_steps_are_recorded(recordings: dict[str, list[Path]]) -> None:
    assert len(marked(recordings, "steady").markers.num) == 10


def test_the_steps_that_were_named_are_recorded(recordings: dict[str, list[Path]]) -> None:
    assert marked(recordings, "across an evaluation").markers.num.tolist() == [*range(5, 15)]


def test_an_evaluation_is_no_part_of_a_step(recordings: dict[str, list[Path]]) -> None:
    found = marked(recordings, "across an evaluation")
    lengths = found.end_ps - found.start_ps
    assert lengths.max() < EVALUATION_PS / 2, lengths
    between = found.start_ps[1:] - found.end_ps[:-1]
    assert np.count_nonzero(between > EVALUATION_PS / 2) == 1, between


def test_waiting_for_the_loader_is_in_the_step_and_is_input(
    recordings: dict[str, list[Path]],
) -> None:
    (path,) = recordings["across an evaluation"]
    overview = stepscope.open(path).overview_page()
    assert overview.breakdown_ms["input"] >= 0.8 * LOAD_MS
    assert overview.environment.framework == "PyTorch"
