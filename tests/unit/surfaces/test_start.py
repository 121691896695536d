"""The start of a command: light where recordings are read, untouched where programs run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from stepscope.surfaces.cli.commands import COMMANDS
from stepscope.surfaces.cli.group import _READ, build
from tests.profiles.loops import Kernel, Loop, record

CODE = """
import gc, json, os, sys
from stepscope.surfaces.cli.group import prepare
before = gc.get_threshold()
prepare(sys.argv[1])
print(json.dumps({
    "variable": os.environ.get("OPENBLAS_NUM_THREADS"),
    "threads": len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1,
    "has_numpy": "numpy" in sys.modules,
    "same_collector": gc.get_threshold() == before,
}))
"""


def after(command: str, **environment: str) -> dict[str, Any]:
    """What a fresh process is like after it made ready for a command."""
    inherited = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    done = subprocess.run(
        [sys.executable, "-c", CODE, command],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_command_that_reads_starts_no_threads_and_leaves_no_variable_behind() -> None:
    found = after("show")
    assert found == {"variable": None, "threads": 1, "has_numpy": True, "same_collector": False}


def test_a_number_of_threads_that_somebody_chose_stays() -> None:
    assert after("show", OPENBLAS_NUM_THREADS="2")["variable"] == "2"


@pytest.mark.parametrize("command", ["record", "loader", "version"])
def test_a_command_that_may_run_a_program_is_left_alone(command: str) -> None:
    found = after(command)
    assert found == {"variable": None, "threads": 1, "has_numpy": False, "same_collector": True}


def test_those_that_read_are_commands() -> None:
    assert set(COMMANDS) >= _READ


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_each_command_with_its_first_sentence(name: str) -> None:
    group = build()
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert command.get_short_help_str(200).rstrip(".") == COMMANDS[name].rstrip(".")


MODULES = """
import json, sys
from stepscope.surfaces.cli.main import run
code = run(sys.argv[1:])
print(json.dumps([code, *sys.modules]))
"""


def modules_after(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", MODULES, *arguments], capture_output=True, text=True, check=True
    )
    code, *modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    return set(modules)


@pytest.mark.parametrize("arguments", [["--help"], ["version"], ["--version"]])
def test_what_reads_no_recording_imports_no_numpy(arguments: list[str]) -> None:
    modules = modules_after(*arguments)
    assert len(modules) <= 140
    assert not modules & {"numpy", "polars", "stepscope.session", "stepscope.analysis"}


@pytest.mark.parametrize(
    ("arguments", "budget"),
    [(["show", "overview_page"], 600), (["advise"], 600), (["show", "framework_op_stats"], 450)],
)
def test_a_small_recording_is_answered_without_polars(
    arguments: list[str], budget: int, tmp_path: Path
) -> None:
    path = tmp_path / "h.xplane.pb"
    (recording,) = record(Loop([Kernel("gemm", 100.0)])).values()
    path.write_bytes(recording)
    modules = modules_after(*arguments, str(path))
    assert len(modules) <= budget
    assert "polars" not in modules
