"""What stragglers cost a job: its steps replayed with typical durations in the place of its own.

Definitions, after the what-if analysis of Lin et al. (OSDI 2025). A *replay* begins every operation
as soon as what it waits for has ended (:mod:`stepscope.pod.what_if.replay`); the transfer of a
collective or message is what follows its last member's begin.

* T: mean step of the replay with recorded durations, that is, without delays of launching.
* T_ideal: with the mean of its type for computing, the median of its type for communication, over
  all steps, stages and replicas.
* S = T / T_ideal: the slow-down by stragglers.
* S_x: as S, but only the operations of x keep their own durations; x a replica, a stage or a type.
  S_w = min(S_replica, S_stage) for the worker at both.
* M_X = (T − T without X) / (T − T_ideal), where X has ideal durations: the part of the slow-down
  that fixing X alone would save. It may exceed 1, and parts of several X do not sum.
  M_W: X is the slowest 3 % of workers by S_w, one at least. M_S: X is the last stage.
"""

from __future__ import annotations

from math import ceil
from typing import Final, TypeVar

import numpy as np
import polars as pl

from stepscope.pod.what_if.operations import Operations, read_operations
from stepscope.pod.what_if.pipeline import COMPUTING, KINDS, schedule_of
from stepscope.pod.what_if.replay import F64, Bool, ReplaySchedule, replay, transfers
from stepscope.records import dataclass

_K = TypeVar("_K")
# Below this there is nothing to divide among causes.
DECOMPOSED_FROM: Final = 1.03
_SLOWEST: Final = 0.03
# What lies further back than clocks explain is not a transfer.
_CLOCKS_S: Final = 1e-2


@dataclass(frozen=True, slots=True)
class Worker:
    """Where a worker stands: its numbers in the table, and its rank (-1: not said)."""

    replica: int
    stage: int
    rank: int


@dataclass(frozen=True, slots=True)
class StragglerCost:
    """What stragglers cost.

    Attributes:
        step_s: T, seconds.
        ideal_s: T_ideal, seconds.
        slowdown: S.
        by_replica, by_stage, by_type: S of each; empty where S is below ``DECOMPOSED_FROM``.
        by_workers: M_W; None where S is below it.
        by_last_stage: M_S, in the same way.
        top: The worker with the largest S_w.
        steps: How many steps were replayed.
        left_out: What of the table was not, and why.
    """

    step_s: float
    ideal_s: float
    slowdown: float
    by_replica: dict[int, float]
    by_stage: dict[int, float]
    by_type: dict[str, float]
    by_workers: float | None
    by_last_stage: float | None
    top: Worker | None
    steps: int
    left_out: tuple[str, ...]


def what_if(table: pl.DataFrame, where: str = "") -> StragglerCost:
    """Replay a table of operations.

    Raises:
        StepscopeError: It is no such table, or of no pipeline that is known.
    """
    found = read_operations(table, KINDS, where)
    return _Replays(found, schedule_of(found)).result()


class _Replays:
    """A job's recorded and ideal durations, and steps of any mixture of both."""

    def __init__(self, found: Operations, schedule: ReplaySchedule) -> None:
        self.found = found
        self.schedule = schedule
        recorded = transfers(schedule, found.start_s, found.end_s)
        self.recorded: F64 = np.where(recorded <= -_CLOCKS_S, 0.0, recorded)
        self.ideal = _typical(found.kind, self.recorded)

    def step_s(self, keeps: Bool) -> float:
        """Mean step where some operations keep what was recorded and the others are ideal."""
        end = replay(self.schedule, np.where(keeps, self.recorded, self.ideal))
        return float(end.max(axis=(0, 2)).mean())

    def result(self) -> StragglerCost:
        found = self.found
        everything = np.ones((1, 1, 1), dtype=np.bool_)
        actual, ideal = self.step_s(everything), self.step_s(~everything)
        slowdown = actual / ideal if ideal > 0 else 1.0
        whole = StragglerCost(
            step_s=actual,
            ideal_s=ideal,
            slowdown=slowdown,
            by_replica={},
            by_stage={},
            by_type={},
            by_workers=None,
            by_last_stage=None,
            top=None,
            steps=len(found.steps),
            left_out=found.left_out,
        )
        return whole if slowdown < DECOMPOSED_FROM else self._divided(whole)

    def _divided(self, whole: StragglerCost) -> StragglerCost:
        found = self.found
        replica = np.arange(len(found.replicas))[None, None, :]
        stage = found.stage[:, None, None]
        kind = np.asarray(found.kind)[:, None, None]
        by_replica = [self.step_s(replica == one) for one in range(len(found.replicas))]
        by_stage = [self.step_s(stage == one) for one in range(len(found.stages))]
        by_type = {one: self.step_s(kind == one) for one in dict.fromkeys(found.kind)}
        slowness = np.minimum.outer(np.asarray(by_stage), np.asarray(by_replica))
        slowest = self._slowest(slowness)
        is_slowest = np.zeros(slowness.shape, dtype=np.bool_)
        is_slowest[tuple(slowest.T)] = True
        gap = whole.step_s - whole.ideal_s
        without = self.step_s(~is_slowest[found.stage][:, None, :])
        without_last = self.step_s(stage != len(found.stages) - 1)
        at_stage, at_replica = slowest[0].tolist()
        return StragglerCost(
            step_s=whole.step_s,
            ideal_s=whole.ideal_s,
            slowdown=whole.slowdown,
            by_replica=_ratios(found.replicas.tolist(), by_replica, whole.ideal_s),
            by_stage=_ratios(found.stages.tolist(), by_stage, whole.ideal_s),
            by_type=_ratios(list(by_type), list(by_type.values()), whole.ideal_s),
            by_workers=(whole.step_s - without) / gap,
            by_last_stage=(whole.step_s - without_last) / gap,
            top=Worker(
                replica=int(found.replicas[at_replica]),
                stage=int(found.stages[at_stage]),
                rank=int(found.ranks[at_stage, at_replica]),
            ),
            steps=whole.steps,
            left_out=whole.left_out,
        )

    def _slowest(self, slowness: F64) -> np.ndarray[tuple[int, int], np.dtype[np.intp]]:
        """(stage, replica) of the slowest workers, slowest first; of equal ones the lowest rank."""
        count = ceil(slowness.size * _SLOWEST)
        order = np.lexsort((self.found.ranks.ravel(), -slowness.ravel()))[:count]
        return np.stack(np.unravel_index(order, slowness.shape), axis=1)


def _typical(kinds: tuple[str, ...], recorded: F64) -> F64:
    """By operation, the duration that is typical of its type: float64[operations, 1, 1]."""
    found = np.zeros((len(kinds), 1, 1))
    names = np.asarray(kinds)
    for kind in dict.fromkeys(kinds):
        mine = names == kind
        middle = np.mean if kind in COMPUTING else np.median
        found[mine] = middle(recorded[mine])
    return found


def _ratios(names: list[_K], steps_s: list[float], ideal_s: float) -> dict[_K, float]:
    pairs = sorted(zip(names, steps_s, strict=True), key=lambda pair: -pair[1])
    return {name: step_s / ideal_s for name, step_s in pairs}
