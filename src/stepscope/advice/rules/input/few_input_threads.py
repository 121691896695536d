"""The input pipeline may use fewer threads than it could.

What it checks: the size of tf.data's pool of threads against the parallel calls of the stage that
the step waits for, and the cores.
Why it matters: parallel calls beyond the threads wait in a queue.
What to do: leave private_threadpool_size unset, or raise it to the number of cores.
When it is wrong: the pool is small on purpose, to leave cores to the program.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.input_stage import STARVED, InputStage, input_stage, stage_finding
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence


def few_input_threads(results: Results) -> Iterator[Answer]:
    """Fires when the stage the step waits for could run more calls than it has threads."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    stage = found.stage
    if "threads" not in found.knobs:
        yield Silence(
            "tf.data's pool has as many threads as it can use."
            if stage.threads is not None
            else "The recording does not limit tf.data's threads."
        )
        return
    saving = found.knobs["threads"]
    yield from stage_finding(
        RULE,
        found,
        saving,
        f"{found.leaf} may run {stage.parallelism} calls at once, but tf.data has "
        f"{stage.threads} thread(s) on {stage.cores} cores; the step waits {found.wait_ms:.3g} of "
        f"{found.step_ms:.3g} ms for it and would take about {found.step_ms - saving:.3g} ms.",
        confidence=0.75,
        actions=(
            "Raise options.threading.private_threadpool_size, or leave it unset.",
            "Divide the cores between input and ops: "
            "tf.config.threading.set_inter_op_parallelism_threads and set_intra_op_….",
        ),
        code="options = tf.data.Options()\noptions.threading.private_threadpool_size = 0\n"
        "dataset = dataset.with_options(options)",
        measured={"threads": stage.threads or 0, "parallelism": stage.parallelism},
    )


RULE = Rule(
    id="few-input-threads",
    check=few_input_threads,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="Too few input threads",
    threshold="the step waits ≥ 5 % for a stage with more parallel calls and cores than threads",
    cause_of=STARVED,
)
