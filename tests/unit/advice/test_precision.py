"""Rules about how the devices compute: precision, tensor cores, layouts."""

from dataclasses import replace

import pytest

from stepscope.advice.evidence.device_time import no_matrix_units
from stepscope.registry import Silence, Unknown
from tests.labelled.synthetic import GOOD, layers
from tests.profiles.loops import Kernel
from tests.unit.advice.asking import ask

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
