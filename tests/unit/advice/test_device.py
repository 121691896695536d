"""Rules about devices: copies, launches, precision, attention, ops below their roofline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stepscope.advice import RULES
from stepscope.advice.evidence.copies import host_memory_ops
from stepscope.advice.evidence.device_time import (
    has_bf16,
    has_matrix_units,
    has_tf32,
    kernel_name,
    no_matrix_units,
)
from stepscope.advice.results import Results
from stepscope.analysis.overview_page import StepRow
from stepscope.registry import Answer, Silence, Unknown
from stepscope.result import Finding, Table
from tests.labelled.synthetic import BF16, GIB, GOOD, GOOD_TPU, WAIT, layers, tpu_ops
from tests.profiles import Plane, draw, event, nth
from tests.profiles.loops import Kernel, copy_to_device
from tests.profiles.model import Event, host, line
from tests.unit.advice.asking import Asked, ask, opened
from tests.unit.formats.kineto.layout import PID, profile, x

# ------------------------------------------------------------------ copies


def copy_done(name: str, us: float, layout: str = "1,0:S(5)") -> Kernel:
    """The end of a copy of XLA's; memory space 5 is the host's."""
    shape = f"f32[5,8]{{1,0}}, f32[5,8]{{{layout}}}"
    text = f"%{name} = f32[5,8]{{1,0}} copy-done(({shape}, u32[]) %c)"
    return Kernel(text, us, stats={"hlo_category": "copy-done"})


def test_offloaded_tensors_are_recognised_in_the_program() -> None:
    asked = ask(replace(GOOD_TPU, kernels=[copy_done("copy-done.1", 2_000), *tpu_ops()]))
    found = asked.finding("host-copies")
    # 2 ms, of which 1.2 ms of compute could hide as much as it lasts.
    assert (found.saving_ms, found.saving_high_ms) == pytest.approx((1.2, 2.0))
    assert found.evidence[1].rows == ("copy-done.1",)


def test_the_share_of_host_memory_is_of_copies_and_the_longest_are_named() -> None:
    copies = [copy_done("a", 600), copy_done("b", 1_200), copy_done("c", 200, "1,0")]
    asked = ask(replace(GOOD_TPU, kernels=[*copies, *tpu_ops()]))
    share, ops = host_memory_ops(asked.result("hlo_stats"))
    assert share == pytest.approx(0.9)
    assert ops == ("b", "a")


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
ROOMY = replace(TINY, heap=(GIB, 16 * GIB, 0.05))


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
    """300 launches of 60 µs for 0.9 ms of kernels; five sixths are beyond the usual 10 µs."""
    found = ask(replace(TINY, launch_us=60)).finding("slow-launches")
    assert found.saving_high_ms == pytest.approx(18.001 - 0.9, abs=0.01)
    assert found.saving_ms == pytest.approx((18.001 - 0.9) * 5 / 6, abs=0.01)


def test_twice_the_batch_halves_what_does_not_grow_with_it() -> None:
    asked = ask(ROOMY)
    found = asked.finding("small-batch")
    # 0.9 ms of waiting for launches; 16 GiB hold a batch 14 times as large: 8 in doublings.
    assert found.saving_ms == pytest.approx((1.801 - 0.9) / 2, abs=0.002)
    assert found.saving_high_ms == pytest.approx((1.801 - 0.9) * 7 / 8, abs=0.002)
    assert found.measured["batch_times"] == 8
    # Allocations of the first steps look like launches: the step without them tells what stays.
    columns = steps_of(asked)
    quick = columns["kept"].index(True)
    columns["kernel_launch_ms"][quick] = columns["host_compute_ms"][quick] = 0.0
    assert isinstance(with_steps(asked, "small-batch", columns), Silence)


def test_what_a_host_spends_on_sending_data_grows_with_the_batch() -> None:
    """NumPy arrays that each call sends again: twice the batch takes twice as long."""
    sends = ask(replace(ROOMY, kernels=[copy_to_device(300, 1 << 24), *TINY.kernels]))
    assert "grows with the batch" in sends.reason("small-batch", Silence)


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


# ------------------------------------------------------------------ precision


@pytest.mark.parametrize(
    ("device", "matrix", "tf32", "bf16"),
    [
        ("NVIDIA GPU (Volta)", True, False, False),
        ("NVIDIA GPU (Turing)", True, False, False),
        ("NVIDIA GeForce GTX 1080 Ti (Pascal)", False, False, False),
        ("NVIDIA GPU (Ada Lovelace)", True, True, True),
        ("AMD GPU (gfx94x)", True, False, True),
        ("AMD GPU (gfx90x)", True, False, True),
        ("AMD GPU (Vega, gfx90x)", False, False, False),
        ("AMD Radeon VII (gfx906)", False, False, False),
        ("AMD Instinct MI210 (gfx90a)", True, False, True),
        ("AMD Instinct MI100 (gfx908)", True, False, True),
        ("TPU v6 Lite", True, False, True),
        ("CPU", False, False, False),
    ],
)
def test_what_a_device_multiplies_in_hardware(
    device: str, matrix: bool, tf32: bool, bf16: bool
) -> None:
    assert (has_matrix_units(device), has_tf32(device), has_bf16(device)) == (matrix, tf32, bf16)


@pytest.mark.parametrize("device", ["AMD GPU", "GPU", "Custom device"])
def test_a_device_of_which_only_the_maker_is_known_is_not_said_to_lack_anything(
    device: str,
) -> None:
    assert isinstance(no_matrix_units(device), Unknown)
    assert isinstance(no_matrix_units("Tesla P100 (Pascal)"), Silence)


def test_a_name_is_cut_to_what_a_sentence_holds() -> None:
    assert kernel_name("n" * 44) == "n" * 44
    assert kernel_name("n" * 45) == "n" * 43 + "…"


# Six layers of a product of 200 µs and a sum of 50 µs: 1.2 and 0.3 ms of each 1.5 ms step.
PLAIN = layers("ampere_sgemm_128x64_nn", "Eigen::sum<float>")
TF32 = layers("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n", "sum<float>")
SOLVE = Kernel("void potrf_alg2_cta_upper<float>", 100, "cholesky:Cholesky")


def computing(*kernels: Kernel) -> Asked:
    return ask(replace(GOOD, kernels=[*kernels]))


def test_some_float32_products_among_16_bit_ones_are_found() -> None:
    mixed = Kernel("ampere_sgemm_128x64_nn", 500, "model/head/MatMul:MatMul")
    found = computing(*layers(), mixed).finding("full-precision")
    # 0.5 of 2 ms: a quarter of the step, though 75 % of compute is in 16 bits.
    assert found.saving_ms == pytest.approx(0.5 * 2 / 3)


def test_products_in_tf32_already_are_offered_fewer_bits_without_an_alarm() -> None:
    assert computing(*TF32).finding("full-precision").severity == "info"
    assert computing(*PLAIN).finding("full-precision").severity == "high"
    asked = computing(Kernel("MemcpyD2D", 100))
    assert "No device compute" in asked.reason("full-precision", Unknown)


@pytest.mark.parametrize("name", ["ampere_dgemm_64x64_nn", "cutlass_80_simt_dgemm_64x64_8x3_nn"])
def test_products_in_double_precision_are_not_told_of_tf32(name: str) -> None:
    asked = computing(*layers(name, "Eigen::sum<double>"))
    asked.reason("tensor-cores-unused", Silence)
    assert asked.finding("full-precision").severity == "info"


def test_a_program_that_factors_matrices_may_need_its_bits() -> None:
    asked = computing(*PLAIN, SOLVE)
    for rule in ("full-precision", "tensor-cores-unused"):
        assert asked.finding(rule).severity == "info"


def noted(thread: str, **settings: str) -> Asked:
    """Steps of a CPU's loop, of a program whose settings were noted."""
    picture = f"""
        /host:CPU
          python   S---------S---------S---------S---------
          "        {thread * 4}
    """
    planes = draw(
        picture,
        unit_us=100,
        S=event("train", step_num=nth, _r=1),
        M=event("aten/mm:mm"),
        B=event("autograd/MmBackward0:MmBackward0"),
        N=event("aten/isnan:isnan"),
        I=event("aten/item:item"),
    )
    stats = {f"setting_{name}": value for name, value in settings.items()}
    return opened(*planes, Plane("Task Environment", (), stats=stats))


