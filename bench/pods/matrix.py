"""Every fault at every size in every layout: is the right one named first, with the right cause?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from bench.pods.faults import FAULTS, Truth
from bench.pods.job import Layout, Simulation, no_fault
from bench.pods.recorded import Damage, summaries
from stepscope.errors import NothingToShow
from stepscope.pod.analyse import analyse
from stepscope.pod.report import Pod

LAYOUTS = (
    Layout(1, 64, 1),
    Layout(1, 16, 4),
    Layout(4, 4, 4),
    Layout(4, 16, 1),
)
SIZES = (0.05, 0.1, 0.2, 0.4, 0.8)
#: A fault that costs less of the step need not be found.
COST_FROM = 0.03
# What recordings cannot tell: with one communicator of all no link stands out; without stages
# there is no last one; and a rail of which only one group of replicas is seen is reported as that.
_UNTOLD = {
    (1, 64, 1): {"nic_slow", "rail_slow", "last_stage"},
    (1, 16, 4): {"nic_slow", "rail_slow", "last_stage"},
}


@dataclass
class Trial:
    """One pod.

    Attributes:
        fault, layout, size, seed: What it is.
        cost: True share of the step.
        predicted: Saving predicted for the first suspect, as a share of the step.
        found: Whether whom is to be named was named first.
        cause: The cause told; "" where nobody was named.
        cause_right: Whether it is one of the right ones.
    """

    fault: str
    layout: tuple[int, int, int]
    size: float
    seed: int
    cost: float
    predicted: float
    found: bool
    cause: str
    cause_right: bool


@dataclass
class Matrix:
    """All trials, and what clean pods were said to have."""

    trials: list[Trial] = field(default_factory=list)
    clean: int = 0
    named_in_clean: int = 0

    def render(self) -> str:
        """The confusion matrix as text."""
        counted = [one for one in self.trials if one.cost >= COST_FROM]
        large = [one for one in counted if one.cost >= 0.1]
        kinds = sorted({one.fault for one in counted})
        causes = sorted({one.cause or "nobody" for one in counted})
        lines = ["fault".ljust(18) + "pods  found  " + "".join(name.rjust(10) for name in causes)]
        for kind in kinds:
            mine = [one for one in counted if one.fault == kind]
            told = Counter(one.cause or "nobody" for one in mine)
            found = sum(one.found for one in mine)
            row = "".join(str(told[name] or "·").rjust(10) for name in causes)
            lines.append(f"{kind.ljust(18)}{len(mine):4d}  {found:5d}  {row}")
        for label, group in (("≥ 3 %", counted), ("≥ 10 %", large)):
            total = max(len(group), 1)
            lines.append(
                f"cost {label}: {len(group)} pods, right one first "
                f"{sum(one.found for one in group) / total:.1%}, right cause "
                f"{sum(one.cause_right for one in group) / total:.1%}"
            )
        errors = [abs(one.predicted - one.cost) / one.cost for one in counted if one.found]
        if errors:
            middle, most = np.quantile(errors, [0.5, 0.9]).tolist()
            lines.append(f"predicted saving: median error {middle:.1%}, p90 {most:.1%}")
        lines.append(f"clean pods: {self.clean}, named in them: {self.named_in_clean}")
        return "\n".join(lines)


def trials(wanted: int, seed: int = 1) -> Iterator[Trial]:
    """So many pods whose fault costs enough, kinds, sizes and layouts in turn."""
    cases = [
        (layout, name, size)
        for size in SIZES
        for layout in LAYOUTS
        for name in FAULTS
        if name not in _UNTOLD.get(layout.shape, ())
    ]
    done = 0
    for round_ in range(20):
        for place, (layout, name, size) in enumerate(cases):
            if done >= wanted:
                return
            one = trial(layout, name, size, seed + 1000 * round_ + place)
            if one.cost >= COST_FROM:
                done += 1
                yield one


def trial(layout: Layout, name: str, size: float, seed: int) -> Trial:
    """One pod with one fault."""
    random = np.random.default_rng(seed)
    fault, truth = FAULTS[name](layout, size, random)
    run = Simulation(layout, fault, seed).simulate()
    healthy = Simulation(layout, no_fault(layout), seed).simulate()
    pod = analyse(summaries(run, seed, Damage()), "simulated")
    cost = (run.step_ms - healthy.step_ms) / run.step_ms
    found, predicted, cause = judged(pod, truth, layout)
    right = cause in truth.causes if cause else not truth.units and pod.verdict == "rotating"
    return Trial(name, layout.shape, size, seed, cost, predicted, found, cause, right)


def judged(pod: Pod, truth: Truth, layout: Layout) -> tuple[bool, float, str]:
    """Whether the first suspects are whom the truth names, the saving, and the cause told."""
    rows = list(pod.suspects.rows())
    if not truth.units:
        costly = [row for row in rows if row["cost_frac"] > COST_FROM]
        return not costly, pod.step_ms and (pod.step_ms - pod.typical_step_ms) / pod.step_ms, ""
    if not rows:
        return False, 0.0, ""
    saving = rows[0]["saving_ms"] / pod.step_ms
    named = _ranks(pod, rows[0]["name"], layout)
    if truth.kind == "two_hosts" and len(rows) > 1:
        named |= _ranks(pod, rows[1]["name"], layout)
        both = [
            row for row in pod.costs.rows() if row["part"] in (rows[0]["name"], rows[1]["name"])
        ]
        saving = sum(row["time_ms"] for row in both) / pod.step_ms
    return named == truth.units, saving, rows[0]["cause"]


def _ranks(pod: Pod, name: str, layout: Layout) -> frozenset[int]:
    """The ranks of the devices of a suspect."""
    found = set()
    for row in pod.devices.rows():
        local = int(row["device"].removeprefix("GPU:"))
        rack = row["host"].split("-")[0]
        own = f"{row['device']} of {row['host']}"
        names = {own, row["host"], f"{rack}* (a guess, by names)", f"device {local} of every host"}
        if name in names | set(row["place"].split(" · ")):
            found.add(row["rank"] + local)
    return frozenset(found)


def clean(pods: int, hosts: int, seed: int = 9000) -> tuple[int, int]:
    """How many clean pods were looked at, and how many hosts were named in them."""
    named = 0
    for one in range(pods):
        devices = 8
        base = LAYOUTS[one % len(LAYOUTS)]
        replicas = hosts * devices // (base.stages * base.tensor)
        layout = Layout(base.stages, replicas, base.tensor, devices, layers=2, batches=2, rack=16)
        run = Simulation(layout, no_fault(layout), seed + one).simulate()
        try:
            named += len(analyse(summaries(run, seed + one), "clean").suspects)
        except NothingToShow:
            raise AssertionError("a simulated pod has collectives") from None
    return pods, named
