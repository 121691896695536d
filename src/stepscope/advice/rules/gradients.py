"""Rules about gradients that a step need not compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.catalogue import thresholds
from stepscope.advice.match import match
from stepscope.advice.render import below, silent, unknown
from stepscope.advice.results import Results
from stepscope.registry import Answer
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount
    from stepscope.tables.parts.gradients import NeedlessGradients

# Shares of the ops' time that preparing gradients takes: little in large ops, half in small ones.
_PREPARED: Final = (0.05, 0.25, 0.6)
# Where nothing is trained at all, a pass gives up what it kept with its result: an op costs the
# note of its gradient, in ms, and a share of its time for memory that is not used again at once.
_NOTE_MS, _KEPT = (0.001, 0.006, 0.02), (0.0, 0.02, 0.06)
# Of a frozen model's backward pass what remains is the way to its input, where something before it
# is trained; without a graph its forward pass is shorter, too.
_UNCLAIMED: Final = (0.4, 0.75, 1.1)
# Share of the repeated passes that can go: the last of them may train other parameters.
_REPEATED: Final = (0.6, 0.9, 1.0)
# What autograd calls the evaluation of a node.
_EVALUATES: Final = "evaluate_function: "


def unused_gradients(results: Results) -> Iterator[Answer]:
    """Fire when gradients without their use cost 10 % of the step."""
    account, part = results.step_account, thresholds()["part"]
    step, unused, unclaimed = (
        account.step_time_ms, account.unused_gradients, account.unclaimed_gradients
    )  # fmt: skip
    is_unclaimed = unclaimed is not None and unclaimed.time_ms >= part * step
    if unclaimed is not None and is_unclaimed:
        yield _unclaimed(unclaimed, step)
    if unused is not None and unused.time_ms >= part * step:
        yield _unused(unused, step)
    elif is_unclaimed:
        return
    elif unused is None:
        yield silent("no_unused")
    else:
        yield below(unused.time_ms, step, part)


def _unused(found: NeedlessGradients, step: float) -> Finding:
    """Return the finding of forward ops that no backward pass reached."""
    low, saving, high = (share * found.time_ms for share in _PREPARED)
    if found.is_all:
        notes = zip(_NOTE_MS, _KEPT, (low, saving, high), strict=True)
        low, saving, high = (
            min(most, note * found.ops + kept * found.time_ms) for note, kept, most in notes
        )
    return match(
        "unused-gradients",
        step,
        saving,
        0.8,
        low_ms=low,
        high_ms=high,
        place=found.place,
        evidence=(Ref("step_account", "unused_gradients"),),
        unused_ms=found.time_ms,
        ops=found.ops,
        longest=None if found.place else found.longest,
    )


def _unclaimed(found: NeedlessGradients, step: float) -> Finding:
    """Return the finding of gradients of parameters that no optimizer owns."""
    low, saving, high = (share * found.time_ms for share in _UNCLAIMED)
    return match(
        "unclaimed-gradients",
        step,
        saving,
        0.8,
        cost_ms=found.time_ms,
        low_ms=low,
        high_ms=min(high, step),
        place=found.place,
        evidence=(Ref("step_account", "unclaimed_gradients"),),
        unused_ms=found.time_ms,
        parameters=found.ops,
        updated=found.updated,
        longest=None if found.place else found.longest.rpartition(_EVALUATES)[2],
    )


def repeated_gradients(results: Results) -> Answer:
    """Fire when gradients that were computed before cost 5 % of the step."""
    account, some = results.step_account, thresholds()["some"]
    step, found = account.step_time_ms, account.repeated_gradients
    if found is None and not _names_gradients(account):
        return unknown("no_gradient_names")
    if found is None or found.time_ms < some * step:
        return below(0.0 if found is None else found.time_ms, step, some)
    low, saving, high = (share * found.time_ms for share in _REPEATED)
    return match(
        "repeated-gradients",
        step,
        saving,
        0.8,
        cost_ms=found.time_ms,
        low_ms=low,
        high_ms=high,
        place=found.place,
        evidence=(Ref("step_account", "repeated_gradients"),),
        repeated_ms=found.time_ms,
        times=round(found.times),
        ops=found.ops,
        longest=None if found.place else found.longest,
    )


def _names_gradients(account: StepAccount) -> bool:
    """Return whether anything of the step is named as a gradient, and of what."""
    owners = (f"{one.name} {one.within}" for one in account.owners.records())
    return any("Backward" in one for one in owners)
