"""The same elements are made again in every pass over the data.

What it checks: whether the stage that the step waits for comes before a repeat, draws no random
numbers, and is not cached.
Why it matters: from the second pass on, a cache costs next to nothing.
What to do: cache() after the expensive stage, before shuffle and random augmentation.
When it is wrong: the results do not fit in memory (cache to a file on a local disk then).
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.input_stage import STARVED, InputStage, input_stage, stage_finding
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence


def no_cache(results: Results) -> Iterator[Answer]:
    """Fires when the step waits ≥ 5 % for a stage that is repeated, not random and not cached."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    stage = found.stage
    if not stage.is_repeated:
        yield Silence("The recording shows no repeat after the stage that the step waits for.")
        return
    if stage.is_random or stage.has_cache:
        why = "draws random numbers" if stage.is_random else "is cached"
        yield Silence(f"{found.leaf}, which the step waits for, {why}.")
        return
    saving = found.knobs.get("cache", 0.0)
    yield from stage_finding(
        RULE,
        found,
        saving,
        f"{found.leaf} makes the same elements in every pass over the data, and the step waits "
        f"{found.wait_ms:.3g} of {found.step_ms:.3g} ms for it; from a cache the step would take "
        f"about {found.step_ms - saving:.3g} ms.",
        confidence=0.7,
        actions=(
            f"Insert cache() after {found.leaf}, before shuffle, repeat and random augmentation.",
            "If the results do not fit in memory: cache('/local/disk/file').",
        ),
        code="dataset = dataset.map(function).cache().shuffle(n).repeat().batch(size)",
    )


RULE = Rule(
    id="no-cache",
    check=no_cache,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="Elements are made again in every pass",
    threshold="the step waits ≥ 5 % for a stage that is repeated, not random and not cached",
    cause_of=STARVED,
)