def test_a_check_of_every_gradient_or_a_switch_is_debug_mode() -> None:
    found = noted("MMBNIBNI..").finding("debug-mode")
    # At least the checks; at most all but the two products.
    assert (found.saving_low_ms, found.saving_high_ms) == pytest.approx((0.4, 0.8))
    assert found.severity == "high"
    switched = noted("MM........", jax_debug_nans="on").finding("debug-mode")
    assert switched.saving_high_ms == pytest.approx(0.8)


def types_of_ops(found: Asked) -> dict[str, str]:
    parts = found.result("step_account").part_list()
    return {one.name: one.text("data_type") for one in parts if one.kind == "op"}


def causes_of_parts(found: Asked) -> list[str]:
    return [one.cause for one in found.answers("largest-part") if isinstance(one, Finding)]


def test_the_policy_of_a_model_is_before_its_variables() -> None:
    found = noted("MM........", parameters="float64", keras_dtype_policy="mixed_float16")
    assert types_of_ops(found)["matmul"] == "f16"
    assert "part-float16" in causes_of_parts(found)


@pytest.mark.parametrize(
    ("held", "told", "cause"),
    [
        ("half", "f16", "part-float16"),
        ("float", "", "part-product"),
        ("double", "f64", "part-double"),
        ("bfloat16", "", "part-product"),
    ],
)
def test_products_are_of_the_type_that_they_allocate(held: str, told: str, cause: str) -> None:
    """A loop of TensorFlow without Keras: one product and one sum a step, on the CPU."""
    marks, ops = [], []
    for step in range(4):
        begin = 1000 * step
        marks.append(Event("train", begin, 1000, {"step_num": step, "_r": 1}))
        ops.append(Event("head/MatMul:MatMul", begin + 10, 900))
        ops.append(Event("head/Sum:Sum", begin + 920, 30))
        for op, kind, size in (("head/MatMul", held, 4096), ("head/Sum", "int64", 9000)):
            stats = {"allocator_name": "cpu", "data_type": kind, "tf_op": op,
                     "allocation_bytes": size}  # fmt: skip
            ops.append(Event("MemoryAllocation", begin + 20, 0, stats))
    found = opened(host(line("python", *marks), line("tf_pool", *ops)))
    assert types_of_ops(found)["MatMul"] == told
    assert causes_of_parts(found)[0] == cause


