"""Limits a run must keep, for CI: which are kept, which are exceeded, and by what.

A limit on change has three outcomes. It is *exceeded* if the measured change is larger than the
limit and certainly a change, as a comparison has it. It is *kept* if it is not exceeded and the
interval ends below twice the limit: a change that large would have been seen. Otherwise the
recordings *cannot tell*, as where a few outliers alone bring the mean above the limit. A limit in
milliseconds, bytes or shares is what it is. What a recording does not hold is *missing*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isnan, nan, sqrt
from typing import Annotated, Any, Final, Literal

from stepscope.comparison.breakdown import Breakdown
from stepscope.comparison.compare import Side, compare
from stepscope.comparison.comparison import Comparison, PartRow
from stepscope.comparison.limit import Limit, Quantity
from stepscope.quantities import signed_percent
from stepscope.records import dataclass
from stepscope.result import Column, Result, Row, Table
from stepscope.tables.steps.bottleneck import LIMITS
from stepscope.tables.steps.session import session_steps
from stepscope.tables.steps.statistics import (
    FEWEST_STEPS,
    MIN_EFFECT_FRAC,
    PartSample,
    StepSample,
    difference,
    student_quantile,
    tail_difference,
)

LimitStatus = Literal["kept", "exceeded", "unknown", "missing"]

# What a limit may be on, and in which quantity.
METRICS: Final[dict[str, Quantity]] = {
    "step_time": "time",
    "example_time": "time",
    "peak_memory": "bytes",
    "idle": "share",
    **dict.fromkeys(LIMITS, "part"),
}
# Those whose noise is that of the single steps.
_PER_STEP: Final = ("step_time", "example_time")
_GUILTY: Final = 10
# Of all that grew, parts below this share are to blame for nothing.
_TRIFLE_FRAC: Final = 0.02


class LimitRow(Row):
    """One limit and whether it is kept."""

    metric: Annotated[str, Column("Limit on", kind="name")]
    limit: Annotated[str, Column("Limit", kind="text", help="As it was given.")]
    status: Annotated[
        str, Column("Status", kind="category", help="kept, exceeded, unknown or missing.")
    ]
    baseline: Annotated[str, Column("Baseline", kind="text")]
    measured: Annotated[str, Column("Measured", kind="text")]
    change_frac: Annotated[
        float, Column("Change", unit="%", kind="ratio", help="Relative to the baseline.")
    ]
    message: Annotated[str, Column("Why", kind="text")]


@dataclass(frozen=True, kw_only=True)
class GateReport(Result):
    """Whether a run keeps its limits, and which ops are to blame where it does not.

    Attributes:
        status: "exceeded" if any limit is, else "missing" if a run does not record what one is on,
            else "unknown" if the recordings cannot tell, else "kept".
        limits: Every limit.
        headline: What changed since the baseline, in one sentence; "" without a baseline.
        guilty: The parts of the step that grew most, first the worst; empty without a baseline.
        differences: What else than the program differs from the baseline.
    """

    tool = "check"
    status: LimitStatus
    limits: Table[LimitRow]
    headline: str
    guilty: Table[PartRow]
    differences: tuple[str, ...]


def check(run: Side, limits: Mapping[str, Limit], baseline: Side | None = None) -> GateReport:
    """Hold a run against its limits.

    Args:
        run: The run to judge.
        limits: By metric, a key of ``METRICS``; those on change need ``baseline``.
        baseline: The run to compare with.
    """
    compared = compare([baseline, run], by_line=False) if baseline is not None else None
    rows = [_judge(metric, limit, run, baseline) for metric, limit in limits.items()]
    found = [row["status"] for row in rows]
    order: tuple[LimitStatus, ...] = ("exceeded", "missing", "unknown", "kept")
    return GateReport(
        session=run.name,
        hosts=tuple(host.name for host in run.profile.hosts),
        diagnostics=compared.diagnostics if compared else run.profile.diagnostics,
        status=next((one for one in order if one in found), "kept"),
        limits=Table.from_rows(LimitRow, rows),
        headline=compared.headline if compared else "",
        guilty=guilty(compared) if compared else Table.empty(PartRow),
        differences=tuple(_differences(compared)) if compared else (),
    )


def guilty(compared: Comparison) -> Table[PartRow]:
    """The parts that grew most, beyond their own noise and not by a trifle."""
    grown = [row for row in compared.parts.rows() if row["delta_ms"] > 0]
    least = _TRIFLE_FRAC * sum(row["delta_ms"] for row in grown)
    rows = [row for row in grown if row["delta_ms"] > max(row["noise_ms"] or 0.0, least)][:_GUILTY]
    return Table(
        PartRow, {name: [_number(row[name]) for row in rows] for name in PartRow.__annotations__}
    )


def _number(value: Any) -> Any:
    return nan if value is None else value


def _differences(compared: Comparison) -> Iterator[str]:
    for row in compared.parity.rows():
        if row["status"] == "differs":
            yield f"{row['property']}: {row['baseline']} → {row['candidate']}. {row['note']}"


@dataclass(frozen=True, slots=True)
class _Value:
    """What was measured: the value, the noise of its mean (NaN: unknown), the whole it is of."""

    value: float
    noise: float = nan
    whole: float = nan


def _judge(metric: str, limit: Limit, run: Side, baseline: Side | None) -> dict[str, Any]:
    new = _measure(metric, run)
    old = _measure(metric, baseline) if baseline is not None else _Value(nan)
    shown = limit.quantity_of(METRICS[metric])
    change = (new.value - old.value) / old.value if old.value else nan
    row = {
        "metric": metric,
        "limit": limit.text,
        "baseline": limit.spelled(old.value, old.whole, shown),
        "measured": limit.spelled(new.value, new.whole, shown),
        "change_frac": change,
    }
    if isnan(new.value) or (limit.is_change and isnan(old.value)):
        who = run.name if isnan(new.value) or baseline is None else baseline.name
        return row | _told("missing", f"{who} does not record it.")
    if not limit.is_change:
        over = new.value > limit.bound(new.whole)
        return row | (_told("exceeded", "More than the limit.") if over else _told("kept"))
    allowed = limit.allowed_change(old.value)
    if metric in _PER_STEP and baseline is not None:
        return row | _judge_steps(metric, allowed, run, baseline)
    grown, noise = new.value - old.value, float((new.noise**2 + old.noise**2) ** 0.5)
    if isnan(noise):
        if grown <= allowed:
            return row | _told("unknown", "Too few steps to see a change of twice the limit.")
        return row | _told("unknown", "More than the limit, in too few steps to test.")
    why = (
        "The baseline has none of it."
        if isnan(change)
        else f"{signed_percent(change)} of the baseline."
    )
    return row | _outcome(allowed, grown, (grown - noise, grown + noise), why)


def _outcome(
    allowed: float, grown: float, interval: tuple[float, float], why: str, least: float = 0.0
) -> dict[str, Any]:
    """Hold a growth and its 99 % interval against what is allowed.

    Args:
        allowed: The growth that is no fault.
        grown: The measured one.
        interval: Its 99 % interval.
        why: The message of a larger one.
        least: The largest growth that is no change.
    """
    low, high = interval
    if grown > allowed and low > least:
        return _told("exceeded", why)
    if high <= 2 * allowed or (low == high and grown <= allowed):
        return _told(
            "kept", "More than the limit, but within the noise." if grown > allowed else ""
        )
    return _told("unknown", "The steps vary too much to see a change of twice the limit.")


def _judge_steps(metric: str, allowed: float, run: Side, baseline: Side) -> dict[str, Any]:
    """Hold the growth of the step against what is allowed: of the kept steps, then of the tail."""
    scale = [1 / _divisor(metric, side) for side in (baseline, run)]
    before, after = (
        StepSample(side.parts.sample.times * factor, side.parts.sample.is_outlier)
        for side, factor in zip((baseline, run), scale, strict=True)
    )
    found = difference(before, after)
    if found.interval is None:
        counts = f"{len(before)} and {len(after)} steps, {FEWEST_STEPS} needed"
        separated = found.outcome == "separated" and found.delta > allowed
        word = "Separated, too few steps to test" if separated else "Too few steps to test"
        return _told("unknown", f"{word} ({counts}).")
    why = f"Grew by {signed_percent(found.delta / found.baseline)} of the baseline."
    # The comparison's threshold: one report has one decision.
    least = min(MIN_EFFECT_FRAC * found.baseline, allowed)
    told = _outcome(allowed, found.delta, found.interval, why, least)
    if told["status"] == "exceeded":
        return _checked_undisturbed(told, allowed / found.baseline, run, baseline, scale)
    tail = tail_difference(before, after)
    if tail.interval is None or tail.delta <= allowed:
        return told
    share = signed_percent(tail.delta / tail.baseline)
    if tail.low > least:
        return _told("exceeded", f"The tail grew: {share} with outliers included.")
    if told["status"] == "kept":
        return _told("unknown", f"With outliers {share}, too few of them to tell.")
    return told


def _checked_undisturbed(
    told: dict[str, Any], allowed_frac: float, run: Side, baseline: Side, scale: list[float]
) -> dict[str, Any]:
    """A growth that only recorded steps show may be the recorder's."""
    if run.undisturbed_ms is None or baseline.undisturbed_ms is None:
        return told
    grown = run.undisturbed_ms * scale[1] / (baseline.undisturbed_ms * scale[0]) - 1
    if grown > allowed_frac:
        return told
    why = f"{told['message']} While nothing records it grew by {signed_percent(grown)}."
    return _told("unknown", why)


