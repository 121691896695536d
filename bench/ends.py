"""Recordings at each level whose program is ended at a random moment, forks, or fills the disk.

    python -m bench.ends [--times 3] [--seed 1] [--only killed terminated disk_full forks]

Each is ``stepscope record`` of a PyTorch loop that notes when a step ends. Whatever is left must
open and hold no step twice. Steps may be missing where the recording says that it has a gap, and
after ``kill -9`` those of the chunk that is recorded and of the one that is being written. Without
``--full`` there are gaps of undisturbed steps.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np

import stepscope
from stepscope.capture.launch.dry_run import LEVELS
from stepscope.errors import StepscopeError
from stepscope.tables.core.recording_gaps import recording_gaps
from tests.e2e.recorded_programs import names_in

_PROGRAM: Final = """
import os, sys, time, torch, stepscope
torch.set_num_threads(1)  # libgomp hangs in a forked child of a process whose team has begun
seconds, fork_after = float(sys.argv[1]), float(sys.argv[2])
x = torch.randn(64, 64)
def step(number):
    with stepscope.Trace(f"work {number}"):
        y = x
        for _ in range(40):
            y = torch.tanh(y @ x)
        time.sleep(0.002)
ended = open("ended", "wb", buffering=0)
began, number = time.monotonic(), 0
while time.monotonic() < began + seconds:
    step(number)
    ended.write(time.time_ns().to_bytes(8, "little"))
    number += 1
    if time.monotonic() > began + fork_after:
        fork_after = 1e9
        if os.fork() == 0:
            step(-1)
            sys.exit() if number % 2 else os._exit(0)
        os.wait()
"""
_SECONDS: Final = {"killed": 22.0, "terminated": 11.0, "disk_full": 11.0, "forks": 11.0}
#: A chunk's seconds, those in which Kineto hands its ops over, and those of a busy machine.
_CHUNK_S, _HANDED_OVER_S, _LATE_S = 5.0, 4.0, 2.0
#: A step and the note of its end are this far apart at most.
_APART_S: Final = 0.05
_SMALL_DISK: Final = (
    'mount -t tmpfs -o size="$0" small log && { "$@"; code=$?; cp -r log kept; exit $code; }'
)


class Case:
    """One recording: its level, and how its program ends."""

    def __init__(self, folder: Path, flags: str, end: str, chance: random.Random) -> None:
        self.folder, self.flags, self.end = folder, flags, end
        self.log = folder / ("kept" if end == "disk_full" else "log")
        self._seconds = _SECONDS[end]
        self._moment_s = chance.uniform(0.2, self._seconds - 0.5)
        self._disk_bytes = int(10 ** chance.uniform(4, 6.5))

    def run(self) -> subprocess.Popen[bytes]:
        """Start it."""
        (self.folder / "log").mkdir()
        (self.folder / "spare").mkdir()
        (self.folder / "program.py").write_text(_PROGRAM)
        fork_after = self._moment_s if self.end == "forks" else 1e9
        command = [sys.executable, "-m", "stepscope", "record", "-o", "log", *self.flags.split()]
        command += ["program.py", str(self._seconds), str(fork_after)]
        if self.end == "disk_full":
            command = [
                "unshare",
                "--mount",
                "sh",
                "-c",
                _SMALL_DISK,
                str(self._disk_bytes),
                *command,
            ]
        with (self.folder / "said").open("wb") as said:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=os.environ | {"TMPDIR": str(self.folder / "spare")},
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def finish(self, process: subprocess.Popen[bytes]) -> str:
        """End it as planned; what is left, AssertionError where that is wrong."""
        ends = {"killed": signal.SIGKILL, "terminated": signal.SIGTERM}
        if self.end in ends:
            while not (self.folder / "ended").exists() and process.poll() is None:
                time.sleep(0.02)
            time.sleep(self._moment_s)
            # As a scheduler does: to all processes of the job.
            os.killpg(process.pid, ends[self.end])
        code = process.wait(120)
        if self.end in ends:
            assert code in (-ends[self.end], 128 + ends[self.end]), f"exit code {code}"
        else:
            assert code == 0, f"exit code {code}"
        return self._left()

    def _left(self) -> str:
        times_s = np.frombuffer((self.folder / "ended").read_bytes(), np.int64) / 1e9
        said = (self.folder / "said").read_text("utf-8", "replace")
        assert "Traceback" not in said and "bug in Stepscope" not in said, said[-600:]
        files = [
            path
            for root in (self.log, self.folder / "spare")
            for path in root.rglob("*.xplane.pb")
            if path.stat().st_size
        ]
        ended_s: dict[int, float] = {}
        gaps_s: list[tuple[float, float]] = []
        for path in files:
            with stepscope.open(path) as session:
                session.overview_page()
                for host in session.profile.hosts:
                    events = host.space.events
                    end_s = (events.start_ps + host.space.length_ps) / 1e12
                    for row, name in enumerate(names_in(host.space)):
                        number = int(name.split()[1]) if name.startswith("work ") else -1
                        if number >= 0:
                            assert number not in ended_s, "a step is there twice"
                            ended_s[number] = float(end_s[row])
                    gaps_s += [
                        (begin / 1e12, end / 1e12)
                        for begin, end in zip(*recording_gaps(host), strict=True)
                    ]
        numbers = sorted(ended_s)
        if not numbers:
            assert self.end == "killed", "no step is there"
        if "--full" in self.flags:
            lost_s = float(times_s[-1] - times_s[numbers[-1] if numbers else 0])
            most_s = _LATE_S + (2 * _CHUNK_S + _HANDED_OVER_S if self.end == "killed" else 0)
            assert lost_s <= most_s, f"the last {lost_s:.1f} s are lost"
            # By its own clock: each missing step was under way in a gap.
            after_s = min((times_s[one] - ended_s[one] for one in numbers), default=0.0)
            own_s = times_s - after_s
            between = range(numbers[0], numbers[-1]) if numbers else range(0)
            for number in sorted({*between} - ended_s.keys()):
                begin, end = own_s[max(number - 1, 0)] - _APART_S, own_s[number] + _APART_S
                touched = any(start < end and stop > begin for start, stop in gaps_s)
                assert touched, f"step {number} is missing outside of each gap"
        return "with steps" if numbers else "none: it was killed before the first chunk"


def main() -> int:
    """Print what was left at each level; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.ends", description=__doc__)
    ends = list(_SECONDS)
    parser.add_argument("--times", type=int, default=3, help="of each level and end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=ends, default=ends)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    levels = {level: "" if level == "default" else level for level in LEVELS}
    flags = ["", *(f"--full {level}".strip() for level in levels.values())]
    outcomes: Counter[str] = Counter()
    faults = []
    for _ in range(given.times):
        for end in given.only:
            for flag in flags:
                with tempfile.TemporaryDirectory() as folder:
                    case = Case(Path(folder), flag, end, chance)
                    name = f"{flag or 'default'}, {end}"
                    try:
                        outcomes[f"{name}: {case.finish(case.run())}"] += 1
                    except (AssertionError, StepscopeError, subprocess.TimeoutExpired) as error:
                        outcomes[f"{name}: WRONG"] += 1
                        faults.append(f"{name}: {error}")
                        print(f"WRONG {faults[-1]}", flush=True)
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:5} {outcome}")
    print(f"{sum(outcomes.values())} times, {len(faults)} wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
