"""The recording of a process that ``stepscope record`` started, or of a child of such a one."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from stepscope.capture import control, step_log
from stepscope.capture.file import logdir as places
from stepscope.capture.file.compact import RECORD_VARIABLE
from stepscope.capture.launch import dry_run, import_hook
from stepscope.capture.launch.instructions import Instructions
from stepscope.capture.options import FRAMEWORKS
from stepscope.capture.recording import Recording
from stepscope.capture.runtime import machine, start_spans

# Python processes that serve others of the program and do none of its work.
_SERVANTS: Final = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
# How multiprocessing starts a worker that is not forked.
_SPAWNED: Final = "multiprocessing.spawn"
_CHILD_CHUNK_SECONDS: Final = 1.0


def begin() -> None:
    """Carry out the instructions in this process's environment."""
    if any(servant in argument for argument in sys.orig_argv for servant in _SERVANTS):
        return
    instructions = Instructions.from_text(os.environ[RECORD_VARIABLE])
    if instructions.parent and not _is_rank(instructions):
        import_hook.install()
        if instructions.children:
            _record_child(instructions, instructions.options.frameworks)
        return
    if instructions.dry_run:
        import_hook.install()
        dry_run.begin(instructions.dry_run, instructions.options)
        told = dataclasses.replace(instructions, parent=os.getpid(), rank=_rank_text())
        os.environ[RECORD_VARIABLE] = told.to_text()
        return
    # The first process, or a rank of a job, which is its own host.
    origin_ns = start_spans.install().exec_ns
    import_hook.install()
    if instructions.steps_log:
        step_log.begin(instructions.steps_log)
    if instructions.flight_recorder:
        from stepscope.capture import flight_recorder

        # The recording takes its place while it runs.
        flight_recorder.begin(instructions.logdir)
    recording = control.start(
        instructions.logdir,
        instructions.options,
        owner="launcher",
        run=instructions.run,
        origin_ns=origin_ns,
    )
    stem = recording.writer.path.name.removesuffix(places.SUFFIX)
    recording.children = lambda: finished_children(recording.writer.path.parent, stem)
    if instructions.places:
        recording.on_finish = _then_tell(instructions.places, recording.on_finish)
    told = dataclasses.replace(
        instructions,
        run=recording.writer.run,
        parent=os.getpid(),
        stem=stem,
        origin_ns=recording.origin_ns,
        rank=_rank_text(),
    )
    os.environ[RECORD_VARIABLE] = told.to_text()
    if instructions.children and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_in_forked_child)


def _is_rank(instructions: Instructions) -> bool:
    """Whether a launcher made this process a rank of a job, rather than its parent a child."""
    if any(_SPAWNED in argument for argument in sys.orig_argv):
        return False  # a worker of multiprocessing's, which inherits what its parent was told
    return _rank_text() not in ("", instructions.rank)


def _rank_text() -> str:
    source = places.rank_source()
    return "" if source is None else f"{source[0]}={source[1]}"


def _then_tell(file: str, first: Callable[[Recording], None] | None) -> Callable[[Recording], None]:
    """At a recording's end, also add its place to a file, for who started the program."""

    def finished(recording: Recording) -> None:
        if first is not None:
            first(recording)
        with contextlib.suppress(OSError), Path(file).open("a", encoding="utf-8") as told:
            told.write(f"{recording.writer.place}\n")

    return finished


def finished_children(folder: Path, stem: str) -> list[Path]:
    """Files of child processes that have ended; one that runs on keeps its file."""
    found = sorted(folder.glob(f"{stem}.child-*{places.SUFFIX}"))
    return [
        path
        for path in found
        if (process := _process_of(path)) and not machine.runs_elsewhere(process)
    ]


def _process_of(path: Path) -> int | None:
    """None of a file that only looks like a child's, such as a copy of one."""
    number = path.name.removesuffix(places.SUFFIX).rpartition("-")[2]
    return int(number) if re.fullmatch("[0-9]{1,9}", number) else None


def _in_forked_child() -> None:
    start_spans.stop()
    try:
        instructions = Instructions.from_text(os.environ[RECORD_VARIABLE])
        # A framework's threads do not outlive a fork, and its locks may be held forever: only what
        # the child itself loads is recorded.
        asked = instructions.options.frameworks
        wanted = FRAMEWORKS if asked is None else asked
        _record_child(instructions, tuple(name for name in wanted if name not in sys.modules))
    except Exception as error:
        print(f"stepscope: a child process is not recorded: {error}", file=sys.stderr)


def _record_child(instructions: Instructions, frameworks: tuple[str, ...] | None) -> None:
    options = dataclasses.replace(
        instructions.options,
        telemetry_hz=0,  # the parent's, of the whole machine
        chunk_seconds=_CHILD_CHUNK_SECONDS,
        frameworks=frameworks,
    )
    recording = control.start(
        instructions.logdir,
        options,
        owner="launcher",
        run=instructions.run,
        part=control.ChildFile(
            f"{instructions.stem}.child-{os.getpid()}", f" [{os.getpid()}]", instructions.origin_ns
        ),
    )
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        # Workers end without atexit; multiprocessing has its own list of what to do then. A forked
        # worker empties that list first, and then calls what is registered for after a fork.
        _finish_with_worker(recording)
        util.register_after_fork(recording, _finish_with_worker)


def _finish_with_worker(recording: Recording) -> None:
    util = sys.modules["multiprocessing.util"]
    util.Finalize(None, recording.finish, args=("exit",), exitpriority=100)