def _told(status: LimitStatus, why: str = "") -> dict[str, Any]:
    return {"status": status, "message": why}


def _divisor(metric: str, run: Side) -> float:
    """What the time of a step is divided by: 1, or its examples (NaN where they are unknown)."""
    return 1.0 if metric == "step_time" else run.examples


def _measure(metric: str, run: Side) -> _Value:
    step_ms = run.parts.sample.mean
    if metric in _PER_STEP:
        return _Value(step_ms / _divisor(metric, run))
    if metric == "peak_memory":
        return _Value(run.memory.peak_bytes, 0.0)
    if metric == "idle":
        session = session_steps(run.profile)
        busy = session.busy_frac if session is not None else None
        return _Value(nan if busy is None else 1.0 - busy, 0.0, 1.0)
    mean, noise = _part(run.parts, LIMITS[metric])
    return _Value(mean, noise, step_ms)


def _part(parts: Breakdown, members: Sequence[str]) -> tuple[float, float]:
    """Mean time of some parts of the step, and the half-width of its 99 % interval."""
    rows = [row for row, item in enumerate(parts.items) if item.part in members]
    sample = PartSample(
        parts.block_ms[rows].sum(axis=0),
        float(parts.variance[rows].sum()),
        float(parts.freedom[rows].sum()) if rows else inf,
    )
    variance, freedom = sample.spread(is_few=len(parts.sample) < FEWEST_STEPS)
    noise = nan if isnan(variance) else student_quantile(freedom) * sqrt(variance)
    return float(parts.mean_ms[rows].sum()), noise
