"""``python3 dev.py fuzz --minutes N``: broken input for everything that takes strangers' bytes.

A worker process tries inputs; when it dies or stands still, the input it was at is kept as a
failure and another takes its place. Corpus and failures stay in ``.stepscope/fuzz``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from fuzz.checked import build, environment

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".stepscope" / "fuzz"
# No input is worth longer, on the slowest machine.
_STILL_SECONDS = 300.0


class Campaign:
    """Workers one after the other until the time is up.

    Args:
        folder: Where everything is kept.
        env: The environment of the workers.
        more: Further arguments of the workers.
    """

    def __init__(self, folder: Path, env: dict[str, str], more: list[str]) -> None:
        self.folder = folder
        self.env = env
        self.more = more
        self.counts: dict[str, int] = {}
        self.readers: dict[str, int] = {}
        self.failed = 0

    def run(self, seconds: float, seed: int) -> None:
        """Fuzz for this long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 1:
            self._one_worker(left, seed)
            self._add_counts()
            seed += 1

    def _one_worker(self, seconds: float, seed: int) -> None:
        command = [sys.executable, "-m", "fuzz.worker", str(self.folder), "--seconds", str(seconds)]
        current = self.folder / "current"
        current.unlink(missing_ok=True)
        with subprocess.Popen(
            [*command, "--seed", str(seed), *self.more], cwd=ROOT, env=self.env
        ) as worker:
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
        self.failed += 1
        print(f"FAILED {kept}: the worker {what}", flush=True)

    def _add_counts(self) -> None:
        path = self.folder / "counts.json"
        if not path.exists():
            return
        said = json.loads(path.read_text())
        path.unlink()
        for name, count in said["counts"].items():
            self.counts[name] = self.counts.get(name, 0) + count
        for name, count in said["readers"].items():
            self.readers[name] = self.readers.get(name, 0) + count
        self.failed += said["failed"]


def main() -> int:
    """Fuzz for the given time; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="dev.py fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random numbers")
    parser.add_argument("--corpus", type=Path, help="folder of recordings to mutate as well")
    parser.add_argument("--only", default="", help="only these targets, by commas")
    parser.add_argument("--plain", action="store_true", help="not the sanitized build")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    env = dict(os.environ)
    if not given.plain:
        build(folder / "checked")
        env |= environment(folder / "checked")
    more = ["--only", given.only]
    if given.corpus is not None:
        more += ["--corpus", str(given.corpus.resolve())]
    campaign = Campaign(folder, env, more)
    began = time.monotonic()
    campaign.run(60 * given.minutes, given.seed)
    minutes = (time.monotonic() - began) / 60
    total = sum(campaign.counts.values())
    print(f"{total:,} inputs in {minutes:.1f} min: {campaign.counts}; {campaign.failed} failed")
    if campaign.readers:
        readers = sorted(campaign.readers.items())
        print("by reader: " + ", ".join(f"{name} {count:,}" for name, count in readers))
    return 1 if campaign.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
