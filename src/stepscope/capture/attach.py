"""Record a running process that did nothing for it.

From Python 3.14 on ``sys.remote_exec`` runs the recorder inside of the process (PEP 768): ops and
devices are recorded as by ``stepscope record``. Elsewhere py-spy reads the stacks from the memory
of the process, as a debugger does: it sees functions and lines, and nothing runs in the program.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from stepscope.capture import control
from stepscope.capture.file import logdir as places
from stepscope.capture.options import ProfilerOptions
from stepscope.errors import CaptureError, StepscopeError
from stepscope.urls import is_url

_PROGRAM: Final = "py-spy"
_ENDING: Final = ".trace.json"
# py-spy starts within a second, and writes its file at the end.
_MORE_SECONDS: Final = 60.0
_MAX_REASON: Final = 300
_NO_PERMISSION: Final = ("permission denied", "operation not permitted", "must be run as root")


# A main thread in C code, such as a collective, gets to no script: py-spy then reads the stacks.
_BEGIN_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.05
_SCRIPT, _CLAIM, _OUTCOME = "record.py", "claim", "outcome.json"
# The target has no import of ours yet. It imports on another thread: the main one may be importing.
# Whoever makes the folder of the claim goes on: the script, or the one that waited for it.
_TARGET: Final = """\
import _thread, json, os, sys

def record(folder, paths, asked):
    added = [path for path in paths if path not in sys.path]
    sys.path += added
    try:
        from stepscope.capture.attach import record_here
        record_here(folder, *asked)
    except BaseException as error:
        with open(os.path.join(folder, "failed"), "w") as file:
            json.dump({{"is_over": True, "why": f"{{type(error).__name__}}: {{error}}"}}, file)
        os.replace(file.name, os.path.join(folder, {outcome!r}))
    finally:
        sys.path[:] = [path for path in sys.path if path not in added]

try:
    os.mkdir({claim!r})
except OSError:
    pass
else:
    _thread.start_new_thread(record, ({folder!r}, {paths!r}, {asked!r}))
