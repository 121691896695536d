"""Peaks of GPUs' data sheets, against the silicon: units × work per clock × clock."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Final

import pytest

from stepscope.tables.ops.gpu_models import MODELS, GpuModel

DOCS: Final = Path(__file__).parents[4] / "docs" / "tools" / "model_flops.md"

# By model: FLOPs of a unit per clock in 16 bits on matrix units and in fp32 (the faster of vector
# and matrix units), the clocks in GHz at which the data sheet counts them, and the memory's width
# in bits and rate in Gbit/s per pin. From the makers' architecture papers, not from the sheets;
# 0 where no clock of the matrix units was published: it is below that of the others then.
SILICON: Final[dict[str, tuple[int, float, int, float, int, float]]] = {
    "V100S": (1024, 1.597, 128, 1.597, 4096, 2.214),
    "V100-PCIE": (1024, 1.37, 128, 1.37, 4096, 1.752),
    "V100": (1024, 1.53, 128, 1.53, 4096, 1.752),
    "T4": (1024, 1.59, 128, 1.59, 256, 10.0),
    "A100-SXM4-40GB": (2048, 1.41, 128, 1.41, 5120, 2.43),
    "A100-PCIE-40GB": (2048, 1.41, 128, 1.41, 5120, 2.43),
    "A100 80GB PCIe": (2048, 1.41, 128, 1.41, 5120, 3.024),
    "A100": (2048, 1.41, 128, 1.41, 5120, 3.186),
    "A10": (1024, 1.695, 256, 1.695, 384, 12.5),
    "A30": (2048, 1.44, 128, 1.44, 3072, 2.43),
    "A40": (1024, 1.74, 256, 1.74, 384, 14.5),
    "L40S": (1024, 2.52, 256, 2.52, 384, 18.0),
    "L40": (512, 2.49, 256, 2.49, 384, 18.0),  # half the rate where sums have 32 bits
    "L4": (1024, 2.04, 256, 2.04, 192, 12.5),
    "H100 PCIe": (4096, 1.62, 256, 1.755, 5120, 3.186),
    "H100 NVL": (4096, 0, 256, 1.785, 6144, 5.1),
    "H100": (4096, 1.83, 256, 1.98, 5120, 5.23),
    "H200 NVL": (4096, 0, 256, 1.785, 6144, 6.25),
    "H200": (4096, 1.83, 256, 1.98, 6144, 6.25),
    "GH200 144G": (4096, 1.83, 256, 1.98, 6144, 6.4),
    "GH200": (4096, 1.83, 256, 1.98, 6144, 5.2),
    "B200": (8192, 0, 256, 1.965, 8192, 7.8),
    "GB200": (8192, 0, 256, 2.062, 8192, 8.0),
    "MI210": (1024, 1.7, 256, 1.7, 4096, 3.2),
    "MI250X": (1024, 1.7, 256, 1.7, 4096, 3.2),
    "MI250": (1024, 1.7, 256, 1.7, 4096, 3.2),
    "MI300A": (2048, 2.1, 256, 2.1, 8192, 5.2),
    "MI300X": (2048, 2.1, 256, 2.1, 8192, 5.2),
    "MI325X": (2048, 2.1, 256, 2.1, 8192, 6.0),
    "MI355X": (4096, 2.4, 256, 2.4, 8192, 8.0),
    "MI350X": (4096, 2.2, 256, 2.2, 8192, 8.0),
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_peaks_are_what_the_silicon_does_at_its_clock(model: GpuModel) -> None:
    half, half_ghz, full, full_ghz, bits, gbps = SILICON[model.name]
    if half_ghz:
        assert model.half == pytest.approx(model.units * half * half_ghz / 1e3, rel=0.02)
    else:
        assert 0.8 * full_ghz < model.half * 1e3 / (model.units * half) < full_ghz
    assert model.fp32 == pytest.approx(model.units * full * full_ghz / 1e3, rel=0.02)
    assert model.memory == pytest.approx(bits * gbps / 8e3, rel=0.025)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_peaks_are_dense_and_halve_with_the_width(model: GpuModel) -> None:
    if not math.isnan(model.fp8):
        assert model.fp8 == pytest.approx(2 * model.half, rel=0.02)
    if not math.isnan(model.tf32):
        assert model.tf32 == pytest.approx(model.half / 2, rel=0.02)
    assert model.fp64 <= model.fp32


def test_the_manual_lists_every_peak_with_its_source() -> None:
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| "
        r"([^|]+) \| ([^|]+) \| ([^|]+ data sheet[^|]*) \|$",
        DOCS.read_text("utf-8"),
        re.MULTILINE,
    )
    assert rows == [_row(model) for model in MODELS]


def _row(model: GpuModel) -> tuple[str, ...]:
    rates = (model.half, model.fp8, model.tf32, model.fp32, model.fp64, model.memory)
    shown = ("–" if math.isnan(rate) else f"{rate:g}" for rate in rates)
    return model.name, *shown, str(model.units), model.source
