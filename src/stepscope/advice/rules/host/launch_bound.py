"""The device waits for the host to launch work.

What it checks: the share of the step in which the host launches kernels while the device idles.
Why it matters: the device is faster than the program that feeds it.
What to do: launch fewer, larger kernels: compile the step, fuse, enlarge the batch.
When it is wrong: the recorder's own cost per launch is large at high tracer levels.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.launchers import RECORDED, may_be_the_recorders
from stepscope.advice.evidence.steps import MOSTLY_REPLAYED, NO_STEPS, replayed_frac
from stepscope.advice.evidence.turns import loop_within
from stepscope.advice.parts.changes import BATCHED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, POSSIBLE, Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref, Severity


def launch_bound(results: Results) -> Iterator[Answer]:
    """Fires when uncovered kernel launches cost 3 % of the step or more."""
    overview = results.overview_page
    step, launching = overview.steps.time_ms.mean, overview.breakdown_ms["kernel_launch"]
    if not step > 0:
        yield NO_STEPS
        return
    if launching / step < NEGLIGIBLE_FRAC:
        yield Silence(
            f"Launching costs {launching / step:.1%} of the step, below {NEGLIGIBLE_FRAC:.0%}."
        )
        return
    share = launching / step
    is_recorded = may_be_the_recorders(results, overview)
    is_replayed = replayed_frac(overview) >= MOSTLY_REPLAYED
    confidence = round(0.8 * overview.steps.confidence, 2)
    found = Finding(
        rule=RULE.id,
        severity="info" if is_recorded else _severity(launching, step, confidence),
        saving_ms=launching,
        confidence=confidence,
        message=f"The device waits {launching:.3g} ms of each {step:.3g} ms step ({share:.0%}) "
        "while the host launches kernels." + (RECORDED if is_recorded else ""),
        measured={"kernel_launch_ms": launching, "kernel_launch_frac": share, "step_time_ms": step},
        evidence=(Ref("overview_page", "breakdown_ms.kernel_launch"), Ref("kernel_stats")),
        actions=_ON_GRAPHS if is_replayed else _ACTIONS,
        code={} if is_replayed else _CODE,
    )
    yield loop_within(results.optional.host_activity).behind(found)


_ACTIONS = (
    "Compile the step, so that one launch does the work of many.",
    "Use a larger batch, so that each launch does more.",
    "[tensorflow: If tf.data competes for CPU threads, set TF_GPU_THREAD_MODE=gpu_private.]",
)
_ON_GRAPHS = (
    "Prepare and launch the next step while this one runs: its graph then waits on the device.",
    "Put into the graph what is launched before and after it.",
)
_CODE = {
    "tensorflow": "@tf.function(jit_compile=True)\ndef train_step(batch): ...",
    "jax": "@jax.jit\ndef train_step(state, batch): ...",
    "pytorch": 'model = torch.compile(model, mode="reduce-overhead")',
}


def _severity(launching_ms: float, step_ms: float, confidence: float) -> Severity:
    """As any share of the step; of steps that are hardly sure, what recorders may add is little."""
    found = severity_of(launching_ms, step_ms)
    return "low" if found == "medium" and confidence < POSSIBLE else found


RULE = Rule(
    id="launch-bound",
    check=launch_bound,
    needs=("overview_page",),
    optional=("compiled_regions", "host_activity"),
    evidence=("device", "driver"),
    parts=("launch",),
    doc=__doc__ or "",
    change=BATCHED,
    title="The device waits for launches",
    threshold="launching with an idle device ≥ 3 % of the step",
    symptom_of=(
        "start-up",
        "allocation-stalls",
        "tiny-kernels",
        "slow-launches",
        "small-batch",
        "host-waits",
        "eager-execution",
    ),
)