"""


class Attached(NamedTuple):
    """A recording of a running process.

    Attributes:
        place: Its file or URL.
        notes: What a person should know about it.
    """

    place: str
    notes: tuple[str, ...] = ()


def attach(process: int, logdir: str, seconds: int, hz: int) -> Attached:
    """Record a running process, from inside with Python 3.14, else the stacks from outside.

    Args:
        process: Its number.
        logdir: Folder to write a run into; from inside also a URL.
        seconds: How long; less if the process ends before.
        hz: Samples a second.

    Raises:
        CaptureError: The system forbids it, the process runs no Python or is recorded already, or
            py-spy is needed and not installed.
    """
    logdir = logdir if is_url(logdir) else str(Path(logdir).expanduser().absolute())
    found = _from_inside(process, logdir, seconds, hz)
    if isinstance(found, Attached):
        return found
    path = _from_outside(process, logdir, seconds, hz, found)
    return Attached(str(path), (f"Only Python's stacks were sampled: {found}.",))


# --- from inside --------------------------------------------------------------------------------


def _from_inside(process: int, logdir: str, seconds: int, hz: int) -> Attached | str:
    """The recording that the process made of itself, or why it cannot."""
    execute: Any = getattr(sys, "remote_exec", None)
    if execute is None:
        return "a recording from inside needs Python 3.14 on both sides"
    seen = _files_of(process)
    if seen and seen != _files_of(os.getpid()):
        return "the process sees other files, as in a container"
    folder = Path(tempfile.mkdtemp(prefix="stepscope-attach-"))
    run = places.run_name()
    script = _TARGET.format(
        outcome=_OUTCOME,
        claim=str(folder / _CLAIM),
        folder=str(folder),
        paths=[str(Path(path).absolute()) for path in sys.path if path],
        asked=(logdir, run, seconds, hz),
    )
    (folder / _SCRIPT).write_text(script)
    is_left = False
    try:
        _hand_over(folder, process)
        execute(process, str(folder / _SCRIPT))
        is_left = not _is_claimed(folder, process)
        if is_left:
            return f"its main thread ran no Python for {_BEGIN_SECONDS:g} s"
        return _recorded(folder, process, seconds, places.run_folder(logdir, run))
    except PermissionError as error:
        raise _refusal(process, str(error)) from error
    except (OSError, RuntimeError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[-_MAX_REASON:].rstrip(".")
        return f"sys.remote_exec needs the same Python ≥ 3.14 on both sides and found: {reason}"
    finally:
        # The main thread still opens the script once it runs Python, and finds the claim.
        if not is_left:
            shutil.rmtree(folder, ignore_errors=True)


def _files_of(process: int) -> str:
    """The mount namespace of a process; "" where Linux forbids to read it, and elsewhere."""
    try:
        return str(Path(f"/proc/{process}/ns/mnt").readlink())
    except OSError:
        return ""


def _hand_over(folder: Path, process: int) -> None:
    """Give the folder to the user of the process: root attaches to programs of others."""
    with contextlib.suppress(OSError, AttributeError):
        owner = Path(f"/proc/{process}").stat()
        if owner.st_uid != os.geteuid():
            for path in (folder / _SCRIPT, folder):
                os.chown(path, owner.st_uid, owner.st_gid)


def _is_claimed(folder: Path, process: int) -> bool:
    """Whether the process has begun to run the script; if not, it never will."""
    claim = folder / _CLAIM
    until = time.monotonic() + _BEGIN_SECONDS
    while not claim.exists() and time.monotonic() < until and _is_alive(process):
        time.sleep(_LOOK_SECONDS)
    try:
        claim.mkdir()
    except FileExistsError:
        return True
    return False


def _recorded(folder: Path, process: int, seconds: int, run: str) -> Attached:
    until = time.monotonic() + seconds + _MORE_SECONDS
    while True:
        is_last = time.monotonic() > until or not _is_alive(process)
        outcome = _outcome(folder)
        if outcome.get("is_over"):
            break
        if is_last:
            ended = "It still writes." if _is_alive(process) else "The process ended before."
            # An ending process writes its recording, but gives no answer any more.
            for path in Path(run).glob(f"*_{process}.*"):
                if path.stat().st_size:
                    return Attached(str(path), (ended,))
            raise _error(f"Process {process} was not recorded.", ended)
        time.sleep(_LOOK_SECONDS)
    if "place" not in outcome:
        what = outcome.get("what") or f"Process {process} was not recorded."
        raise CaptureError(
            what,
            where=outcome.get("where", ""),
            why=outcome.get("why", ""),
            hint=outcome.get("hint", ""),
            slug=outcome.get("error", "attach"),
        )
    return Attached(outcome["place"], tuple(outcome["notes"]))


def _outcome(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / _OUTCOME).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_alive(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        # No Linux, or no process.
        return sys.platform != "linux"
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def record_here(folder: str, logdir: str, run: str, seconds: int, hz: int) -> None:
    """Record this process, on a thread of ours, for the one that attached.

    Args:
        folder: Where it looks for the outcome.
        logdir: Folder or URL to write into.
        run: Name of the run.
        seconds: How long.
        hz: Samples a second.
    """

    def tell(**facts: object) -> None:
        new = Path(folder) / "new"
        new.write_text(json.dumps(facts), "utf-8")
        new.replace(Path(folder) / _OUTCOME)

    try:
        recording = control.start(logdir, ProfilerOptions(sample_hz=hz), owner="remote", run=run)
        until = time.monotonic() + seconds
        while time.monotonic() < until and not recording.finished:
            time.sleep(_LOOK_SECONDS)
        capture = control.end(recording)
    except StepscopeError as error:
        tell(is_over=True, **error.to_dict())
        return
    tell(
        is_over=True,
        place=capture.path,
        notes=list(dict.fromkeys(note.message for note in capture.warnings)),
    )


# --- from outside -------------------------------------------------------------------------------


def _from_outside(process: int, logdir: str, seconds: int, hz: int, because: str) -> Path:
    """Sample the stacks with py-spy; returns the recording's file."""
    program = _py_spy(because)
    if is_url(logdir):
        raise _error("py-spy writes into a folder.", f"{logdir} is a URL; {because}.")
    # py-spy would replace a file that is there, and leave half of one where it fails.
    with tempfile.TemporaryDirectory(prefix="stepscope-") as folder:
        made = Path(folder) / f"stacks{_ENDING}"
        command = [program, "record", "--pid", str(process), "--duration", str(seconds)]
        command += ["--rate", str(hz), "--format", "chrometrace", "--full-filenames", "--idle"]
        command += ["--output", str(made)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                timeout=seconds + _MORE_SECONDS,
                check=False,
                env={**os.environ, "RUST_BACKTRACE": "0"},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _error(f"Process {process} was not recorded.", f"{error}.") from error
        if done.returncode or not made.is_file() or not made.stat().st_size:
            raise _refusal(process, done.stderr.decode("utf-8", "replace"))
        run = Path(places.run_folder(logdir, places.run_name()))
        path = run / f"{places.host_name()}_{process}{_ENDING}"
        try:
            run.mkdir(parents=True, exist_ok=True)
            shutil.move(made, path)
        except OSError as error:
            raise _error(f"{path} cannot be written.", f"{error.strerror}.") from error
    return path


def _py_spy(because: str) -> str:
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    found = shutil.which(_PROGRAM, path=beside)
    if found is None:
        raise CaptureError(
            "This process is recorded with py-spy, which is not installed.",
            why=f"{because[:1].upper()}{because[1:]}.",
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
