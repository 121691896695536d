"""Simulates the detector of changes: false alarms per 100,000 steps, and how soon a shift is seen.

Step times are drawn from recorded ones, in runs of 50 neighbours (a block bootstrap), or from
distributions.

    python -m bench.step_changes FILE…   # step logs, or text files with a step time per line
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from stepscope.columns.space import F64
from stepscope.formats.step_log import parsed
from stepscope.schema import names
from stepscope.tables.steps.change_points import ChangeDetector, changes

_STEPS = 100_000
_RUN = 50
_BEFORE, _SHIFT, _TRIALS = 2_000, 1.02, 50


def recorded(path: Path) -> F64:
    """The step times of a file."""
    data = path.read_bytes()
    if not data.startswith(names.STEP_LOG_HEAD):
        return np.asarray(data.split(), np.float64)
    chunks = [chunk for line in data.splitlines() if (chunk := parsed(line)) is not None]
    return np.concatenate(
        [np.divide(chunk["rows"]["sum_us"], chunk["rows"]["steps"]) for chunk in chunks]
    )


def drawn(times: F64, count: int, random: np.random.Generator) -> F64:
    """Step times in runs of neighbours."""
    begins = random.integers(0, max(len(times) - _RUN, 1), count // _RUN + 1)
    return np.concatenate([times[begin : begin + _RUN] for begin in begins])[:count]


def delays(times: F64, random: np.random.Generator) -> Iterator[int | None]:
    """Steps from a shift of 2 % until it is seen; None if it is not seen in 500."""
    for _ in range(_TRIALS):
        detector, series = ChangeDetector(), drawn(times, _BEFORE + 500, random)
        series[_BEFORE:] *= _SHIFT
        found = [change.seen for length in series if (change := detector.add(float(length)))]
        yield next((seen - _BEFORE for seen in found if seen > _BEFORE), None)


def distributions(random: np.random.Generator) -> dict[str, F64]:
    """Step times of 100 units by name."""
    count = 20_000
    noise = random.normal(0, 1, count)
    wander = np.zeros(count)
    for at in range(1, count):
        wander[at] = 0.9 * wander[at - 1] + noise[at] * (1 - 0.9**2) ** 0.5
    tail = np.where(random.random(count) < 0.05, random.exponential(30, count), 0)
    return {
        "normal, 1 %": 100 + random.normal(0, 1, count),
        "normal, 3 %": 100 + random.normal(0, 3, count),
        "lognormal, 10 %": 100 * random.lognormal(0, 0.1, count),
        "1 %, each twentieth much slower": 100 + noise + tail,
        "1 %, neighbours alike (0.9)": 100 + wander,
    }


def main(files: list[str]) -> None:
    """Print a line per source."""
    random = np.random.default_rng(0)
    sources = {Path(file).name: recorded(Path(file)) for file in files}
    print(f"{'step times':36} {'spread':>7} {'false alarms':>13} {'seen in 50':>11} {'median':>7}")
    alarms = 0
    for name, times in {**distributions(random), **sources}.items():
        false = len(changes(drawn(times, _STEPS, random).tolist()))
        alarms += false
        seen = list(delays(times, random))
        quick = sum(delay is not None and delay <= 50 for delay in seen) / len(seen)
        known = sorted(delay for delay in seen if delay is not None)
        middle = known[len(known) // 2] if known else "-"
        spread = np.percentile(times, 75) / np.percentile(times, 25) - 1
        print(f"{name[:36]:36} {spread:7.1%} {false:13} {quick:11.0%} {middle:>7}", flush=True)
    count = len(sources) + len(distributions(random))
    print(f"{alarms / count:.2f} false alarms per {_STEPS:,} steps")


if __name__ == "__main__":
    main(sys.argv[1:])
