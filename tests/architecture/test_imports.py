"""Importing Stepscope brings in no framework, and the command line starts quickly."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "google", "grpc", "jax", "jaxlib", "keras", "pandas", "polars", "tensorboard", "tensorflow",
    "torch", "xprof",
}  # fmt: skip


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has after a statement."""
    code = f"{statement}; import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.parametrize(
    "statement",
    ["import stepscope", "import stepscope; stepscope.open", "import stepscope.columns"],
)
def test_importing_brings_in_nothing_heavy(statement: str) -> None:
    loaded = loaded_by(statement)
    assert "stepscope" in loaded
    assert loaded & HEAVY == set()


def test_every_public_name_is_there() -> None:
    code = "import stepscope; [getattr(stepscope, name) for name in stepscope.__all__]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_command_line_says_its_version_without_loading_the_spine() -> None:
    code = (
        "import sys; sys.argv = ['stepscope', 'version']\n"
        "from stepscope.surfaces.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass"
    )
    assert loaded_by(f"exec({code!r})") & {*HEAVY, "werkzeug", "waitress"} == set()
