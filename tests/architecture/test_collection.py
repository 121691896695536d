"""The unit tests need no more than CI's jobs for other Pythons install: the rest of them skips."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.architecture.tree import ROOT

# What the extra "dev" brings beside pytest, hypothesis and protobuf, and the frameworks.
_ABSENT = (
    "Cython", "IPython", "fsspec", "grpc", "importlinter", "jax", "jaxlib", "keras", "lightning",
    "mcp", "mypy", "pandas", "playwright", "psutil", "pydantic", "pynvml", "pytest_playwright",
    "ray", "tensorboard", "tensorflow", "torch", "transformers", "xprof", "yaml",
)  # fmt: skip
_PROGRAM = """
import sys
sys.modules.update(dict.fromkeys(%r))
import pytest
only = ["--collect-only", "-q", "-p", "no:cacheprovider"]
sys.exit(pytest.main([*only, "tests/unit", "tests/property"]))
"""


@pytest.mark.slow
def test_unit_tests_are_collected_without_optional_packages() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert re.search(r"pip install -e \. pytest hypothesis protobuf\n", workflow)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM % (_ABSENT,)],
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
