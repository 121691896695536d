"""Files left after ``kill -9``, and after writes that the disk refuses, at random moments.

    python -m bench.kills [--times 200] [--seed 1] [--only Report Columns]

A process writes a recording, a step log, a report, an export, a cache entry or a pod's summaries,
and dies at a random moment of its work. A recording must open with all steps but those of its last
chunk, and so must a step log. A report or an export must be the old one or the new one, never a
part.
With whatever is left of the cache or of summaries, the answer must be the same as before. Then the
writers of files meet a limit of the size of files, as on a full disk, at a random size: they must
end with one error, and leave the old file as it was.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import random
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final
from unittest.mock import patch

import numpy as np

import stepscope
from stepscope.errors import StepscopeError
from stepscope.store.column_cache import MIN_AGE_NS, VARIABLE, cache_folder, load, snapshot
from stepscope.store.step_summaries import read_summaries
from stepscope.surfaces.cli.main import run as command
from tests.e2e.recorded_programs import names_in
from tests.profiles import worked_example
from tests.unit.session.test_pod_session import job

_CHUNK_S: Final = 0.05
_STEP_S: Final = 0.004
# So many steps may be in the chunk that was open, on a machine that is busy with other work.
_MOST_LOST: Final = 400
# A chunk's seconds, and those that its writing may come late.
_MOST_LOST_S: Final = 4.0
_OLD: Final = b"what was there before"


class Writer:
    """One kind of work that writes files."""

    #: How long it works; None: until it has finished.
    seconds: float | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def write(self) -> None:
        """Do the work, in a process of its own."""
        raise NotImplementedError

    def check(self) -> str:
        """The state of what is left; AssertionError where it is wrong."""
        raise NotImplementedError

    def reset(self) -> None:
        """Make it as it was before."""


class Recording(Writer):
    """A recording of steps, each with its number in its name."""

    seconds = 2.5

    def write(self) -> None:
        """Record until it is killed, and note each step that ended."""
        options = stepscope.ProfilerOptions(sample_hz=0, telemetry_hz=0, chunk_seconds=_CHUNK_S)
        stepscope.start(str(self.folder), options)
        with (self.folder / "ended").open("wb", buffering=0) as ended:
            for number in range(1_000_000):
                with stepscope.Trace(f"work {number}"):
                    time.sleep(_STEP_S)
                ended.write(b".")

    def check(self) -> str:
        """All steps from the first on, but for those of the last chunk."""
        ended = self.folder / "ended"
        done = ended.stat().st_size if ended.exists() else 0
        found = [one for one in self.folder.rglob("*.xplane.pb") if one.stat().st_size]
        numbers: list[int] = []
        if found:
            try:
                with stepscope.open(found[0]) as session:
                    names = [
                        name for host in session.profile.hosts for name in names_in(host.space)
                    ]
            except StepscopeError as error:
                assert done <= _MOST_LOST, f"{error.what} after {done} steps"
                names = []
            numbers = sorted(int(one.split()[1]) for one in names if one.startswith("work "))
        assert numbers == list(range(len(numbers))), "a step in the middle is missing"
        assert done - len(numbers) <= _MOST_LOST, f"{done - len(numbers)} of {done} steps are lost"
        return "with steps" if numbers else "before the first chunk"

    def reset(self) -> None:
        """Remove what was recorded."""
        for path in sorted(self.folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()


class StepLog(Recording):
    """A step log, of which a kill takes the steps since its last chunk."""

    seconds = 6.0

    def write(self) -> None:
        """Log until it is killed, and note when each step ended."""
        stepscope.init(log=self.folder / "run.steps")
        with (self.folder / "ended").open("wb", buffering=0) as ended:
            for number in range(1_000_000):
                with stepscope.step(number):
                    time.sleep(_STEP_S)
                ended.write(time.time_ns().to_bytes(8, "little"))

    def check(self) -> str:
        """Whole chunks without a gap, as many summaries, and the seconds that are lost."""
        ended = self.folder / "ended"
        times = np.frombuffer(ended.read_bytes() if ended.exists() else b"", np.int64)
        if not len(times):
            return "before the first step"
        log = self.folder / "run.steps"
        steps, end_ns = 0, int(times[0])
        if log.exists() and log.stat().st_size:
            found = stepscope.open(log).step_log()
            assert not found.diagnostics, found.diagnostics
            (summaries,) = read_summaries(log)
            steps = int(summaries.records["steps"].sum())
            # The kill may come between the two files.
            assert 0 <= found.steps - steps <= found.steps - summaries.records["first"][-1]
            steps, end_ns = found.steps, int(times[found.steps - 1])
        lost_s = (int(times[-1]) - end_ns) / 1e9
        assert lost_s <= _MOST_LOST_S, f"{lost_s:.1f} s, {len(times) - steps} steps, are lost"
        return f"less than {int(lost_s) + 1} s lost"


class File(Writer):
    """A command that writes one file over an old one."""

    arguments: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.recording = folder / "host.xplane.pb"
        self.recording.write_bytes(worked_example(gpu=True, steps=200))
        self.target = folder / "out"
        assert command(self._command()) == 0
        self.whole = self.target.read_bytes()
        self.reset()

    def _command(self) -> list[str]:
        return [self.arguments[0], str(self.recording), *self.arguments[1:], "-o", str(self.target)]

    def write(self) -> None:
        """Run the command; it ends with its exit code."""
        os._exit(command(self._command()))

    def check(self) -> str:
        """The old file or the new one."""
        found = self.target.read_bytes()
        assert found in (_OLD, self.whole), f"{len(found)} of {len(self.whole)} bytes"
        return "the old file" if found == _OLD else "the new file"

    def reset(self) -> None:
        """Put the old file there, and take away what a killed writer left beside it."""
        self.target.write_bytes(_OLD)
        for path in self.folder.iterdir():
            if path not in (self.target, self.recording):
                path.unlink()


class Report(File):
    """``stepscope report``."""

    arguments = ("report",)


class Export(File):
    """``stepscope export``."""

    arguments = ("export", "--format", "perfetto")


class Summaries(Writer):
    """Summaries of the ranks of a pod, kept beside their recordings."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.job = job(folder / "run")
        self.answer = self._answer()
        self.reset()

    def _answer(self) -> object:
        with stepscope.open(self.job) as session:
            return session.pod(engine="here", keep="beside").to_dict()

    def write(self) -> None:
        """Summarise the pod."""
        try:
            self._answer()
        except StepscopeError:
            os._exit(4)
        os._exit(0)

    def check(self) -> str:
        """The same answer, whatever of the summaries is there."""
        kept = len(list(self.job.glob(".stepscope/*.stepscope-summary")))
        assert self._answer() == self.answer
        return f"{kept} summaries"

    def reset(self) -> None:
        """Remove the summaries."""
        for path in self.job.glob(".stepscope/*"):
            path.unlink()


