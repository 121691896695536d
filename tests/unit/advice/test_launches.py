"""Rules about what the device waits for: launches, the host's waits, idle time."""

from dataclasses import replace

import pytest

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.analysis.overview_page import StepRow
from stepscope.registry import Silence
from stepscope.result import Finding, Table
from tests.labelled.synthetic import BF16, GIB, GOOD, WAIT
from tests.profiles.loops import Kernel, copy_to_device
from tests.unit.advice.asking import ask

# 300 kernels of 3 µs, launched in 6 µs each: the device works 0.9 of each 1.8 ms.
TINY = replace(
    GOOD, kernels=[Kernel(BF16, 3, f"layer_{n}/MatMul:MatMul") for n in range(300)], launch_us=6
)


def test_slow_launches_are_not_the_kernels_fault() -> None:
    asked = ask(replace(TINY, launch_us=60))
    found = asked.finding("slow-launches")
    # 300 launches of 60 µs for 0.9 ms of kernels: 17.1 ms of waiting, of which five sixths are
    # beyond the usual 10 µs.
    assert found.saving_high_ms == pytest.approx(18.001 - 0.9, abs=0.01)
    assert found.saving_ms == pytest.approx((18.001 - 0.9) * 5 / 6, abs=0.01)


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
