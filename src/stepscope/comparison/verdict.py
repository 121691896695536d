"""The answer of a comparison in a sentence or two, and its parts in a few words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stepscope.comparison.breakdown import NOTHING
from stepscope.comparison.comparison import PartRow
from stepscope.quantities import share_words, signed_percent, with_minus
from stepscope.result import Table
from stepscope.tables.steps.statistics import (
    CONFIDENCE,
    EQUAL_FRAC,
    FEWEST_STEPS,
    Difference,
    StepSample,
)

# A part is named in the verdict from this share of the difference on, and at most this many.
_NAMED_FRAC: Final = 0.10
_NAMED: Final = 3
# From here on three digits are a whole number; "#.3g" would write 1.00e+03.
_WHOLE: Final = 999.5
_TIMES: Final = 3  # longer steps are given as a factor, not in percent


def headline(
    change: Difference,
    parts: Table[PartRow],
    step_parts: Table[PartRow],
    counts: tuple[int, int],
    code: str = "",
) -> str:
    """Return what changed, by how much, and mostly where.

    Args:
        change: The change of the step.
        parts: What it is made of, op by op.
        step_parts: The same by part of the step.
        counts: Steps of the baseline and of the new run.
        code: The function of the program that changed most of it, and by how much; "" if unknown.
    """
    delta, before_ms = change.delta, change.baseline
    times = f"{_number(before_ms)} → {_number(change.candidate)} ms per step"
    # Steps marked as points in time take none, and nothing is a share of that.
    share = signed_percent(delta / before_ms) if before_ms > 0 else ""
    moved = ", ".join(filter(None, (f"{_signed(delta)} ms", share)))
    if change.interval is None:
        told = (
            "Separated, too few steps to test"
            if change.outcome == "separated"
            else "Too few steps to tell"
        )
        had = f"{counts[0]} and {counts[1]} steps, {FEWEST_STEPS} needed"
        return f"{told}: {times} ({moved}; {had}).{_changed(step_parts)}"
    interval = (
        f"{share_words(CONFIDENCE)} interval {_signed(change.low)} to {_signed(change.high)} ms"
    )
    if change.outcome == "equal":
        told = f"No change beyond ±{share_words(EQUAL_FRAC)}"
        return f"{told}: {times} ({moved}; {interval}).{_changed(step_parts)}"
    if change.outcome == "unknown":
        told = "Cannot tell whether the step changed"
        return f"{told}: {times} ({moved}; {interval}).{_changed(step_parts)}"
    why = ", ".join(main_parts(parts, delta, code))
    because = f" Mostly: {why}." if why else ""
    how = f"{share[1:]} {change.outcome}" if share else change.outcome.capitalize()
    if before_ms > 0 and change.candidate >= _TIMES * before_ms:
        how = f"{_number(change.candidate / before_ms)} times as long"
    return f"{how}: {times} ({interval}).{because}"


def starts_headline(change: Difference, parts: Table[PartRow], starts: tuple[int, int]) -> str:
    """Return the same of several starts on each side.

    What two of them differ by in their parts is no change between the sides.
    """
    number = f"{starts[0]} start{'s' * (starts[0] > 1)} before and {starts[1]} after"
    if change.interval is None:
        return (
            f"{_number(change.baseline)} → {_number(change.candidate)} ms per step over {number} "
            f"({_signed(change.delta)} ms). One start on a side does not show how starts differ: "
            "this may be chance."
        )
    return f"Over {number}: {headline(change, parts, Table.empty(PartRow), starts)}"


def tail_sentence(step: Difference, tail: Difference, runs: tuple[StepSample, StepSample]) -> str:
    """Return how the slowest steps changed; "" if they changed as all did, or not surely."""
    if tail.outcome not in ("slower", "faster") or tail.outcome == step.outcome:
        return ""
    p95 = [run.p95 for run in runs]
    percentiles = f", 95th percentile {_number(p95[0])} → {_number(p95[1])} ms"
    has_percentiles = all(value == value for value in p95)
    return (
        f" The tail is {tail.outcome}: with outliers {_number(tail.baseline)} → "
        f"{_number(tail.candidate)} ms per step{percentiles if has_percentiles else ''}."
    )


def _changed(step_parts: Table[PartRow]) -> str:
    """Return which parts of the step changed, whatever the step did; "" without any."""
    told = ""
    for found, words in (("yes", "Changed"), ("separated", "Changed in every step")):
        rows = [row for row in step_parts.rows() if row["significant"] == found][:_NAMED]
        named = ", ".join(f"{row['name']} {_signed(row['delta_ms'])} ms" for row in rows)
        told += f" {words}: {named}." if named else ""
    return told


def main_parts(parts: Table[PartRow], delta_ms: float, code: str = "") -> Iterator[str]:
    """Yield the parts that make most of a difference, in its direction, beyond their own noise.

    ``code`` stands for time in which nothing was recorded but samples of the program.
    """
    named = 0
    for row in parts.rows():
        own = row["delta_ms"]
        if own * delta_ms <= 0 or abs(own) < _NAMED_FRAC * abs(delta_ms):
            continue
        if row["noise_ms"] is not None and abs(own) <= row["noise_ms"]:
            continue
        is_named = bool(code) and row["name"] == NOTHING
        yield code if is_named else f"{spoken(row)} {_signed(own)} ms"
        named += 1
        if named == _NAMED:
            return


def spoken(row: dict[str, Any]) -> str:
    """Return a part by name and, for an op, how it changed."""
    is_change = row["kind"] in ("slower", "faster", "added", "removed")
    return f"{row['name']} ({row['kind']})" if is_change else str(row["name"])


def _number(ms: float) -> str:
    """Return three significant digits, with the zeros that are among them."""
    return f"{ms:#.3g}".rstrip(".") if abs(ms) < _WHOLE else f"{ms:,.0f}"


def _signed(ms: float) -> str:
    return with_minus(f"{ms:+#.3g}".rstrip(".") if abs(ms) < _WHOLE else f"{ms:+,.0f}")
