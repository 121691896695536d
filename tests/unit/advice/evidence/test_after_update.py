"""A loop that goes on after its optimizer's update, in words."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.advice.evidence.after_update import NOT_LATER, after_update
from stepscope.result import Finding

FOUND = Finding(
    rule="largest-part", severity="info", saving_ms=2.0, saving_high_ms=3.0, confidence=0.5,
    message="It takes.", measured={}, evidence=(),
)  # fmt: skip


def host(share: float) -> Any:
    return SimpleNamespace(after_update_frac=share, step_time_ms=10.0)


def test_most_of_what_follows_the_update_may_go() -> None:
    later = after_update(host(0.69))
    assert later.sentence.startswith(" 69% of the step comes after the optimizer's update")
    assert later.with_upper_bound(FOUND).saving_high_ms == pytest.approx(6.9)
    assert later.with_upper_bound(replace(FOUND, saving_high_ms=8.0)).saving_high_ms == 8.0


@pytest.mark.parametrize("share", [0.1, nan])
def test_a_little_after_it_is_not_worth_a_word(share: float) -> None:
    assert after_update(host(share)) == NOT_LATER
    assert NOT_LATER.with_upper_bound(FOUND) == FOUND
