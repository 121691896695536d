"""One stage of the pipeline was given more to do than the others.

What it checks: what a typical step of each stage works, against the median stage.
Why it matters: micro-batches pass through all stages, so every stage waits for the longest one.
What to do: move layers from it to its neighbours; the last stage has the head and the loss as well.
When it is wrong: stages were made unequal on purpose, to leave one the memory or the time for
something that was not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.suspects import STAGE, UNEQUAL, costly, finding_of, foremost
from stepscope.advice.parts.changes import EVEN
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence

_ACTIONS = (
    "Move layers from it to its neighbours until stages take equally long; count the embedding "
    "with the first stage, the head and the loss with the last.",
    "Divide stages by measured time, not by numbers of layers.",
    "If layers cannot move, split the largest one over more devices of that stage.",
)


def unequal_stages(results: Results) -> Iterator[Answer]:
    """Fires when a stage's larger share costs 3 % of the step or more."""
    pod = results.pod
    found = [row for row in costly(pod) if row.cause == UNEQUAL and row.kind == STAGE]
    if not found:
        stages = sum(1 for row in pod.axes.records() if row.axis == STAGE)
        yield Silence(
            f"What {stages} stages do differs by too little to cost 3 % of the step."
            if stages > 1
            else "No two devices pass messages on: the job has no pipeline."
        )
    for row in foremost(found):
        yield finding_of(RULE.id, pod, row, _ACTIONS)


RULE = Rule(
    id="unequal-stages",
    check=unequal_stages,
    needs=("pod",),
    evidence=("ops",),
    parts=("collective",),
    doc=__doc__ or "",
    change=EVEN,
    title="A pipeline stage has more to do than the others",
    threshold="its larger share costs ≥ 3 % of the step",
    cause_of=("worker-skew", "exposed-collectives"),
)
