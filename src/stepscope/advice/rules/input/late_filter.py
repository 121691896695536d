"""A filter throws away what a map before it has made.

What it checks: how many elements a filter asks for, and how many it hands on, where a map comes
before it and the step waits for either.
Why it matters: what is decoded, resized or tokenised and then thrown away was made for nothing.
What to do: filter() first, on what is known without the map: a label, a name, a length.
When it is wrong: what the filter asks is only known after the map.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.input_stage import STARVED, InputStage, input_stage, stage_finding
from stepscope.advice.parts.changes import SPARED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence


def late_filter(results: Results) -> Iterator[Answer]:
    """Fires when the step waits ≥ 5 % for a map whose elements a filter then throws away."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    if "early_filter" not in found.knobs:
        yield Silence("No filter throws away much of what a map makes.")
        return
    saving, kept = found.knobs["early_filter"], found.stage.kept_frac
    yield from stage_finding(
        RULE,
        found,
        saving,
        f"A filter keeps {kept:.0%} of the elements that a map before it makes; the rest is made "
        f"for nothing. The step waits {found.wait_ms:.3g} of {found.step_ms:.3g} ms for "
        f"{found.leaf}, and would take about {found.step_ms - saving:.3g} ms if what is thrown "
        "away were not made.",
        confidence=0.85,
        actions=(
            "Put filter() before map(): if it asks for a label, a name or a length, nothing needs "
            "to be decoded for that.",
            "If it asks for something that the map makes, split the map: make that first, filter, "
            "and do the rest after it.",
        ),
        code="dataset = dataset.filter(keep).map(function, num_parallel_calls=tf.data.AUTOTUNE)",
        measured={"kept_frac": kept},
    )


RULE = Rule(
    id="late-filter",
    check=late_filter,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SPARED,
    title="Filtering comes too late",
    threshold="the step waits ≥ 5 % for a map of which a filter keeps less than 80 %",
    cause_of=STARVED,
)
