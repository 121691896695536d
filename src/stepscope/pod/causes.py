"""Why a suspect is slow: the kind of thing that takes longer there than on its peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import Bool
from stepscope.pod.intake import Gathered
from stepscope.pod.rows import runs
from stepscope.pod.suspects import Suspect
from stepscope.records import dataclass

F64 = NDArray[np.float64]

#: Causes by id, in words.
CAUSES: Final[dict[str, str]] = {
    "compute": "all of its kernels take longer: a throttled or weaker device",
    "memory": "some of its kernels take longer, others do not: memory of the device",
    "copies": "copies between host and device take longer: PCIe, NVLink or memory of the host",
    "input": "it waits for input",
    "launch": "kernels are launched late: a busy processor, or threads on the wrong one",
    "host": "its program stands still: garbage collection, checkpoints, logging",
    "network": "transfers through it take longer: its link, card, rail or switch",
    "unequal": "it was given more to do than the others",
    "unknown": "what takes longer was not recorded",
}
# Kernels whose excess is this share of the largest are slower, too.
_SLOWER: Final = 0.5
# If less of the time is in kernels that are slower, it is not the whole device.
_ALL_KERNELS: Final = 0.6
# Peers run an op as often as each other, give or take this.
_AS_OFTEN: Final = 0.02
_PERSISTENT: Final = 0.8


@dataclass(frozen=True, slots=True)
class Cause:
    """Why, and what says so.

    Attributes:
        id: Key of ``CAUSES``.
        evidence: What was measured, in words.
        pattern: "persistent", "episodic" or "once".
    """

    id: str
    evidence: str
    pattern: str


class Causes:
    """The parts of steps and the ops of all units, for comparing some with others."""

    def __init__(self, gathered: Gathered, stage: NDArray[np.int64]) -> None:
        self._stage = stage
        self._parts = gathered.parts_ps
        self._ops, self._names = gathered.ops, gathered.op_names

    def of(self, suspect: Suspect, steps: int) -> Cause:
        """The cause of one suspect, in a recording of so many steps."""
        late = round(suspect.late_frac * steps)
        pattern = "once" if late == 1 < steps else "episodic"
        if suspect.late_frac >= _PERSISTENT:
            pattern = "persistent"
        if suspect.kind == "link":
            text = f"transfers through it take {suspect.ratio:.2f} × their usual time"
            return Cause("network", text, pattern)
        if suspect.kind == "share":
            text = f"its typical step has {suspect.ratio:.2f} × the work of the median stage"
            return Cause("unequal", text, pattern)
        mine = suspect.where.units
        peers = self._peers(mine)
        if not peers.any():
            return Cause("unknown", "", pattern)
        return self._part_cause(mine, peers, pattern)

    def _peers(self, mine: Bool) -> Bool:
        same: Bool = ~mine & np.isin(self._stage, self._stage[mine])
        return same if same.any() else ~mine

    def _part_cause(self, mine: Bool, peers: Bool, pattern: str) -> Cause:
        """The part of the step that grew most; of compute, which kernels."""
        by_cause = {
            cause: float(values[mine].mean() - np.median(values[peers]))
            for cause, values in self._parts.items()
        }
        cause = max(by_cause, key=by_cause.__getitem__)
        if by_cause[cause] <= 0:
            return Cause("unknown", "", pattern)
        more = f"{by_cause[cause] / 1e9:.2f} ms a step more than its peers"
        text = f"{CAUSES[cause]} ({more})"
        return (
            self._kernel_cause(mine, peers, pattern)
            if cause == "compute"
            else Cause(cause, text, pattern)
        )

    def _kernel_cause(self, mine: Bool, peers: Bool, pattern: str) -> Cause:
        here, there = self._kernels(mine, np.mean), self._kernels(peers, np.median)
        none = 0.0, 0.0
        alone = {op: here[op][0] for op in here if there.get(op, none)[0] <= 0}
        both = [op for op in here if op not in alone]
        total, count = np.asarray([here[op] for op in both]).reshape(-1, 2).T
        usual, usual_count = np.asarray([there[op] for op in both]).reshape(-1, 2).T
        excess = float(total.sum()) - float(usual.sum())
        if alone and sum(alone.values()) > max(excess, 0.0):
            most = self._names[max(alone, key=alone.__getitem__)]
            return Cause("unequal", f"it runs {most}, which its peers do not", pattern)
        if not both:
            return Cause("compute", "its kernels take longer", pattern)
        often = float(count.sum()) / max(float(usual_count.sum()), 1.0)
        if abs(often - 1) > _AS_OFTEN:
            text = f"it runs {often:.2f} × as many kernels as its peers"
            return Cause("unequal", text, pattern)
        ratio = total / usual
        # Kernels that take next to no time say nothing.
        counted = usual > 0.01 * usual.sum()
        slower = ratio - 1 > _SLOWER * (ratio[counted].max() - 1)
        share = float(usual[slower & counted].sum() / usual[counted].sum())
        worst = self._names[both[int(np.argmax(np.where(counted, ratio, 0)))]]
        if share < _ALL_KERNELS:
            text = f"{worst} takes {ratio[counted].max():.2f} × as long, most other kernels do not"
            return Cause("memory", text, pattern)
        typical = float(np.median(ratio[counted]))
        return Cause("compute", f"kernels take {typical:.2f} × as long as on its peers", pattern)

    def _kernels(
        self, units: Bool, middle: Callable[[NDArray[Any]], np.floating[Any]]
    ) -> dict[int, tuple[float, float]]:
        """By op that these units run, the middle of their totals and counts."""
        rows = np.flatnonzero(units[self._ops["unit"]])
        rows = rows[np.argsort(self._ops["op"][rows], kind="stable")]
        op, total, count = (self._ops[name][rows] for name in ("op", "total_ps", "count"))
        begin = runs(op).tolist()
        return {
            int(op[low]): (float(middle(total[low:high])), float(middle(count[low:high])))
            for low, high in zip(begin, [*begin[1:], len(op)], strict=True)
        }
