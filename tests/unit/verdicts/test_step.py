"""The sentence a person reads first."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from stepscope.tables.steps.attribution import PARTS
from stepscope.tables.steps.bottleneck import BoundBy
from stepscope.verdicts.sentences import part_words
from stepscope.verdicts.step import StepVerdict, headline

INPUT = StepVerdict(
    bound_by="input",
    share_frac=0.6,
    steps=10,
    step_ms=20.0,
    breakdown_ms=dict.fromkeys(PARTS, 0.0) | {"input": 12.0, "host_compute": 8.0},
    has_device=False,
)


def test_every_limit_has_a_word_and_copies_have_their_own() -> None:
    words = [replace(INPUT, bound_by=limit).limit for limit in get_args(BoundBy)]
    assert len(set(words)) == len(words)
    assert INPUT.limit == "Input wait"
    copies = replace(INPUT, breakdown_ms=dict(INPUT.breakdown_ms) | {"host_to_device": 13.0})
    assert copies.limit == "Copy to device"


def test_input_that_is_not_the_limit_is_noted_when_it_costs_enough() -> None:
    parts = dict.fromkeys(PARTS, 0.0) | {"host_compute": 18.0, "input": 2.0}
    on_cpu = replace(INPUT, bound_by="host", share_frac=0.9, breakdown_ms=parts)
    assert headline(on_cpu) == (
        "Bound by the CPU: ops and the framework take 90 % of each 20 ms step. "
        "Input costs 10 % as well."
    )


def test_time_without_records_is_named_where_nothing_else_is_as_large() -> None:
    parts = dict.fromkeys(PARTS, 0.0) | {"device_compute_16": 11.2, "other": 8.0, "input": 0.8}
    idle = replace(INPUT, bound_by="device", share_frac=0.56, breakdown_ms=parts, has_device=True)
    assert headline(idle) == (
        "Device compute takes 56 % of each 20 ms step. In 40 % of it nothing that was recorded ran."
    )
    little = dict(parts) | {"device_compute_16": 17.8, "other": 1.4}
    assert headline(replace(idle, breakdown_ms=little)).endswith("20 ms step.")


def test_a_part_that_is_larger_than_the_limit_is_named() -> None:
    parts = dict.fromkeys(PARTS, 0.0) | {"device_compute_16": 15.0, "input": 5.0}
    starved = replace(INPUT, share_frac=0.25, breakdown_ms=parts, has_device=True)
    assert headline(starved).endswith("The largest part is device compute, 75 %.")


def test_idle_devices_without_a_host_are_not_blamed_on_python() -> None:
    verdict = replace(INPUT, bound_by="host", share_frac=0.7, has_device=True, has_host=False)
    assert headline(verdict).startswith(
        "The device runs nothing for 70 % of each 20 ms step; the host was not recorded"
    )


def test_long_times_are_written_out() -> None:
    long = replace(INPUT, step_ms=15122.0, breakdown_ms=dict.fromkeys(PARTS, 0.0))
    assert "of each 15.1 s step" in headline(long)


def test_time_without_an_op_is_said_before_ops() -> None:
    parts = dict.fromkeys(PARTS, 0.0) | {"host_compute": 5.0, "other": 15.0}
    python = replace(INPUT, bound_by="host", share_frac=1.0, breakdown_ms=parts)
    assert headline(python).startswith("No op ran in 75 % of each 20 ms step: Python, waiting")


@pytest.mark.parametrize(
    ("parts", "begin", "limit"),
    [
        (
            {"host_compute": 9.0, "host_wait": 3.0, "device_compute_32": 8.0},
            "Host compute takes 45 % of each 20 ms step. Waiting: 15 %.",
            "Host",
        ),
        (
            {"host_compute": 1.5, "host_wait": 18.5},
            "The host waits in 92 % of each 20 ms step, while nothing recorded runs. "
            "Host compute takes 8 %.",
            "Waiting on the host",
        ),
        (
            {"other": 19.8, "device_compute_16": 0.2},
            "Nothing recorded runs in 99 % of each 20 ms step: Python, or a wait.",
            "Nothing recorded",
        ),
    ],
)
def test_the_host_is_said_to_compute_only_what_it_computes(
    parts: dict[str, float], begin: str, limit: str
) -> None:
    verdict = replace(
        INPUT,
        bound_by="host",
        share_frac=0.6,
        breakdown_ms=dict.fromkeys(PARTS, 0.0) | parts,
        has_device=True,
    )
    assert headline(verdict).startswith(begin)
    assert verdict.limit == limit


def test_of_a_program_of_which_only_python_was_recorded_the_function_is_named() -> None:
    unknown = replace(INPUT, bound_by="unknown", python="load (train.py:3) takes 63%")
    assert headline(unknown) == (
        "Only Python calls were recorded: load (train.py:3) takes 63% of each 20 ms step."
    )
    assert unknown.limit == "Python"
    # The mean of the steps holds what the recorder did in them.
    beside = replace(unknown, breakdown_ms={**unknown.breakdown_ms, "recorder": 2.0})
    assert headline(beside).endswith("takes 63% of each 20 ms step without the recorder.")


def test_a_part_without_a_name_has_no_brackets() -> None:
    assert part_words("framework", "") == "The framework's own work on the loop's thread"
    assert part_words("input", "Batch") == "Waiting for input (Batch)"