# ------------------------------------------------------------------ rooflines

SLOW = tpu_ops(flops=2_000_000_000, bytes_accessed=20_000_000)


def test_ops_below_their_roofline_are_worth_what_good_kernels_reach() -> None:
    found = ask(replace(GOOD_TPU, kernels=SLOW)).finding("roofline-gap")
    # TPU v4: 2 GFLOP in 200 µs are 3.6 % of 275 TFLOP/s. Memory binds: 20 MB in 200 µs are
    # 100 GB/s of 1,228: 8.1 %, a good kernel reaches 60 %.
    efficiency = 100 / 1228
    assert found.measured["efficiency_frac"] == pytest.approx(efficiency)
    assert found.saving_ms == pytest.approx(1.2 * (1 - efficiency / 0.6))
    assert found.saving_high_ms == pytest.approx(1.2 * (1 - efficiency))
    assert (found.measured["ops"], found.severity) == (6, "high")


def test_what_computes_in_16_bits_is_not_told_to() -> None:
    """Hardly any bytes: compute binds, and the only peak in use is that of bf16."""
    asked = ask(replace(GOOD_TPU, kernels=tpu_ops(flops=2_000_000_000, bytes_accessed=1000)))
    assert set(asked.result("roofline_model").flop_peaks["data_type"]) <= {"bf16", "16-bit"}
    found = asked.finding("roofline-gap")
    assert found.measured["bound_by"] == "Compute"
    assert not any("16 bits" in action for action in found.actions)


