"""A recording of the first steps is distinguished from one of any others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.analysis.device_idle import device_idle
from stepscope.registry import Silence
from stepscope.result import Finding
from tests.unit.advice.asking import Asked
from tests.unit.formats.kineto.layout import PID, profile, x

LAUNCH = "cudaLaunchKernel"


def steps(
    first_us: float, call: str = LAUNCH, busy: bool = False, count: int = 3
) -> list[dict[str, Any]]:
    """Steps of 10 ms and eight launches each, the first of which takes as long as given."""
    events: list[dict[str, Any]] = []
    for at in range(count):
        begin = 10_000 * at
        events.append(x("user_annotation", f"ProfilerStep#{at + 5}", begin, 10_000))
        for number in range(8):
            ts = begin + 100 + number * 20 + (first_us if at or number else 0)
            number += 10 * at + 1
            events.append(x("cpu_op", "aten::mm", ts - 2, 12))
            events.append(x("cuda_runtime", LAUNCH, ts, 6, PID, PID, correlation=number))
            events.append(
                x("kernel", "gemm", ts + 5, 10, 0, 7, device=0, stream=7, correlation=number)
            )
    events.append(x("cuda_runtime", call, 20, first_us, PID, PID, correlation=90))
    if call == LAUNCH:
        events.append(
            x("kernel", "gemm", 40 + first_us, 5, 0, 7, device=0, stream=7, correlation=90)
        )
    if busy:
        events.append(x("kernel", "gemm", 15, first_us, 0, 8, device=0, stream=8, correlation=91))
    return events


def asked(folder: Path, events: list[dict[str, Any]]) -> Asked:
    return Asked(profile(folder, events))


def test_slow_calls_are_listed_with_their_times(tmp_path: Path) -> None:
    rows = list(device_idle(profile(tmp_path, steps(9000))).slow_calls.records())
    (row,) = rows
    assert row.call == LAUNCH
    assert row.per_step == pytest.approx(1 / 3)
    assert row.total_ms == pytest.approx(3.0)
    assert row.longest_ms == pytest.approx(9.0)


def test_a_recording_that_is_mostly_the_start_says_so_first(tmp_path: Path) -> None:
    (first, *_) = asked(tmp_path, steps(9000, count=1)).advice()
    assert first.rule == "start-up"


def test_calls_that_a_busy_machine_keeps_waiting_again_do_not_start_it(
    tmp_path: Path,
) -> None:
    """In each of four steps one launch takes 4 ms, because its thread had no processor."""
    events = steps(40, count=4)
    for at in range(4):
        begin = 10_000 * at + 5000
        events.append(x("cuda_runtime", LAUNCH, begin, 4000, PID, PID, correlation=900 + at))
        events.append(
            x("kernel", "gemm", begin + 4010, 10, 0, 7, device=0, stream=7, correlation=900 + at)
        )
    asked(tmp_path, events).reason("start-up", Silence)


def test_few_calls_tell_a_start_by_their_time_alone(tmp_path: Path) -> None:
    """Two launches that load their kernels are all there is: neither is usual."""
    events = [x("cpu_op", "aten::fill_", 0, 20_010)]
    for number, ts in enumerate((10, 20_100), start=1):
        events.append(x("cuda_runtime", LAUNCH, ts, 18_000, PID, PID, correlation=number))
        events.append(
            x("kernel", "fill", ts + 18_010, 3, 0, 7, device=0, stream=7, correlation=number)
        )
    one = asked(tmp_path, events)
    assert one.finding("start-up").measured["start_up_ms"] == pytest.approx(36.0)
    # Nothing is recorded for as long before: of what is, the start is most, and comes first.
    quiet = [x("cpu_op", "aten::empty", -200_000, 5), *events]
    (first, *_) = asked(tmp_path, quiet).advice()
    assert first.rule == "start-up"


def test_what_is_captured_for_a_graph_does_not_run(tmp_path: Path) -> None:
    """Forty launches are noted within 8 of 10 ms, and one kernel ran before them."""
    events = [
        x("cpu_op", "aten::fill_", 0, 30),
        x("cuda_runtime", LAUNCH, 5, 6, PID, PID, correlation=1),
        x("kernel", "fill", 12, 10, 0, 7, device=0, stream=7, correlation=1),
        x("cuda_runtime", "cudaStreamBeginCapture", 1000, 5, PID, PID, correlation=2),
        x("cuda_runtime", "cudaStreamEndCapture", 9000, 5, PID, PID, correlation=3),
        x("cpu_op", "aten::fill_", 9900, 100),
    ]
    for number in range(40):
        ts = 1100 + 190 * number
        events.append(x("cpu_op", "aten::mm", ts, 150))
        events.append(x("cuda_runtime", LAUNCH, ts + 10, 6, PID, PID, correlation=10 + number))
    (first, *_) = asked(tmp_path, events).advice()
    assert first.measured["start_up_ms"] == pytest.approx(8.0)


@pytest.mark.parametrize(("length_us", "is_start"), [(300_000, True), (9_000, False)])
def test_a_first_call_that_takes_long_makes_the_context_whatever_it_is_for(
    tmp_path: Path, length_us: float, is_start: bool
) -> None:
    events = [
        x("cuda_runtime", "cudaMalloc", 0, length_us, PID, PID, correlation=1),
        x("cuda_runtime", "cudaMalloc", length_us + 10, 700, PID, PID, correlation=2),
        x("cuda_runtime", LAUNCH, length_us + 1000, 10, PID, PID, correlation=3),
        x("kernel", "add", length_us + 1010, 40, 0, 7, device=0, stream=7, correlation=3),
    ]
    (answer,) = asked(tmp_path, events).answers("start-up")
    assert isinstance(answer, Finding) is is_start
