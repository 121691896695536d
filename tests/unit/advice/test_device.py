"""Rules about devices: copies, launches, unequal work, precision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepscope.advice import RULES
from stepscope.advice.evidence.copies import host_memory_ops
from stepscope.advice.evidence.device_time import no_matrix_units
from stepscope.advice.results import Results
from stepscope.advice.rules.workers import collective_time
from stepscope.analysis.overview_page import StepRow
from stepscope.formats.xspace import decode
from stepscope.registry import Answer, Silence, Unknown
from stepscope.result import Finding, Table
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.synthetic import BF16, GIB, GOOD, GOOD_TPU, POD, RING, WAIT, layers, tpu_ops
from tests.profiles.loops import Collective, Kernel, copy_to_device
from tests.profiles.model import gpu, host, line, space, stream
from tests.unit.advice.asking import Asked, ask

# ------------------------------------------------------------------ copies

PAGEABLE = copy_to_device(800, 8 << 20, memory="pageable", blocking=True)
OFFLOAD = Kernel(
    "%copy-done.1 = f32[5,8]{1,0} copy-done((f32[5,8]{1,0}, f32[5,8]{1,0:S(5)}, u32[]) %c)",
    2_000,
    stats={"hlo_category": "copy-done"},
)


def test_copies_are_not_taken_for_input() -> None:
    asked = ask(replace(GOOD, kernels=[PAGEABLE, *layers()], wait=WAIT))
    assert asked.advice()[0].rule == "host-copies"


def test_offloaded_tensors_are_recognised_in_the_program() -> None:
    found = ask(replace(GOOD_TPU, kernels=[OFFLOAD, *tpu_ops()])).finding("host-copies")
    # 2 ms, of which 1.2 ms of compute could hide as much as it lasts.
    assert found.saving_ms == pytest.approx(1.2)
    assert found.saving_high_ms == pytest.approx(2.0)
    assert found.evidence[1].rows == ("copy-done.1",)


def test_the_share_of_host_memory_is_of_copies_and_the_longest_are_named() -> None:
    one = "%{0} = f32[5,8]{{1,0}} copy-done((f32[5,8]{{1,0}}, f32[5,8]{{{1}}}, u32[]) %c)"
    kernels = [
        Kernel(one.format(name, layout), us, stats={"hlo_category": "copy-done"})
        for name, us, layout in (
            ("a", 600, "1,0:S(5)"),
            ("b", 1_200, "1,0:S(5)"),
            ("c", 200, "1,0"),
        )
    ]
    asked = ask(replace(GOOD_TPU, kernels=[*kernels, *tpu_ops()]))
    share, ops = host_memory_ops(asked.result("hlo_stats"))
    assert share == pytest.approx(0.9)
    assert ops == ("b", "a")


def test_transfers_are_split_into_what_is_waited_for_and_what_is_hidden() -> None:
    """Two devices work 1.5 ms; then they send for 0.4 ms, 0.3 of them beside the work."""
    sends = replace(GOOD, devices=2, collective=Collective(400, overlap_us=300, name=RING))
    time = collective_time(ask(sends, sends).result("pod_viewer"))
    assert (time.exposed_ms, time.hidden_ms, time.work_ms) == pytest.approx((0.1, 0.3, 1.5))
    assert (time.waited_ms, time.per_step) == pytest.approx((0.0, 1.0))


def test_copies_within_the_device_are_named() -> None:
    moves = Kernel("MemcpyD2D", 120)
    found = ask(replace(GOOD, kernels=layers(between=(moves,)))).finding("device-copies")
    assert found.measured["device_to_device_ms"] == pytest.approx(0.72)
    assert found.saving_ms == pytest.approx(0.36)


# ------------------------------------------------------------------ launches

# 300 kernels of 3 µs, launched in 6 µs each: the device works 0.9 of each 1.8 ms.
TINY = replace(
    GOOD, kernels=[Kernel(BF16, 3, f"layer_{n}/MatMul:MatMul") for n in range(300)], launch_us=6
)


def steps_of(asked: Asked) -> dict[str, list[Any]]:
    table = asked.result("overview_page").step_table
    return {name: list(table[name]) for name in table.columns}


def with_steps(asked: Asked, rule_id: str, columns: dict[str, list[Any]]) -> Answer:
    """What a rule says if the steps were these."""
    (rule,) = (rule for rule in RULES if rule.id == rule_id)
    results = asked.results(*rule.reads)
    page = replace(results["overview_page"], step_table=Table(StepRow, columns))
    (found,) = rule.check(Results(results | {"overview_page": page}))
    return found


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
    columns = steps_of(asked)
    quick = columns["kept"].index(True)
    columns["kernel_launch_ms"][quick] = columns["host_compute_ms"][quick] = 0.0
    assert isinstance(with_steps(asked, "small-batch", columns), Silence)


def test_what_a_host_spends_on_sending_data_grows_with_the_batch() -> None:
    """NumPy arrays that each call sends again: twice the batch takes twice as long."""
    sends = [copy_to_device(300, 1 << 24), *TINY.kernels]
    asked = ask(replace(TINY, kernels=sends, heap=(GIB, 16 * GIB, 0.05)))
    assert "grows with the batch" in asked.reason("small-batch", Silence)


def test_one_late_batch_among_a_few_is_no_alarm() -> None:
    """Each of the steps waits 0.9 ms for input; then as much in all, and one of them has it."""
    asked = ask(replace(GOOD, input_us=900, wait=WAIT))
    columns = steps_of(asked)
    often = with_steps(asked, "input-bound", columns)
    last = max(at for at, kept in enumerate(columns["kept"]) if kept)
    waited = columns["input_ms"]
    columns["input_ms"] = [sum(waited) * (at == last) for at in range(len(waited))]
    once = with_steps(asked, "input-bound", columns)
    assert isinstance(often, Finding) and isinstance(once, Finding)
    assert (often.severity, once.severity) == ("high", "info")


# ------------------------------------------------------------------ unequal work


def test_of_two_workers_neither_has_peers_and_the_last_to_arrive_is_named() -> None:
    pair = replace(POD, devices=2)
    found = ask(replace(pair, slower={1: 1.4})).finding("straggler")
    assert found.saving_ms == pytest.approx(0.4 * 1.5)
    assert found.measured["worker"] == "/device:GPU:1 of host-0"
    assert found.measured["cause"] == "Device compute"


def test_more_kernels_on_one_device_are_unequal_work_and_no_straggler() -> None:
    heavy = replace(POD, more={0: layers(count=3)})
    asked = ask(heavy, POD)
    found = asked.finding("unbalanced-devices")
    # One of eight devices works 2.25 ms, the others 1.5: the mean is 1.594.
    assert found.saving_ms == pytest.approx(2.25 - (2.25 + 7 * 1.5) / 8)
    # 18 kernels and a collective against 12 and one.
    rules = [one.rule for one in asked.advice()]
    assert rules.index("unbalanced-devices") < rules.index("straggler")


def test_devices_that_run_nothing_are_counted() -> None:
    alone = replace(GOOD, kernels=[Kernel("touch", 5)], devices=4, more={0: layers()})
    found = ask(alone).finding("unbalanced-devices")
    assert found.measured["unused_devices"] == 3
    assert found.saving_ms == pytest.approx(1.505 - (1.505 + 3 * 0.005) / 4)


def test_few_steps_do_not_tell_who_works() -> None:
    alone = replace(GOOD, kernels=[Kernel("touch", 5)], devices=4, more={0: layers()}, steps=2)
    assert "too few" in ask(alone).reason("unbalanced-devices", Unknown)


def test_workers_that_are_late_in_turns_wait_for_each_other() -> None:
    """In each step another of four devices is 0.6 ms late, and the three others wait."""
    streams: list[list[tuple[str, float, float]]] = [[], [], [], []]
    marks = []
    for step in range(8):
        base = 3_000.0 * step
        marks.append(("train", base, 2_900.0, {"step_num": step, "_r": 1}))
        for device, events in enumerate(streams):
            work = 2_000.0 + 600.0 * (step % 4 == device)
            events.append(("ampere_bf16_s16816gemm", base, work))
            events.append((RING, base + work, 2_700.0 - work))
    planes = [gpu(index, stream(7, *events)) for index, events in enumerate(streams)]
    data = space(host(line("python", *marks)), *planes)
    asked = Asked(Profile("s", (Host("h", decode(data)),)))
    found = asked.finding("worker-skew")
    assert found.saving_ms == pytest.approx(0.6 * 3 / 4)
    # Of the six counted steps two devices are late in one, and wait in five.
    assert found.saving_high_ms == pytest.approx(0.6 * 5 / 6)


# ------------------------------------------------------------------ precision

# Six layers of a product of 200 µs and a sum of 50 µs: 1.2 and 0.3 ms of each 1.5 ms step.
FLOAT32 = replace(GOOD, kernels=layers("ampere_sgemm_128x64_nn", "Eigen::sum<float>"))
TF32 = replace(GOOD, kernels=layers("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n", "sum<float>"))


def test_some_float32_products_among_16_bit_ones_are_found() -> None:
    mixed = [*layers(), Kernel("ampere_sgemm_128x64_nn", 500, "model/head/MatMul:MatMul")]
    found = ask(replace(GOOD, kernels=mixed)).finding("full-precision")
    # 0.5 of 2 ms: a quarter of the step, though 75 % of compute is in 16 bits.
    assert found.saving_ms == pytest.approx(0.5 * 2 / 3)


@pytest.mark.parametrize("device", ["AMD GPU", "GPU", "Custom device"])
def test_a_device_of_which_only_the_maker_is_known_is_not_said_to_lack_anything(
    device: str,
) -> None:
    assert isinstance(no_matrix_units(device), Unknown)
    assert isinstance(no_matrix_units("Tesla P100 (Pascal)"), Silence)


def test_without_device_compute_precision_is_unknown() -> None:
    asked = ask(replace(GOOD, kernels=[Kernel("MemcpyD2D", 100)]))
    assert "No device compute" in asked.reason("full-precision", Unknown)


@pytest.mark.parametrize("name", ["ampere_dgemm_64x64_nn", "cutlass_80_simt_dgemm_64x64_8x3_nn"])
def test_products_in_double_precision_are_not_told_of_tf32(name: str) -> None:
    asked = ask(replace(GOOD, kernels=layers(name, "Eigen::sum<double>")))
    asked.reason("tensor-cores-unused", Silence)
    found = asked.finding("full-precision")
    assert found.severity == "info"


def test_products_in_tf32_already_are_offered_fewer_bits_without_an_alarm() -> None:
    assert ask(TF32).finding("full-precision").severity == "info"
    plain = ask(FLOAT32).finding("full-precision")
    assert plain.severity == "high"


def test_a_program_that_factors_matrices_may_need_its_bits() -> None:
    solves = [
        *FLOAT32.kernels,
        Kernel("void potrf_alg2_cta_upper<float>", 100, "cholesky:Cholesky"),
    ]
    asked = ask(replace(FLOAT32, kernels=solves))
    for rule in ("full-precision", "tensor-cores-unused"):
        found = asked.finding(rule)
        assert found.severity == "info"
