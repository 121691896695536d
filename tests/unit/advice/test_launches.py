"""Rules about what the device waits for: launches, the host's waits, idle time."""

from dataclasses import replace

import pytest

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.analysis.overview_page import StepRow
from stepscope.formats.xspace import decode
from stepscope.registry import Silence
from stepscope.result import Finding, Table
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.synthetic import BF16, GIB, GOOD, HALF_SUM, WAIT, layers
from tests.profiles.loops import Kernel, copy_to_device
from tests.profiles.model import EventLike, gpu, host, line, space, stream
from tests.unit.advice.asking import Asked, ask

# 300 kernels of 3 µs, launched in 6 µs each: the device works 0.9 of each 1.8 ms.
TINY = replace(
    GOOD, kernels=[Kernel(BF16, 3, f"layer_{n}/MatMul:MatMul") for n in range(300)], launch_us=6
)


def test_kernels_shorter_than_their_launch_cost_what_the_device_waits() -> None:
    found = ask(TINY).finding("tiny-kernels")
    # Host: 300 launches of 6 µs and 1 µs between steps.
    assert found.saving_ms == pytest.approx(1.801 - 0.9, abs=0.002)
    assert found.measured["kernels_per_step"] == pytest.approx(300)
    assert found.measured["mean_tiny_kernel_us"] == pytest.approx(3)
    assert found.measured["mean_launch_us"] == pytest.approx(6)


def test_long_kernels_are_not_tiny_although_the_device_waits_for_launches() -> None:
    loop = replace(GOOD, kernels=layers(us=40, count=20), launch_us=40)
    assert "shorter than 10 µs" in ask(loop).reason("tiny-kernels", Silence)


def test_pytorchs_ops_are_part_of_what_a_launch_costs() -> None:
    """Dispatching an op takes the host longer than launching its kernel; both wait in line."""
    python: list[EventLike] = []
    kernels: list[EventLike] = []
    for step in range(6):
        base = 1_000.0 * step
        python.append((f"ProfilerStep#{step}", base, 1_000.0))
        for op in range(20):
            ids, at = {"correlation_id": 100 * step + op}, base + 50.0 * op
            python.append(("aten::mul", at, 45.0))
            python.append(("cudaLaunchKernel", at + 38, 5.0, ids))
            kernels.append((HALF_SUM, at + 43, 4.0, ids))
    data = space(host(line("python", *python)), gpu(0, stream(7, *kernels)))
    found = Asked(Profile("s", (Host("h", decode(data)),))).finding("tiny-kernels")
    # Of each 50 µs the device works 4; the op takes 38 + 5 of them before its kernel begins.
    assert found.saving_ms == pytest.approx(20 * 0.043)


def test_slow_launches_are_not_the_kernels_fault() -> None:
    asked = ask(replace(TINY, launch_us=60))
    found = asked.finding("slow-launches")
    # 300 launches of 60 µs for 0.9 ms of kernels: 17.1 ms of waiting, of which five sixths are
    # beyond the usual 10 µs.
    assert found.saving_high_ms == pytest.approx(18.001 - 0.9, abs=0.01)
    assert found.saving_ms == pytest.approx((18.001 - 0.9) * 5 / 6, abs=0.01)


def test_an_input_pipeline_beside_slow_launches_is_named() -> None:
    alone = ask(replace(TINY, launch_us=60)).finding("slow-launches")
    beside = ask(replace(TINY, launch_us=60, stage_us=1500)).finding("slow-launches")
    assert beside.confidence > alone.confidence


def test_running_ahead_would_hide_what_follows_a_wait() -> None:
    found = ask(replace(GOOD, wait=WAIT, after_us=700)).finding("host-waits")
    # The wait ends with the device's work; then nothing for 700 µs until the step ends.
    assert found.saving_ms == pytest.approx(0.7)
    assert found.measured["call"] == WAIT
    assert found.evidence[1].from_ms is not None


