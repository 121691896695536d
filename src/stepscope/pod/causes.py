"""Why a suspect is slow: the kind of thing that takes longer there than on its peers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stepscope.columns.space import Bool
from stepscope.pod.intake import Gathered
from stepscope.pod.suspects import Suspect

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
        unit = self._ops["unit"].to_numpy()
        amounts = pl.col("total_ps", "count")
        here = self._ops.filter(mine[unit]).group_by("op").agg(amounts.mean())
        there = self._ops.filter(peers[unit]).group_by("op").agg(amounts.median())
        both = here.join(there, on="op", how="left", suffix="_usual").sort("op")
        is_shared = pl.col("total_ps_usual").fill_null(0) > 0
        alone, both = both.filter(~is_shared), both.filter(is_shared)
        excess = float(both["total_ps"].sum()) - float(both["total_ps_usual"].sum())
        if not alone.is_empty() and float(alone["total_ps"].sum()) > max(excess, 0.0):
            most = self._names[alone["op"][int(np.argmax(alone["total_ps"].to_numpy()))]]
            return Cause("unequal", f"it runs {most}, which its peers do not", pattern)
        if both.is_empty():
            return Cause("compute", "its kernels take longer", pattern)
        often = float(both["count"].sum()) / max(float(both["count_usual"].sum()), 1.0)
        if abs(often - 1) > _AS_OFTEN:
            text = f"it runs {often:.2f} × as many kernels as its peers"
            return Cause("unequal", text, pattern)
        ratio = (both["total_ps"] / both["total_ps_usual"]).to_numpy()
        usual = both["total_ps_usual"].to_numpy()
        # Kernels that take next to no time say nothing.
        counted = usual > 0.01 * usual.sum()
        slower = ratio - 1 > _SLOWER * (ratio[counted].max() - 1)
        share = float(usual[slower & counted].sum() / usual[counted].sum())
        worst = self._names[both["op"][int(np.argmax(np.where(counted, ratio, 0)))]]
        if share < _ALL_KERNELS:
            text = f"{worst} takes {ratio[counted].max():.2f} × as long, most other kernels do not"
            return Cause("memory", text, pattern)
        typical = float(np.median(ratio[counted]))
        return Cause("compute", f"kernels take {typical:.2f} × as long as on its peers", pattern)
