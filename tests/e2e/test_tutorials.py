"""The tutorials: a newcomer's shell runs every block of each, in order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.conftest import ROOT

TUTORIALS = ROOT / "docs" / "tutorials"


def follow(name: str, folder: Path) -> str:
    """Save the programs of a tutorial, run its commands as written, and return their output."""
    text = (TUTORIALS / f"{name}.md").read_text("utf-8")
    for file, program in re.findall(r"as `([\w.]+)`:\n\n```python\n(.*?)```", text, re.DOTALL):
        (folder / file).write_text(program)
    shutil.copytree(ROOT / "examples", folder / "examples")
    commands = folder / "bin"
    commands.mkdir()
    for command, line in {
        "python": f'exec {sys.executable} "$@"',
        "stepscope": f'exec {sys.executable} -m stepscope "$@"',
        "pip": "exit 0",  # the packages are installed, or this test is skipped
    }.items():
        (commands / command).write_text(f"#!/bin/sh\n{line}\n")
        (commands / command).chmod(0o755)
    env = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "-1",
        "PATH": os.pathsep.join([str(commands), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT / "src"),
    }
    blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    assert blocks.count("\n") >= 5
    if not (STATIC_FOLDER / "index.html").is_file():
        blocks = re.sub(r"^stepscope report.*\n", "", blocks, flags=re.MULTILINE)
    done = subprocess.run(
        ["bash", "-ex"],
        input=blocks,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.framework_tf
@pytest.mark.slow
def test_tensorflow(tmp_path: Path) -> None:
    assert "Input-bound" in follow("tensorflow", tmp_path)


@pytest.mark.framework_jax
@pytest.mark.slow
def test_jax(tmp_path: Path) -> None:
    assert "nput" in follow("jax", tmp_path)


@pytest.mark.framework_torch
@pytest.mark.slow
def test_pytorch(tmp_path: Path) -> None:
    assert "Images.__getitem__" in follow("pytorch", tmp_path)
