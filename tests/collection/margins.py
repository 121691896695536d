"""How wide ranges of savings must be, so that they hold for programs that nobody has seen.

python -m tests.collection.margins

For findings about a part of the step that the account plays again, the measured saving tells two
things: which share of the part's typical saving went, and by how many standard errors of the mean
step the rest was shorter than the least that was foreseen of it (``evidence.savings.beyond``). The
least share of a class, and the number of errors, are quantiles of both over the recordings to
develop on: conformal prediction, with whole programs as its units. Held out, each program gets the
quantiles of all others; how often its own savings are within them is what a stranger's program can
expect. The shares in ``effects.toml`` lie near those for 10 to 20 % of misses; the errors are
two, as for any mean. How the ranges do as they are, the scorer prints by class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, isnan
from statistics import median
from typing import Any, Final

import stepscope
from stepscope.advice.catalogue import effects
from stepscope.advice.savings import error_frac, is_hidden, played
from stepscope.result import Finding
from tests.collection.labels import Recorded, recordings

NOISE_FRAC: Final = 0.05
# One in so many is allowed to be below the least, and as many above the most.
MISSES: Final = (0.05, 0.1)
CLASSES: Final = {effect.assumption: name for name, effect in effects().items()}


@dataclass(frozen=True, slots=True)
class Case:
    """A finding about a part whose truth was measured; savings are shares of the step.

    Attributes:
        program: Whose.
        change: Name of the class of the change.
        truth: What went, measured.
        typical, most: What the account foresees.
        error: The standard error of the mean step.
    """

    program: str
    change: str
    truth: float
    typical: float
    most: float
    error: float

    @property
    def least_share(self) -> float:
        """The largest least share that would have covered it."""
        return (self.truth + NOISE_FRAC) / self.typical

    @property
    def errors(self) -> float:
        """The smallest number of standard errors by which the rest is shorter that would have."""
        truth, rest = max(self.truth - NOISE_FRAC, 1e-3), max(1 - self.most, 1e-3)
        return (1 - self.most * (1 - truth) / (truth * rest)) / max(self.error, 1e-3)

    def reached(self, errors: float) -> float:
        """The most that goes where the rest of the step is shorter by so many errors."""
        rest = (1 - self.most) * max(1 - errors * self.error, 0.0)
        return self.most / (self.most + rest)


def change_of(finding: Finding | None) -> str:
    """The name of its class of changes; "" where it has none of its own."""
    return "" if finding is None else CLASSES.get(finding.assumption, "")


def case_of(recorded: Recorded) -> Case | None:
    """The first finding about a recording; None where it is not about a part."""
    with stepscope.open(recorded.path) as session:
        findings = session.findings()
        account: Any = session.run("step_account")
    if not findings or "part_ms" not in findings[0].measured or isnan(recorded.saving_frac):
        return None
    first = findings[0]
    alike = [one for one in account.parts.records() if one.kind == first.measured["kind"]]
    if not alike:
        return None
    part = min(alike, key=lambda one: abs(one.time_ms - float(first.measured["part_ms"])))
    _alone, typical, most = (min(one / account.step_time_ms, 1.0) for one in played(part))
    if not typical > 0 or is_hidden(part):
        return None
    program = recorded.label.program
    error = error_frac(account)
    return Case(program, change_of(first), recorded.saving_frac, typical, most, error)


def low_quantile(values: Sequence[float], miss: float) -> float:
    """What at most ``miss`` of further values are expected to be below."""
    at = int(miss * (len(values) + 1)) - 1
    return sorted(values)[max(at, 0)]


def high_quantile(values: Sequence[float], miss: float) -> float:
    """What at most ``miss`` of further values are expected to be above."""
    at = ceil((1 - miss) * (len(values) + 1)) - 1
    return sorted(values)[min(at, len(values) - 1)]


def margins(cases: Sequence[Case], miss: float) -> tuple[float, float]:
    """The least share of a part that goes, and the standard errors to allow for."""
    least = min(low_quantile([one.least_share for one in cases], miss), 1.0)
    errors = high_quantile([one.errors for one in cases], miss)
    return least, max(errors, 0.0)


def held_out(cases: Sequence[Case], miss: float) -> tuple[int, float]:
    """How many cases the margins of all other programs cover, and the ranges' median width."""
    covered, widths = 0, []
    for one in cases:
        others = [case for case in cases if case.program != one.program]
        least, errors = margins(others, miss)
        high = one.reached(errors)
        low = min(least * one.typical, high)
        covered += low - NOISE_FRAC <= one.truth <= high + NOISE_FRAC
        widths.append(high - low)
    return covered, median(widths)


def scatter(cases: Sequence[Case]) -> list[float]:
    """By how much the truths of one program differ between its recordings, pair by pair."""
    pairs = combinations(cases, 2)
    return [abs(a.truth - b.truth) for a, b in pairs if a.program == b.program]


def report(cases: Sequence[Case]) -> str:
    """Margins by class, and how they hold for programs left out."""
    lines = ["class of change   recordings  programs  least share at 10 %  errors at 10 %"]
    for name in sorted({one.change for one in cases}):
        own = [one for one in cases if one.change == name]
        least, errors = margins(own, MISSES[1])
        programs = len({one.program for one in own})
        lines.append(f"{name:16}  {len(own):10}  {programs:8}  {least:19.2f}  {errors:14.2f}")
    for miss in MISSES:
        covered, width = held_out(cases, miss)
        least, errors = margins(cases, miss)
        lines.append(
            f"misses {miss:.0%} a side: least {least:.2f}, errors {errors:.2f}; programs left out "
            f"covered {covered} of {len(cases)}, median width {width:.0%} of the step"
        )
    apart = scatter(cases)
    if apart:
        lines.append(
            f"truths of one program apart: median {median(apart):.0%} of the step, "
            f"one in ten above {high_quantile(apart, 0.1):.0%}"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the margins."""
    listed = [one for one in recordings("develop") if one.label.planted is not None]
    cases = [case for one in listed if (case := case_of(one)) is not None]
    print(report(cases))


if __name__ == "__main__":
    main()
