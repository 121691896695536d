"""Who is slow, by how much, and what it costs: few names, each with its evidence.

Each set of units that may share a fault (a device, host, rack, the same device of every host, a
coordinate of an axis) is held against its peers: by how much more own work it takes in a step than
the median peer, in units of the spread among peers (z). Sets that stand out are replayed: in the
step with typical times everywhere, only they keep their own. What that takes longer is their
*cost*; it does not vanish where two are slow together. What the recorded step would save without
them is their *saving*. A set whose part costs nearly as much gives way to the part. Then that set
is taken as fixed, and the next is searched for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import Bool
from stepscope.pod.links import covering, slowness
from stepscope.pod.meetings import Meetings, Units
from stepscope.pod.places import GroupFamily, Set
from stepscope.pod.rows import pieces
from stepscope.pod.saving import PodReplays
from stepscope.pod.typical import Typical
from stepscope.records import dataclass, field

F64 = NDArray[np.float64]
#: Beyond this a set is not one of many: 0.1 false alarms among 10,000 hosts with 20 measures.
Z_FROM: Final = 5.1
#: A set that costs less of the step is not named.
COST_FROM: Final = 0.01
#: A step in which a set takes this share of its usual excess more than typical counts as late.
_LATE: Final = 0.5
# Peers are never more alike than this share of what they do.
_ALIKE: Final = 0.005
# A single measure is never more exact than this share of a step's work.
_RESOLVED: Final = 0.001
_MOST: Final = 20
# A set is named as a whole if this share of its units has at least half of its mean excess.
_SHARED: Final = 0.75
# Of the sets that stand out, so many are replayed.
_REPLAYED: Final = 30


@dataclass(frozen=True, slots=True)
class Suspect:
    """A set of units, or the links of one, that makes the pod slower.

    Attributes:
        where: The set.
        kind: "work", "link" (transfers through it are slow) or "share" (it was given more to do).
        cost_ps: Of a mean step, by addition: typical step with only this as recorded.
        saving_ps: Of a mean step, by removal: recorded step with this typical.
        error_ps: Standard error of the cost, from step to step.
        z: How far from its peers.
        ratio: Its own work, or transfers, as a multiple of the peers'.
        late_frac: Share of the steps in which it is late.
        first_late: The first of these steps, as a place in ``Meetings.steps``; -1 for none.
        peers: How many sets it was held against.
    """

    where: Set
    kind: str
    cost_ps: float
    saving_ps: float
    error_ps: float
    z: float
    ratio: float
    late_frac: float
    first_late: int
    peers: int


@dataclass
class Search:
    """One pod, searched for suspects.

    Attributes:
        measures: By measure, what each unit spends on it more than its peers, ps a step.
        steps: How many steps the recording has.
        typical_ps: Mean step with typical times everywhere.
        recorded_ps: Mean step of the replay as recorded.
    """

    found: Meetings
    units: Units
    typical: Typical
    replays: PodReplays
    families: list[GroupFamily]
    measures: dict[str, F64]
    steps: int = field(init=False)
    typical_ps: float = field(init=False)
    recorded_ps: float = field(init=False)
    _excess: F64 = field(init=False)
    _usual: F64 = field(init=False)

    def __post_init__(self) -> None:
        self.steps = max(len(self.found.steps), 1)
        everything = np.ones(len(self.units), dtype=np.bool_)
        nodes = np.ones(len(self.found.size), dtype=np.bool_)
        self.recorded_ps = self.replays.recorded_ps / self.steps
        self.typical_ps = self.replays.length_ps(everything, nodes) / self.steps
        # By unit and step: own work beyond typical, and what is typical.
        own = self.found.by_step(len(self.units), self.found.stretch_ps)
        self._usual = self.found.by_step(len(self.units), self.typical.stretch_ps)
        self._excess = own - self._usual

    def run(self) -> list[Suspect]:
        """The suspects, the most expensive first."""
        named: list[Suspect] = []
        fixed = np.zeros(len(self.units), dtype=np.bool_)
        while len(named) < _MOST:
            one = self._worst(fixed)
            if one is None:
                break
            named.append(one)
            fixed |= one.where.units
        return sorted([*named, *self._links(), *self._shares()], key=lambda one: -one.cost_ps)

    def _shares(self) -> list[Suspect]:
        """Stages that were given more to do than the median stage."""
        stages = next((one for one in self.families if one.kind == "stage"), None)
        if stages is None or len(stages) < 2:
            return []
        work = stages.means(self._usual.mean(axis=1))
        middle = float(np.quantile(work, 0.5, method="lower"))
        everything = np.ones(len(self.found.size), dtype=np.bool_)
        # Devices of a stage differ, so does the mean of a stage; two of these are compared.
        own = self._excess.mean(axis=1)
        apart = 1.4826 * float(np.median(np.abs(own - np.median(own)))) * np.sqrt(2) * 1.2533
        found = []
        for place, mine in enumerate(work.tolist()):
            if mine <= middle:
                continue
            one = stages[place]
            even = np.where(one.units, middle / mine, 1.0)
            length = self.replays.length_ps(np.ones(len(even), np.bool_), everything, even)
            cost = self.typical_ps - length / self.steps
            z = (mine - middle) / max(apart / float(np.sqrt(one.units.sum())), _ALIKE * middle)
            if cost < COST_FROM * self.recorded_ps or z < Z_FROM:
                continue
            found.append(
                Suspect(
                    where=one,
                    kind="share",
                    cost_ps=cost,
                    saving_ps=cost,
                    error_ps=0.0,
                    z=z,
                    ratio=mine / middle,
                    late_frac=1.0,
                    first_late=0,
                    peers=len(stages) - 1,
                )
            )
        return found

    def _worst(self, fixed: Bool) -> Suspect | None:
        """Of the sets not fixed yet that stand out and cost enough, the one that explains most."""
        for where, z, peers in self._standing(fixed):
            mine = where.units & ~fixed
            cost = self._cost_ps(mine)
            if cost >= COST_FROM * self.recorded_ps:
                return self._suspect(where, cost, z, peers, mine)
        return None

    def _standing(self, fixed: Bool) -> list[tuple[Set, float, int]]:
        """Sets of which nearly all stand out from their kind: z, and how many those are.

        First the set with the most excess over typical in any measure, all its units together.
        """
        best: dict[str, tuple[float, Set, float, int]] = {}
        for name, values in {"work": self._excess.mean(axis=1), **self.measures}.items():
            excess = values.copy()
            excess[fixed] = np.median(excess)
            for one, z, peers in self._apart(excess, of_steps=name == "work"):
                captured = float(excess[one.units].sum())
                if one.name not in best or captured > best[one.name][0]:
                    best[one.name] = captured, one, z, peers
        ordered = sorted(best.values(), key=lambda one: -one[0])
        return [one[1:] for one in ordered[:_REPLAYED]]

    def _apart(self, excess: F64, *, of_steps: bool) -> Iterator[tuple[Set, float, int]]:
        """Sets that stand out in one measure."""
        usual = self._usual.mean(axis=1)
        apart = 1.4826 * float(np.median(np.abs(excess - np.median(excess))))
        for family in self.families:
            if len(family) < 2:
                continue
            mine, work = family.means(excess), family.means(usual)
            middle = np.median(mine)
            spread = np.full(len(family), 1.4826 * np.median(np.abs(mine - middle)))
            noise = self._noise(family) if of_steps else np.zeros(len(family))
            floor = (_ALIKE if of_steps else _RESOLVED) * work
            own = apart / np.sqrt(np.maximum(family.size, 1))
            z = (mine - middle) / np.maximum(np.max([spread, floor, noise, own], axis=0), 1.0)
            inside = family.place >= 0
            half = excess[inside] > mine[family.place[inside]] / 2
            shared = np.bincount(family.place[inside], half, len(family)) / family.size
            stands = (z > Z_FROM) & (mine > 0) & (shared >= _SHARED)
            for one in np.flatnonzero(stands).tolist():
                yield family[one], float(z[one]), len(family) - 1

    def _noise(self, family: GroupFamily) -> F64:
        """Standard errors of the sets' mean steps among their usual steps."""
        by_step = family.means(self._excess)
        apart = np.abs(by_step - np.median(by_step, axis=1, keepdims=True))
        found: F64 = 1.4826 * np.median(apart, axis=1) / np.sqrt(by_step.shape[1])
        return found

    def _cost_ps(self, units: Bool) -> float:
        """What a step takes longer where all is typical but these units."""
        nodes = np.ones(len(self.found.size), dtype=np.bool_)
        length = self.replays.length_ps(~units, nodes)
        return length / self.steps - self.typical_ps

    def _suspect(self, where: Set, cost: float, z: float, peers: int, mine: Bool) -> Suspect:
        saving = self.replays.saving_ps(mine) / self.steps
        by_step = self._excess[mine].mean(axis=0)
        late = by_step > _LATE * max(float(by_step.mean()), 0.0)
        late &= by_step > _ALIKE * self._usual[mine].mean(axis=0)
        usual = float(self._usual[mine].mean())
        return Suspect(
            where=where,
            kind="work",
            cost_ps=cost,
            saving_ps=saving,
            error_ps=float(by_step.std()) / float(np.sqrt(max(len(by_step), 1))),
            z=z,
            ratio=1 + float(by_step.mean()) / usual if usual > 0 else float("nan"),
            late_frac=float(late.mean()),
            first_late=int(np.argmax(late)) if late.any() else -1,
            peers=peers,
        )

    def _links(self) -> list[Suspect]:
        """Sets through which transfers are slow."""
        ratio, z = slowness(self.found, self.typical)
        slow = z > Z_FROM
        if not slow.any():
            return []
        covers = covering(self.found, self.units, self.families, slow, z <= Z_FROM, _MOST)
        named = [self._link(where, mine, ratio, z) for where, mine in covers]
        cheap = COST_FROM * self.recorded_ps
        return [one for one in named if max(one.cost_ps, one.saving_ps) >= cheap]

    def _link(self, where: Set, communicators: Bool, ratio: F64, z: F64) -> Suspect:
        found = self.found
        nodes = communicators[found.communicator]
        everything = np.ones(len(self.units), dtype=np.bool_)
        length = self.replays.length_ps(everything, ~nodes)
        saving = self.replays.saving_ps(nodes=nodes) / self.steps
        over = np.maximum(np.where(nodes, found.transfer_ps - self.typical.transfer_ps(), 0), 0)
        share = over / np.maximum(found.size, 1)
        by_step = np.zeros(self.steps)
        for piece in pieces(len(found)):
            step = np.maximum(found.step[piece], 0)
            by_step += np.bincount(step, share[found.node[piece]], self.steps)
        late = by_step > _LATE * float(by_step.mean())
        return Suspect(
            where=where,
            kind="link",
            cost_ps=length / self.steps - self.typical_ps,
            saving_ps=saving,
            error_ps=float(by_step.std()) / float(np.sqrt(max(len(by_step), 1))),
            z=float(z[communicators].max()),
            ratio=float(np.median(ratio[communicators])),
            late_frac=float(late.mean()),
            first_late=int(np.argmax(late)) if late.any() else -1,
            peers=int((~communicators).sum()),
        )
