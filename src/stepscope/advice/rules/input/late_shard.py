"""Every worker makes the elements of all workers and throws most away.

What it checks: whether a shard comes after the stage that the step waits for.
Why it matters: with n shards, n−1 of n elements are made for nothing.
What to do: shard() first, on the file names, before anything reads or maps.
When it is wrong: the elements must be made to know which worker they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.input_stage import STARVED, InputStage, input_stage, stage_finding
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence


def late_shard(results: Results) -> Iterator[Answer]:
    """Fires when the step waits ≥ 5 % for a stage before a shard."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    if "early_shard" not in found.knobs:
        yield Silence("No shard comes after the stage that the step waits for.")
        return
    saving = found.knobs["early_shard"]
    yield from stage_finding(
        RULE,
        found,
        saving,
        f"The elements of {found.leaf} are made for all shards, then divided; the step waits "
        f"{found.wait_ms:.3g} of {found.step_ms:.3g} ms for it, and would take about "
        f"{found.step_ms - saving:.3g} ms if it made only its own.",
        confidence=0.8,
        actions=("Call shard() on the source, before map, shuffle and batch.",),
        code="dataset = files.shard(num_workers, index).interleave(...).map(...)",
    )


RULE = Rule(
    id="late-shard",
    check=late_shard,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="Sharding comes too late",
    threshold="the step waits ≥ 5 % for a stage before a shard",
    cause_of=STARVED,
)
