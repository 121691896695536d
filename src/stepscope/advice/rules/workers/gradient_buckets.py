"""Gradients are sent in pieces so small that the network's latency costs more than its bandwidth.

What it checks: how many reductions of less than 1 MiB a step makes, and how much of the step waits
for them.
Why it matters: a reduction takes some ten microseconds however little it carries, and more with
more devices; only messages of many megabytes use the links.
What to do: send gradients together, in buckets of tens of megabytes.
When it is wrong: the small messages are not gradients (statistics of a normalisation, a loss), or
each result is needed before the next can be sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import BATCHED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref

if TYPE_CHECKING:
    from stepscope.analysis.collectives import GroupRow

_REDUCES: Final = re.compile(r"all_?reduce|reduce_?scatter")
_SMALL_BYTES: Final = 1 << 20
_BUCKET_BYTES: Final = 25 << 20
_LARGE_BYTES: Final = 8 << 20
_MANY: Final = 20
_GUESS: Final = 0.5
# What processors exchange for longer carries much, or waits for a late process.
_SHORT_MS: Final = 5.0
_FLATTEN: Final = (
    "Reduce gradients in buckets: DistributedDataParallel does, unless bucket_cap_mb is "
    "small; by hand, flatten them into one tensor first."
)
_CODE: Final = {"pytorch": "DistributedDataParallel(model, bucket_cap_mb=25)"}


def gradient_buckets(results: Results) -> Iterator[Answer]:
    """Fires when 20 reductions of less than 1 MiB cost 3 % of the step with nothing beside them."""
    overview = results.overview_page
    step, steps = overview.steps.time_ms.mean, max(len(overview.step_table), 1)
    if not step > 0:
        yield NO_STEPS
        return
    exchanges = results.optional.collectives
    rows = [
        one
        for one in (() if exchanges is None else exchanges.groups.records())
        if _REDUCES.search(one.collective.lower())
    ]
    if not any(one.message_bytes > 0 for one in rows):
        yield _of_processors(results, steps)
        return
    small = [one for one in rows if 0 < one.message_bytes < _SMALL_BYTES]
    count, exposed = (_per_step(small, name, steps) for name in ("count", "exposed_ms"))
    if count < _MANY:
        yield Silence(f"A step makes {count:.3g} reductions of less than 1 MiB.")
        return
    carried = sum(one.count * one.message_bytes for one in small) / steps
    buckets = max(carried / _BUCKET_BYTES, 1.0)
    # Together they take as long as so few of the same latency, and their bytes at the rate of
    # large messages; where the recording has none, half of the time is a guess.
    transfer = _transfer_ms(rows, carried)
    most = exposed * (1 - buckets / count)
    saving = most - transfer if transfer is not None else _GUESS * most
    if saving < NEGLIGIBLE_FRAC * step:
        yield Silence(f"Small reductions cost {exposed / step:.1%} of the step.")
        return
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        saving_high_ms=most,
        confidence=0.5 if transfer is None else 0.7,
        message=f"A step makes {count:.0f} reductions of less than 1 MiB, "
        f"{carried / count / 1024:.3g} KiB on average; they cost {exposed:.3g} ms of each "
        f"{step:.3g} ms step with nothing computing beside them.",
        measured={
            "reductions_per_step": count,
            "bytes_per_step": carried,
            "exposed_ms": exposed,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(Ref("collectives", "groups", rows=tuple({one.collective for one in small})),),
        actions=(_FLATTEN, "With FSDP wrap whole blocks, not single layers."),
        code=_CODE,
    )


def _of_processors(results: Results, steps: int) -> Answer:
    """Exchanges of processors, whose sizes nobody notes: many short ones, one after the other."""
    unknown = Unknown("No reduction was recorded with the size of its message.")
    account, pod = results.optional.step_account, results.optional.pod_viewer
    ops = results.optional.framework_op_stats
    if account is None or account.has_device or ops is None:
        return unknown
    # The process group's own call, and the one of the library that it makes.
    often = [one.occurrences for one in ops.ops.records() if _REDUCES.search(one.type.lower())]
    workers = 1 if pod is None else max(len(pod.workers), 1)
    count = max(often, default=0) / (steps * workers)
    parts = [one for one in account.parts.records() if one.kind == "collective"]
    part = max(parts, key=lambda one: one.time_ms, default=None)
    if part is None or not _REDUCES.search(part.made_of.lower()):
        return unknown
    step = account.step_time_ms
    if count < _MANY or part.time_ms > _SHORT_MS * count:
        return Silence(f"A step makes {count:.3g} reductions between processes.")
    saving = _GUESS * part.time_ms
    if saving < NEGLIGIBLE_FRAC * step:
        return Silence(f"Short exchanges of processors cost {part.step_frac:.1%} of the step.")
    at = f" in {part.function} ({part.file}:{part.line})" if part.function and part.line else ""
    return Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        saving_high_ms=part.time_ms,
        confidence=0.6,
        place=Place(part.function, part.file, part.line or 0, part.caller) if at else None,
        message=f"A step makes {count:.0f} reductions between processes{at}, which take "
        f"{part.time_ms / count:.3g} ms each and {part.time_ms:.3g} of each {step:.3g} ms step: "
        "each waits until all processes have come, and for a message's way, however little it "
        "carries.",
        measured={
            "reductions_per_step": count,
            "exposed_ms": part.time_ms,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(Ref("step_account", "parts", rows=(part.name,)), Ref("pod_viewer", "workers")),
        actions=(_FLATTEN, "See in stepscope pod how much of it is waiting for a late process."),
        code=_CODE,
    )


def _per_step(rows: list[GroupRow], name: str, steps: int) -> float:
    return float(sum(getattr(one, name) for one in rows)) / steps


def _transfer_ms(rows: list[GroupRow], carried: float) -> float | None:
    """How long the bytes take at the best rate of a large message; None where there is none."""
    large = [one.algorithm_gbps for one in rows if one.message_bytes >= _LARGE_BYTES]
    best = max((rate for rate in large if rate > 0), default=0.0)
    return carried / best / 1e6 if best else None


RULE = Rule(
    id="gradient-buckets",
    check=gradient_buckets,
    needs=("overview_page",),
    optional=("collectives", "step_account", "framework_op_stats", "pod_viewer"),
    evidence=("ops",),
    change=BATCHED,
    parts=("collective",),
    doc=__doc__ or "",
    title="Gradients are sent in small pieces",
    threshold="≥ 20 reductions of < 1 MiB a step that cost ≥ 3 % of it",
    cause_of=("collective-bound", "exposed-collectives"),
)