class Columns(Writer):
    """An entry of the column cache, whose folder ``campaign`` sets."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.recording = folder / "host.xplane.pb"
        self.recording.write_bytes(worked_example(gpu=True, steps=3_000))
        # A file that just changed is not kept.
        old_s = time.time() - 60
        os.utime(self.recording, (old_s, old_s))
        time.sleep(MIN_AGE_NS / 1e9)
        self.cache = cache_folder()
        self.answer = self._answer()

    def _answer(self) -> object:
        with stepscope.open(self.recording) as session:
            return session.overview_page().to_dict()

    def write(self) -> None:
        """Keep the columns, as a session does that is closed."""
        os.environ |= {"XDG_CACHE_HOME": str(self.cache.parents[1]), VARIABLE: "on"}
        self._answer()
        os._exit(0 if any(cache_folder().glob("*-columns")) else 4)

    def check(self) -> str:
        """The same answer, whether there is an entry or not; the second is from the entry."""
        was_kept = self._is_kept()
        assert self._answer() == self.answer
        assert self._is_kept(), "the next opening keeps no entry"
        assert self._answer() == self.answer, "the answer from the entry differs"
        return "read from the entry" if was_kept else "without an entry"

    def _is_kept(self) -> bool:
        """Whether the next opening reads an entry instead of the recording."""
        at = snapshot(str(self.recording), "xspace")
        return at is not None and load(at) is not None

    def reset(self) -> None:
        """Remove the entry, and files of a killed writer."""
        for path in self.cache.iterdir() if self.cache.is_dir() else ():
            path.unlink()


WRITERS: Final[tuple[type[Writer], ...]] = (Recording, StepLog, Report, Export, Summaries, Columns)


def _quietly(work: Callable[[], None], begun: Event, limit_bytes: int) -> None:
    """Do something without output, with a limit of the size of files."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    if limit_bytes >= 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
    begun.set()
    work()


