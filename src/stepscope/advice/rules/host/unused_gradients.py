"""Gradients are prepared that nothing computes.

What it checks: forward ops of PyTorch's that were recorded for a gradient, and whose gradient never
ran: each takes a number, which its gradient would carry.
Why it matters: every op makes a node of the graph and keeps its inputs, which costs memory, and
time for each op; what is kept in a list keeps the whole graph.
What to do: evaluate and choose within torch.no_grad() or torch.inference_mode(); detach what a
target or a metric is made of.
When it is wrong: the gradients are computed later than the recording lasts (accumulation over many
forward passes).
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.changes import REMOVED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref

_SOME_FRAC = 0.10
# Shares of these ops' time that preparing takes: little in large ops, half of it in small ones.
_LOW_FRAC, _EXPECTED_FRAC, _HIGH_FRAC = 0.05, 0.25, 0.6
_NO_PLACE = " Most of it is {op}; which line runs it was not recorded."


def unused_gradients(results: Results) -> Iterator[Answer]:
    """Fires when forward ops without their gradients take 10 % of the step."""
    account = results.step_account
    step, found = account.step_time_ms, account.unused_gradients
    if not account.step_count or not step > 0:
        yield Unknown("No step with ops was recorded.")
        return
    if found is None:
        yield Silence("No forward op is known whose gradient nothing computes.")
        return
    if found.time_ms < _SOME_FRAC * step:
        yield Silence(
            f"Forward ops whose gradients nothing computed take {found.time_ms / step:.0%} of the "
            "step."
        )
        return
    saving = _EXPECTED_FRAC * found.time_ms
    called = f", called from {found.caller}" if found.caller else ""
    unplaced = _NO_PLACE.format(op=found.longest)
    where = f" Most are run by {found.function} ({found.file}:{found.line}){called}."
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        saving_low_ms=_LOW_FRAC * found.time_ms,
        saving_high_ms=_HIGH_FRAC * found.time_ms,
        assumption="the ops still run, without what is kept for their gradients",
        confidence=0.8,
        message=f"Gradients are prepared for ops that take {found.time_ms:.3g} of each "
        f"{step:.3g} ms step ({found.ops:,.0f} ops), and nothing recorded computes them."
        f"{where if found.function else unplaced}",
        place=Place(
            function=found.function, file=found.file, line=found.line or 0, caller=found.caller
        )
        if found.function
        else None,
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


RULE = Rule(
    id="unused-gradients",
    check=unused_gradients,
    needs=("step_account",),
    evidence=("ops",),
    doc=__doc__ or "",
    change=REMOVED,
    title="Gradients are prepared that nothing computes",
    threshold="forward ops without their gradients ≥ 10 % of the step",
)
