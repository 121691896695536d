"""The input pipeline takes cores that the step computes on.

What it checks: how many cores the functions of tf.data's pipelines keep busy while nobody waits for
a batch, against the cores of a host that computes the steps itself.
Why it matters: batches are ready in time, and yet the ops of the step run slower: they share the
cores with what makes the next batch.
What to do: make batches cheaper: once and offline, in a cache, for a whole batch in one op; or make
them on another machine.
When it is wrong: the host has more cores than the recording tells.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence import makers
from stepscope.advice.evidence.input_stage import STARVED
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import FREED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref
from stepscope.schema import names
from stepscope.tables.steps.bottleneck import INPUT_SOME_FRAC

# So many cores are worth a word, if they are this share of the host's.
_SOME_CORES, _SHARE_FRAC = 0.3, 0.15
# Of the time that these cores spend on input, ops of the step would have had: as they wait for
# each other at most times, hardly any; with what the input keeps out of caches and locks, more.
_LEAST, _EXPECTED, _MOST = 0.4, 0.8, 1.6
_NAMED = 3


def input_takes_cores(results: Results) -> Iterator[Answer]:
    """Fires when input keeps 0.3 cores and 15 % of the host busy that computes the steps."""
    overview = results.overview_page
    step, run = overview.steps.time_ms.mean, overview.environment
    if not step > 0:
        yield NO_STEPS
        return
    if run.device_count:
        yield Silence("A device computes the steps; input has the host's cores to itself.")
        return
    wait = overview.breakdown_ms["input"]
    if wait >= INPUT_SOME_FRAC * step:
        yield Silence(f"The step waits for input for {wait / step:.0%} of its time: that is first.")
        return
    times: dict[str, float] = {}
    for one in results.tf_data_bottleneck_analysis.function_ops.records():
        if not one.type.endswith("Dataset"):
            times[one.type] = times.get(one.type, 0.0) + one.self_time_ms
    recorded = float(run.profile_duration_ms)
    busy = sum(times.values()) / recorded if recorded > 0 else 0.0
    if busy < _SOME_CORES:
        yield Silence(f"Functions of input pipelines keep {busy:.2g} cores busy.")
        return
    if not run.host_cores:
        yield Unknown("How many cores the host has was not recorded; stepscope record notes it.")
        return
    share = min(busy / run.host_cores, 1.0)
    if share < _SHARE_FRAC:
        yield Silence(f"Input keeps {busy:.2g} of {run.host_cores} cores busy.")
        return
    longest = sorted(times, key=lambda op: -times[op])[:_NAMED]
    maker = makers.maker(results.optional.step_account)
    yield Finding(
        rule=RULE.id,
        severity=severity_of(_EXPECTED * share * step, step),
        saving_ms=_EXPECTED * share * step,
        saving_low_ms=_LEAST * share * step,
        saving_high_ms=min(_MOST * share, 1.0) * step,
        confidence=0.6,
        place=makers.place(maker),
        message=f"No step waits for its batch, but making batches keeps {busy:.2g} of the host's "
        f"{run.host_cores} cores busy, on which the {step:.3g} ms steps compute as well: "
        f"{', '.join(f'{op} {times[op] / sum(times.values()):.0%}' for op in longest)}."
        f"{makers.said(maker)}",
        measured={
            "busy_cores": busy,
            "host_cores": run.host_cores,
            "step_time_ms": step,
            "step_after_ms": (1 - _EXPECTED * share) * step,
        },
        evidence=(
            Ref("tf_data_bottleneck_analysis", "function_ops", rows=tuple(longest)),
            Ref("trace_viewer", longest[0]),
        ),
        actions=(
            *makers.asked(maker),
            *(_IN_PYTHON if longest[0] in names.PYTHON_OPS else _IN_OPS),
        ),
        code={"tensorflow": _CODE},
    )


_FIRST = "Run the loop on one batch kept in memory: what gets faster is what input takes."
_IN_OPS = (
    _FIRST,
    "Do once what does not change: cache() before the random part, or files made offline.",
    "Do it for a whole batch at once (batch before map), and only for what is kept: crop first.",
)
_IN_PYTHON = (
    _FIRST,
    "Compute once, before training, what is the same in every pass; vectorise the rest with NumPy.",
    "Write it in TensorFlow ops: Python also holds the lock that the loop needs.",
)
_CODE = "dataset = dataset.cache().shuffle(n).batch(size).map(random_part_of_a_whole_batch)"

RULE = Rule(
    id="input-takes-cores",
    check=input_takes_cores,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    optional=("step_account",),
    doc=__doc__ or "",
    change=FREED,
    title="Input takes cores from the step",
    threshold="functions of tf.data keep 0.3 cores and 15 % of a host without devices busy",
    cause_of=STARVED,
    # Python that makes batches also holds the lock that the loop needs: that says more.
    symptom_of=("python-in-pipeline",),
)