def started(work: Callable[[], None], limit_bytes: int = -1) -> ForkServerProcess:
    """Start a process that does something, and wait until it has begun."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["stepscope.surfaces.report.report", "tests.profiles", "polars"])
    begun = context.Event()
    process = context.Process(target=_quietly, args=(work, begun, limit_bytes))
    process.start()
    begun.wait(60)
    return process


def seconds_of(writer: Writer) -> float:
    """How long a writer takes that is not killed; recordings and logs have no end."""
    if writer.seconds is not None:
        return writer.seconds
    writer.reset()
    process = started(writer.write)
    began = time.monotonic()
    process.join()
    return time.monotonic() - began


def killed(writer: Writer, after_s: float) -> str:
    """Return what a writer leaves that is killed after some time."""
    writer.reset()
    process = started(writer.write)
    time.sleep(after_s)
    process.kill()
    process.join()
    return writer.check()


def refused(writer: File, limit_bytes: int) -> str:
    """Return what a writer leaves whose files may have no more bytes than this."""
    writer.reset()
    process = started(writer.write, limit_bytes)
    process.join()
    code = process.exitcode
    outcome = writer.check()
    assert code in (0, 4), f"exit code {code}"
    assert (outcome == "the new file") == (code == 0)
    return f"{outcome}, exit code {code}"


def campaign(
    times: int, seed: int, kinds: Sequence[type[Writer]] = WRITERS
) -> tuple[Counter[str], list[str]]:
    """Kill each writer in turn, then refuse writes to those of files: outcomes, and faults."""
    rng = random.Random(seed)
    outcomes: Counter[str] = Counter()
    faults: list[str] = []

    def count(name: str, action: Callable[[], str]) -> None:
        try:
            outcomes[f"{name}: {action()}"] += 1
        except (AssertionError, StepscopeError) as error:
            outcomes[f"{name}: WRONG"] += 1
            faults.append(f"{name}: {error}")

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        # What was tried until Ctrl-C or SIGTERM counts.
        stack.enter_context(contextlib.suppress(KeyboardInterrupt))
        cache = {"XDG_CACHE_HOME": f"{folder}/cache", VARIABLE: "on"}
        stack.enter_context(patch.dict(os.environ, cache))
        writers = [kind(Path(folder) / kind.__name__) for kind in kinds]
        seconds = [seconds_of(writer) for writer in writers]
        for number in range(times):
            writer = writers[number % len(writers)]
            after_s = rng.random() * 1.1 * seconds[number % len(writers)]
            count(f"{type(writer).__name__} killed", partial(killed, writer, after_s))
        for writer in (one for one in writers if isinstance(one, File)):
            for _ in range(max(times // 10, 1)):
                limit = int(1.2 * rng.random() * len(writer.whole))
                count(f"{type(writer).__name__} refused", partial(refused, writer, limit))
    return outcomes, faults


def _interrupt_once(*_: object) -> None:
    """End as Ctrl-C does; a second signal does not end what tidies up."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> int:
    """Print what was left; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.kills", description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    by_name = {kind.__name__: kind for kind in WRITERS}
    parser.add_argument("--only", nargs="+", choices=by_name, default=list(by_name))
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _interrupt_once)
    outcomes, faults = campaign(given.times, given.seed, [by_name[name] for name in given.only])
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:5} {outcome}")
    for fault in faults:
        print(f"WRONG {fault}")
    print(f"{sum(outcomes.values())} times, {len(faults)} wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
