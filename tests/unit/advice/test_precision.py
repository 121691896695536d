"""Rules about how the devices compute: precision, tensor cores, layouts."""

from dataclasses import replace

import pytest

from stepscope.advice.evidence.device_time import no_matrix_units
from stepscope.registry import Silence, Unknown
from tests.labelled.synthetic import GOOD, GOOD_TPU, V100, layers, tpu_ops
from tests.profiles.loops import Kernel
from tests.unit.advice.asking import ask

# Six layers of a product of 200 µs and a sum of 50 µs: 1.2 and 0.3 ms of each 1.5 ms step.
FLOAT32 = replace(GOOD, kernels=layers("ampere_sgemm_128x64_nn", "Eigen::sum<float>"))
TF32 = replace(GOOD, kernels=layers("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n", "sum<float>"))
ODD = replace(GOOD, kernels=layers("cutlass_80_simt_hgemm_128x64_8x5_nn_align1"))
PASCAL = {**V100, "compute_cap_major": 6, "compute_cap_minor": 1}


def test_float32_products_save_two_thirds_and_the_rest_one_third() -> None:
    found = ask(FLOAT32).finding("full-precision")
    assert found.saving_ms == pytest.approx(1.2 * 2 / 3 + 0.3 / 3)
    assert found.saving_high_ms == pytest.approx(1.2 * 7 / 8 + 0.3 / 2)
    assert found.severity == "high"
    assert found.measured["products_32_ms"] == pytest.approx(1.2)


def test_tf32_products_save_less() -> None:
    found = ask(TF32).finding("full-precision")
    assert found.saving_ms == pytest.approx(1.2 / 3 + 0.3 / 3)
    assert found.saving_high_ms == pytest.approx(1.5 / 2)


def test_a_tpu_saves_bytes_only() -> None:
    found = ask(replace(GOOD_TPU, kernels=tpu_ops("f32"))).finding("full-precision")
    assert found.saving_ms == pytest.approx(1.2 / 3)


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


def test_odd_dimensions_keep_16_bit_products_off_tensor_cores() -> None:
    found = ask(ODD).finding("tensor-cores-unused")
    assert found.saving_ms == pytest.approx(1.2 * 2 / 3)
    assert found.saving_high_ms == pytest.approx(1.2 * 7 / 8)


@pytest.mark.parametrize("name", ["ampere_dgemm_64x64_nn", "cutlass_80_simt_dgemm_64x64_8x3_nn"])
def test_products_in_double_precision_are_not_told_of_tf32(name: str) -> None:
    asked = ask(replace(GOOD, kernels=layers(name, "Eigen::sum<double>")))
    asked.reason("tensor-cores-unused", Silence)
    found = asked.finding("full-precision")
    assert found.severity == "info"


def test_products_of_unknown_precision_are_not_said_to_be_in_float32() -> None:
    asked = ask(replace(GOOD, kernels=layers("generated_matmul_kernel", "sum_kernel")))
    asked.reason("tensor-cores-unused", Silence)


def test_transposes_around_convolutions_are_worth_four_fifths_of_their_time() -> None:
    turn = Kernel("void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>", 50)
    found = ask(
        replace(GOOD, kernels=layers("cudnn_fprop_f16", op="Conv2D", between=(turn,)))
    ).finding("layout-transposes")
    # Six of 50 µs; the convolutions are the six products of 200 µs.
    assert found.saving_ms == pytest.approx(0.3 * 0.8)
    assert found.saving_high_ms == pytest.approx(0.3)
    assert found.measured["convolution_ms"] == pytest.approx(1.2)


def test_transposes_without_convolutions_are_not_layouts() -> None:
    turn = Kernel("transpose_kernel", 50)
    asked = ask(replace(GOOD, kernels=layers(between=(turn,))))
    assert asked.reason("layout-transposes", Silence) == "No kernel is named after a convolution."


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


def test_kernels_on_plain_cores_use_no_tensor_cores_whatever_else_their_name_says() -> None:
    plain = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x128x8_stage3_ffma_aligna4"
    found = ask(replace(GOOD, kernels=layers(plain))).finding("tensor-cores-unused")
    assert found.measured["missed_ms"] == pytest.approx(1.2)
