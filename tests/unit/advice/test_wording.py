"""What a finding saves, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepscope.advice.wording import worded
from stepscope.result import Finding


def said(saving_ms: float | None, whole_ms: float | None = 10.0, **more: Any) -> str:
    return worded(Finding("slow", "high", saving_ms, 0.9, "", **more), whole_ms).saving_text


@pytest.mark.parametrize(
    ("low", "saving", "high", "text"),
    [
        (1.8, 2.0, 3.6, "Saves 1.8 to 3.6 ms per step (18 to 36%)"),
        (0.0, 2.0, 3.6, "Saves 0 to 3.6 ms per step (0 to 36%)"),
        (0.045, 0.5, 3.6, "Saves 45 µs to 3.6 ms per step (<1 to 36%)"),
        (3.5, 3.5, 3.6, "Saves up to 3.6 ms per step (36%)"),
        (None, 3.6, None, "Saves up to 3.6 ms per step (36%)"),
        (2.0, 9.0, 12.0, "Saves 2 to 12 ms per step (20 to 100%)"),
    ],
)
def test_a_range_is_in_its_units_once(
    low: float | None, saving: float, high: float | None, text: str
) -> None:
    assert said(saving, saving_low_ms=low, saving_high_ms=high) == text


def test_without_a_step_it_is_of_the_recording_and_without_a_length_no_share() -> None:
    one = said(2.0, 20.0, saving_low_ms=1.0, saving_per="recording")
    assert one == "Saves 1 to 2 ms of the recording (5 to 10%)"
    assert said(2.0, None, saving_low_ms=1.0) == "Saves 1 to 2 ms per step"


def test_what_is_not_an_alarm_promises_nothing() -> None:
    one = worded(Finding("serial-map", "info", 3.6, 0.5, "", saving_low_ms=1.8), 10.0)
    assert one.saving_text == "Could save 1.8 to 3.6 ms per step (18 to 36%)"


@pytest.mark.parametrize("rule", ["largest-part", "dominant-op"])
def test_whether_a_part_of_a_healthy_step_can_go_is_a_question(rule: str) -> None:
    """A model's products are what it computes."""
    part = Finding(rule, "info", 3.6, 0.5, "", saving_low_ms=1.8)
    told = worded(part, 10.0).saving_text
    assert told == "If it can go: 1.8 to 3.6 ms per step (18 to 36%)"
    assert worded(replace(part, saving_low_ms=None), None).saving_text == (
        "If it can go: up to 3.6 ms per step"
    )
    alarm = worded(replace(part, severity="high"), 10.0).saving_text
    assert alarm == "Saves 1.8 to 3.6 ms per step (18 to 36%)"


def test_an_unknown_saving_says_so_and_why() -> None:
    assert said(None) == "Saving unknown"
    assert said(None, no_saving="it frees memory") == "Saving unknown: it frees memory"
