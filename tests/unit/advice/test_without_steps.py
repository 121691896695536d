"""What rules say of a step, where there is none but the recording as a whole."""

from __future__ import annotations

import pytest

from stepscope.advice.render import reason_of, silent
from stepscope.registry import Silence


@pytest.mark.parametrize(
    ("answer", "of_steps", "of_recording"),
    [
        (
            silent("below", cost_frac=0.5, limit_frac=0.6),
            "It costs 50 % of the step, below 60 %.",
            "It costs 50 % of the recording, below 60 %.",
        ),
        (
            silent("iterators", count=2.0),
            "Iterators created per step: 2.",
            "Iterators created in all: 2.",
        ),
        (Silence("jit(step)/dot ran."), "jit(step)/dot ran.", "jit(step)/dot ran."),
    ],
)
def test_a_reason_names_what_its_shares_are_of(
    answer: Silence, of_steps: str, of_recording: str
) -> None:
    assert reason_of(answer, is_recording=False) == of_steps
    assert reason_of(answer, is_recording=True) == of_recording
