"""One op, one module, or one kind of layer takes a large part of the step.

What it checks: the share of self time of each op, of each scope of op names and of each family of
ops (all convolutions, all matrix products), on the device or, where none ran, on the host.
Why it matters: it is where a change pays; halving it saves half of its share of the step.
What to do: see how much of it is needed: what is thrown away, was computed before, or is the same
in every step. What is needed make smaller or cheaper: fewer filters or units, a lower resolution, a
fused kernel, a cheaper layer of the same kind.
When it is wrong: the model is meant to be that op (one large product that runs well).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stepscope.advice.evidence.device_time import compute_ms, said_name
from stepscope.advice.evidence.op_families import FUSE, Family, family_of, no_layer
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import SHRUNK
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Ref
from stepscope.tables.core.op_scopes import scopes_of

if TYPE_CHECKING:
    from stepscope.analysis.framework_op_stats import FrameworkOpStats, OpRow

OP_FRAC: Final = 0.30
MODULE_FRAC: Final = 0.50
FAMILY_FRAC: Final = 0.60
# What a finding of this rule asks about: the op made half as long.
_HALF: Final = 0.5
_NO_OP: Final = ("", "Unknown", "IDLE")
_NO_COMPUTE: Final = re.compile(
    r"mem_?cpy|mem_?set|copy-(start|done)|nccl|rccl|all_?-?(reduce|gather|to_?-?all)|"
    r"reduce_?-?scatter|record_param_comms|c10d|collective",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Largest:
    """An op, a module or a family: its name, its share of its side's self time, its kind."""

    name: str
    share: float
    kind: str
    type: str = ""
    family: Family | None = None


def dominant_op(results: Results) -> Iterator[Answer]:
    """Fires when an op takes 30 % of the ops' time, a module half, or a family 60 %."""
    overview, stats = results.overview_page, results.framework_op_stats
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    on_device = stats.device.op_time_us > 0
    pipeline = results.optional.tf_data_bottleneck_analysis
    # What tf.data's threads run beside the step does not belong to the model.
    beside = set() if pipeline is None else set(pipeline.function_ops["operation"])
    rows = _rows(stats, "Device" if on_device else "Host", beside)
    whole = sum(row.self_time_us for row in rows)
    if not any(row.type not in _NO_OP for row in rows) or not whole:
        yield Unknown("No framework op was recorded.")
        return
    outside = _outside(rows, whole)
    if outside is not None:
        yield outside
        return
    found, op = _found([row for row in rows if row.type not in _NO_OP], whole)
    if found is None:
        yield Silence(f"The largest op, {said_name(op.name)}, takes {op.share:.0%} of op time.")
        return
    part = compute_ms(overview) if on_device else float(overview.breakdown_ms["host_compute"])
    yield _finding(found, op, found.share * part, step, on_device=on_device)


def _rows(stats: FrameworkOpStats, side: str, beside: set[str]) -> list[OpRow]:
    """Ops that compute: copies and collectives are other parts of the step."""
    return [
        row
        for row in stats.ops.records()
        if row.host_or_device == side
        and row.operation not in beside
        and no_layer(row.operation, row.type) != "input"
        and not _NO_COMPUTE.search(f"{row.operation} {row.type}")
    ]


def _outside(rows: list[OpRow], whole: float) -> Silence | None:
    """Work outside the layers that takes most of the time: other rules say what to do about it."""
    spent: dict[str, float] = {}
    for row in rows:
        what = no_layer(row.operation, row.type)
        spent[what] = spent.get(what, 0.0) + row.self_time_us
    spent.pop("", None)
    what = max(spent, key=lambda one: spent[one], default="")
    if not what or spent[what] < OP_FRAC * whole:
        return None
    return Silence(
        f"{what[0].upper()}{what[1:]}, which is not a layer of the model, takes "
        f"{spent[what] / whole:.0%} of op time."
    )


