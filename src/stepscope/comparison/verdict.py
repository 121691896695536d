"""The answer of a comparison in one sentence, and its parts in a few words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stepscope.comparison.comparison import PartRow
from stepscope.comparison.noise import CONFIDENCE, Noise
from stepscope.result import Table

# A part is named in the verdict from this share of the difference on, and at most this many.
_NAMED_FRAC: Final = 0.10
_NAMED: Final = 3
# From here on three digits are a whole number; "#.3g" would write 1.00e+03.
_WHOLE: Final = 999.5


def headline(noise: Noise, before_ms: float, after_ms: float, parts: Table[PartRow]) -> str:
    """What changed, by how much, and mostly where."""
    times = f"{_number(before_ms)} → {_number(after_ms)} ms a step"
    # Steps marked as points in time take none, and nothing is a share of that.
    share = f"{noise.delta / before_ms:+.1%}" if before_ms > 0 else ""
    change = ", ".join(filter(None, (f"{_signed(noise.delta)} ms", share)))
    if noise.significant is None:
        return (
            f"{times} ({change}), but a recording of fewer than three steps does not show its "
            "noise: this may be chance."
        )
    interval = f"{CONFIDENCE:.0%} interval {_signed(noise.low)} to {_signed(noise.high)} ms"
    if not noise.significant:
        return f"No significant change: {times} ({change}; {interval})."
    word = "slower" if noise.delta > 0 else "faster"
    why = ", ".join(main_parts(parts, noise.delta))
    because = f" Mostly: {why}." if why else ""
    how = f"{share[1:]} {word}" if share else word.capitalize()
    return f"{how}: {times} ({interval}).{because}"


def starts_headline(
    noise: Noise,
    before_ms: float,
    after_ms: float,
    starts: tuple[int, int],
    parts: Table[PartRow],
) -> str:
    """The same of several starts on each side."""
    of = f"{starts[0]} and {starts[1]} starts"
    if noise.significant is None:
        return (
            f"{_number(before_ms)} → {_number(after_ms)} ms a step over {of} "
            f"({_signed(noise.delta)} ms), but one start on a side does not show what starts "
            "differ by: this may be chance."
        )
    return f"Over {of}: {headline(noise, before_ms, after_ms, parts)}"


def main_parts(parts: Table[PartRow], delta_ms: float) -> Iterator[str]:
    """The parts that make most of a difference, in its direction, above their own noise."""
    named = 0
    for row in parts.rows():
        own = row["delta_ms"]
        if own * delta_ms <= 0 or abs(own) < _NAMED_FRAC * abs(delta_ms):
            continue
        if row["noise_ms"] is not None and abs(own) <= row["noise_ms"]:
            continue
        yield f"{spoken(row)} {_signed(own)} ms"
        named += 1
        if named == _NAMED:
            return


def spoken(row: dict[str, Any]) -> str:
    """A part by name and, for an op, how it changed."""
    is_change = row["kind"] in ("slower", "faster", "added", "removed")
    return f"{row['name']} ({row['kind']})" if is_change else str(row["name"])


def _number(ms: float) -> str:
    """Three significant digits, with the zeros that are among them."""
    return f"{ms:#.3g}".rstrip(".") if abs(ms) < _WHOLE else f"{ms:,.0f}"


def _signed(ms: float) -> str:
    return f"{ms:+#.3g}".rstrip(".") if abs(ms) < _WHOLE else f"{ms:+,.0f}"
