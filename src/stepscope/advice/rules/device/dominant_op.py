"""One op, or one module, takes a large part of the step.

What it checks: the share of self time of each op and of each scope of op names, on the device or,
where none ran, on the host.
Why it matters: it is where a change pays; halving it saves half of its share of the step.
What to do: make that op smaller, rarer or cheaper: fewer filters or units, a lower resolution, a
fused kernel, a cheaper layer of the same kind.
When it is wrong: the model is meant to be that op (one large product that runs well).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepscope.advice.evidence.device_time import compute_ms, short_name
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.framework_op_stats import OpRow

OP_FRAC = 0.30
MODULE_FRAC = 0.50
# What a finding of this rule asks about: the op made half as long.
_HALF = 0.5
_NO_OP = ("", "Unknown", "IDLE")
_NO_COMPUTE = re.compile(
    r"mem_?cpy|mem_?set|copy-(start|done)|nccl|rccl|all_?-?(reduce|gather|to_?-?all)|"
    r"reduce_?-?scatter|record_param_comms|c10d|collective",
    re.IGNORECASE,
)
_NO_MODULE = ("gradient_tape", "StatefulPartitionedCall", "PartitionedCall")
_GRADIENT = re.compile(r"^(?:transpose\()?(?:jvp\()?([^()]*)\)*$")


@dataclass(frozen=True, slots=True)
class _Largest:
    """An op or scope: its name, its share of its side's self time, and its kind."""

    name: str
    share: float
    kind: str
    type: str = ""


def dominant_op(results: Results) -> Iterator[Answer]:
    """Fires when one op takes 30 % of the ops' time, or one module among several half of it."""
    overview, stats = results.overview_page, results.framework_op_stats
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    on_device = stats.device.op_time_us > 0
    side = "Device" if on_device else "Host"
    rows = [row for row in stats.ops.records() if row.host_or_device == side and _computes(row)]
    whole = sum(row.self_time_us for row in rows)
    named = [row for row in rows if row.type not in _NO_OP]
    if not named or not whole:
        yield Unknown("No framework op was recorded.")
        return
    first = max(named, key=lambda row: row.self_time_us)
    op = _Largest(first.operation, first.self_time_us / whole, "op", first.type)
    module = _module(named, whole)
    # A layer is one thing to change: its forward op and its gradients shrink together.
    whole_layer = (
        module is not None
        and module.share > 1.1 * op.share
        and module.name in "/".join(_scope(op.name))
    )
    found = module if module is not None and (whole_layer or op.share < OP_FRAC) else op
    if found.share < (OP_FRAC if found is op else MODULE_FRAC):
        yield Silence(f"The largest op, {short_name(op.name)}, takes {op.share:.0%} of op time.")
        return
    part = compute_ms(overview) if on_device else float(overview.breakdown_ms["host_compute"])
    cost = found.share * part
    yield Finding(
        rule=RULE.id,
        severity="info",
        saving_ms=_HALF * cost,
        saving_high_ms=cost,
        confidence=0.5,
        message=f"{found.kind.capitalize()} {short_name(found.name, 80)} takes {found.share:.0%} "
        f"of the {side.lower()}'s compute, {cost:.3g} ms of each {step:.3g} ms step; halving it "
        f"would make the step {step - _HALF * cost:.3g} ms.",
        measured={
            "share_frac": found.share,
            "cost_ms": cost,
            "name": found.name,
            "type": found.type,
            "step_after_ms": step - _HALF * cost,
        },
        evidence=(
            Ref("framework_op_stats", "self_time_us", rows=(found.name,)),
            Ref("op_profile"),
        ),
        actions=(
            "See in roofline_model whether it runs well; if so, only less of it helps.",
            "Fewer filters, units or heads, a lower resolution, or a separable or grouped variant.",
            "A fused implementation of the same (attention, normalisation, loss).",
        ),
    )


def _computes(row: OpRow) -> bool:
    """Whether an op is compute: copies and collectives are other parts of the step."""
    return not _NO_COMPUTE.search(f"{row.operation} {row.type}")


def _scope(operation: str) -> list[str]:
    """The modules an op lies in; its gradient lies in the same ones.

    TensorFlow puts "gradient_tape" before the module's name, JAX writes transpose(jvp(module)).
    """
    parts = [_GRADIENT.sub(r"\1", part) for part in operation.split("/")[:-1]]
    return [part for part in parts if part and part not in _NO_MODULE]


def _module(rows: list[OpRow], whole: float) -> _Largest | None:
    """The deepest scope with half of the time that has siblings worth the name; None without.

    A scope that holds everything its parent holds says nothing; the walk goes on below it.
    """
    scopes: dict[str, float] = {}
    scoped = 0.0
    for row in rows:
        parts = _scope(row.operation)
        scoped += row.self_time_us if parts else 0.0
        for depth in range(1, len(parts) + 1):
            scope = "/".join(parts[:depth])
            scopes[scope] = scopes.get(scope, 0.0) + row.self_time_us
    large = [(scope, time / whole) for scope, time in scopes.items() if time >= MODULE_FRAC * whole]
    telling = []
    for scope, share in large:
        parent = scopes.get(scope.rpartition("/")[0], scoped) / whole
        if share < 0.95 * parent:
            telling.append(_Largest(scope, share, "module"))
    return max(telling, key=lambda one: one.name.count("/"), default=None)


RULE = Rule(
    id="dominant-op",
    check=dominant_op,
    needs=("overview_page", "framework_op_stats"),
    doc=__doc__ or "",
    title="One op dominates",
    threshold="an op ≥ 30 %, or a module ≥ 50 %, of op time",
    # What says how to make the op cheaper, or that another part of the step is the limit.
    symptom_of=(
        "full-precision",
        "tensor-cores-unused",
        "layout-transposes",
        "roofline-gap",
        "device-copies",
        "input-bound",
        "launch-bound",
        "host-copies",
        "host-waits",
        "collective-bound",
        "exposed-collectives",
        "straggler",
        "unbalanced-devices",
        "eager-execution",
    ),
)
