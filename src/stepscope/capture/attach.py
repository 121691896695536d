"""Record the Python of a running process that did nothing for it, with py-spy from outside.

py-spy reads the stacks from the process's memory, as a debugger does: nothing runs in the program.
It sees functions and lines of all threads, no ops and no devices.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from stepscope.capture.file import logdir as places
from stepscope.errors import CaptureError
from stepscope.urls import is_url

_PROGRAM: Final = "py-spy"
_ENDING: Final = ".trace.json"
# py-spy starts within a second, and writes its file at the end.
_MORE_SECONDS: Final = 60.0
_MAX_REASON: Final = 300
_NO_PERMISSION: Final = ("permission denied", "operation not permitted", "must be run as root")


def attach(process: int, logdir: str, seconds: int, hz: int) -> Path:
    """Sample the stacks of a running process; returns the recording's file.

    Args:
        process: Its number.
        logdir: Folder to write a run into.
        seconds: How long to sample; less if the process ends before.
        hz: Samples a second.

    Raises:
        CaptureError: py-spy is not installed, the system forbids it, or the process runs no Python.
    """
    if is_url(logdir):
        raise _error("A running process is recorded into a folder.", f"{logdir} is a URL.")
    program = _py_spy()
    # py-spy would replace a file that is there, and leave half of one where it fails.
    with tempfile.TemporaryDirectory(prefix="stepscope-") as folder:
        made = Path(folder) / f"stacks{_ENDING}"
        command = [program, "record", "--pid", str(process), "--duration", str(seconds)]
        command += ["--rate", str(hz), "--format", "chrometrace", "--full-filenames", "--idle"]
        command += ["--output", str(made)]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=seconds + _MORE_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _error(f"Process {process} was not recorded.", f"{error}.") from error
        if done.returncode or not made.is_file() or not made.stat().st_size:
            raise _refusal(process, done.stderr.decode("utf-8", "replace"))
        run = Path(places.run_folder(str(Path(logdir).expanduser().absolute()), places.run_name()))
        path = run / f"{places.host_name()}_{process}{_ENDING}"
        try:
            run.mkdir(parents=True, exist_ok=True)
            shutil.move(made, path)
        except OSError as error:
            raise _error(f"{path} cannot be written.", f"{error.strerror}.") from error
    return path


def _py_spy() -> str:
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    found = shutil.which(_PROGRAM, path=beside)
    if found is None:
        raise CaptureError(
            "A running process is recorded with py-spy, which is not installed.",
            hint='pip install "stepscope[attach]"',
            slug="attach",
        )
    return found


def _refusal(process: int, said: str) -> CaptureError:
    reason = " ".join(said.split())[-_MAX_REASON:] or "py-spy gave no reason."
    hint = "Give the number of a running Python process."
    if any(words in said.lower() for words in _NO_PERMISSION):
        hint = (
            "Run this as root, or in a container with --cap-add=SYS_PTRACE. A program that calls "
            "stepscope.init(flight_recorder=LOGDIR) needs no permission: stepscope dump PID."
        )
    return _error(f"Process {process} was not recorded.", reason, hint)


def _error(title: str, why: str, hint: str = "") -> CaptureError:
    return CaptureError(title, why=why, hint=hint, slug="attach")
