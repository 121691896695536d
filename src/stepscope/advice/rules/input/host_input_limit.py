"""The host cannot make batches fast enough, whatever the settings.

What it checks: whether the map that the step waits for already runs on all cores, in TensorFlow
ops, and neither a cache nor packed files would help.
Why it matters: no knob of tf.data is left; the work has to go elsewhere.
What to do: preprocess offline, on the device (nvidia.dali, keras preprocessing layers in the
model), on other machines (tf.data service), or take a machine with more cores per device.
When it is wrong: something else on the machine uses the cores.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.input_stage import STARVED, InputStage, input_stage, stage_finding
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence


def host_input_limit(results: Results) -> Iterator[Answer]:
    """Fires when the step waits ≥ 5 % for a map on all cores that no setting makes faster."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    stage = found.stage
    cores = stage.cores or stage.parallelism
    is_settled = (
        stage.kind == "map"
        and stage.parallelism >= cores > 1
        and not {"threads", "early_shard", "early_filter", "prefetch"} & found.knobs.keys()
    )
    is_own_work = not found.is_mostly_python and not found.reads_files
    may_cache = stage.is_repeated and not stage.is_random
    if not is_settled or not is_own_work or may_cache or found.makes_cheap_calls:
        yield Silence(f"{found.leaf}, which the step waits for, can be made faster in place.")
        return
    yield from stage_finding(
        RULE,
        found,
        found.knobs.get("offline", 0.0),
        f"{found.leaf} runs {stage.parallelism} calls at once on {cores} cores, and the step still "
        f"waits {found.wait_ms:.3g} of {found.step_ms:.3g} ms for it: the host is the limit.",
        confidence=0.4,
        actions=(
            "Do the expensive part once, offline, and store its results.",
            "Do it on the device: NVIDIA DALI, or preprocessing layers inside of the model.",
            "Augment bytes and cast to float last: a quarter of the memory moves.",
            "Spread it over machines with the tf.data service, or use more cores per device.",
        ),
        code="dataset = dataset.apply(tf.data.experimental.service.distribute(\n"
        "    processing_mode='parallel_epochs', service=address))",
        measured={"cores": cores, "element_us": stage.element_us},
    )


RULE = Rule(
    id="host-input-limit",
    check=host_input_limit,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="The host limits the input pipeline",
    threshold="the step waits ≥ 5 % for a map on all cores that no setting makes faster",
    cause_of=STARVED,
)
