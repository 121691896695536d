"""The optimizer updates each variable by itself: hundreds of small ops a step.

What it checks: how many ops the optimizer dispatches in a step, and how long they take on the
host, where its calls or its ops bear its name.
Why it matters: an update of a small variable is all overhead, and a model has hundreds.
What to do: update all variables at once: fused or foreach updates, or a compiled update.
When it is wrong: the variables are so large that their updates are limited by memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.changes import BATCHED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import OptimizerRow

# This many ops a step are updates of single variables; up to this time each is mostly overhead.
_MANY: Final = 100
_SHORT_US: Final = 100.0
# An optimizer that takes less is how frameworks are, not what is wrong with a program.
_ALARM_FRAC: Final = 0.1
# From this share of them on, the ops are dispatched from Python.
_EAGER_FRAC: Final = 0.3
# Expected and largest share that goes where variables are updated together.
_EXPECTED, _MOST = 0.6, 0.95


def optimizer_per_variable(results: Results) -> Iterator[Answer]:
    """Fires when an optimizer dispatches 100 short ops that take 5 % of the step."""
    host = results.host_activity
    step, optimizers = host.step_time_ms, list(host.optimizers.records())
    if not step > 0:
        yield Unknown("All detected steps have zero duration.")
        return
    if not optimizers:
        yield Unknown("No call of an optimizer, and no op named after one, was recorded in a step.")
        return
    worst = max(optimizers, key=lambda one: one.short_ms)
    saving = _EXPECTED * worst.short_ms
    if worst.is_together or worst.ops < _MANY or worst.op_us > _SHORT_US:
        how = ", together" if worst.is_together else ""
        yield Silence(
            f"{worst.optimizer} updates the variables in {worst.ops:.0f} ops{how}, of "
            f"{worst.op_us:.3g} µs in the median."
        )
        return
    if saving < NEGLIGIBLE_FRAC * step:
        yield Silence(
            f"Short ops of {worst.optimizer} take {worst.short_ms / step:.1%} of the step."
        )
        return
    # Inside of a compiled function nothing dispatches them from Python: that is how Keras and its
    # like are made, and no fault of the program.
    overview = results.optional.overview_page
    is_graph = (
        overview is not None
        and overview.environment.framework.startswith("TensorFlow")
        and host.eager_ops < _EAGER_FRAC * worst.ops
    )
    yield Finding(
        rule=RULE.id,
        severity="info" if is_graph or saving < _ALARM_FRAC * step else severity_of(saving, step),
        saving_ms=saving,
        saving_high_ms=_MOST * worst.short_ms,
        confidence=0.7,
        message=f"{worst.optimizer} updates variable by variable: {worst.ops:.0f} ops, half of "
        f"them below {worst.op_us:.3g} µs, and what hands them over take {worst.short_ms:.3g} ms "
        f"of each {step:.3g} ms step{_and_large(worst)}.",
        measured={
            "optimizer": worst.optimizer,
            "ops_per_step": worst.ops,
            "optimizer_ms": worst.time_ms,
            "short_ms": worst.short_ms,
            "op_us": worst.op_us,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(Ref("host_activity", "optimizers", rows=(worst.optimizer,)),),
        actions=(
            "Let the optimizer update all variables at once (foreach or fused).",
            "Compile the update together with the step.",
        ),
        code=_code(worst.optimizer),
    )


def _code(optimizer: str) -> dict[str, str]:
    return {
        "pytorch": f"optimizer = torch.optim.{_class(optimizer)}(model.parameters(), …, "
        "foreach=True)  # or fused=True, where it has it",
        "tensorflow": "model.compile(optimizer, loss, jit_compile=True)",
        "jax": "update = jax.jit(optimizer.update)  # with the step, not leaf by leaf",
    }


def _and_large(worst: OptimizerRow) -> str:
    """What else it takes, in ops that are not overhead."""
    large = worst.time_ms - worst.short_ms
    if large < NEGLIGIBLE_FRAC * worst.time_ms:
        return ""
    return f"; {large:.3g} ms more are in ops of more than {_SHORT_US:.0f} µs, which stay"


def _class(optimizer: str) -> str:
    """What torch.optim calls an optimizer, as far as its recorded name says so."""
    return optimizer if optimizer.isidentifier() and optimizer[:1].isupper() else "AdamW"


RULE = Rule(
    id="optimizer-per-variable",
    check=optimizer_per_variable,
    needs=("host_activity",),
    optional=("overview_page",),
    evidence=("host",),
    doc=__doc__ or "",
    change=BATCHED,
    title="Variables are updated one by one",
    threshold="≥ 100 ops of ≤ 100 µs in the optimizer, and ≥ 5 % of the step",
    cause_of=("eager-execution", "dominant-op", "launch-bound", "tiny-kernels"),
)
