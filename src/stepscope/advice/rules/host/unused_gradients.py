"""Gradients are prepared or computed that nobody uses.

What it checks: forward ops of PyTorch's that were recorded for a gradient, and whose gradient never
ran: each takes a number, which its gradient would carry. And parameters that a backward pass ends
in, against those that the optimizers of the step update.
Why it matters: every op makes a node of the graph and keeps its inputs, which costs memory, and
microseconds for each op, little of one that is large; what is kept in a list keeps the whole graph.
The gradient of a parameter costs as much as its layer's forward pass, and that of the layer's input
as much again.
What to do: evaluate and choose within torch.no_grad() or torch.inference_mode(); detach what a
target or a metric is made of; freeze what is not trained with requires_grad_(False).
When it is wrong: the gradients are computed later than the recording lasts (accumulation over many
forward passes), or the program updates parameters by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.parts.changes import REMOVED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.verdicts.needless_gradients import NeedlessGradients

_SOME_FRAC = 0.10
# Shares of these ops' time that preparing takes: little in large ops, half of it in small ones.
_LOW_FRAC, _EXPECTED_FRAC, _HIGH_FRAC = 0.05, 0.25, 0.6
# Where nothing is trained at all, a pass gives up what it kept with its result: an op costs the
# note of its gradient, in ms, and a share of its time for memory that is not used again at once.
_NOTE_MS, _KEEP_FRAC = (0.001, 0.006, 0.02), (0.0, 0.02, 0.06)
# Of a frozen model's backward pass what remains is the way to its input, where something before it
# is trained; without a graph its forward pass is shorter, too.
_LOW_UNCLAIMED, _EXPECTED_UNCLAIMED, _HIGH_UNCLAIMED = 0.4, 0.75, 1.1
# What autograd calls the evaluation of a node.
_EVALUATES = "evaluate_function: "
_NO_PLACE = " Most of it is {op}; which line runs it was not recorded."


def unused_gradients(results: Results) -> Iterator[Answer]:
    """Fires when gradients without their use take 10 % of the step."""
    account = results.step_account
    step, found = account.step_time_ms, account.unused_gradients
    if not account.step_count or not step > 0:
        yield Unknown("No step with ops was recorded.")
        return
    unclaimed = account.unclaimed_gradients
    is_unclaimed = unclaimed is not None and unclaimed.time_ms >= _SOME_FRAC * step
    if unclaimed is not None and is_unclaimed:
        yield _computed(unclaimed, step)
    if found is not None and found.time_ms >= _SOME_FRAC * step:
        yield _prepared(found, step)
    elif is_unclaimed:
        return
    elif found is None:
        yield Silence("No forward op is known whose gradient nothing computes.")
    else:
        spent = f"{found.time_ms / step:.0%}"
        yield Silence(f"Forward ops whose gradients nothing computed take {spent} of the step.")


def _prepared(found: NeedlessGradients, step: float) -> Finding:
    """Forward ops that no backward pass reached."""
    low, saving, high = _savings_ms(found)
    unplaced = _NO_PLACE.format(op=found.longest)
    where = f" Most are run by {found.where}."
    return Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        saving_low_ms=low,
        saving_high_ms=high,
        assumption="the ops still run, without what is kept for their gradients",
        confidence=0.8,
        message=f"Gradients are prepared for ops that take {found.time_ms:.3g} of each "
        f"{step:.3g} ms step ({found.ops:,.0f} ops), and nothing recorded computes them."
        f"{where if found.place else unplaced}",
        place=found.place,
        measured={
            "unused_ms": found.time_ms,
            "ops": found.ops,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(Ref("step_account", "unused_gradients"),),
        actions=(
            "Run evaluation, targets and choices within torch.no_grad() or torch.inference_mode().",
            "Keep numbers in lists, not tensors with their graph: loss.item(), output.detach().",
        ),
        code={"pytorch": "with torch.inference_mode():\n    validate(model, loader)"},
    )


def _savings_ms(found: NeedlessGradients) -> tuple[float, float, float]:
    """What preparing gradients costs per step in ms: at least, most likely, at most."""
    shares = (_LOW_FRAC, _EXPECTED_FRAC, _HIGH_FRAC)
    low, expected, high = (one * found.time_ms for one in shares)
    if not found.is_all:
        return low, expected, high
    most = [
        note * found.ops + keep * found.time_ms
        for note, keep in zip(_NOTE_MS, _KEEP_FRAC, strict=True)
    ]
    return min(low, most[0]), min(expected, most[1]), min(high, most[2])


def _computed(found: NeedlessGradients, step: float) -> Finding:
    """Gradients of parameters that no optimizer was given."""
    saving = _EXPECTED_UNCLAIMED * found.time_ms
    unplaced = _NO_PLACE.format(op=found.longest.rpartition(_EVALUATES)[2])
    where = f" Most are those of {found.where}."
    return Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        saving_low_ms=_LOW_UNCLAIMED * found.time_ms,
        saving_high_ms=min(_HIGH_UNCLAIMED * found.time_ms, step),
        assumption="what is not trained computes no gradients, and may pass one on to its input",
        confidence=0.8,
        message=f"A backward pass computes the gradients of {found.ops:.0f} parameters, and the "
        f"optimizers of the step update {found.updated:.0f}. By their number the rest takes "
        f"{found.time_ms:.3g} of its {step:.3g} ms."
        f"{where if found.place else unplaced}",
        place=found.place,
        measured={
            "unused_ms": found.time_ms,
            "parameters": found.ops,
            "updated": found.updated,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(Ref("step_account", "unclaimed_gradients"),),
        actions=(
            "Run a teacher, a target network or a fixed feature extractor within "
            "torch.no_grad(), where nothing before it is trained.",
            "Freeze what is passed through but not trained: requires_grad_(False). If it should "
            "be trained, the optimizer was not given its parameters.",
        ),
        code={"pytorch": "backbone.requires_grad_(False)"},
    )


RULE = Rule(
    id="unused-gradients",
    check=unused_gradients,
    needs=("step_account",),
    evidence=("ops",),
    doc=__doc__ or "",
    change=REMOVED,
    title="Gradients that nobody uses",
    threshold="forward ops without gradients, or gradients without an update ≥ 10 % of the step",
)
