"""The program that is recorded: start, signals and report."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.capture.file import logdir as places
from stepscope.capture.launch.dry_run import LEVELS, Measured, price_list
from stepscope.capture.launch.instructions import Instructions, environment_for
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.result import Capture
from stepscope.capture.summary import DIAGNOSIS_SECONDS, contents, diagnosis
from stepscope.errors import StepscopeError, UsageError
from stepscope.urls import is_url

if TYPE_CHECKING:
    from stepscope.session import Session

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def record_program(
    words: Sequence[str],
    *,
    module: str | None,
    logdir: str,
    options: ProfilerOptions,
    children: bool,
    quiet: bool,
    steps_log: str = "",
    flight_recorder: bool = False,
) -> int:
    """Run a program, wait for it, say what was recorded; returns the program's exit code.

    Raises:
        UsageError: There is no such program, or the system does not start it.
    """
    command = command_line(words, module)
    with _temporary_folder() as folder:
        told = Path(folder) / "places"
        instructions = Instructions(
            _absolute(logdir),
            places.run_name(),
            options,
            children=children,
            places=str(told),
            steps_log=_absolute(steps_log) if steps_log else "",
            flight_recorder=flight_recorder,
        )
        process = _started(command, environment_for(instructions, os.environ))
        with process, _handed_on(process):
            if not quiet:
                threading.Thread(target=_import_diagnosis, daemon=True).start()
            code = process.wait()
        if not quiet:
            _print_summary(instructions, told)
    return 128 - code if code < 0 else code


def print_prices(words: Sequence[str], *, module: str | None, options: ProfilerOptions) -> int:
    """Run a program until each level of recording is measured, and print what it costs.

    Returns 0 if any level was measured, else 1.

    Raises:
        UsageError: There is no such program, or the system does not start it.
    """
    command = command_line(words, module)
    with _temporary_folder() as folder:
        results = Path(folder) / "prices"
        instructions = Instructions("", "", options, children=False, dry_run=str(results))
        process = _started(command, environment_for(instructions, os.environ))
        with process, _handed_on(process):
            process.wait()
        lines = results.read_text("utf-8").splitlines() if results.is_file() else []
    measured = [Measured(**json.loads(line)) for line in lines]
    if not measured:
        print("The program ended before anything was measured.", file=sys.stderr)
        return 1
    if len(measured) < len(LEVELS):
        print(f"The program ended after {len(measured)} of {len(LEVELS)} levels.", file=sys.stderr)
    price_list(measured, print)
    return 0


def _started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """The program, running."""
    try:
        return subprocess.Popen(command, env=environment)
    except OSError as error:
        raise UsageError(
            "The program cannot be started.",
            where=command[0],
            why=f"The system says: {error.strerror or error}.",
            hint="Check that this user may run it, that its first line names what runs it, and "
            "that it was built for this machine.",
        ) from error


def command_line(words: Sequence[str], module: str | None) -> list[str]:
    """How the program is started: a script or module by this Python, anything else as it is."""
    if module is not None:
        return [sys.executable, "-m", module, *words]
    if not words:
        raise UsageError(
            "There is no program to record.",
            hint="Name one: stepscope record train.py, stepscope record -m package.train.",
        )
    first = words[0]
    if (Path(first).is_file() and not os.access(first, os.X_OK)) or first.endswith(".py"):
        if not Path(first).is_file():
            raise UsageError("There is no such program.", where=first, hint="Check the path.")
        return [sys.executable, *words]
    found = shutil.which(first)
    if found is None:
        raise UsageError(
            "There is no such program.",
            where=first,
            why="It is neither a file nor a command on PATH.",
            hint="Check the spelling; a module is named with -m.",
        )
    return [found, *words[1:]]


@contextmanager
def _temporary_folder() -> Iterator[str]:
    """A folder for as long as the program runs; one that does not exist where none can be made."""
    try:
        folder = tempfile.mkdtemp(prefix="stepscope-record-")
    except OSError:
        yield os.devnull
        return
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _handed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """While the program runs, signals are for it; a terminal sends Ctrl-C to both by itself."""

    def hand_on(number: int, _: object) -> None:
        if number != signal.SIGINT or not _is_terminal():
            process.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False


def _absolute(logdir: str) -> str:
    """The program may change its folder before it writes."""
    return logdir if is_url(logdir) else str(Path(logdir).expanduser().absolute())


def _import_diagnosis() -> None:
    """Prepare the answer while the program does its own imports."""
    from stepscope.session.rules import import_diagnosis

    import_diagnosis()


def _print_summary(instructions: Instructions, told: Path) -> None:
    """Print what was recorded, and as soon as it is known what to change."""
    from stepscope.session import open

    folder = places.run_folder(instructions.logdir, instructions.run)
    written = told.read_text("utf-8").splitlines() if told.is_file() else []
    if written and not any(one.startswith(f"{folder}/") for one in written):
        folder = str(Path(written[0]).parent)  # the disk refused it: it was kept elsewhere
    try:
        with open(folder) as session:
            capture = _capture(session)
            lines = contents(capture)
            if len(session.profile.hosts) > 1:
                lines.insert(1, f"  {len(session.profile.hosts)} processes in {folder}")
            _print(lines)
            _print(diagnosis(capture, _overview(session) if capture.events else {}))
    except StepscopeError as error:
        _print(
            [
                "Stepscope recorded nothing: no process of this program wrote a recording.",
                f"  {error.what}",
                "  Is it Python, started without -I, -E or -S? Did it say above why not?",
            ]
        )


def _print(lines: Sequence[str]) -> None:
    print("\n".join(lines), file=sys.stderr, flush=True)


def _capture(session: Session) -> Capture:
    from stepscope.tables.recording.environment import environment

    hosts = session.profile.hosts
    size = sum(each.size_bytes for each in session.files)
    events = sum(len(host.space.events) for host in hosts)
    longest = max((environment(host).duration_ps for host in hosts), default=0)
    return Capture(session.files[0].path, size, events, longest / 1e12)


def _overview(session: Session) -> dict[str, Any]:
    """The overview as JSON; {} if it cannot be computed soon: the program's exit code waits."""
    found = dict[str, Any]()

    def compute() -> None:
        with suppress(Exception):  # costs only its lines; `stepscope advise` shows the error
            found.update(session.overview_page().to_dict())

    thread = threading.Thread(target=compute, daemon=True)
    thread.start()
    thread.join(DIAGNOSIS_SECONDS)
    return dict(found)
