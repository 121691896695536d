"""Whether a pipeline is fast enough for the step, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from stepscope.loader.measure import Delivery
from stepscope.quantities import time_words

# Alone, a pipeline has the whole machine; beside the step it has what that leaves. What is not
# clearly faster than the step may still hold it up.
_AMPLE: Final = 0.7
# A turn of the loop this much longer than its longer part: the parts do not overlap.
_OVERLAPS: Final = 1.2
LoaderStatus = Literal["fast enough", "close", "too slow", "not compared"]


@dataclass(frozen=True, slots=True)
class LoaderVerdict:
    """What the measurements say.

    Attributes:
        status: Whether the pipeline keeps up with the step.
        summary: One sentence.
        next_steps: What to do about it.
    """

    status: LoaderStatus
    summary: str
    next_steps: tuple[str, ...]


def judge(delivery: Delivery, step_ms: float | None, loop_ms: float | None = None) -> LoaderVerdict:
    """Compare a pipeline with a step.

    Args:
        delivery: The pipeline by itself.
        step_ms: Time of a step without its input; None if it is not known.
        loop_ms: Time of a turn of the loop with both; None if it was not measured.
    """
    batch_ms = delivery.batch_ms
    if step_ms is None or step_ms <= 0:
        return LoaderVerdict(
            "not compared",
            f"The pipeline delivers a batch every {time_words(batch_ms)} by itself.",
            ("Compare it with a step: give --step-ms, --recording or --step.",),
        )
    ratio = batch_ms / step_ms
    times = f"a batch takes {time_words(batch_ms)}, a step without input {time_words(step_ms)}"
    if ratio > 1:
        return LoaderVerdict(
            "too slow",
            f"The pipeline is too slow: {times}, so each step waits "
            f"{time_words(batch_ms - step_ms)} or more.",
            (
                f"Make the pipeline {ratio:.1f} times faster: parallel map or workers, cache, "
                "larger reads; a faster device would not help.",
                "Record the program and look at tf_data_bottleneck_analysis or host_activity.",
            ),
        )
    if loop_ms is not None and loop_ms > _OVERLAPS * step_ms:
        return LoaderVerdict(
            "too slow",
            f"The pipeline could keep up, but does not overlap with the step: {times}, and both "
            f"in a loop {time_words(loop_ms)}.",
            (
                "Prepare the next batch while the step runs: dataset.prefetch(tf.data.AUTOTUNE), "
                "or DataLoader(num_workers=…).",
                "If it does already, the step and the pipeline compete for the processors.",
            ),
        )
    if ratio > _AMPLE:
        return LoaderVerdict(
            "close",
            f"The pipeline just keeps up: {times}. While the step runs it has fewer processors.",
            ("Measure both together: give --step, or record the program.",),
        )
    return LoaderVerdict(
        "fast enough",
        f"The pipeline is fast enough: {times}.",
        ("Look for the time in the step itself: stepscope record, then stepscope advise.",),
    )
