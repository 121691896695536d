"""A wait for input that is the loop's own work: it takes over what workers send."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest

from stepscope.advice.evidence.received import of_received
from stepscope.result import Finding

WAITS = Finding(
    rule="input-bound", severity="high", saving_ms=8.0, confidence=0.9, message="It waits.",
    measured={}, evidence=(), actions=("Prefetch.",), code={"pytorch": "num_workers=4"},
)  # fmt: skip


def test_many_small_tensors_are_told_to_be_joined_and_no_workers_to_be_added() -> None:
    found = of_received(WAITS, 0.75)
    assert found.message.startswith("It waits. For 75% of that the loop's thread takes over")
    assert found.actions[0].startswith("Let workers send few large tensors")
    assert "num_workers=4" not in found.code["pytorch"]


@pytest.mark.parametrize("share", [0.1, 0.0, nan])
def test_workers_that_are_slow_are_another_matter(share: float) -> None:
    assert of_received(WAITS, share) == replace(WAITS)