def test_waits_and_collectives_are_not_kernels_below_their_roofline() -> None:
    waits = [replace(one, stats={**one.stats, "hlo_category": "async-done"}) for one in SLOW]
    asked = ask(replace(GOOD_TPU, kernels=waits))
    assert "unknown" in asked.reason("roofline-gap", Unknown)


# ------------------------------------------------------------------ attention in separate ops

H100 = [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0,
         "numSms": 132, "totalGlobalMem": 85 << 30}]  # fmt: skip
Op = tuple[str, list[list[int]], float]
# Batch, heads, positions and their size.
B, H, L, D = 2, 8, 2048, 64
SEPARATE: list[Op] = [
    ("aten::bmm", [[B * H, L, D], [B * H, D, L]], 1000.0),
    ("aten::mul", [[B, H, L, L], []], 500.0),
    ("aten::_softmax", [[B, H, L, L], [], []], 2000.0),
    ("aten::bmm", [[B * H, L, L], [B * H, L, D]], 1000.0),
]
REST: Op = ("aten::mm", [[1024, 1024], [1024, 1024]], 3000.0)
FLASH: Op = ("aten::_flash_attention_forward", [[B, L, H, D]] * 3, 4000.0)
CLASSES: Op = ("aten::_softmax", [[B, L, 50_000], [], []], 2000.0)


def attending(folder: Path, *ops: Op) -> Asked:
    """Two steps of 10 ms of these ops, one kernel each of so many µs."""
    events: list[dict[str, Any]] = []
    for step in range(2):
        at = 10_000.0 * step + 10
        events.append(x("user_annotation", f"ProfilerStep#{step}", at - 10, 10_000.0))
        for place, (name, dims, took) in enumerate(ops):
            types = ["c10::BFloat16" if one else "Scalar" for one in dims]
            shapes = {"Input_Dims": dims, "Input_type": types}
            number = 10 * step + place + 1
            events += [
                x("cpu_op", name, at, 8.0, PID, PID, **shapes),
                x("cuda_runtime", "cudaLaunchKernel", at + 2, 2.0, PID, PID, correlation=number),
                x("kernel", f"k_{name[6:]}", at + 5, took, 0, 7, device=0, stream=7,
                  correlation=number),
            ]  # fmt: skip
            at += took + 10
    return Asked(profile(folder, events, deviceProperties=H100))


def test_product_softmax_product_over_the_same_scores_is_attention(tmp_path: Path) -> None:
    found = attending(tmp_path, *SEPARATE, REST).finding("separate-attention")
    assert found.measured["attention_ms"] == pytest.approx(4.5)
    # The scores' own ops go, and half of the products.
    assert found.saving_ms == pytest.approx(2.5 + 1.0)
    assert found.saving_high_ms is not None and 3.5 < found.saving_high_ms < 4.5


@pytest.mark.parametrize(
    "ops", [[FLASH, REST, CLASSES], [*SEPARATE[:3], REST]], ids=["fused", "on one side alone"]
)
def test_other_softmaxes_are_no_separate_attention(tmp_path: Path, ops: list[Op]) -> None:
    asked = attending(tmp_path, *ops)
    assert "No softmax runs between" in asked.reason("separate-attention", Silence)
