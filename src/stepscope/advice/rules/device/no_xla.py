"""Chains of elementwise ops run one after the other instead of as one fused kernel.

What it checks: the share of op time in elementwise ops that run by themselves, on the device or,
where none ran, on the host.
Why it matters: each of them reads and writes whole tensors; fused, a chain does so once.
What to do: jit_compile=True (XLA), jax.jit, torch.compile.
When it is wrong: shapes change from step to step, so that compiling
([tensorflow: XLA | jax: XLA | pytorch: torch.compile]) takes more time than it saves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.device_time import compute_ms
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import BATCHED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref
from stepscope.tables.parts.part_traits import BROADCAST
from stepscope.tables.traits.op_families import family_of, is_elementwise
from stepscope.tables.traits.updates import is_update

if TYPE_CHECKING:
    from stepscope.analysis.framework_op_stats import OpRow
    from stepscope.analysis.step_account import PartRow

_SHARE_FRAC = 0.40
# From this share of op time on, compiled ops are the step.
_MOST_FRAC = 0.5
# The same on a host, where fusing helps less.
_ON_HOST_FRAC = 0.8
_FEWEST = 4
# Of the time of n ops in a chain, fusing leaves about two in n + 1 passes over memory; a chain of
# three is common, so half of the time is expected to go.
_FUSED_FRAC = 0.5
# Where one line's op has so much of it, there is no chain to fuse.
_ONE_PLACE_FRAC = 0.6


def no_xla(results: Results) -> Iterator[Answer]:
    """Fires when at least four elementwise ops take 40 % of op time or more."""
    overview, stats = results.overview_page, results.framework_op_stats
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    on_device = stats.device.op_time_us > 0
    side = "Device" if on_device else "Host"
    rows = _rows(results, side)
    whole = sum(one.self_time_us for one in rows)
    alone = [one for one in rows if _is_elementwise(one)]
    if not whole:
        yield Unknown("No framework op was recorded.")
        return
    if sum(one.self_time_us for one in rows if _is_compiled(one)) >= _MOST_FRAC * whole:
        yield Silence("XLA has compiled the ops, and fuses elementwise ones itself.")
        return
    compute = compute_ms(overview) if on_device else overview.breakdown_ms["host_compute"]
    cost = sum(one.self_time_us for one in alone) / whole * compute
    if not on_device:
        cost = max(cost - _updates_ms(results), 0.0)
    share = cost / compute if compute > 0 else 0.0
    if share < _SHARE_FRAC or len(alone) < _FEWEST:
        yield Silence(f"Elementwise ops that run by themselves take {share:.0%} of op time.")
        return
    if (one := _largest(results)) is not None and one.time_ms >= _ONE_PLACE_FRAC * cost:
        yield Silence(
            f"One of them, {one.name} at {one.file}:{one.line}, has {one.time_ms / cost:.0%} of "
            "their time: fused with its neighbours it still computes as much."
        )
        return
    if (pairs := _of_pairs(results)) is not None and pairs.time_ms >= _MOST_FRAC * cost:
        yield Silence(
            f"Most of them work on what broadcasting makes ({pairs.name}): fused they still "
            "compute all of it."
        )
        return
    yield _unfused(side, alone, cost, share, step)


def _unfused(side: str, alone: list[OpRow], cost: float, share: float, step: float) -> Finding:
    """The finding about ops of one side that take so many ms, and that share of op time."""
    return Finding(
        rule=RULE.id,
        # A host's caches hold much of what a chain passes on: unless the step is nothing else, it
        # is advice there, no alarm.
        severity=severity_of(_FUSED_FRAC * cost, step)
        if side == "Device" or share >= _ON_HOST_FRAC
        else "info",
        saving_ms=_FUSED_FRAC * cost,
        saving_high_ms=cost,
        confidence=0.6,
        message=f"{len(alone)} elementwise ops run by themselves and take {share:.0%} of the "
        f"{side.lower()}'s op time, {cost:.3g} ms of each {step:.3g} ms step; compilers "
        "fuse them.",
        measured={
            "elementwise_frac": share,
            "elementwise_ms": cost,
            "ops": len(alone),
            "step_time_ms": step,
            "step_after_ms": step - _FUSED_FRAC * cost,
        },
        evidence=(
            Ref("framework_op_stats", "type", rows=tuple(one.operation for one in alone[:5])),
        ),
        actions=(
            "Compile the step: [tensorflow: tf.function(jit_compile=True) | jax: jax.jit | "
            "pytorch: torch.compile].",
            "Keep shapes the same from step to step, so that it compiles once.",
        ),
        code={
            "tensorflow": "@tf.function(jit_compile=True)\ndef train_step(batch): ...",
            "jax": "train_step = jax.jit(train_step)",
            "pytorch": "model = torch.compile(model)",
        },
    )


def _rows(results: Results, side: str) -> list[OpRow]:
    """The step's ops on one side."""
    pipeline = results.optional.tf_data_bottleneck_analysis
    # What tf.data's threads run beside the step is not the step's to fuse.
    beside = set() if pipeline is None else set(pipeline.function_ops["operation"])
    return [
        one
        for one in results.framework_op_stats.ops.records()
        if one.host_or_device == side and one.operation not in beside
    ]


def _updates_ms(results: Results) -> float:
    """Time of optimizers' updates: fusing them is a matter of the optimizer, not of the model."""
    account = results.optional.step_account
    if account is None:
        return 0.0
    return sum(
        part.time_ms
        for part in account.parts.records()
        if part.kind == "op" and is_update(part.name)
    )


def _largest(results: Results) -> PartRow | None:
    """The largest part of the step that is one elementwise op of one line of the program."""
    account = results.optional.step_account
    parts = [] if account is None else list(account.parts.records())
    found = [
        part for part in parts if part.kind == "op" and part.line and _is_named_elementwise(part.op)
    ]
    return max(found, key=lambda part: part.time_ms, default=None)


def _of_pairs(results: Results) -> PartRow | None:
    """The largest part that works on what is made of much smaller tensors; None without one."""
    account = results.optional.step_account
    parts = [] if account is None else list(account.parts.records())
    found = [part for part in parts if part.has(BROADCAST)]
    return max(found, key=lambda part: part.time_ms, default=None)


def _is_named_elementwise(op: str) -> bool:
    return is_elementwise(op, family_of(op.rpartition("/")[2].rstrip("_0123456789")))


def _is_compiled(row: OpRow) -> bool:
    """Whether it is of a function that JAX compiled: its name begins with that function."""
    return row.operation.startswith(("jit(", "pjit("))


def _is_elementwise(row: OpRow) -> bool:
    return is_elementwise(row.operation, family_of(row.type))


RULE = Rule(
    id="no-xla",
    check=no_xla,
    needs=("overview_page", "framework_op_stats"),
    optional=("tf_data_bottleneck_analysis", "step_account"),
    parts=("op",),
    doc=__doc__ or "",
    change=BATCHED,
    title="Elementwise ops are not fused",
    threshold="≥ 4 elementwise ops with ≥ 40 % of op time",
)
