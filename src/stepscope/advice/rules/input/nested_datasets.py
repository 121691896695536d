"""A dataset is made for every element of a batch.

What it checks: how many datasets a flat_map or interleave makes for a batch that the step waits
for: those of windows, and of functions that return a dataset for each example.
Why it matters: each is made, asked and closed by itself, 50 to 500 µs however small it is.
What to do: make whole batches: gather windows from one array by their starts, or map a function of
a whole batch.
When it is wrong: the data do not fit in memory, or elements differ in length.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.input_stage import STARVED, InputStage, input_stage, stage_finding
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence
from stepscope.verdicts.tf_data_changes import MANY_DATASETS


def nested_datasets(results: Results) -> Iterator[Answer]:
    """Fires when the step waits ≥ 5 % for a stage that makes ≥ 16 datasets a batch."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    made = found.stage.datasets
    if not made >= MANY_DATASETS:
        yield Silence(f"{found.leaf}, which the step waits for, makes no dataset per element.")
        return
    maker = found.stage.maker.rpartition("::")[2] or "The pipeline"
    yield from stage_finding(
        RULE,
        found,
        found.knobs.get("whole_batches", 0.0),
        f"{maker} makes {made:.0f} datasets for each batch, and the step waits "
        f"{found.wait_ms:.3g} of {found.step_ms:.3g} ms for it.",
        confidence=0.8,
        actions=(
            "Make whole batches: gather windows from one array by their starts, or map a function "
            "of a whole batch.",
            "In Keras timeseries_dataset_from_array does so for windows.",
        ),
        code="dataset = starts.batch(size).map(lambda s: tf.gather(data, s[:, None] + "
        "tf.range(length)))",
        measured={"datasets_per_batch": made},
    )


RULE = Rule(
    id="nested-datasets",
    check=nested_datasets,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="A dataset is made for every element",
    threshold="the step waits ≥ 5 % for a stage that makes ≥ 16 datasets for a batch",
    cause_of=(*STARVED, "no-cache"),
)
