"""Workers wait for each other in turns: no single one is late, but somebody always is.

What it checks: the time the mean worker waits in collectives for the last to arrive, and whether
one worker explains it.
Why it matters: each step takes as long as its slowest worker, a different one each time.
What to do: make steps even: the same amount of work for all, launches that do not depend on a busy
host, nothing on the hosts that stops a process now and then.
When it is wrong: the recording is a few steps long, in which anything can happen once.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.collective_time import collective_time
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import EVEN
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

# A straggler that causes this share of the waits explains them.
_EXPLAINED_FRAC = 0.5
_MIN_STEPS = 3


def worker_skew(results: Results) -> Iterator[Answer]:
    """Fires when workers wait 3 % of the step for others and no single one is to blame."""
    pod = results.pod_viewer
    step = pod.step_time_ms
    if not step > 0:
        yield NO_STEPS
        return
    time = collective_time(pod)
    if time.on_host and time.transfer_ms > 0:
        yield Unknown(
            "Collectives ran on processors (gloo, MPI): only stepscope pod tells waits from "
            "transfers one by one."
        )
        return
    if not time.is_matched:
        yield Silence("No collective of several workers is in the recorded steps.")
        return
    if time.waited_ms < NEGLIGIBLE_FRAC * step:
        yield Silence(f"The mean worker waits {time.waited_ms / step:.1%} of the step for others.")
        return
    late = pod.straggler
    if late is not None and late.caused_wait_ms >= _EXPLAINED_FRAC * time.waited_ms:
        yield Silence("One worker explains the waits (see straggler).")
        return
    few = len(pod.step_nums) < _MIN_STEPS
    most = max(float(value) for value in pod.workers["waited_ms"])
    yield Finding(
        rule=RULE.id,
        severity=severity_of(time.waited_ms, step),
        saving_ms=time.waited_ms,
        saving_high_ms=most,
        confidence=0.3 if few else 0.6,
        message=f"The mean worker waits {time.waited_ms:.3g} ms of each {step:.3g} ms step in "
        f"collectives for the last to arrive, at most {most:.3g} ms; no single worker explains it.",
        measured={"waited_ms": time.waited_ms, "most_waited_ms": most, "steps": len(pod.step_nums)},
        evidence=(
            Ref("pod_viewer", "workers.waited_ms"),
            Ref("pod_viewer", "collective_table", rows=(time.longest,)),
        ),
        actions=(
            "Launch ahead of the devices (graphs, compiled steps), so that a pause of a host does "
            "not reach its device.",
            "Balance what differs from step to step: lengths of sequences, sizes of files.",
            "Pin processes to cores near their device; keep other jobs off them.",
        ),
    )


RULE = Rule(
    id="worker-skew",
    check=worker_skew,
    needs=("pod_viewer",),
    evidence=("ops",),
    parts=("collective",),
    doc=__doc__ or "",
    change=EVEN,
    title="Workers wait for each other",
    threshold="mean wait in collectives ≥ 3 % of the step and no straggler explains half of it",
    symptom_of=("straggler", "unbalanced-devices", "tiny-kernels", "launch-bound"),
)
