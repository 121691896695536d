"""A finding in words, laid out once for every surface: what it saves, in one framework's terms.

Nobody reads the calls of a framework that was not recorded. A rule writes what each of them calls
a thing as a choice, ``[tensorflow: tf.function | jax: jax.jit | pytorch: torch.compile]``, anywhere
in an action. An action that is nothing but a choice is left out for those that it does not name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Final

from stepscope.advice.results import Results
from stepscope.result import Finding, Result

# A saving whose least is nearer to its most than this is one figure.
_ONE_FIGURE = 0.9
_OF_UNITS = " %mµs"
# What the environment calls a framework, and what choices and code do.
_KEYS: Final = {"TensorFlow": "tensorflow", "JAX": "jax", "PyTorch": "pytorch"}
_CHOICE: Final = re.compile(r"\[((?:tensorflow|jax|pytorch): [^]]*)\]")


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


def framework_of(results: Mapping[str, Result]) -> str:
    """The key of the recorded framework; "" where it is unknown, or none of those with keys."""
    overview = Results(results).optional.overview_page
    return "" if overview is None else _KEYS.get(overview.environment.framework, "")


def in_words_of(framework: str, finding: Finding) -> Finding:
    """A finding whose actions and code are for one framework.

    Args:
        framework: Its key; "" keeps what is for any.
        finding: As its rule wrote it.
    """
    spoken = (_chosen(action, framework) for action in finding.actions)
    return replace(
        finding,
        actions=tuple(action for action in spoken if action),
        code=_own(finding.code, framework),
    )


def _own(code: Mapping[str, str], framework: str) -> dict[str, str]:
    # What only one has, such as tf.data, is used beside others, too.
    if not framework or len(code) == 1:
        return dict(code)
    return {name: lines for name, lines in code.items() if name == framework}


def _chosen(action: str, framework: str) -> str:
    return _CHOICE.sub(lambda found: _said(found.group(1), framework), action).strip()


def _said(choice: str, framework: str) -> str:
    """One alternative, or all of them, each once, where the framework is unknown."""
    named = dict(one.strip().split(": ", 1) for one in choice.split(" | "))
    return named.get(framework, "") if framework else ", ".join(dict.fromkeys(named.values()))
