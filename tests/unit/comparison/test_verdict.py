"""The answer in one sentence: its numbers are those a person writes."""

from __future__ import annotations

import pytest

from stepscope.comparison.comparison import PartRow
from stepscope.comparison.noise import Noise
from stepscope.comparison.verdict import headline
from stepscope.result import Table


@pytest.mark.parametrize(
    ("before_ms", "after_ms", "said"),
    [
        (500.0, 999.7, "500 → 1,000 ms a step (99% interval +500 to +500 ms)"),
        (1.0, 999.2, "1.00 → 999 ms a step (99% interval +998 to +998 ms)"),
        (0.0304, 1000.2, "0.0304 → 1,000 ms a step (99% interval +1,000 to +1,000 ms)"),
    ],
)
def test_a_step_of_about_a_second_has_no_exponent(
    before_ms: float, after_ms: float, said: str
) -> None:
    delta = after_ms - before_ms
    noise = Noise(delta, delta, delta, significant=True)
    assert said in headline(noise, before_ms, after_ms, Table.empty(PartRow))
