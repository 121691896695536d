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

from stepscope import surfaces
from stepscope.surfaces.cli.commands import COMMANDS
from stepscope.surfaces.cli.group import _READ, build

SAMPLE = str(Path(surfaces.__file__).parent / "sample")
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


SERVING = """
import sys, time
from stepscope.surfaces.http.server import Server
from stepscope.surfaces.http.settings import Settings
with Server(sys.argv[1], Settings(port=0)):
    while "stepscope.analysis.step_account" not in sys.modules:  # else the first page waits for it
        time.sleep(0.01)
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


@pytest.mark.parametrize(("command", "is_frozen"), [("show", True), ("record", False)])
def test_exit_collects_nothing_after_a_command_that_reads(command: str, is_frozen: bool) -> None:
    code = (
        "import atexit, gc\n"
        "atexit.register(lambda: print(gc.get_freeze_count()))\n"  # runs after those added later
        "from stepscope.surfaces.cli.group import prepare\n"
        f"prepare({command!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (int(done.stdout) > 0) is is_frozen


def test_a_number_of_threads_that_somebody_chose_stays() -> None:
    assert after("show", OPENBLAS_NUM_THREADS="2")["variable"] == "2"


@pytest.mark.parametrize("command", ["record", "loader", "version"])
def test_a_command_that_may_run_a_program_is_left_alone(command: str) -> None:
    found = after(command)
    assert found == {"variable": None, "threads": 1, "has_numpy": False, "same_collector": True}


def test_a_server_imports_what_the_first_page_needs_before_it_is_asked() -> None:
    subprocess.run([sys.executable, "-c", SERVING, SAMPLE], check=True, timeout=60)


def test_those_that_read_are_commands() -> None:
    assert set(COMMANDS) >= _READ


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_each_command_with_its_first_sentence(name: str) -> None:
    group = build()
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert command.get_short_help_str(200).rstrip(".") == COMMANDS[name].rstrip(".")
