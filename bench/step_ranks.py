"""Who is slow, and since when, of 1,000 simulated ranks with 100,000 steps each.

Writes the summaries that the ranks' step logs would have (a chunk per two seconds), and the first
line of each log, then runs ``stepscope ranks`` as a new process on two cores. Steps of 100 ms vary
by 3 %; a rank has 20 % longer ones from a random step on. In a job whose ranks wait for each other
all steps become longer, and the one to name waits for input.

    python -m bench.step_ranks [--ranks 1000] [--steps 100000] [--tries 3]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

from stepscope.formats.step_log import SUMMARY, SUMMARY_ENDING, summary_of
from stepscope.schema import names

_STEP_US, _CHUNK_STEPS, _NOISE = 100_000, 20, 0.03
_SLOWER = 1.2
_BEGIN_NS = 10**18
_CORES = 2


def write_job(
    folder: Path,
    ranks: int,
    steps: int,
    slow: int | None,
    since: int,
    *,
    waiting: bool,
    seed: int,
) -> None:
    """Write a job; its rank ``slow`` is slower from step ``since`` on, or none.

    Args:
        folder: Where to write.
        ranks: Number of ranks.
        steps: Of each.
        slow: The slow rank.
        since: Its first slow step.
        waiting: Whether ranks wait for each other at each step.
        seed: Of the noise.
    """
    random = np.random.default_rng(seed)
    mark = np.frombuffer(summary_of(dict.fromkeys(SUMMARY.names or (), 1)), SUMMARY)["mark"][0]
    for rank in range(ranks):
        records = np.zeros(steps // _CHUNK_STEPS, SUMMARY)
        first = np.arange(len(records)) * _CHUNK_STEPS
        # Rows of a chunk are slow from the step on: one chunk is so in part.
        slow_frac = np.clip((first + _CHUNK_STEPS - since) / _CHUNK_STEPS, 0, 1)
        is_slow = slow is not None and (waiting or rank == slow)
        factor = 1 + (_SLOWER - 1) * slow_frac * is_slow
        noise = random.normal(1, _NOISE / _CHUNK_STEPS**0.5, len(records))
        length = _STEP_US * _CHUNK_STEPS * factor * noise
        records["sum_us"] = length
        records["wait_us"] = 0.02 * _STEP_US * _CHUNK_STEPS * noise
        if waiting and rank == slow:
            records["wait_us"] += ((_SLOWER - 1) * _STEP_US * _CHUNK_STEPS * slow_frac).astype(int)
        records["cpu_us"] = length // 2
        records["end_ns"] = _BEGIN_NS + 1000 * np.cumsum(records["sum_us"])
        records["begin_ns"] = records["end_ns"] - 1000 * records["sum_us"]
        records["first"], records["steps"], records["memory"] = first, _CHUNK_STEPS, 1 << 33
        records["mark"] = mark
        log = folder / f"run-rank{rank}.steps"
        log.with_suffix(SUMMARY_ENDING).write_bytes(records.tobytes())
        chunk = {"chunk": {"host": f"node{rank // 8}", "process": 7, "rank": rank}}
        text = json.dumps(chunk, separators=(",", ":"))[1:].encode()
        log.write_bytes(b'%s"%08x",%s\n' % (names.STEP_LOG_HEAD, zlib.crc32(text), text))


def main() -> None:
    """Print a line per job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--tries", type=int, default=3)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_CORES])
    random = np.random.default_rng(0)
    for waiting in (False, True):
        slow, since = int(random.integers(given.ranks)), int(random.integers(given.steps // 2))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_job(folder, given.ranks, given.steps, slow, since, waiting=waiting, seed=1)
            size = sum(path.stat().st_size for path in folder.iterdir())
            kind = "ranks that wait for each other" if waiting else "ranks of their own"
            print(
                f"{given.ranks:,} {kind}, {given.steps:,} steps, {size / 1e6:.0f} MB: rank {slow}"
            )
            print(f"is slow since step {since:,}")
            for _ in range(given.tries):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                begin = time.monotonic()
                command = [sys.executable, "-m", "stepscope", "ranks", str(folder)]
                done = subprocess.run(
                    [*command, "--format", "json"], capture_output=True, text=True, check=True
                )
                took = time.monotonic() - begin
                used = resource.getrusage(resource.RUSAGE_CHILDREN)
                cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
                print(
                    f"{took:.2f} s, {cpu:.2f} s of processors, {used.ru_maxrss / 1e3:.0f} MB: "
                    f"{json.loads(done.stdout)['headline']}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
