"""A cheap function is called for every element instead of for every batch.

What it checks: the time of one call of the map that the step waits for, and how many make a batch.
Why it matters: each call costs 10–100 µs in tf.data itself, whatever the function does.
What to do: batch first, then map a function of batches.
When it is wrong: elements differ in shape, so that they cannot be batched before the map.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.input_stage import STARVED, InputStage, input_stage, stage_finding
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence

# Share of a cheap call that counts as overhead where the ops in it were not recorded.
_OVERHEAD_FRAC = 0.7


def batch_after_map(results: Results) -> Iterator[Answer]:
    """Fires when the step waits ≥ 5 % for a map of ≥ 16 calls a batch, each ≤ 200 µs."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    stage = found.stage
    if not found.makes_cheap_calls:
        yield Silence(f"{found.leaf}, which the step waits for, does not make many cheap calls.")
        return
    saving = found.knobs.get("vectorised_map", 0.0)
    if not saving >= 0:  # NaN: the ops of the function are too short to be recorded
        saving = _OVERHEAD_FRAC * found.knobs.get("offline", 0.0)
    yield from stage_finding(
        RULE,
        found,
        saving,
        f"{found.leaf} is called {stage.elements:.0f} times for a batch, {stage.element_us:.0f} µs "
        f"each, and the step waits {found.wait_ms:.3g} of {found.step_ms:.3g} ms for it.",
        confidence=0.6,
        actions=("Batch first and map a function of whole batches.",),
        code="dataset = dataset.batch(size).map(function_of_batches, "
        "num_parallel_calls=tf.data.AUTOTUNE)",
        measured={"elements_per_batch": stage.elements, "element_us": stage.element_us},
    )


RULE = Rule(
    id="batch-after-map",
    check=batch_after_map,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="Many cheap calls per batch",
    threshold="the step waits ≥ 5 % for a map of ≥ 16 calls a batch, each ≤ 200 µs",
    cause_of=(*STARVED, "no-cache"),
)
