"""A function over elements runs on one thread while the step waits for it.

What it checks: the stage of tf.data that the step waits for; whether it is a map that runs one
call at a time on a machine with more cores.
Why it matters: the elements of a batch do not depend on each other; all cores can make them.
What to do: map(function, num_parallel_calls=tf.data.AUTOTUNE).
When it is wrong: all cores are busy already, or the function holds a lock (Python does).
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.input_stage import STARVED, InputStage, input_stage, stage_finding
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence


def serial_map(results: Results) -> Iterator[Answer]:
    """Fires when the step waits ≥ 5 % for a map that runs one call at a time."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    stage = found.stage
    if stage.kind != "map" or stage.parallelism > 1 or found.is_mostly_python:
        yield Silence(f"{found.leaf}, which the step waits for, is not a serial map.")
        return
    saving = found.knobs.get("num_parallel_calls", 0.0)
    yield from stage_finding(
        RULE,
        found,
        saving,
        f"{found.leaf} makes elements on one thread of {stage.cores or 'several'}, and the step "
        f"waits {found.wait_ms:.3g} of {found.step_ms:.3g} ms for it; on all cores the step would "
        f"take about {found.step_ms - saving:.3g} ms.",
        confidence=0.8,
        actions=(
            "Give map num_parallel_calls=tf.data.AUTOTUNE.",
            "If the order of elements does not matter, add deterministic=False.",
            "Cast to float after augmentation, not before: bytes are a quarter of the work.",
        ),
        code="dataset = dataset.map(function, num_parallel_calls=tf.data.AUTOTUNE)",
        measured={"parallelism": stage.parallelism, "cores": stage.cores or 0},
    )


RULE = Rule(
    id="serial-map",
    check=serial_map,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="A map runs on one thread",
    threshold="the step waits ≥ 5 % for a map that runs one call at a time",
    cause_of=STARVED,
)
