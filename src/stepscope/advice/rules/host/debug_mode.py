"""Checks for debugging run in every step.

What it checks: switches of the frameworks that the recorder noted (anomaly mode, NaN checks, eager
functions), and the ops that such checks leave: a search for NaN in each gradient, in each tensor.
Why it matters: each op is followed by a check that waits for its result, and anomaly mode keeps a
stack for each op: steps of several times the length.
What to do: switch them off once the fault is found; check the loss alone, every n-th step.
When it is wrong: the run is meant to find the fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stepscope.advice.parts.changes import REMOVED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref
from stepscope.tables.traits.op_families import PRODUCTS

_SWITCHES: Final = {
    "torch_anomaly_mode": "torch.autograd.set_detect_anomaly(True)",
    "tf_run_functions_eagerly": "tf.config.run_functions_eagerly(True)",
    "jax_debug_nans": "jax_debug_nans",
    "jax_debug_infs": "jax_debug_infs",
    "jax_disable_jit": "jax_disable_jit",
    "jax_check_tracer_leaks": "jax_check_tracer_leaks",
}
_OFF: Final = {
    "pytorch": "torch.autograd.set_detect_anomaly(False)",
    "tensorflow": "tf.debugging.disable_check_numerics()\ntf.config.run_functions_eagerly(False)",
    "jax": 'jax.config.update("jax_debug_nans", False)',
}
# TensorFlow's checks of every tensor, and PyTorch's of every gradient with what reads its answer.
_CHECK: Final = re.compile(r"^(?:CheckNumerics|DebugNumericSummary|DebugIdentity)(?:V\d)?$")
_NAN: Final = "aten/isnan"
_READS: Final = frozenset(
    f"aten/{one}" for one in ("isnan", "ne", "any", "_is_any_true", "item", "_local_scalar_dense")
)
_GRADIENT: Final = re.compile(r"^(?:torch/)?autograd/\w+$")
# A program may look for NaN in its loss, or in its parameters' gradients, half as many as there are
# ops with a gradient; anomaly mode looks into about every one of these.
_EACH_FRAC: Final = 0.8
# Kinds of the step's time that go with the checks: stacks, and ops that wait for each answer.
_WITH: Final = ("framework", "library")
# At least this share of that does; at most all but the products that the model is made of.
_LEAST_FRAC: Final = 0.5


def debug_mode(results: Results) -> Iterator[Answer]:
    """Fires when a debugging switch was on, or checks of every gradient or tensor ran."""
    account, stats = results.step_account, results.optional.framework_op_stats
    overview = results.optional.overview_page
    settings = {} if overview is None else overview.environment.settings
    switches = [said for name, said in _SWITCHES.items() if name in settings]
    step = account.step_time_ms
    rows = [] if stats is None else list(stats.ops.records())
    count = {one.operation: one.occurrences for one in rows}
    gradients = sum(times for name, times in count.items() if _GRADIENT.match(name))
    is_anomaly = gradients > 0 and count.get(_NAN, 0) >= _EACH_FRAC * gradients
    checks = {
        one.operation for one in rows if _CHECK.match(one.type) or _CHECK.match(one.operation)
    }
    if is_anomaly:
        checks |= _READS & {*count}
        switches = switches or [_SWITCHES["torch_anomaly_mode"]]
    if not switches and not checks:
        yield Silence("No switch for debugging was noted, and no op checks every tensor.")
        return
    listed = list(account.owners.records())
    own = sum(one.time_ms for one in listed if one.name in checks)
    around = sum(one.time_ms for one in listed if one.kind in _WITH and one.name not in checks)
    low = own + _LEAST_FRAC * around
    high = step - sum(one.time_ms for one in listed if one.family in PRODUCTS)
    saving = (low + max(high, low)) / 2
    if not saving >= NEGLIGIBLE_FRAC * step:
        yield Silence("Checks for debugging cost next to nothing.")
        return
    what = " and ".join(switches) or ", ".join(sorted(checks))
    times = count.get(_NAN, 0) if is_anomaly else sum(count[one] for one in checks)
    seen = f" {times:,} checks were recorded, {own:.3g} ms of each step." if checks else ""
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        saving_low_ms=low,
        saving_high_ms=max(high, low),
        assumption="at most all but the products of matrices is done, or waited for, by the checks",
        confidence=0.85,
        title=f"A check for debugging is on: {switches[0]}" if switches else "",
        message=f"Checks for debugging are on: {what}.{seen} They keep stacks and wait "
        f"for the result of each op: up to {max(high, low):.3g} of each {step:.3g} ms step.",
        measured={
            "checks_ms": own,
            "around_ms": around,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(
            Ref("framework_op_stats", "occurrences", rows=tuple(sorted(checks))),
            Ref("overview_page", "environment.settings"),
        ),
        actions=(
            "Switch the checks off once the fault is found.",
            "Check the loss alone, every n-th step; switch the rest on when it is NaN.",
        ),
        code=_OFF,
    )


RULE = Rule(
    id="debug-mode",
    check=debug_mode,
    needs=("step_account",),
    optional=("overview_page", "framework_op_stats"),
    evidence=("ops",),
    doc=__doc__ or "",
    change=REMOVED,
    title="Checks for debugging run in every step",
    threshold="a debugging switch, or a check of every gradient or tensor, ≥ 3 % of the step",
    cause_of=("eager-execution", "python-bound", "host-waits"),
)
