"""The tutorials: every command of each runs, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.conftest import ROOT
from tests.profiles.ready import pytorch_like

TUTORIALS = ROOT / "docs" / "tutorials"


def commands(name: str) -> list[str]:
    text = (TUTORIALS / f"{name}.md").read_text("utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


def follow(name: str, folder: Path) -> str:
    """Run a tutorial's commands with this Python; all that they printed."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "-1"}
    env["PYTHONPATH"] = str(ROOT / "src")
    said = []
    found = commands(name)
    assert len(found) >= 4
    for line in found:
        first, *rest = shlex.split(line)
        if first == "stepscope":
            words = [sys.executable, "-m", "stepscope", *rest]
        else:
            assert first == "python"
            words = [sys.executable, str(ROOT / rest[0]), *rest[1:]]
        if "report" in words and not (STATIC_FOLDER / "index.html").is_file():
            continue
        done = subprocess.run(
            words, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=240
        )
        assert done.returncode == 0, (line, done.stderr[-2000:])
        said.append(done.stdout)
    return "\n".join(said)


@pytest.mark.framework_tf
@pytest.mark.slow
def test_tensorflow(tmp_path: Path) -> None:
    assert "Input-bound" in follow("tensorflow", tmp_path)


@pytest.mark.framework_jax
@pytest.mark.slow
def test_jax(tmp_path: Path) -> None:
    assert "nput" in follow("jax", tmp_path)


def test_pytorch(tmp_path: Path) -> None:
    recording = tmp_path / "logs" / "torch" / "host.xplane.pb"
    recording.parent.mkdir(parents=True)
    recording.write_bytes(pytorch_like())
    assert "step" in follow("pytorch", tmp_path)
