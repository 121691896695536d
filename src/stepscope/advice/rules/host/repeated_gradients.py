"""The same gradients are computed several times in a step.

What it checks: gradients of one forward op, by the numbers of PyTorch's autograd, or of one weight,
by the names that TensorFlow gives them, which a step computes more than once.
Why it matters: a backward pass costs about twice a forward pass; one for each of several losses
pays for the layers that they share every time.
What to do: add the losses up, each times its weight, and go backward once; detach what a loss does
not train; ask a persistent tape for all gradients in one call.
When it is wrong: each pass is for its own sake, as where gradients of several tasks are compared
or projected one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.parts.changes import REMOVED
from stepscope.advice.parts.part_facts import brief_path
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount

_SOME_FRAC = 0.05
# What goes with the passes that are left out: the last of them may train something of its own.
_LOW_FRAC, _EXPECTED_FRAC = 0.6, 0.9
_SUM = "sum(weight * loss for weight, loss in zip(weights, losses))"
_SUM_OF_CALLS = "sum(weight * loss(params, batch) for weight, loss in zip(weights, losses))"
_CODE = {
    "pytorch": f"loss = {_SUM}\nloss.backward()",
    "tensorflow": f"loss = {_SUM}  # within the tape\ngradients = tape.gradient(loss, variables)",
    "jax": f"def loss_of(params): return {_SUM_OF_CALLS}\ngradients = jax.grad(loss_of)(params)",
}
_NO_PLACE = " Most of it is {op}; which line runs it was not recorded."


def repeated_gradients(results: Results) -> Iterator[Answer]:
    """Fires when gradients that were computed before take 5 % of the step."""
    account = results.step_account
    step, found = account.step_time_ms, account.repeated_gradients
    if not account.step_count or not step > 0:
        yield Unknown("No step with ops was recorded.")
        return
    if found is None and not _names_gradients(account):
        yield Unknown(
            "No op says which forward op it is the gradient of, as those of PyTorch and of "
            "TensorFlow's functions do."
        )
        return
    if found is None or found.time_ms < _SOME_FRAC * step:
        spent = 0.0 if found is None else found.time_ms
        yield Silence(f"Gradients that were computed before take {spent / step:.0%} of the step.")
        return
    saving = _EXPECTED_FRAC * found.time_ms
    called = f", called from {brief_path(found.caller)}" if found.caller else ""
    at = brief_path(f"{found.file}:{found.line}")
    unplaced = _NO_PLACE.format(op=found.longest)
    where = f" Most of it runs at {at} {found.function}{called}."
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        saving_low_ms=_LOW_FRAC * found.time_ms,
        saving_high_ms=found.time_ms,
        assumption="one backward pass computes what several do now",
        confidence=0.8,
        message=f"Each step goes backward through the same forward ops {found.times:.0f} times: "
        f"what was computed before takes {found.time_ms:.3g} of its {step:.3g} ms."
        f"{where if found.file else unplaced}",
        place=Place(
            function=found.function, file=found.file, line=found.line or 0, caller=found.caller
        )
        if found.file
        else None,
        measured={
            "repeated_ms": found.time_ms,
            "times": found.times,
            "ops": found.ops,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(Ref("step_account", "repeated_gradients"),),
        actions=(
            "Add the losses up, each times its weight, and go backward once: [pytorch: one "
            "backward() of their sum in place of retain_graph=True | tensorflow: one tape.gradient "
            "of their sum in place of a persistent tape | jax: one jax.grad of their sum]. "
            "Weights multiply the losses instead of their gradients.",
            "Detach what a loss does not train, so that its gradient ends there: "
            "[pytorch: fake.detach() | tensorflow: tf.stop_gradient | jax: "
            "jax.lax.stop_gradient].",
        ),
        code=_CODE,
    )


def _names_gradients(account: StepAccount) -> bool:
    """Whether anything of the step says that it is a gradient, and of what."""
    said = (f"{one.name} {one.between}" for one in account.owners.records())
    return any("Backward" in one or "gradient_tape/" in one for one in said)


RULE = Rule(
    id="repeated-gradients",
    check=repeated_gradients,
    needs=("step_account",),
    evidence=("ops",),
    parts=("op", "function", "framework", "eager"),
    doc=__doc__ or "",
    change=REMOVED,
    title="The same gradients are computed several times",
    threshold="gradients that were computed before ≥ 5 % of the step",
)
