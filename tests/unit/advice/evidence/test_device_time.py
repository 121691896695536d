"""What kernels cost a step, and what a device can do, by its name."""

from dataclasses import replace
from math import isnan

import pytest

from stepscope.advice.evidence.device_time import (
    compute_ms,
    has_bf16,
    has_matrix_units,
    has_tf32,
    kernel_name,
    kernel_time,
    kernels_per_step,
    launch_calls,
)
from tests.labelled.synthetic import BF16, GOOD, HALF_SUM, layers
from tests.profiles.loops import Kernel
from tests.unit.advice.asking import ask


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


def test_kernels_cost_their_share_of_the_compute_that_the_step_waits_for() -> None:
    asked = ask(GOOD)
    kernels, overview = asked.result("kernel_stats"), asked.result("overview_page")
    # Six products of 200 µs and six sums of 50 µs in each of twelve steps.
    assert compute_ms(overview) == pytest.approx(1.5)
    every = kernel_time(kernels, overview)
    assert every.step_ms == pytest.approx(1.5)
    assert every.occurrences == 144
    assert every.names == (BF16, HALF_SUM)
    products = kernel_time(kernels, overview, lambda row: row.kernel_class == "gemm")
    assert products.step_ms == pytest.approx(1.2)
    assert products.mean_us == pytest.approx(200.0)
    assert products.names == (BF16,)


def test_copies_are_no_computing_kernels() -> None:
    asked = ask(replace(GOOD, kernels=layers(between=(Kernel("MemcpyD2D", 100),))))
    kernels, overview = asked.result("kernel_stats"), asked.result("overview_page")
    assert kernel_time(kernels, overview).occurrences == 144
    none = kernel_time(kernels, overview, lambda _row: False)
    assert (none.step_ms, none.occurrences, none.names) == (0.0, 0, ())
    assert isnan(none.mean_us)


def test_kernels_that_copy_are_compute_of_the_step_but_of_no_share() -> None:
    copy = Kernel("void at::native::direct_copy_kernel_cuda", 100.0)
    asked = ask(replace(GOOD, kernels=layers(between=(copy,))))
    kernels, overview = asked.result("kernel_stats"), asked.result("overview_page")
    assert compute_ms(overview) == pytest.approx(2.1)
    products = kernel_time(kernels, overview, lambda row: row.kernel_class == "gemm")
    assert products.step_ms == pytest.approx(1.2)  # as without the copies
    assert kernel_time(kernels, overview).step_ms == pytest.approx(1.5)


def test_kernels_are_counted_per_step_and_device() -> None:
    asked = ask(replace(GOOD, devices=3))
    found = kernels_per_step(asked.result("kernel_stats"), asked.result("overview_page"))
    assert found == pytest.approx(12.0)


def test_launches_are_counted_with_their_mean_time() -> None:
    calls, mean_us = launch_calls(ask(replace(GOOD, launch_us=6)).result("device_idle"))
    assert calls == pytest.approx(12.0)
    assert mean_us == pytest.approx(6.0)


def test_a_name_is_cut_to_what_a_sentence_holds() -> None:
    assert kernel_name("relu") == "relu"
    assert kernel_name("n" * 60) == "n" * 60
    assert kernel_name("n" * 61) == "n" * 59 + "…"
