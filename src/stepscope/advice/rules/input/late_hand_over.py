"""Batches are ready, and the thread that hands them over wakes up late.

What it checks: whether the step waits for a prefetch of tf.data although its pipeline makes a batch
in less than half a step.
Why it matters: nothing about the pipeline makes this wait shorter; something else has the cores.
What to do: leave a core to the pipeline and its hand-over, and look at what else runs.
When it is wrong: the pipeline is at its limit in other parts of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.input_stage import InputStage, input_stage
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.tf_data_bottleneck_analysis import TfDataBottleneckAnalysis

_FAST_FRAC = 0.5
# What only hands on, or waits for what does.
_HANDS_ON = ("Root", "Model", "Prefetch")


def late_hand_over(results: Results) -> Iterator[Answer]:
    """Fires when the step waits ≥ 5 % for a prefetch of batches that are quickly made."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    made = _making_ms(results.tf_data_bottleneck_analysis)
    if found.stage.kind != "hand-over" or not made < _FAST_FRAC * found.step_ms:
        yield Silence(f"The step waits for {found.leaf} to make batches.")
        return
    yield Finding(
        rule=RULE.id,
        severity="info",
        saving_ms=_FAST_FRAC * found.wait_ms,
        saving_low_ms=0.0,
        saving_high_ms=found.wait_ms,
        assumption="the hand-over gets a core as soon as it asks for one",
        confidence=0.5,
        message=f"The step waits {found.wait_ms:.3g} of {found.step_ms:.3g} ms for {found.leaf}, "
        f"and the pipeline makes a batch in {made:.3g} ms, ahead of it: what is late is the thread "
        "that hands it over. The step's own ops, or other programs, have the cores meanwhile.",
        measured={
            "input_wait_ms": found.wait_ms,
            "making_ms": made,
            "step_time_ms": found.step_ms,
            "step_after_ms": found.step_ms - _FAST_FRAC * found.wait_ms,
        },
        evidence=(
            Ref("tf_data_bottleneck_analysis", found.leaf, rows=(found.stage.long_name,)),
            Ref("input_pipeline_analyzer"),
        ),
        actions=(
            "Record again while nothing else runs on the machine.",
            "Leave a core to the pipeline: fewer threads for the step's ops "
            "(tf.config.threading.set_intra_op_parallelism_threads).",
        ),
    )


def _making_ms(found: TfDataBottleneckAnalysis) -> float:
    """The work that is in one batch; infinite where it is not known."""
    nodes = [] if found.graph is None else list(found.graph.nodes.records())
    stages = [one for one in nodes if one.iterator not in _HANDS_ON]
    return sum(one.self_us for one in stages) / 1e3 if stages else float("inf")


RULE = Rule(
    id="late-hand-over",
    check=late_hand_over,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="Batches are handed over late",
    threshold="the step waits ≥ 5 % for a prefetch of batches that are made in half a step",
)