def _found(rows: list[OpRow], whole: float) -> tuple[_Largest | None, _Largest]:
    """What dominates, None for nothing; and the largest op."""
    first = max(rows, key=lambda row: row.self_time_us)
    op = _Largest(
        first.operation, first.self_time_us / whole, "op", first.type, family_of(first.type)
    )
    module, family = _module(rows, whole), _family(rows, whole)
    # A layer is one thing to change: its forward op and its gradients shrink together.
    if module is not None and (
        op.share < OP_FRAC
        or (
            module.share > 1.1 * op.share
            and module.name.split("/") == list(scopes_of(op.name))[: module.name.count("/") + 1]
        )
    ):
        return module, op
    return (op if op.share >= OP_FRAC else family), op


def _family(rows: list[OpRow], whole: float) -> _Largest | None:
    """The family of layers with 60 % of the time, in more than one op; None without."""
    spent: dict[str, float] = {}
    families: dict[str, Family] = {}
    for row in rows:
        family = family_of(row.type)
        if family is not None and family.is_news:
            families[family.name] = family
            spent[family.name] = spent.get(family.name, 0.0) + row.self_time_us
    name = max(spent, key=lambda one: spent[one], default="")
    if not name or spent[name] < FAMILY_FRAC * whole:
        return None
    return _Largest(name, spent[name] / whole, "family", family=families[name])


def _module(rows: list[OpRow], whole: float) -> _Largest | None:
    """The deepest scope with half of the time that has siblings worth the name; None without.

    A scope that holds everything its parent holds says nothing; the walk goes on below it. One at
    the top that is made of others is the model, which nobody can halve.
    """
    scopes: dict[tuple[str, ...], float] = {}
    direct: dict[tuple[str, ...], float] = {}
    scoped = 0.0
    for row in rows:
        parts = scopes_of(row.operation)
        scoped += row.self_time_us if parts else 0.0
        direct[parts] = direct.get(parts, 0.0) + row.self_time_us
        for depth in range(1, len(parts) + 1):
            scope = parts[:depth]
            scopes[scope] = scopes.get(scope, 0.0) + row.self_time_us
    telling = []
    for scope, time in scopes.items():
        parent = scopes.get(scope[:-1], scoped)
        is_model = len(scope) == 1 and direct.get(scope, 0.0) < _HALF * time
        if time >= MODULE_FRAC * whole and time < 0.95 * parent and not is_model:
            telling.append(scope)
    deepest = max(telling, key=len, default=None)
    if deepest is None:
        return None
    inside = [row for row in rows if scopes_of(row.operation)[: len(deepest)] == deepest]
    main = max(inside, key=lambda row: row.self_time_us)
    share = scopes[deepest] / whole
    return _Largest("/".join(deepest), share, "module", main.type, family_of(main.type))


def _finding(
    found: _Largest, op: _Largest, cost: float, step: float, *, on_device: bool
) -> Finding:
    family = found.family
    if found.kind == "family":
        what = f"{found.name[0].upper()}{found.name[1:]} together take"
        most = f" (longest: {said_name(op.name)}, {op.share:.0%})" if op.family == family else ""
    else:
        what, most = f"{found.kind.capitalize()} {said_name(found.name, 80)} takes", ""
    side = "device" if on_device else "host"
    return Finding(
        rule=RULE.id,
        severity="info",
        saving_ms=_HALF * cost,
        saving_high_ms=cost,
        confidence=0.5,
        message=f"{what} {found.share:.0%} of the {side}'s compute, {cost:.3g} ms of each "
        f"{step:.3g} ms step{most}; halving it would make the step {step - _HALF * cost:.3g} ms.",
        measured={
            "share_frac": found.share,
            "cost_ms": cost,
            "name": found.name,
            "type": found.type,
            "family": family.name if family is not None else "",
            "step_after_ms": step - _HALF * cost,
        },
        evidence=(
            Ref("framework_op_stats", "self_time_us", rows=(op.name,)),
            Ref("op_profile"),
        ),
        actions=(
            "See in roofline_model whether it runs well; if so, only less of it helps.",
            *(family.actions if family is not None else (FUSE,)),
        ),
    )


RULE = Rule(
    id="dominant-op",
    check=dominant_op,
    needs=("overview_page", "framework_op_stats"),
    optional=("tf_data_bottleneck_analysis",),
    evidence=("ops",),
    parts=("op",),
    doc=__doc__ or "",
    change=SHRUNK,
    title="One op dominates",
    threshold="an op ≥ 30 %, a module ≥ 50 % or a family ≥ 60 % of op time",
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
