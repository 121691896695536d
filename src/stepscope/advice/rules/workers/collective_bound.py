"""Communication takes longer than the compute it could hide behind.

What it checks: the transfer time of collectives (waits for stragglers taken out), exposed and
hidden, against the work of the devices.
Why it matters: more devices then hardly make the step faster; the network is the limit.
What to do: send less (16-bit gradients, sharding that fits the network, gradient accumulation),
send it in fewer and larger pieces, or use the faster links.
When it is wrong: another job shares the network, or the recording's collectives are the first ones,
which set up their connections.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.collective_time import CollectiveTime, collective_time
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import OVERLAPPED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

# Gradients in 16 bits are half the bytes.
_EXPECTED = 0.5
# Collectives shorter than this pay for their start, not for their bytes.
_SHORT_US = 60.0
_MANY = 16


def collective_bound(results: Results) -> Iterator[Answer]:
    """Fires when exposed transfers cost 3 % of the step and little work could hide them."""
    overview, pod = results.overview_page, results.pod_viewer
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    time = collective_time(pod)
    if time.transfer_ms == 0:
        yield Silence("No collective ran in a step that was counted.")
        return
    if time.exposed_ms < NEGLIGIBLE_FRAC * step:
        yield Silence(
            f"Transfers that the step waits for cost {time.exposed_ms / step:.1%} of the step."
        )
        return
    if time.transfer_ms <= time.work_ms:
        yield Silence(
            f"Transfers take {time.transfer_ms:.3g} ms, which {time.work_ms:.3g} ms of work could "
            "hide."
        )
        return
    # Even with perfect overlap this much stays exposed.
    stays = time.transfer_ms - time.work_ms
    expected = min(_EXPECTED * time.transfer_ms, time.exposed_ms)
    who = "the processors" if time.on_host else "the devices"
    yield Finding(
        rule=RULE.id,
        severity=severity_of(expected, step),
        saving_ms=expected,
        saving_high_ms=time.exposed_ms,
        confidence=round(0.7 * time.confidence * overview.steps.confidence, 2),
        title="" if time.is_matched else "Communication takes longer than compute could hide",
        message=f"Collectives {'transfer for' if time.is_matched else 'take'} "
        f"{time.transfer_ms:.3g} ms of each {step:.3g} ms step, "
        f"{who} work {time.work_ms:.3g} ms: {stays:.3g} ms cannot be hidden even by perfect "
        "overlap" + time.doubt + _small(time) + ".",
        measured={
            "transfer_ms": time.transfer_ms,
            "exposed_ms": time.exposed_ms,
            "work_ms": time.work_ms,
            "collectives_per_step": time.per_step,
            "mean_transfer_us": time.transfer_us,
        },
        evidence=(
            Ref("pod_viewer", "workers.transfer_ms"),
            Ref("pod_viewer", "collective_table", rows=(time.longest,) if time.longest else ()),
        ),
        actions=_actions(time),
        code={
            "tensorflow": "strategy = tf.distribute.MirroredStrategy(\n"
            "    cross_device_ops=tf.distribute.NcclAllReduce(num_packs=1))",
            "jax": "grads = jax.tree.map(lambda g: g.astype(jnp.bfloat16), grads)\n"
            "grads = jax.lax.pmean(grads, 'data')",
            "pytorch": "model.register_comm_hook(None, default_hooks.bf16_compress_hook)",
        },
    )


_RECORD_ALL = (
    "Record all ranks in the same steps: waiting for a late rank looks like transferring, and less "
    "data shortens no wait."
)

_ASK_POD = (
    "Ask stepscope pod how much of it is waiting for a late rank: less data shortens no wait."
)


def _is_small(time: CollectiveTime) -> bool:
    return time.per_step >= _MANY and time.transfer_us < _SHORT_US


def _small(time: CollectiveTime) -> str:
    if not _is_small(time):
        return ""
    return f"; {time.per_step:.0f} collectives of {time.transfer_us:.3g} µs on average"


def _actions(time: CollectiveTime) -> tuple[str, ...]:
    less = (
        "Send gradients in bfloat16: half the bytes.",
        "Accumulate gradients over several batches before they are summed.",
        "Put the axis that communicates most on the fastest links (NVLink, one host, one ring).",
    )
    if time.on_host:  # without links of devices
        return (_ASK_POD, *less[:2])
    if not time.is_matched:
        return (_RECORD_ALL, *less)
    if _is_small(time):
        return ("Join small tensors into buckets of some megabytes before they are sent.", *less)
    return less


RULE = Rule(
    id="collective-bound",
    check=collective_bound,
    needs=("overview_page", "pod_viewer"),
    evidence=("ops",),
    parts=("collective",),
    doc=__doc__ or "",
    change=OVERLAPPED,
    title="The network limits the step",
    threshold="exposed transfers ≥ 3 % of the step and all transfers longer than the work",
)