def test_a_wait_is_worth_no_more_than_it_lasts() -> None:
    """The host itself needs 5 ms per step: running ahead gains only the 1.5 ms it waited."""
    found = ask(replace(GOOD, wait=WAIT, after_us=5_000)).finding("host-waits")
    # Launching twelve kernels takes 48 µs of the device's 1,504; the rest is waited for.
    assert found.saving_ms == pytest.approx(1.504 - 0.048, abs=0.002)


def test_idle_time_is_told_cause_by_cause() -> None:
    found = ask(replace(GOOD, input_us=300, python_us=400, wait=WAIT)).finding("idle-device")
    # 300 input, 400 nothing, 4 launch of each 2,204 µs.
    assert found.saving_ms == pytest.approx(0.704, abs=0.001)
    assert found.measured["input_ms"] == pytest.approx(0.3)
    assert found.measured["other_ms"] == pytest.approx(0.4)


def test_twice_the_batch_halves_what_does_not_grow_with_it() -> None:
    found = ask(replace(TINY, heap=(GIB, 16 * GIB, 0.05))).finding("small-batch")
    # 0.9 ms of waiting for launches; 16 GiB hold a batch 14 times as large: 8 in doublings.
    assert found.saving_ms == pytest.approx((1.801 - 0.9) / 2, abs=0.002)
    assert found.saving_high_ms == pytest.approx((1.801 - 0.9) * 7 / 8, abs=0.002)
    assert found.measured["batch_times"] == 8


def test_costs_that_not_every_step_has_do_not_shrink_with_the_batch() -> None:
    """Allocations of the first steps look like launches: the step without them tells what stays."""
    asked = ask(replace(TINY, heap=(GIB, 16 * GIB, 0.05)))
    (rule,) = (rule for rule in RULES if rule.id == "small-batch")
    results = asked.results(*rule.reads)
    overview = results["overview_page"]
    columns = {name: list(overview.step_table[name]) for name in overview.step_table.columns}
    quick = columns["kept"].index(True)
    columns["kernel_launch_ms"][quick] = columns["host_compute_ms"][quick] = 0.0
    results["overview_page"] = replace(overview, step_table=Table(StepRow, columns))
    (answer,) = rule.check(Results(results))
    assert isinstance(answer, Silence)


def test_what_a_host_spends_on_sending_data_grows_with_the_batch() -> None:
    """NumPy arrays that each call sends again: twice the batch takes twice as long."""
    sends = [copy_to_device(300, 1 << 24), *TINY.kernels]
    asked = ask(replace(TINY, kernels=sends, heap=(GIB, 16 * GIB, 0.05)))
    assert "grows with the batch" in asked.reason("small-batch", Silence)


def test_without_an_allocator_the_room_for_a_batch_is_unknown() -> None:
    results = ask(replace(TINY, heap=None)).results("memory_profile")
    assert results == {}, "the engine then answers that the tool has no result"


def test_one_late_batch_among_a_few_is_no_alarm() -> None:
    """Each of the steps waits 0.9 ms for input; then as much in all, and one of them has it."""
    asked = ask(replace(GOOD, input_us=900, wait=WAIT))
    (rule,) = (rule for rule in RULES if rule.id == "input-bound")
    results = asked.results(*rule.reads)
    (often,) = rule.check(Results(results))
    assert isinstance(often, Finding)
    assert often.severity == "high"
    table = results["overview_page"].step_table
    columns = {name: list(table[name]) for name in table.columns}
    last = max(at for at, kept in enumerate(columns["kept"]) if kept)
    columns["input_ms"] = [sum(columns["input_ms"]) * (at == last) for at in range(len(table))]
    results["overview_page"] = replace(results["overview_page"], step_table=Table(StepRow, columns))
    (once,) = rule.check(Results(results))
    assert isinstance(once, Finding)
    assert once.severity == "info"
