"""What a finding saves, in words: laid out once, for every surface."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from stepscope.result import Finding

# A saving whose least is nearer to its most than this is one figure.
_ONE_FIGURE = 0.9
_OF_UNITS = " %mµs"


def worded(finding: Finding, whole_ms: float | None) -> Finding:
    """The finding with its saving in words.

    Args:
        finding: Complete but for them.
        whole_ms: What it is a share of: the mean step, or the recording; None unknown.
    """
    return replace(finding, saving_text=_text(finding, whole_ms))


def _text(finding: Finding, whole_ms: float | None) -> str:
    if finding.saving_ms is None:
        return ": ".join(filter(None, ("Saving unknown", finding.no_saving)))
    least, most = finding.saving_low_ms, finding.saving_high_ms
    low = finding.saving_ms if least is None else min(finding.saving_ms, least)
    high = finding.saving_ms if most is None else max(finding.saving_ms, most)
    per = "per step" if finding.saving_per == "step" else "of the recording"
    low = low if low < _ONE_FIGURE * high else high
    amount = "up to " * (low == high) + _between(roughly(low), roughly(high))
    if not whole_ms:
        return f"Saves {amount} {per}"
    return f"Saves {amount} {per} ({_between(_percent(low / whole_ms), _percent(high / whole_ms))})"


def _between(low: str, high: str) -> str:
    """From one to the other, the unit once where both have the same: "1.8 to 3.6 ms"."""
    if low == high:
        return high
    number = low.rstrip(_OF_UNITS)
    is_same = number == "0" or high.endswith(low[len(number) :])
    return f"{number if is_same else low} to {high}"


def roughly(value_ms: float) -> str:
    """An estimated time: two digits, for more are not known."""
    if value_ms == 0 or not isfinite(value_ms):
        return f"{value_ms:g} ms"
    rounded = float(f"{value_ms:.2g}")
    name, scale = ("µs", 1000) if rounded < 1 else ("s", 0.001) if rounded >= 10_000 else ("ms", 1)
    return f"{float(f'{rounded * scale:.2g}'):,.12g} {name}"


def _percent(frac: float) -> str:
    return "<1%" if 0 < frac < 0.01 else f"{min(frac, 1.0):.0%}"
