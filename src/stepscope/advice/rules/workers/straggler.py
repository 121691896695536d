"""One worker, or what several share, makes all others wait.

What it checks: which device, host, rack or stage stands out from its peers, what the typical step
takes longer with it as it was recorded, and what takes longer there. With too few peers to stand
out from: who arrives last at the collectives, by how much, and in which part of its step it exceeds
the others.
Why it matters: everybody waits for the last one in every step.
What to do: fix the part that is longer there: its input, its host, its device.
When it is wrong: clocks of hosts that share no collective cannot be compared; the worker may only
have been disturbed during the recording.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.collective_time import CollectiveTime, collective_time
from stepscope.advice.evidence.processor_waits import ProcessorWaits, processor_waits
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.evidence.suspects import (
    LINK,
    STAGE,
    UNEQUAL,
    costly,
    finding_of,
    foremost,
)
from stepscope.advice.parts.changes import EVEN
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.pod_viewer import PodViewer
    from stepscope.pod.report import Pod, SuspectRow

_ADVICE = {
    "Device compute": "Its device is slower at the same work: compare clocks, temperature and "
    "power limit (nvidia-smi -q -d PERFORMANCE), and what else runs on it.",
    "Input wait": "Its input is slower: compare its disk, network and processor with the others'.",
    "Copy to device": "Its copies are slower: check the PCIe link (nvidia-smi -q -d PCIE) and NUMA "
    "placement.",
    "Kernel launch": "Its host launches more slowly: look for other load and for NUMA placement.",
    "Host compute": "Its host computes more slowly: look for other load on it.",
    "All others": "Its program does something the others do not: logging, checkpoints, evaluation "
    "on rank 0.",
}
_BY_CAUSE = {
    "compute": _ADVICE["Device compute"],
    "memory": "Memory of its device is slower: look for corrected errors and retired rows "
    "(nvidia-smi -q -d ECC,ROW_REMAPPER).",
    "copies": _ADVICE["Copy to device"],
    "input": _ADVICE["Input wait"],
    "launch": _ADVICE["Kernel launch"],
    "host": "Its program stands still: collect garbage at the same step everywhere "
    "(gc.disable(), gc.collect() every n steps), write checkpoints and logs beside the step.",
    UNEQUAL: "It has more to do: give it as many samples, tokens or layers as the others.",
}
# Share of the steps from which on it is always the same worker.
_MOSTLY = 0.8
_PARTS_IN_WORDS = {
    "host_compute_ms": "compute",
    "input_ms": "wait for input",
    "output_ms": "output",
    "compilation_ms": "compilation",
    "host_wait_ms": "wait on the host",
    "other_ms": "time of no known part",
}
_IF_ALWAYS = (
    "If it is always the same machine, take it out; if it changes, look for what they share "
    "(storage, network, a scheduler)."
)


def straggler(results: Results) -> Iterator[Answer]:
    """Fires when one worker costs the others 3 % of the step or more."""
    pod, workers = results.optional.pod, results.optional.pod_viewer
    suspects = costly(pod)
    mine = [
        row for row in suspects if row.cause != LINK and (row.cause, row.kind) != (UNEQUAL, STAGE)
    ]
    if pod is not None and mine:
        yield from _suspected(pod, mine)
    elif suspects:
        yield Silence("No worker makes the others wait, but a link or a stage does.")
    elif workers is not None:
        yield from _last(workers, results)
    elif pod is not None:
        yield Silence(f"Of {pod.devices_found:,} devices none costs 3 % of the step.")
    else:
        yield NO_STEPS


def _suspected(pod: Pod, suspects: list[SuspectRow]) -> Iterator[Finding]:
    """What all recordings together say, where a worker has enough peers to stand out from."""
    for row in foremost(suspects):
        compare = f"Compare the steps of {row.name} with its peers'."
        yield finding_of(RULE.id, pod, row, (_BY_CAUSE.get(row.cause, compare), _IF_ALWAYS))


def _last(workers: PodViewer, results: Results) -> Iterator[Answer]:
    """Who arrives last, of workers however few."""
    step = workers.step_time_ms
    if not step > 0:
        yield NO_STEPS
        return
    if len(workers.workers) < 2:
        yield _alone(collective_time(workers), results.optional.overview_page)
        return
    if (apart := processor_waits(workers)) is not None:
        yield _last_processor(apart, step)
        return
    found = workers.straggler
    if found is None or found.caused_wait_ms < NEGLIGIBLE_FRAC * step:
        worst = found.step_frac if found is not None else 0.0
        yield Silence(f"No worker makes the others wait longer than {max(worst, 0.01):.0%}.")
        return
    name = f"{found.device} of {found.host}" if found.device else found.host
    met = found.last_frac is not None
    yield Finding(
        rule=RULE.id,
        severity=severity_of(found.caused_wait_ms, step),
        saving_ms=found.caused_wait_ms,
        confidence=0.8 if met else 0.4,
        message=found.message,
        measured={
            "caused_wait_ms": found.caused_wait_ms,
            "worker": name,
            "cause": found.cause or "unknown",
            "cause_ms": found.cause_ms,
            **({} if found.last_frac is None else {"last_frac": found.last_frac}),
        },
        evidence=(Ref("pod_viewer", "workers.caused_wait_ms", rows=(found.device or found.host,)),),
        actions=(
            _ADVICE.get(found.cause, f"Compare the steps of {name} with another worker's."),
            _IF_ALWAYS,
        ),
    )


def _last_processor(found: ProcessorWaits, step: float) -> Finding | Silence:
    """Who comes last to collectives of processors, of workers however few."""
    if found.waited_ms < NEGLIGIBLE_FRAC * step:
        return Silence(
            f"The mean worker waits {found.waited_ms / step:.1%} of the step for others."
        )
    if found.last_frac < _MOSTLY or found.caused_ms < NEGLIGIBLE_FRAC * step:
        return Silence(
            f"The mean worker waits {found.waited_ms / step:.0%} of the step for others, and no "
            "worker comes last in most steps."
        )
    part = _PARTS_IN_WORDS[found.part]
    return Finding(
        rule=RULE.id,
        severity=severity_of(found.caused_ms, step),
        saving_ms=found.caused_ms,
        confidence=0.6,
        message=f"{found.last} comes last to the collectives in {found.last_frac:.0%} of the "
        f"steps: the others wait {found.caused_ms:.3g} ms of each {step:.3g} ms step for it. Its "
        f"{part} takes {found.part_ms:.3g} ms longer than theirs.",
        measured={
            "caused_wait_ms": found.caused_ms,
            "worker": found.last,
            "cause": part,
            "cause_ms": found.part_ms,
            "last_frac": found.last_frac,
        },
        evidence=(Ref("pod_viewer", "pod.collective_transfer_ms"),),
        actions=(
            "Look for what runs on it alone: a validation, checkpoints or logging of rank 0, more "
            "or longer samples. Share it out, or do it less often. If there is nothing, look "
            "for other load on its host.",
            _IF_ALWAYS,
        ),
    )


def _alone(time: CollectiveTime, overview: OverviewPage | None) -> Silence | Unknown:
    """What one worker's recording says of others."""
    many = 1 if overview is None else overview.environment.device_count
    if many > 1:
        return Unknown(f"Only one of the {many} recorded devices works in the counted steps.")
    if time.transfer_ms == 0:
        return Silence("One worker was recorded, and it runs no collective in its steps.")
    return Unknown("Only one worker was recorded; to see who waits for whom, record all of them.")


RULE = Rule(
    id="straggler",
    check=straggler,
    needs=(),
    optional=("pod", "pod_viewer", "overview_page"),
    evidence=("ops",),
    parts=("collective",),
    doc=__doc__ or "",
    change=EVEN,
    title="One worker makes all others wait",
    threshold="a worker's delay costs the others ≥ 3 % of the step",
    symptom_of=("unbalanced-devices",),
)
