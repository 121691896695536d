"""Options say what they mean, and whether a framework used them."""

from __future__ import annotations

import math
from typing import Any

import pytest

import stepscope
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recording import differences, encoded_options


def test_the_first_four_are_those_of_tensorflow_by_name_and_by_place() -> None:
    by_place = ProfilerOptions(3, 1, 0, 50)
    by_name = ProfilerOptions(
        host_tracer_level=3, python_tracer_level=1, device_tracer_level=0, delay_ms=50
    )
    assert by_place == by_name
    assert (ProfilerOptions().host_tracer_level, ProfilerOptions().device_tracer_level) == (2, 1)
    assert stepscope.ProfilerOptions is ProfilerOptions


@pytest.mark.parametrize(
    "wrong",
    [
        {"host_tracer_level": -1},
        {"host_tracer_level": "2"},
        {"python_tracer_level": True},
        {"sample_hz": math.nan},
        {"telemetry_hz": -1},
        {"max_seconds": 0},
        {"max_events": -5},
        {"delay_ms": 1.5},
        {"frameworks": ("tensorflow", "pytorch")},
        {"frameworks": "jax"},
        {"trace_include": "my_project"},
        {"trace_exclude": (1,)},
    ],
)
def test_what_means_nothing_is_refused_with_the_options_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(stepscope.UsageError) as caught:
        ProfilerOptions(**wrong)
    assert next(iter(wrong)) in str(caught.value)
    assert caught.value.anchor == "capture-option"


def test_options_that_were_used_raise_no_doubt() -> None:
    options = ProfilerOptions(host_tracer_level=3, python_tracer_level=1)
    assert differences(options, encoded_options(options), "tensorflow") == []


def test_options_that_were_dropped_are_told_one_by_one() -> None:
    used = encoded_options(ProfilerOptions())  # what TensorFlow 2.20 does with any options
    asked = ProfilerOptions(host_tracer_level=3, python_tracer_level=1)
    told = differences(asked, used, "tensorflow")
    assert told == [
        "tensorflow recorded with host_tracer_level=2 instead of 3.",
        "tensorflow recorded with python_tracer_level=0 instead of 1.",
    ]


def test_jax_is_not_blamed_for_an_option_it_does_not_have() -> None:
    used = encoded_options(ProfilerOptions())
    assert differences(ProfilerOptions(device_tracer_level=0), used, "jax") == []
    assert differences(ProfilerOptions(device_tracer_level=0), used, "tensorflow") != []


def test_options_that_cannot_be_read_are_said_to_be() -> None:
    assert differences(ProfilerOptions(), b"\x08", "tensorflow") == [
        "tensorflow wrote options that cannot be read."
    ]
