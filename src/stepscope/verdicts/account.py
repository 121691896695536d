"""The steps that numbers are over, as results say it: how many, how long, how sure."""

from __future__ import annotations

from math import nan
from typing import Final

from stepscope.columns import median, quantile
from stepscope.records import dataclass
from stepscope.tables.core.thresholds import SOME_FRAC
from stepscope.tables.steps.found import WINDOW
from stepscope.tables.steps.session import SessionSteps, why_no_step


@dataclass(frozen=True, slots=True)
class TimeStats:
    """Mean, sample standard deviation, range and median of the kept steps' times, in ms.

    Attributes:
        mean: Arithmetic mean.
        std: Standard deviation.
        min: Shortest step.
        max: Longest step.
        median: Median step.
        p95: 95th percentile.
    """

    mean: float
    std: float
    min: float
    max: float
    median: float
    p95: float


# How steps were found, as the words that follow their number.
FOUND: Final = {
    "markers": "from step markers",
    "device_steps": "from the device's own steps",
    "framework": "from the framework's calls",
    "inferred": "inferred from repetition",
    WINDOW: "of the whole recording",
    "none": "found",
}


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps the numbers are over.

    Attributes:
        count: Steps kept.
        source: How steps were found: "markers", "framework", "device_steps", "inferred"; "window"
            where there are none and the recording as a whole counts as one; "none".
        found: How steps were found, in words that follow a number of steps.
        confidence: Confidence in the steps, from 0 to 1.
        dropped: Steps found but not kept (cut at an edge, warm-up, outlier).
        outliers: Steps far longer than all others, among those dropped.
        time_ms: Statistics of the kept steps' times.
        tail_mean_ms: Mean time of the kept steps and the outliers.
        tail_p95_ms: 95th percentile of these; NaN of fewer than 20.
        explanation: The steps and how they were found, in one sentence.
        certainty: The confidence: "certain", "likely" or "uncertain".
        reason: Reason for the confidence, as a clause.
        left_out: Steps and times that the numbers exclude, and why; one sentence each.
        recorder_ms: Mean time per counted step of the recorder's own work on the program's thread;
            no part of the step.
        undisturbed_ms: Mean step while nothing records: the mean recorded step, shortened as much
            as the median one; None if it was not measured.
        undisturbed: How many undisturbed steps were timed, and how, or why none was; a clause.
        recorder_low_frac: Least share of the step that recording its events takes, estimated from
            their number. None if undisturbed steps were timed, or if it is below 5 %.
        recorder_high_frac: Greatest such share.
        recorded_frac: Share of the time that was recorded; in the rest the program ran undisturbed,
            a chunk was written, or the program recorded itself.
        recording_cost_frac: Estimated cost of recording as a share of the program's time: processor
            time of transferring events, and the delay of steps (1 µs per event if that is not
            known); None if not stated.
    """

    count: int
    source: str
    found: str
    confidence: float
    dropped: int
    time_ms: TimeStats
    explanation: str
    certainty: str = "uncertain"
    reason: str = ""
    left_out: tuple[str, ...] = ()
    recorder_ms: float = 0.0
    undisturbed_ms: float | None = None
    undisturbed: str = "not measured"
    recorder_low_frac: float | None = None
    recorder_high_frac: float | None = None
    recorded_frac: float = 1.0
    recording_cost_frac: float | None = None
    outliers: int = 0
    tail_mean_ms: float = nan
    tail_p95_ms: float = nan

    @property
    def recorder_factor(self) -> float:
        """Undisturbed by recorded step; 1 if that is not known, or hardly differs."""
        if self.undisturbed_ms is None or not self.time_ms.mean > 0:
            return 1.0
        factor = self.undisturbed_ms / self.time_ms.mean
        return factor if factor < 1 - SOME_FRAC else 1.0


def steps_account(found: SessionSteps | None) -> Steps:
    """Return a session's steps, as results publish them."""
    if found is None or not found.kept.any():
        nothing = TimeStats(nan, nan, nan, nan, nan, nan)
        dropped = 0 if found is None else len(found)
        return Steps(0, "none", FOUND["none"], 0.0, dropped, nothing, why_no_step(found))
    time = found.duration_ps[found.kept] / 1e9
    return Steps(
        count=int(found.kept.sum()),
        source=found.source,
        found=FOUND[found.source],
        confidence=found.confidence,
        dropped=int((~found.kept).sum()),
        time_ms=TimeStats(
            mean=float(time.mean()),
            std=float(time.std(ddof=1)) if len(time) > 1 else 0.0,
            min=float(time.min()),
            max=float(time.max()),
            median=median(time),
            p95=quantile(time, 0.95),
        ),
        explanation=found.explanation,
        certainty=found.certainty,
        reason=found.reason,
        left_out=found.left_out,
        recorder_ms=float(found.recorder_ps[found.kept].mean()) / 1e9,
        outliers=int(found.is_outlier.sum()),
        tail_mean_ms=found.sample.tail_mean,
        tail_p95_ms=found.sample.p95,
    )
