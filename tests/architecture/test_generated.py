"""What is derived from the list of tools is as the list of tools says."""

from __future__ import annotations

import subprocess
import sys

from tests.architecture.tree import ROOT


def test_generated_files_are_fresh() -> None:
    command = [sys.executable, "-m", "generate", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
