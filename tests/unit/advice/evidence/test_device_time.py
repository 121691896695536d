"""What kernels cost a step, and what a device can do, by its name."""

import pytest

from stepscope.advice.evidence.device_time import (
    has_bf16,
    has_matrix_units,
    has_tf32,
    kernel_name,
)


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


def test_a_name_is_cut_to_what_a_sentence_holds() -> None:
    assert kernel_name("relu") == "relu"
    assert kernel_name("n" * 44) == "n" * 44
    assert kernel_name("n" * 45) == "n" * 43 + "…"
