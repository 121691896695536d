"""Communication waits until compute is done, although the two could overlap.

What it checks: transfers of collectives that the step waits for, where the devices' work is long
enough to hide them.
Why it matters: gradients of the last layers are ready long before those of the first; sent at once
they cost nothing, sent at the end they cost their whole time.
What to do: send gradients in buckets during the backward pass; let the compiler overlap.
When it is wrong: the next computation needs the result at once (tensor parallelism).
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.collective_time import collective_time
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import OVERLAPPED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

# The last bucket has nothing left to hide behind.
_EXPECTED = 0.8


def exposed_collectives(results: Results) -> Iterator[Answer]:
    """Fires when transfers that work could hide cost 3 % of the step or more."""
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
        share = time.hidden_ms / time.transfer_ms
        yield Silence(
            f"Transfers that the step waits for cost {time.exposed_ms / step:.1%} of the step; "
            f"{share:.0%} of them are hidden."
        )
        return
    if time.transfer_ms > time.work_ms:
        yield Silence("There is less work than communication: overlap alone would not suffice.")
        return
    hidden = time.hidden_ms / time.transfer_ms
    yield Finding(
        rule=RULE.id,
        severity=severity_of(_EXPECTED * time.exposed_ms, step),
        saving_ms=_EXPECTED * time.exposed_ms,
        saving_high_ms=time.exposed_ms,
        confidence=round(0.6 * time.confidence * overview.steps.confidence, 2),
        message=f"The step waits {time.exposed_ms:.3g} ms of its {step:.3g} ms for collectives "
        f"with no compute beside them; {hidden:.0%} of their {time.transfer_ms:.3g} ms is hidden, "
        f"and {time.work_ms:.3g} ms of work could hide all of it{time.doubt}.",
        measured={
            "exposed_ms": time.exposed_ms,
            "hidden_ms": time.hidden_ms,
            "work_ms": time.work_ms,
            "hidden_frac": hidden,
        },
        evidence=(
            Ref("pod_viewer", "workers.transfer_ms"),
            Ref("pod_viewer", "collective_table", rows=(time.longest,) if time.longest else ()),
        ),
        actions=(
            "Send gradients as they are ready, in buckets, during the backward pass.",
            "Let the compiler run collectives beside compute (XLA: latency-hiding scheduler).",
            "Adding up gradients of several backward passes, send their sum once, after the last.",
        ),
        code={
            "tensorflow": "options = tf.distribute.experimental.CommunicationOptions(\n"
            "    bytes_per_pack=32 << 20)",
            "jax": "os.environ['XLA_FLAGS'] = '--xla_gpu_enable_latency_hiding_scheduler=true'",
            "pytorch": "DistributedDataParallel(model, bucket_cap_mb=25)  # sends during backward\n"
            "with model.no_sync():  # all but the last pass of an accumulation\n"
            "    loss.backward()",
        },
    )


RULE = Rule(
    id="exposed-collectives",
    check=exposed_collectives,
    needs=("overview_page", "pod_viewer"),
    evidence=("ops",),
    parts=("collective",),
    doc=__doc__ or "",
    change=OVERLAPPED,
    title="Communication does not overlap with compute",
    threshold="exposed transfers ≥ 3 % of the step and all transfers shorter than the work",
)
