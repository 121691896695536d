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

from stepscope.advice.evidence.changes import BATCHED
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.collectives import GroupRow

_REDUCES: Final = re.compile(r"all_?reduce|reduce_?scatter")
_SMALL_BYTES: Final = 1 << 20
_BUCKET_BYTES: Final = 25 << 20
_LARGE_BYTES: Final = 8 << 20
_MANY: Final = 20
_GUESS: Final = 0.5


def gradient_buckets(results: Results) -> Iterator[Answer]:
    """Fires when 20 reductions of less than 1 MiB cost 3 % of the step with nothing beside them."""
    overview = results.overview_page
    step, steps = overview.steps.time_ms.mean, max(len(overview.step_table), 1)
    if not step > 0:
        yield NO_STEPS
        return
    rows = [
        one
        for one in results.collectives.groups.records()
        if _REDUCES.search(one.collective.lower())
    ]
    if not any(one.message_bytes > 0 for one in rows):
        yield Unknown("No reduction was recorded with the size of its message.")
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
        actions=(
            "Reduce gradients in buckets: DistributedDataParallel does, unless bucket_cap_mb is "
            "small; by hand, flatten them into one tensor first.",
            "With FSDP wrap whole blocks, not single layers.",
        ),
        code={"pytorch": "DistributedDataParallel(model, bucket_cap_mb=25)"},
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
    needs=("overview_page", "collectives"),
    evidence=("ops",),
    change=BATCHED,
    parts=("collective",),
    doc=__doc__ or "",
    title="Gradients are sent in small pieces",
    threshold="≥ 20 reductions of < 1 MiB a step that cost ≥ 3 % of it",
    cause_of=("collective-bound", "exposed-collectives"),
)
