"""The verdict: which limit is named for which division of a step."""

import math

import pytest

from stepscope.tables.steps.attribution import PARTS
from stepscope.tables.steps.bottleneck import LIMITS, bound_by, is_marked


def parts(**given: float) -> dict[str, float]:
    return dict.fromkeys(PARTS, 0.0) | given


@pytest.mark.parametrize(
    ("given", "has_device", "expected"),
    [
        ({"input": 0.2, "device_compute_32": 0.8}, True, "input"),
        ({"input": 0.1, "host_to_device": 0.1, "device_compute_32": 0.8}, True, "input"),
        ({"input": 0.1, "device_compute_32": 0.9}, True, "device"),
        ({"kernel_launch": 0.6, "device_compute_16": 0.4}, True, "kernel_launch"),
        ({"collectives": 0.6, "device_compute_16": 0.4}, True, "collectives"),
        ({"output": 0.7, "other": 0.3}, True, "output"),
        ({"compilation": 0.9, "other": 0.1}, True, "compilation"),
        ({"host_compute": 0.9, "other": 0.1}, False, "host"),
        ({"other": 1.0}, False, "unknown"),
        ({"device_compute_32": 0.5, "collectives": 0.5}, True, "balanced"),
    ],
)
def test_names_the_limit(given: dict[str, float], has_device: bool, expected: str) -> None:
    assert bound_by(parts(**given), 1.0, has_device=has_device)[0] == expected


def test_without_steps_nothing_is_known() -> None:
    assert bound_by(parts(), math.nan, has_device=True) == ("unknown", 0.0)
    assert bound_by(parts(), 0.0, has_device=True) == ("unknown", 0.0)


def test_every_part_speaks_for_exactly_one_limit() -> None:
    members = [part for group in LIMITS.values() for part in group]
    assert sorted(members) == sorted(PARTS)


def test_batches_that_a_framework_marks_are_marked_and_calls_that_repeat_are_not() -> None:
    assert is_marked(0.95)
    assert not is_marked(0.8)
