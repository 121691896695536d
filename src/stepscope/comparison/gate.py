"""Limits a run must keep, for CI: which are kept, which are exceeded, and by what.

A limit on change counts as exceeded only where the change is more than noise, so a gate does not
fail on chance; a limit in milliseconds, bytes or shares is what it is. What a recording does not
tell is unknown, which does not pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Annotated, Any, Final, Literal

from stepscope.comparison.breakdown import Breakdown
from stepscope.comparison.compare import Side, compare
from stepscope.comparison.comparison import Comparison, PartRow
from stepscope.comparison.limit import Limit, Quantity
from stepscope.comparison.noise import block_noise, difference
from stepscope.result import Column, Result, Row, Table
from stepscope.tables.steps.bottleneck import LIMITS
from stepscope.tables.steps.session import session_steps

LimitStatus = Literal["kept", "exceeded", "unknown"]

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
    status: Annotated[str, Column("Status", kind="category", help="kept, exceeded or unknown.")]
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
        status: "exceeded" where any limit is, else "unknown" where any cannot be told, else "kept".
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
    compared = compare([baseline, run]) if baseline is not None else None
    rows = [_judge(metric, limit, run, baseline) for metric, limit in limits.items()]
    found = [row["status"] for row in rows]
    order: tuple[LimitStatus, ...] = ("exceeded", "unknown", "kept")
    return GateReport(
        session=run.name,
        hosts=tuple(host.name for host in run.profile.hosts),
        diagnostics=compared.diagnostics if compared else run.profile.diagnostics,
        status=next((one for one in order if one in found), "kept"),
        limits=Table(
            LimitRow, {name: [row[name] for row in rows] for name in LimitRow.__annotations__}
        ),
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
    """What was measured: the value, the noise of its change (NaN: unknown), the whole it is of."""

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
        return row | {"status": "unknown", "message": f"{who} does not record it."}
    if not limit.is_change:
        over = new.value > limit.bound(new.whole)
        return row | _told(over, "" if not over else "More than the limit.")
    allowed = limit.allowed_change(old.value)
    grown = new.value - old.value
    if grown <= allowed:
        return row | _told(over=False)
    least = (
        _least_step_growth(metric, run, baseline)
        if metric in _PER_STEP and baseline is not None
        else grown - float((new.noise**2 + old.noise**2) ** 0.5)
    )
    if isnan(least):
        why = "More than the limit, but fewer than three steps do not show their noise."
        return row | {"status": "unknown", "message": why}
    if least <= 0:
        return row | _told(over=False, why="More than the limit, but within the noise.")
    if isnan(change):
        return row | _told(over=True, why="The baseline has none of it.")
    return row | _told(over=True, why=f"Grew by {change:+.1%} of the baseline.")


def _least_step_growth(metric: str, run: Side, baseline: Side) -> float:
    """The lower end of the interval of the growth; NaN where a run has too few steps to tell."""
    before, after = (one.parts.step_ms / _divisor(metric, one) for one in (baseline, run))
    return difference(before, after).low


def _told(over: bool, why: str = "") -> dict[str, Any]:
    return {"status": "exceeded" if over else "kept", "message": why}


def _divisor(metric: str, run: Side) -> float:
    """What the time of a step is divided by: 1, or its examples (NaN where they are unknown)."""
    return 1.0 if metric == "step_time" else run.examples


def _measure(metric: str, run: Side) -> _Value:
    step_ms = float(run.parts.step_ms.mean())
    if metric in _PER_STEP:
        return _Value(step_ms / _divisor(metric, run))
    if metric == "peak_memory":
        return _Value(run.peak_memory_bytes, 0.0)
    if metric == "idle":
        session = session_steps(run.profile)
        busy = session.busy_frac if session is not None else None
        return _Value(nan if busy is None else 1.0 - busy, 0.0, 1.0)
    mean, noise = _part(run.parts, LIMITS[metric])
    return _Value(mean, noise, step_ms)


def _part(parts: Breakdown, members: Sequence[str]) -> tuple[float, float]:
    """Mean time of some parts of the step, and its noise."""
    rows = [row for row, item in enumerate(parts.items) if item.part in members]
    noise = block_noise(parts.block_ms[rows].sum(axis=0, keepdims=True))
    return float(parts.mean_ms[rows].sum()), float(noise[0])
