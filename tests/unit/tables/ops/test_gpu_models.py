"""Peaks by the names that drivers give to devices."""

from __future__ import annotations

import pytest

from stepscope.tables.ops.gpu_models import MODELS, model_peaks


@pytest.mark.parametrize(
    ("name", "half"),
    [
        ("NVIDIA H100 80GB HBM3", 989), ("NVIDIA H100 PCIe", 756), ("NVIDIA H100 NVL", 835),
        ("NVIDIA A100-SXM4-80GB", 312), ("NVIDIA A10", 125), ("NVIDIA L4", 121),
        ("NVIDIA L40S", 362), ("Tesla V100-SXM2-16GB", 125), ("Tesla V100-PCIE-32GB", 112),
        ("Tesla T4", 65), ("NVIDIA B200", 2250), ("AMD Instinct MI300X (gfx94x)", 1307.4),
        ("Tesla V100S-PCIE-32GB", 130), ("NVIDIA A30", 165), ("NVIDIA A40", 149.7),
        ("NVIDIA L40", 181), ("NVIDIA H200", 989), ("NVIDIA H200 NVL", 835),
        ("NVIDIA GH200 480GB", 989), ("NVIDIA GH200 144G HBM3e", 989), ("NVIDIA GB200", 2500),
        ("AMD Instinct MI210", 181), ("AMD Instinct MI250X/MI250", 191.5),
        ("AMD Instinct MI250", 181), ("AMD Instinct MI300A", 980.6),
        ("AMD Instinct MI350X", 2306.9), ("AMD Instinct MI350X or MI355X", 2516.6),
    ],
)  # fmt: skip
def test_a_device_is_known_by_its_name(name: str, half: float) -> None:
    found = model_peaks(name, 0)
    assert found is not None and found.flops["fp16"] == pytest.approx(half * 1e12)


@pytest.mark.parametrize("name", ["", "NVIDIA A10G", "NVIDIA GeForce RTX 4090", "AMD GPU", "H1000"])
def test_a_device_that_only_resembles_one_is_not_known(name: str) -> None:
    assert model_peaks(name, 0) is None


def test_peaks_scale_with_the_multiprocessors_there_are() -> None:
    whole, slice_ = model_peaks("NVIDIA H100 80GB HBM3", 132), model_peaks("NVIDIA H100", 66)
    assert whole is not None and slice_ is not None
    assert slice_.flops["bf16"] == pytest.approx(whole.flops["bf16"] / 2)
    assert slice_.hbm_bytes == pytest.approx(whole.hbm_bytes / 2)
    assert "66 of its 132" in slice_.source and "of its" not in whole.source


def test_memory_is_of_the_variant() -> None:
    first, second = model_peaks("NVIDIA GH200 480GB", 0), model_peaks("NVIDIA GH200 144G HBM3e", 0)
    assert first is not None and second is not None
    assert (first.hbm_bytes, second.hbm_bytes) == pytest.approx((4.0e12, 4.9e12))


@pytest.mark.parametrize("name", ["Tesla V100S-PCIE-32GB", "Tesla V100-SXM2-16GB"])
def test_types_that_a_model_lacks_have_no_peak(name: str) -> None:
    found = model_peaks(name, 80)
    assert found is not None and set(found.flops) == {"fp16", "fp32", "fp64"}


def test_every_model_is_found_by_its_own_name() -> None:
    for one in MODELS:
        found = model_peaks(f"NVIDIA {one.name}", one.units)
        assert found is not None and found.source == one.source
