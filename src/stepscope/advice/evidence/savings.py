"""What a change saves: at least, as expected and at most.

The account of the step has been played again without each of its parts (``step_account.parts``):
what is left of a part's time when only the part goes, in the mean and in the typical step, and
when all goes with it that can. How far the steps differ tells how well their mean is known.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Final

from stepscope.advice.catalogue import thresholds
from stepscope.result import Finding

if TYPE_CHECKING:
    from stepscope.analysis.step_account import AccountPart, StepAccount
    from stepscope.registry import ChangeClass

# A mean is within as many standard errors of what it would be of many steps, 19 times of 20.
ERRORS: Final = 2.0
# Threads that make batches take cores and memory bandwidth from the rest of the step: up to this
# share of it where they never pause.
_MAKING_FRAC = 0.25
# The error of a single step, as a share of it: how far others would differ is unknown.
_OF_ONE_FRAC = 0.2
# Parts that are made of ops.
_OF_OPS: Final = ("op", "layer", "program", "function")
# Parts that are what a function does itself.
_OF_CODE: Final = ("python", "library")
# A part of which less delays the step is bounded by what runs beside it, which stays.
_DELAYS_FRAC = 0.8


@dataclass(frozen=True, slots=True)
class Saving:
    """A range, in ms per mean step.

    Attributes:
        low_ms: Where the least goes that a change of its kind takes away, and nothing with it.
        expected_ms: Between the two.
        high_ms: Where the part goes, and with it what surrounds it, of a step that may be shorter.
    """

    low_ms: float
    expected_ms: float
    high_ms: float


def saving_of(
    account: StepAccount, part: AccountPart, change: ChangeClass, expected: float
) -> Saving:
    """What a change to a part saves.

    Args:
        account: Of the step.
        part: One of its parts.
        change: Its class: which share goes at least, and of what is beside it at most.
        expected: Share that is expected to go.
    """
    alone, typical, most = played(part)
    rest = account.step_time_ms - part.time_ms if change.overlaps else account.step_time_ms
    alone, typical = min(alone, rest), min(typical, rest)
    low = change.least * typical
    most = alone + change.beside * max(most - alone, 0.0)
    most = max(most, _of_its_function(account, part))
    high = max(min(upper_bound_ms(account, part, most), rest), expected * alone)
    low = min(low, high)
    low += change.gains * (high - low)
    return Saving(low, max(expected * alone, low), high)


# A function with this share of the step is its loop, or calls all of it: it cannot be left out.
_ALL_FRAC: Final = 0.95


def _of_its_function(account: StepAccount, part: AccountPart) -> float:
    """What all parts of the program's function that a part is in save alone; 0.0 where unknown.

    Who changes an op may find that the whole of what it belongs to is not needed. Where a function
    itself is to go, what it calls goes with it.
    """
    if not part.function or part.kind not in (*_OF_OPS, *_OF_CODE):
        return 0.0
    is_code = part.kind in _OF_CODE
    whole = sum(
        played(one)[0]
        for one in account.part_list()
        if (one.file, one.function) == (part.file, part.function)
        or (is_code and _calls(part, one.caller))
    )
    return whole if whole < _ALL_FRAC * account.step_time_ms else 0.0


def _calls(part: AccountPart, caller: str) -> bool:
    """Whether a part's function is the caller, written as "file:line function"."""
    return caller.startswith(f"{part.file}:") and caller.endswith(f" {part.function}")


def upper_bound_ms(account: StepAccount, part: AccountPart, most_ms: float) -> float:
    """The most that goes: its share of a step whose rest is shorter than on average.

    What steps differ by came from outside, or in few of them: the rest may be shorter by as many
    errors of the mean as are likely. Beside a device nothing is known of that.
    """
    step = account.step_time_ms
    if account.has_device or is_hidden(part) or not 0 < most_ms < step:
        return most_ms
    rest = (step - most_ms) * max(1 - ERRORS * error_frac(account), 0.0)
    return step * most_ms / (most_ms + rest)


def error_frac(account: StepAccount) -> float:
    """The standard error of the mean step, as a share of it."""
    error = account.step_error_ms / account.step_time_ms
    return _OF_ONE_FRAC if isnan(error) else error


def without_saving(finding: Finding, why: str) -> Finding:
    """The finding with the reason why it promises nothing in place of what it saves.

    Args:
        finding: It.
        why: A clause.
    """
    measured = {name: value for name, value in finding.measured.items() if name != "step_after_ms"}
    return replace(
        finding,
        saving_ms=None,
        saving_low_ms=None,
        saving_high_ms=None,
        assumption="",
        no_saving=why,
        measured=measured,
    )


def is_hidden(part: AccountPart) -> bool:
    """Whether much of it runs beside what the step would wait for without it."""
    return not part.alone_ms >= _DELAYS_FRAC * part.time_ms


def played(part: AccountPart) -> tuple[float, float, float]:
    """What it saves alone, in a typical step and at most; small parts were not played again."""
    if not part.alone_ms >= 0:
        return part.time_ms, part.time_ms, part.time_ms
    is_typical = part.typical_ms > 0 and not part.number("steps_frac") < thresholds()["half"]
    return part.alone_ms, part.typical_ms if is_typical else part.alone_ms, part.most_ms


def widened(account: StepAccount, kinds: Collection[str], high_ms: float, beside: float) -> float:
    """What a change saves at most that takes so much from a part of one of these kinds.

    The part is the one of that size: what goes with it goes with the change in proportion.

    Args:
        account: Of the step.
        kinds: Of the parts that the change is made to.
        high_ms: What it takes from them at most.
        beside: The share that goes at most of what may go with them.
    """
    parts = [part for part in account.part_list() if part.kind in kinds and part.time_ms > 0]
    nearest = min(parts, key=lambda part: abs(part.time_ms - high_ms), default=None)
    if nearest is None:
        return high_ms
    extra = beside * max(played(nearest)[2] - nearest.time_ms, 0.0)
    most = high_ms + extra * min(high_ms / nearest.time_ms, 1.0)
    step = account.step_time_ms
    if nearest.kind == "input" and most < step:
        most += _MAKING_FRAC * most / step * (step - most)
    return min(upper_bound_ms(account, nearest, most), step)
