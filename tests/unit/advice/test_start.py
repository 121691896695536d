"""Starts: a program's until its first step, and the device's in a recording of its first steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.advice import RULES, advise
from stepscope.analysis.device_idle import device_idle
from stepscope.registry import Silence
from stepscope.result import Finding
from tests.profiles.starts import Look, Span, start
from tests.unit.advice.asking import Asked, opened
from tests.unit.advice.made import account, part, with_owners
from tests.unit.formats.kineto.layout import PID, profile, x

# 12 steps of 10 ms from 10 s on.
STEPS = [(10_000.0 + 10 * n, 10_010.0 + 10 * n) for n in range(12)]
SLOW = [rule for rule in RULES if rule.id == "slow-start"]


def started(*spans: Span) -> Asked:
    return opened(start([*spans], [Look("main", 0, 10_120, cpu=10_120)], STEPS))


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([Span("tracing", "step", 1000 + 600 * n, 1600 + 600 * n) for n in range(5)],
         ["start-retracing"]),
        ([Span("tracing", "step", 1000, 4000)], []),  # traced once
        ([Span("import", "package", 0, 900)], []),  # less than a second, or a tenth
        ([Span("import", "sympy", 1000, 4000)], []),  # by PyTorch: no choice of the program's
        # The largest cause comes first.
        ([Span("import", "package", 0, 1500), Span("look-up", "look-up: a", 2000, 5000)],
         ["start-look-up", "slow-import"]),
    ],
)  # fmt: skip
def test_causes_of_a_slow_start(spans: list[Span], expected: list[str]) -> None:
    advice = advise(started(*spans).results("startup"), SLOW)
    assert [one.cause for one in advice.findings] == expected
    assert all(
        one.measured["count"] == 5 for one in advice.findings if one.cause == "start-retracing"
    )


def test_a_package_that_the_loop_calls_is_imported_in_any_case() -> None:
    results = started(Span("import", "package", 0, 3000)).results("startup")
    calls = with_owners(account(part()), {"kind": "library", "name": "package.Trainer.run"})
    assert advise(results, SLOW).findings
    assert not advise({**results, "step_account": calls}, SLOW).findings


# ------------------------------------------------------------------ of the device

LAUNCH = "cudaLaunchKernel"
Events = list[dict[str, Any]]


def call(name: str, ts: float, dur: float, number: int) -> dict[str, Any]:
    """A call of the driver's."""
    return x("cuda_runtime", name, ts, dur, PID, PID, correlation=number)


def kernel(ts: float, dur: float, number: int) -> dict[str, Any]:
    return x("kernel", "gemm", ts, dur, 0, 7, device=0, stream=7, correlation=number)


def steps(first_us: float, count: int = 3) -> Events:
    """Steps of 10 ms and eight launches each, the first of which takes as long as given."""
    events = [call(LAUNCH, 20, first_us, 90), kernel(40 + first_us, 5, 90)]
    for at in range(count):
        begin = 10_000 * at
        events.append(x("user_annotation", f"ProfilerStep#{at + 5}", begin, 10_000))
        for nth in range(8):
            ts = begin + 100 + nth * 20 + (first_us if at or nth else 0)
            number = 10 * at + nth + 1
            events.append(x("cpu_op", "aten::mm", ts - 2, 12))
            events += [call(LAUNCH, ts, 6, number), kernel(ts + 5, 10, number)]
    return events


def first_of(folder: Path, events: Events) -> Finding:
    return Asked(profile(folder, events)).advice()[0]


def test_a_recording_that_is_mostly_the_start_says_so_first(tmp_path: Path) -> None:
    assert first_of(tmp_path, steps(9000, count=1)).rule == "start-up"
    (row,) = device_idle(profile(tmp_path, steps(9000))).slow_calls.records()
    assert row.call == LAUNCH
    assert (row.per_step, row.total_ms, row.longest_ms) == pytest.approx((1 / 3, 3.0, 9.0))


def test_calls_that_a_busy_machine_keeps_waiting_again_do_not_start_it(tmp_path: Path) -> None:
    """In each of four steps one launch takes 4 ms, because its thread had no processor."""
    events = steps(40, count=4)
    for at in range(4):
        begin = 10_000 * at + 5000
        events += [call(LAUNCH, begin, 4000, 900 + at), kernel(begin + 4010, 10, 900 + at)]
    Asked(profile(tmp_path, events)).reason("start-up", Silence)


def test_few_calls_tell_a_start_by_their_time_alone(tmp_path: Path) -> None:
    """Two launches that load their kernels are all there is: neither is usual."""
    events = [x("cpu_op", "aten::fill_", 0, 20_010)]
    for number, ts in enumerate((10, 20_100), start=1):
        events += [call(LAUNCH, ts, 18_000, number), kernel(ts + 18_010, 3, number)]
    found = Asked(profile(tmp_path, events)).finding("start-up")
    assert found.measured["start_up_ms"] == pytest.approx(36.0)
    # Nothing is recorded for as long before: of what is, the start is most, and comes first.
    quiet = x("cpu_op", "aten::empty", -200_000, 5)
    assert first_of(tmp_path, [quiet, *events]).rule == "start-up"


def test_what_is_captured_for_a_graph_does_not_run(tmp_path: Path) -> None:
    """Forty launches are noted within 8 of 10 ms, and one kernel ran before them."""
    events = [
        x("cpu_op", "aten::fill_", 0, 30),
        *(call(LAUNCH, 5, 6, 1), kernel(12, 10, 1)),
        call("cudaStreamBeginCapture", 1000, 5, 2),
        call("cudaStreamEndCapture", 9000, 5, 3),
        x("cpu_op", "aten::fill_", 9900, 100),
    ]
    for nth in range(40):
        ts = 1100 + 190 * nth
        events += [x("cpu_op", "aten::mm", ts, 150), call(LAUNCH, ts + 10, 6, 10 + nth)]
    assert first_of(tmp_path, events).measured["start_up_ms"] == pytest.approx(8.0)


@pytest.mark.parametrize(("length_us", "is_start"), [(300_000, True), (9_000, False)])
def test_a_first_call_that_takes_long_makes_the_context_whatever_it_is_for(
    tmp_path: Path, length_us: float, is_start: bool
) -> None:
    events = [call("cudaMalloc", 0, length_us, 1), call("cudaMalloc", length_us + 10, 700, 2)]
    events += [call(LAUNCH, length_us + 1000, 10, 3), kernel(length_us + 1010, 40, 3)]
    (answer,) = Asked(profile(tmp_path, events)).answers("start-up")
    assert isinstance(answer, Finding) is is_start
