"""Devices copy more than they compute: within their memory, between devices, or from host memory.

What it checks: the time of copies on and between devices that no compute hides; on TPUs and in
XLA programs, whether they move tensors that live in the host's memory.
Why it matters: copies compute nothing, and those from the host's memory run at the speed of the
bus, a fiftieth of the device memory's.
What to do: keep tensors where they are used; offload to the host only what does not fit, and fetch
it early enough to hide the copy.
When it is wrong: the model does not fit otherwise and its copies cannot be hidden.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.offload import OFFLOAD_ACTIONS, OFFLOAD_CODE, host_memory_ops
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import OVERLAPPED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

SOME_FRAC = 0.10
_EXPECTED = 0.5


def device_copies(results: Results) -> Iterator[Answer]:
    """Fires when copies on and between devices cost 10 % of the step or more."""
    overview = results.overview_page
    step, copying = overview.steps.time_ms.mean, overview.breakdown_ms["device_to_device"]
    if not step > 0:
        yield NO_STEPS
        return
    if copying < SOME_FRAC * step:
        yield Silence(
            f"Copies on and between devices cost {copying / step:.1%} of the step, below "
            f"{SOME_FRAC:.0%}."
        )
        return
    offloaded, ops = host_memory_ops(results.optional.hlo_stats)
    place = (
        f"; {offloaded:.0%} of the copying ops move tensors that live in the host's memory"
        if offloaded
        else ""
    )
    yield Finding(
        rule=RULE.id,
        severity=severity_of(_EXPECTED * copying, step),
        saving_ms=_EXPECTED * copying,
        saving_high_ms=copying,
        confidence=round(0.6 * overview.steps.confidence, 2),
        message=f"Copies on and between devices take {copying:.3g} ms of each {step:.3g} ms step "
        f"with no compute beside them{place}.",
        measured={
            "device_to_device_ms": copying,
            "device_to_device_frac": copying / step,
            "from_host_memory_frac": offloaded,
        },
        evidence=(
            Ref("overview_page", "breakdown_ms.device_to_device"),
            Ref("hlo_stats", "category=copy-done", rows=ops)
            if ops
            else Ref("device_idle", "copies"),
        ),
        actions=OFFLOAD_ACTIONS if offloaded else _ACTIONS,
        code=OFFLOAD_CODE if offloaded else {},
    )


_ACTIONS = (
    "Find in the timeline what is copied: a tensor used on two devices, a view made contiguous, "
    "a variable that is not updated in place.",
    "Shard or replicate what all devices read; donate buffers that are replaced.",
)


RULE = Rule(
    id="device-copies",
    check=device_copies,
    needs=("overview_page",),
    optional=("hlo_stats",),
    evidence=("device",),
    parts=("copy",),
    doc=__doc__ or "",
    change=OVERLAPPED,
    title="Devices copy instead of computing",
    threshold="copies on and between devices ≥ 10 % of the step",
)
