"""The step waits for copies between host and device.

What it checks: the time of copies to and from the device that nothing hides, from which memory they
come, whether the host waits for them, how small they are, and whether a compiled program keeps
tensors in the host's memory (offload).
Why it matters: a copy that runs beside compute costs nothing; one from pageable memory is staged
through a buffer and blocks the host.
What to do: copy the next batch while this one computes, from pinned memory; fetch results rarely.
When it is wrong: the copies are part of what is measured, as in a benchmark of transfers.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING

from stepscope.advice.evidence.device_memory import device_memories
from stepscope.advice.evidence.device_time import compute_ms
from stepscope.advice.evidence.lines import place_of
from stepscope.advice.evidence.offload import OFFLOAD_ACTIONS, OFFLOAD_CODE, host_memory_ops
from stepscope.advice.evidence.pinning import comes_from
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import OVERLAPPED
from stepscope.advice.results import Results
from stepscope.quantities import size_words
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.device_idle import CopyRow, DeviceIdle
    from stepscope.analysis.memory_profile import MemoryProfile
    from stepscope.analysis.step_account import StepAccount

_WAYS = {"host_to_device": "host to device", "output": "device to host"}
# Copies below this size take as long as their set-up.
_SMALL_BYTES = 64 * 1024
# Half of what is offloaded is taken to fit on the device, or to be hidden.
_ROOM = 0.5


def host_copies(results: Results) -> Iterator[Answer]:
    """Fires when copies that nothing hides cost 3 % of the step or more."""
    overview, idle = results.overview_page, results.device_idle
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    exposed = {way: float(overview.breakdown_ms[way]) for way in _WAYS}
    total = sum(exposed.values())
    if total < NEGLIGIBLE_FRAC * step:
        yield Silence(f"Copies that nothing hides cost {total / step:.1%} of the step.")
        return
    most = _most(idle, exposed)
    way = max(most, key=lambda name: most[name])
    copies = [row for row in idle.copies.records() if row.direction == _WAYS[way]]
    place, line = place_of(results.optional.step_account, "copy")
    offloaded, ops = host_memory_ops(results.optional.hlo_stats)
    room = _free_bytes(results.optional.memory_profile) if offloaded else None
    is_pinned = way == "host_to_device" and comes_from(idle) == "pinned"
    told = "pinned" if is_pinned else way
    # What compute can hide, it hides once the next copy runs beside it; what is offloaded need
    # not be copied at all where there is room.
    expected = max(min(total, compute_ms(overview)), _ROOM * total if offloaded else 0.0)
    yield Finding(
        rule=RULE.id,
        severity=severity_of(expected, step),
        saving_ms=expected,
        saving_high_ms=total,
        confidence=round(0.8 * overview.steps.confidence, 2),
        message=f"Copies between host and device take {total:.3g} ms of each {step:.3g} ms step "
        f"with nothing beside them, {_WAYS[way]} most ({most[way]:.3g} ms)"
        + "".join(f"; {fact}" for fact in _facts(copies, offloaded, room))
        + (f"; most below {line}" if line else _by_op(results.optional.step_account))
        + ".",
        place=place,
        measured={
            "host_to_device_ms": exposed["host_to_device"],
            "device_to_host_ms": exposed["output"],
            "copies_per_step": sum(row.per_step for row in copies),
            "offloaded_frac": offloaded,
        },
        evidence=(
            Ref("overview_page", f"breakdown_ms.{way}"),
            Ref("hlo_stats", "category=copy-done", rows=ops)
            if ops
            else Ref("device_idle", "copies", rows=(_WAYS[way],)),
        ),
        actions=OFFLOAD_ACTIONS if offloaded else _ACTIONS[told],
        code=OFFLOAD_CODE if offloaded else _CODE[told],
    )


def _by_op(account: StepAccount | None) -> str:
    """Which op copies most, where no line of the program was recorded."""
    rows = [] if account is None else list(account.owners.records())
    ops = [one for one in rows if one.kind == "copy" and "/" in one.name]
    return f"; most by {max(ops, key=lambda one: one.time_ms).name}" if ops else ""


def _most(idle: DeviceIdle, exposed: dict[str, float]) -> dict[str, float]:
    """What each direction has of the time that nothing hides, in ms.

    Where both are copied at once the breakdown gives that time to one of them, and how long each
    takes by itself tells.
    """
    alone = dict.fromkeys(_WAYS, 0.0)
    for row in idle.copies.records():
        for way, name in _WAYS.items():
            alone[way] += row.time_ms if row.direction == name else 0.0
    total = sum(exposed.values())
    is_both = sum(alone.values()) > (1 + NEGLIGIBLE_FRAC) * total and all(exposed.values())
    return {way: min(time, total) for way, time in alone.items()} if is_both else exposed


def _free_bytes(profile: MemoryProfile | None) -> int | None:
    """What the fullest device has free at its peak; None where not recorded."""
    memories = device_memories(profile) if profile is not None else []
    return memories[0].free_bytes if memories else None


def _facts(copies: list[CopyRow], offloaded: float, room: int | None) -> Iterator[str]:
    """What about these copies makes them slow."""
    if offloaded:
        yield f"{offloaded:.0%} of the copying ops move tensors that live in the host's memory" + (
            "" if room is None else f", while {size_words(room)} of each device's are free"
        )
    count = sum(row.per_step for row in copies)
    if any(row.host_memory == "pageable" for row in copies):
        yield "from or to pageable memory"
    if any(row.asynchronous is False for row in copies):
        yield "the host waits for them"
    sizes = [row.bytes_per_step for row in copies]
    if count >= 1 and sizes and not any(isnan(size) for size in sizes):
        mean = sum(sizes) / count
        if mean < _SMALL_BYTES and count >= 8:
            yield f"{count:.0f} copies of {mean / 1024:.3g} KiB on average"


_ACTIONS = {
    "host_to_device": (
        "Copy the next batch while this one computes.",
        "Keep the batch in pinned memory, and copy it asynchronously.",
        "Send uint8 and convert on the device; send one large tensor and not many small ones.",
    ),
    "pinned": (
        "Copy the next batch while this one computes, on a stream of its own.",
        "Keep on the device what several steps use.",
        "Send uint8 and convert on the device; send one large tensor and not many small ones.",
    ),
    "output": (
        "Fetch results every n steps; reduce them on the device first.",
        "Copy to pinned memory, asynchronously, and read it later.",
    ),
}
_CODE = {
    "host_to_device": {
        "tensorflow": "ds = ds.apply(tf.data.experimental.prefetch_to_device('/GPU:0', 2))",
        "jax": "batches = flax.jax_utils.prefetch_to_device(batches, size=2)",
        "pytorch": "DataLoader(..., pin_memory=True)\nx = x.to('cuda', non_blocking=True)",
    },
    "pinned": {
        "tensorflow": "ds = ds.apply(tf.data.experimental.prefetch_to_device('/GPU:0', 2))",
        "jax": "batches = flax.jax_utils.prefetch_to_device(batches, size=2)",
        "pytorch": "with torch.cuda.stream(copying):  # the next batch, while this one computes\n"
        "    upcoming = batch.to('cuda', non_blocking=True)",
    },
    "output": {
        "tensorflow": "if step % 50 == 0: logs = {k: float(v) for k, v in metrics.items()}",
        "jax": "metrics = jax.tree.map(jnp.mean, metrics)  # fetch with jax.device_get rarely",
        "pytorch": "out = out.to('cpu', non_blocking=True)  # into a pinned tensor",
    },
}


RULE = Rule(
    id="host-copies",
    check=host_copies,
    needs=("overview_page", "device_idle"),
    optional=("hlo_stats", "memory_profile", "step_account"),
    parts=("copy",),
    doc=__doc__ or "",
    change=OVERLAPPED,
    title="The step waits for copies",
    threshold="copies between host and device that nothing hides ≥ 3 % of the step",
)
