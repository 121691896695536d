"""``python3 dev.py fuzz --minutes N``: broken input for everything that takes strangers' bytes.

A worker process tries inputs; when it dies or stands still, the input it was at is kept as a
failure and another takes its place. Corpus and failures stay in ``.stepscope/fuzz``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from fuzz.checked import build, environment
from fuzz.ledger import RUNNING, TRIED, added, ledgers, on_record, record, settle

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".stepscope" / "fuzz"
SANITIZED, PLAIN = "sanitized", "plain"
# No input is worth longer, on the slowest machine.
_STILL_SECONDS = 300.0
_LIFE_SECONDS = 240.0
# The sanitizer sees arrays, which are what kernels work on, in every worker; in one of these it
# sees Python's small objects as well, and goes half as fast.
_WORKERS_PER_SLOW_ONE = 6


class Campaign:
    """Workers one after the other until the time is up.

    Args:
        folder: Where everything is kept.
        env: The environment of the workers.
        more: Further arguments of the workers.
        build: Which build they run on; part of the names of ledgers.
    """

    def __init__(
        self, folder: Path, env: dict[str, str], more: list[str], build: str = PLAIN
    ) -> None:
        self.folder = folder
        self.env = env
        self.more = more
        self.build = build
        self.ledgers: list[Path] = []
        self.killers = 0
        settle(folder, _LIFE_SECONDS + _STILL_SECONDS)

    def run(self, seconds: float, seed: int) -> None:
        """Fuzz for this long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 1:
            self._one_worker(min(left, _LIFE_SECONDS), seed)
            seed += 1

    def _one_worker(self, seconds: float, seed: int) -> None:
        current = self.folder / "current"
        current.unlink(missing_ok=True)
        ledger = ledgers(self.folder) / f"{self.build}-{time.time_ns()}.json"
        ledger.parent.mkdir(parents=True, exist_ok=True)
        self.ledgers.append(ledger)
        running = ledger.with_suffix(RUNNING)
        command = [sys.executable, "-m", "fuzz.worker", str(self.folder), "--ledger", str(running)]
        command += ["--seconds", str(seconds), "--seed", str(seed), *self.more]
        slow = {} if len(self.ledgers) % _WORKERS_PER_SLOW_ONE else {"PYTHONMALLOC": "malloc"}
        try:
            self._watch(command, self.env | slow, current)
        finally:
            settle(self.folder, 0, running)

    def _watch(self, command: list[str], env: dict[str, str], current: Path) -> None:
        with subprocess.Popen(command, cwd=ROOT, env=env) as worker:
            while worker.poll() is None:
                time.sleep(1)
                moved = current.stat().st_mtime if current.exists() else time.time()
                if time.time() - moved > _STILL_SECONDS:
                    worker.kill()
                    self._keep_current("stood still")
                    return
            if worker.returncode:
                self._keep_current(f"ended with {worker.returncode}")

    def _keep_current(self, what: str) -> None:
        current = self.folder / "current"
        if not current.exists():
            raise SystemExit(f"The worker {what} before its first input.")
        target, _, data = current.read_bytes().partition(b"\n")
        kept = self.folder / "failures" / f"{target.decode()}-{time.time_ns()}"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(data)
        kept.with_suffix(".txt").write_text(what)
        self.killers += 1
        print(f"FAILED {kept}: the worker {what}", flush=True)


def _by_reader(folder: Path) -> list[str]:
    """A line for each reader: its inputs on either build, of all campaigns in this folder."""
    by_build = {
        build: added(sorted(ledgers(folder).rglob(f"{build}-*.json")))
        for build in (SANITIZED, PLAIN)
    }
    names = sorted(set().union(*(one["readers"] for one in by_build.values())))
    lines = []
    for name in names:
        said = ", ".join(
            f"{one['readers'][name]:,} {build} ({one['opened'][name]:,} opened)"
            for build, one in by_build.items()
        )
        lines.append(f"{name}: {said}")
    return lines


def main() -> int:
    """Fuzz for the given time; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="dev.py fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random numbers")
    parser.add_argument("--corpus", type=Path, help="folder of recordings to mutate as well")
    parser.add_argument("--only", default="", help="only these targets, by commas")
    parser.add_argument("--readers", default="", help="only these readers of a target, by commas")
    parser.add_argument("--plain", action="store_true", help="not the sanitized build")
    parser.add_argument(
        "--record", action="store_true", help="add what the ledgers hold to fuzz/tried.jsonl"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER)
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    env = dict(os.environ)
    if not given.plain and given.minutes:
        build(folder / "checked")
        env |= environment(folder / "checked")
    more = ["--only", given.only, "--readers", given.readers]
    if given.corpus is not None:
        more += ["--corpus", str(given.corpus.resolve())]
    build_name = PLAIN if given.plain else SANITIZED
    campaign = Campaign(folder, env, more, build_name)
    began = time.monotonic()
    campaign.run(60 * given.minutes, given.seed)
    minutes = (time.monotonic() - began) / 60
    tried = added(campaign.ledgers)
    counts, failed = tried["counts"], tried["failed"]["inputs"] + campaign.killers
    said = {name: count for name, count in counts.items() if count}
    print(f"{counts.total():,} inputs in {minutes:.1f} min: {said}; {failed} failed")
    for line in _by_reader(folder):
        print(line)
    if given.record:
        _record(folder)
    return 1 if failed else 0


def _record(folder: Path) -> None:
    """Write what all ledgers of the folder hold where a lost machine does not take it along."""
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    for build_name in (SANITIZED, PLAIN):
        record(folder, TRIED, build=build_name, commit=commit.strip(), date=date)
        for name, count in sorted(on_record(TRIED, build_name).items()):
            print(f"on record: {name}: {count:,} {build_name}")


if __name__ == "__main__":
    raise SystemExit(main())
