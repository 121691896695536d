"""Ops run one by one instead of as a compiled function.

What it checks: ops (or jitted functions) that the host dispatches one by one in a step and the
time in which nothing is computed meanwhile; without steps, the share of op time that ran eagerly.
Why it matters: each eager op pays for Python, dispatch and a launch of its own.
What to do: put the step into tf.function (or jax.jit, torch.compile).
When it is wrong: the recording covers set-up or evaluation code that is eager on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.changes import BATCHED
from stepscope.advice.evidence.dispatches import MANY, dispatched
from stepscope.advice.evidence.steps import MOSTLY_REPLAYED, replayed_frac
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import CallRow, HostActivity
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.step_account import StepAccount

# Reference §3.5: eager time above this share is worth a word.
EAGER_FRAC = 0.10
_USUAL_FRAC = 0.3
# What handing an op over costs at most; what is idle beyond that has another cause.
_MOST_MS = {"PyTorch": 0.04, "JAX": 0.3, "TensorFlow": 1.0}
# A Python function with this share of the step is a matter of its own.
_NAMED_FRAC = 0.05
# So many of the functions that are called most often are named.
_NAMED = 4
_CODE = {
    "tensorflow": "@tf.function\ndef train_step(batch): ...",
    "jax": "train_step = jax.jit(train_step)",
    "pytorch": "train_step = torch.compile(train_step)",
}
# What is compiled where nothing is trained.
_SERVED = _CODE | {
    "tensorflow": "@tf.function\ndef predict(batch): ...",
    "jax": "predict = jax.jit(predict)",
    "pytorch": "model = torch.compile(model)",
}
_ACTIONS = (
    "Compile the whole step as one function: "
    "[tensorflow: tf.function | jax: jax.jit | pytorch: torch.compile].",
    "[tensorflow: Add jit_compile=True where XLA supports its ops.]",
    "Keep Python side effects (prints, metrics to NumPy) out of the step.",
)


def eager_execution(results: Results) -> Iterator[Answer]:
    """Fires when a step dispatches 20 ops while it computes nothing for 10 % of its time."""
    host = results.optional.host_activity
    if host is not None and host.step_count and host.step_time_ms > 0:
        optional = results.optional
        yield from _by_steps(host, optional.overview_page, optional.step_account)
    else:
        yield from _by_op_time(results.overview_page)


def _by_steps(
    host: HostActivity, overview: OverviewPage | None, account: StepAccount | None
) -> Iterator[Answer]:
    step, idle = host.step_time_ms, host.idle_ms
    rows = list(host.calls.records())
    calls = sum(one.calls for one in rows)
    building = sum(one.build_ms for one in rows)
    ops = dispatched(host)
    # Python functions that python-bound names cost as much in a compiled step's loop.
    python = sum(
        one.self_ms
        for one in host.python.records()
        if one.self_ms >= _NAMED_FRAC * step and not one.is_wait
    )
    saving = max(idle - building - python, 0.0)
    framework = "" if overview is None else overview.environment.framework
    if framework in _MOST_MS:
        saving = min(saving, ops * _MOST_MS[framework])
    if ops < MANY:
        yield Silence(f"A step dispatches {ops:.0f} ops or compiled functions, below {MANY}.")
        return
    if saving < EAGER_FRAC * step:
        yield Silence(
            f"A step dispatches {ops:,.0f} ops or compiled functions; that nothing computes "
            f"because of it is {saving / step:.0%} of the step at most."
        )
        return
    replayed = replayed_frac(overview)
    if replayed >= MOSTLY_REPLAYED:
        yield Silence(f"{replayed:.0%} of the devices' time is replayed from graphs already.")
        return
    what = "ops" if host.eager_ops >= calls else "jitted functions"
    is_served = overview is not None and overview.environment.task_type == "Inference"
    # PyTorch runs op by op by default: that alone is not an alarm.
    is_usual = framework == "PyTorch"
    again = ("" if account is None else _again(account)) or _often(rows)
    yield Finding(
        rule=RULE.id,
        severity="info" if is_usual and saving < _USUAL_FRAC * step else severity_of(saving, step),
        saving_ms=saving,
        confidence=0.7,
        message=f"{_where(rows, host)}: {ops:.0f} {what} are dispatched from Python, and for "
        f"{saving:.3g} of its {step:.3g} ms nothing is computed.{again}",
        measured={
            "ops_per_step": ops,
            "idle_ms": idle,
            "python_ms": python,
            "computing_ms": host.computing_ms,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(Ref("host_activity", "idle_ms"), Ref("framework_op_stats", "eager")),
        actions=_ACTIONS,
        code=_SERVED if is_served else _CODE,
    )


# A tf.function that each step calls once is the step, whatever runs beside it.
_ONCE = (0.9, 1.1)


def _where(calls: list[CallRow], host: HostActivity) -> str:
    """What runs op by op: the step, or what the loop does beside a tf.function."""
    compiled = [
        one
        for one in calls
        if one.traces and not one.eager and _ONCE[0] <= one.calls <= _ONCE[1]
        if one.time_ms >= _NAMED_FRAC * host.step_time_ms
    ]
    if host.eager_ops < MANY or not compiled:
        return "The step runs op by op"
    longest = max(compiled, key=lambda one: one.time_ms)
    return f"Beside the compiled {longest.function} the loop, or a callback, runs op by op"


def _again(account: StepAccount) -> str:
    """What the program's own loops dispatch, as a sentence."""
    found = next((part for part in account.parts.records() if part.kind == "eager"), None)
    return f" Again and again: {found.made_of}." if found is not None else ""


def _often(calls: list[CallRow]) -> str:
    """The functions that are called most often, as a sentence."""
    often = sorted((one for one in calls if one.calls >= 1), key=lambda one: -one.calls)
    listed = ", ".join(one.function for one in often[:_NAMED])
    return f" Most often: {listed}." if len(often) > 1 else ""


def _by_op_time(overview: OverviewPage) -> Iterator[Answer]:
    shares = overview.op_shares
    sides = {"host": shares.host_eager_frac, "device": shares.device_eager_frac}
    eager = {
        side: share for side, share in sides.items() if share is not None and share > EAGER_FRAC
    }
    if all(share is None for share in sides.values()):
        yield Unknown("No op was recorded.")
        return
    if not eager:
        yield Silence(f"At most {EAGER_FRAC:.0%} of op time is eager.")
        return
    said = " and ".join(f"{share:.0%} of {side} op time" for side, share in eager.items())
    yield Finding(
        rule=RULE.id,
        severity="medium",
        saving_ms=None,
        no_saving="no step was found to measure it in",
        confidence=0.7,
        message=f"Ops run eagerly: {said}.",
        measured={f"{side}_eager_frac": share for side, share in eager.items()},
        evidence=(Ref("framework_op_stats", "eager"),),
        actions=_ACTIONS,
        code=_CODE,
    )


RULE = Rule(
    id="eager-execution",
    check=eager_execution,
    needs=("overview_page",),
    optional=("host_activity", "step_account"),
    evidence=("dispatch",),
    parts=("framework", "eager"),
    doc=__doc__ or "",
    change=BATCHED,
    title="Ops run one by one",
    threshold="≥ 20 dispatches in a step that computes nothing for ≥ 10 % of its time",
    symptom_of=("retracing", "recompilation", "print-every-step", "python-in-pipeline"),
)
