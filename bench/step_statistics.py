"""``python -m bench.step_statistics``: how often the statistics of steps err, by simulation.

Pairs of runs are drawn from recorded step times (``bench/step_times.json``) in stretches of five
steps on average, so that neighbours stay neighbours, with what disturbs real recordings: a
warm-up, a second mode, a drift, a straggling step. Each pair is judged unchanged and with the
second run slower or faster by 3, 10 and 50 %. Intervals scale with a run: each is computed once.

Printed by kind and number of steps, and by each of them: false alarms, how often the interval holds
the true difference, and how often a change is seen. The exit code is 1 if false alarms exceed 1 %
or intervals hold less than 98 %. Of one kind or number of steps, both may miss it by chance.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import isnan, sqrt
from pathlib import Path
from typing import Final

import numpy as np

from stepscope.tables.steps.statistics import (
    F64,
    FEWEST_STEPS,
    StepSample,
    difference,
)

STEPS: Final = (3, 5, 6, 8, 12, 20, 50, 100, 200, 500)
EFFECTS: Final = (0.0, 0.03, -0.03, 0.1, -0.1, 0.5, -0.5)
_STRETCH: Final = 5
_SEED: Final = 41

Generator = np.random.Generator


@cache
def recorded() -> tuple[F64, ...]:
    """Step times of recordings, each divided by its median."""
    text = (Path(__file__).parent / "step_times.json").read_text()
    return tuple(np.asarray(times) for times in json.loads(text).values())


def _drawn(chance: Generator, count: int, series: int) -> F64:
    """Draw so many steps of one recording, in stretches (stationary bootstrap)."""
    times = recorded()[series]
    jumps = chance.random(count) < 1 / _STRETCH
    jumps[0] = True
    begin = np.maximum.accumulate(np.where(jumps, np.arange(count), 0))
    start = chance.integers(len(times), size=count)[begin]
    drawn: F64 = times[(start + np.arange(count) - begin) % len(times)]
    return drawn


def _warm_up(chance: Generator, times: F64) -> F64:
    slow = min(max(len(times) // 10, 1), 3)
    times[:slow] *= chance.uniform(2.5, 6, size=slow)
    return times


def _bimodal(chance: Generator, times: F64) -> F64:
    return times * np.where(chance.random(len(times)) < 0.3, 1.4, 1.0)


def _drift(chance: Generator, times: F64) -> F64:
    return times * np.linspace(1.0, 1.1, len(times))


def _straggler(chance: Generator, times: F64) -> F64:
    times[chance.integers(len(times))] *= chance.uniform(3, 10)
    return times


def _tenth(chance: Generator, times: F64) -> F64:
    """About every tenth step is slow: at the edge of what counts as outliers."""
    return times * np.where(chance.random(len(times)) < 0.1, 2.5, 1.0)


KINDS: Final[dict[str, Callable[[Generator, F64], F64]]] = {
    "recorded": lambda chance, times: times,
    "warm-up": _warm_up,
    "bimodal": _bimodal,
    "drift": _drift,
    "straggler": _straggler,
    "every tenth": _tenth,
}


@dataclass(frozen=True, slots=True)
class Cell:
    """The pairs of one kind and number of steps.

    Attributes:
        kind, steps: Which.
        pairs: How many.
        alarms: Unchanged pairs that are called slower or faster.
        held: Intervals, over all effects, that hold the true difference.
        intervals: How many there are.
        seen: By effect, pairs whose change is seen, in its direction.
    """

    kind: str
    steps: int
    pairs: int
    alarms: int
    held: int
    intervals: int
    seen: dict[float, int]


def cell(kind: str, steps: int, pairs: int) -> Cell:
    """Simulate the pairs of one kind and number of steps."""
    chance = np.random.default_rng((_SEED, list(KINDS).index(kind), steps))
    drawn = [_pair(chance, kind, steps) for _ in range(pairs)]
    expected = _expected_means(drawn)
    alarms = held = intervals = 0
    seen = dict.fromkeys(EFFECTS[1:], 0)
    for series, before, after in drawn:
        for effect in EFFECTS:
            found = difference(before, _slowed(after, 1 + effect))
            if not isnan(found.low):
                intervals += 1
                has_slow_mode = {before.has_slow_mode, after.has_slow_mode}
                mean = expected[series, has_slow_mode.pop() if len(has_slow_mode) == 1 else None]
                held += found.low <= effect * mean <= found.high
            if effect:
                seen[effect] += found.outcome == ("slower" if effect > 0 else "faster")
            else:
                alarms += found.outcome in ("slower", "faster")
    return Cell(kind, steps, pairs, alarms, held, intervals, seen)


def _expected_means(
    pairs: Sequence[tuple[int, StepSample, StepSample]],
) -> dict[tuple[int, bool | None], float]:
    """Return the mean step that runs of a recording have on average.

    Whether slow steps are few enough to be left out may be chance. The mean of kept steps is
    another quantity then, so the key is the recording and whether slow steps were kept. None stands
    for two runs that differ in this: all their steps are compared.
    """
    means: dict[tuple[int, bool | None], list[float]] = {}
    for series, *runs in pairs:
        for run in runs:
            means.setdefault((series, run.has_slow_mode), []).append(run.mean)
            means.setdefault((series, None), []).append(run.tail_mean)
    return {key: float(np.mean(values)) for key, values in means.items()}


def _pair(chance: Generator, kind: str, steps: int) -> tuple[int, StepSample, StepSample]:
    series = int(chance.integers(len(recorded())))
    before, after = (
        StepSample.of(KINDS[kind](chance, _drawn(chance, steps, series))) for _ in range(2)
    )
    return series, before, after


def _slowed(run: StepSample, factor: float) -> StepSample:
    """Return a run whose every step takes that much longer; intervals scale with it."""
    slowed = StepSample(run.times * factor, run.is_outlier)
    for name in ("interval", "tail_interval"):
        low, high = getattr(run, name)
        slowed.__dict__[name] = low * factor, high * factor
    return slowed


def merged(cells: Sequence[Cell], kind: str = "all", steps: int = 0) -> Cell:
    """Return the cells of one kind or number of steps as one; of all by default."""
    chosen = [one for one in cells if kind in ("all", one.kind) and steps in (0, one.steps)]
    pairs, alarms, held, intervals = (
        sum(getattr(one, name) for one in chosen)
        for name in ("pairs", "alarms", "held", "intervals")
    )
    seen = {effect: sum(one.seen[effect] for one in chosen) for effect in EFFECTS[1:]}
    return Cell(kind, steps, pairs, alarms, held, intervals, seen)


def margins(cells: Sequence[Cell]) -> list[Cell]:
    """Return what holds of each tested number of steps, of each kind, and over all."""
    tested = [one for one in cells if one.steps >= FEWEST_STEPS]
    return [
        *(merged(tested, steps=count) for count in dict.fromkeys(one.steps for one in tested)),
        *(merged(tested, kind) for kind in dict.fromkeys(one.kind for one in tested)),
        merged(cells),
    ]


def report(cells: Sequence[Cell]) -> str:
    """Return the table: the cells, then the margins."""
    effects = EFFECTS[1:]
    lines = [
        f"{'kind':<12}{'steps':>6}{'pairs':>7}{'false alarms':>14}{'held':>8}"
        + "".join(f"{effect:>+8.0%}" for effect in effects)
    ]
    for cell_ in [*cells, *margins(cells)]:
        held = f"{cell_.held / cell_.intervals:.1%}" if cell_.intervals else "–"
        lines.append(
            f"{cell_.kind:<12}{cell_.steps or 'all':>6}{cell_.pairs:>7}"
            f"{cell_.alarms / cell_.pairs:>14.2%}{held:>8}"
            + "".join(f"{cell_.seen[effect] / cell_.pairs:>8.0%}" for effect in effects)
        )
    return "\n".join(lines)


def is_good(cells: Sequence[Cell]) -> bool:
    """Whether false alarms and intervals are within what is promised.

    Over all pairs they must be; of each kind and number of steps they may differ by three standard
    errors. The intervals of a pair under several effects count as one.
    """
    *parts, whole = margins(cells)

    def is_within(part: Cell, errors: float) -> bool:
        allowed = 0.01 + errors * sqrt(0.01 * 0.99 / part.pairs)
        missed = 0.02 + errors * sqrt(0.02 * 0.98 / part.pairs)
        frac = 1 - part.held / part.intervals if part.intervals else 0.0
        return part.alarms / part.pairs <= allowed and frac <= missed

    return is_within(whole, 0) and all(is_within(part, 3) for part in parts)


def main() -> int:
    """Simulate, print the table, and tell by the exit code whether it is good."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000, help="over all kinds and numbers")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    wanted = list(product(KINDS, STEPS))
    each = -(-given.pairs // len(wanted))
    # The longest first, so that none is left at the end.
    wanted.sort(key=lambda one: -one[1])
    with ProcessPoolExecutor(given.processes) as pool:
        cells = list(pool.map(cell, *zip(*wanted, strict=True), [each] * len(wanted)))
    order = list(KINDS)
    cells.sort(key=lambda one: (order.index(one.kind), one.steps))
    print(report(cells))
    return 0 if is_good(cells) else 1


if __name__ == "__main__":
    sys.exit(main())
