"""The next batch is made only when the step asks for it.

What it checks: the stage of tf.data that the step waits for; whether anything between it and the
program runs ahead (prefetch, or a stage with threads of its own).
Why it matters: input and compute take turns, although they could overlap.
What to do: end the pipeline with prefetch(tf.data.AUTOTUNE).
When it is wrong: compute and input compete for the same cores, so that overlapping slows both.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.input_stage import (
    SEVERAL,
    STARVED,
    InputStage,
    input_stage,
    stage_finding,
)
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence


def missing_prefetch(results: Results) -> Iterator[Answer]:
    """Fires when the step waits ≥ 5 % for a pipeline that does not run ahead."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    if "prefetch" not in found.knobs:
        yield Silence("The pipeline runs ahead of the step.")
        return
    if found.stage.kind == "python source" and found.stage.elements < SEVERAL:
        yield Silence(f"{found.leaf} makes whole batches in Python: what makes them is the limit.")
        return
    saving = found.knobs["prefetch"]
    yield from stage_finding(
        RULE,
        found,
        saving,
        f"Nothing is prefetched: the step waits {found.wait_ms:.3g} of {found.step_ms:.3g} ms "
        f"while a batch is made; with that overlapped, the step would take about "
        f"{found.step_ms - saving:.3g} ms.",
        confidence=0.85,
        actions=("End the pipeline with prefetch(tf.data.AUTOTUNE).",),
        code="dataset = dataset.prefetch(tf.data.AUTOTUNE)  # the last stage",
    )


RULE = Rule(
    id="missing-prefetch",
    check=missing_prefetch,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="Nothing is prefetched",
    threshold="the step waits ≥ 5 % for a pipeline that does not run ahead",
    cause_of=STARVED,
)
