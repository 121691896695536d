"""A real TensorBoard in a process of its own, with our tab in it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# TensorBoard reads files through TensorFlow where that is installed, which takes seconds to load.
_RUN = """
import sys, types
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")
from tensorboard.main import run_main
run_main()
"""


@contextmanager
def tensorboard(logdir: Path, *flags: str) -> Iterator[str]:
    """Its address, without a slash at the end, while it runs."""
    command = [sys.executable, "-c", _RUN, "--logdir", str(logdir), "--port", "0", *flags]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )
    try:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if match := re.search(r"at (http://\S+?)/? \(Press", line):
                yield match[1]
                return
        raise AssertionError("".join(said))
    finally:
        process.terminate()
        process.communicate(timeout=60)
