"""What GPUs can do at most, by the name of the model: for recordings that note no clock.

PyTorch's recordings name the device and count its multiprocessors, and that is all. Peaks are
dense (half of what data sheets quote "with sparsity"), of the product at its data sheet's clock,
and scale with the multiprocessors that the recording counts: a slice of a device (MIG), or a
smaller variant, has fewer.
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from stepscope.records import dataclass

_NONE: Final = math.nan


class GpuModel(NamedTuple):
    """A model: TFLOP/s by type, memory in TB/s, and multiprocessors (or compute units).

    ``half`` is of bf16 and fp16 with sums in 32 bits; ``tf32`` of 32-bit products on matrix units
    (AMD: xf32); ``fp32`` and ``fp64`` the faster of vector and matrix units.
    """

    name: str
    half: float
    fp8: float
    tf32: float
    fp32: float
    fp64: float
    memory: float
    units: int
    source: str


# The first whose name is in the recorded one counts: variants come before their family.
MODELS: Final[tuple[GpuModel, ...]] = (
    GpuModel("V100S", 130, _NONE, _NONE, 16.4, 8.2, 1.134, 80, "NVIDIA V100 data sheet"),
    GpuModel("V100-PCIE", 112, _NONE, _NONE, 14, 7, 0.9, 80, "NVIDIA V100 data sheet"),
    GpuModel("V100", 125, _NONE, _NONE, 15.7, 7.8, 0.9, 80, "NVIDIA V100 data sheet"),
    GpuModel("T4", 65, _NONE, _NONE, 8.1, 0.25, 0.32, 40, "NVIDIA T4 data sheet"),
    GpuModel("A100-SXM4-40GB", 312, _NONE, 156, 19.5, 19.5, 1.555, 108, "NVIDIA A100 data sheet"),
    GpuModel("A100-PCIE-40GB", 312, _NONE, 156, 19.5, 19.5, 1.555, 108, "NVIDIA A100 data sheet"),
    GpuModel("A100 80GB PCIe", 312, _NONE, 156, 19.5, 19.5, 1.935, 108, "NVIDIA A100 data sheet"),
    GpuModel("A100", 312, _NONE, 156, 19.5, 19.5, 2.039, 108, "NVIDIA A100 data sheet"),
    GpuModel("A10", 125, _NONE, 62.5, 31.2, 0.49, 0.6, 72, "NVIDIA A10 data sheet"),
    GpuModel("A30", 165, _NONE, 82, 10.3, 10.3, 0.933, 56, "NVIDIA A30 data sheet"),
    GpuModel("A40", 149.7, _NONE, 74.8, 37.4, 0.58, 0.696, 84, "NVIDIA A40 data sheet"),
    GpuModel("L40S", 362, 733, 183, 91.6, 1.4, 0.864, 142, "NVIDIA L40S data sheet"),
    GpuModel("L40", 181, 362, 90.5, 90.5, 1.4, 0.864, 142, "NVIDIA L40 data sheet"),
    GpuModel("L4", 121, 242, 60, 30.3, 0.47, 0.3, 58, "NVIDIA L4 data sheet"),
    GpuModel("H100 PCIe", 756, 1513, 378, 51, 51, 2.0, 114, "NVIDIA H100 data sheet"),
    GpuModel("H100 NVL", 835, 1671, 417, 60, 60, 3.9, 132, "NVIDIA H100 NVL data sheet"),
    GpuModel("H100", 989, 1979, 495, 67, 67, 3.35, 132, "NVIDIA H100 data sheet"),
    GpuModel("H200 NVL", 835, 1671, 417, 60, 60, 4.8, 132, "NVIDIA H200 data sheet"),
    GpuModel("H200", 989, 1979, 495, 67, 67, 4.8, 132, "NVIDIA H200 data sheet"),
    GpuModel("GH200 144G", 989, 1979, 495, 67, 67, 4.9, 132, "NVIDIA GH200 data sheet"),
    GpuModel("GH200", 989, 1979, 495, 67, 67, 4.0, 132, "NVIDIA GH200 data sheet"),
    GpuModel("B200", 2250, 4500, 1125, 75, 37, 8.0, 148, "NVIDIA HGX B200 data sheet"),
    GpuModel("GB200", 2500, 5000, 1250, 80, 40, 8.0, 152, "NVIDIA GB200 data sheet, a GPU"),
    GpuModel("MI210", 181, _NONE, _NONE, 45.3, 45.3, 1.6, 104, "AMD MI210 data sheet"),
    # One die: ROCm shows the two of a module as two devices.
    GpuModel("MI250X", 191.5, _NONE, _NONE, 47.9, 47.9, 1.6, 110, "AMD MI250X data sheet, a die"),
    GpuModel("MI250", 181, _NONE, _NONE, 45.3, 45.3, 1.6, 104, "AMD MI250 data sheet, a die"),
    GpuModel("MI300A", 980.6, 1961.2, 490.3, 122.6, 122.6, 5.3, 228, "AMD MI300A data sheet"),
    GpuModel("MI300X", 1307.4, 2614.9, 653.7, 163.4, 163.4, 5.3, 304, "AMD MI300X data sheet"),
    GpuModel("MI325X", 1307.4, 2614.9, 653.7, 163.4, 163.4, 6.0, 304, "AMD MI325X data sheet"),
    GpuModel("MI355X", 2516.6, 5033.2, _NONE, 157.3, 78.6, 8.0, 256, "AMD MI355X data sheet"),
    # Behind MI355X: a device that may be either gets the higher limit, never more than its peak.
    GpuModel("MI350X", 2306.9, 4613.7, _NONE, 144.2, 72.1, 8.0, 256, "AMD MI350X data sheet"),
)


@dataclass(frozen=True, slots=True)
class ModelPeaks:
    """Limits of one device.

    Attributes:
        flops: FLOP/s by type ("bf16", "fp16", "fp8", "int8", "tf32", "fp32", "fp64").
        hbm_bytes: Bytes/s of its memory.
        source: Where they come from.
    """

    flops: dict[str, float]
    hbm_bytes: float
    source: str


def model_peaks(name: str, units: int) -> ModelPeaks | None:
    """The limits of the device of this name; None where the table does not have it.

    Args:
        name: As the driver calls it, "NVIDIA H100 80GB HBM3".
        units: Its multiprocessors, 0 where unknown.
    """
    found = next((one for one in MODELS if _is_named(one.name, name)), None)
    if found is None:
        return None
    share = units / found.units if units else 1.0
    rates = {
        "bf16": math.nan if "V100" in found.name or found.name == "T4" else found.half,
        "fp16": found.half,
        "fp8": found.fp8,
        "int8": found.fp8,
        "tf32": found.tf32,
        "fp32": found.fp32,
        "fp64": found.fp64,
    }
    source = found.source
    if units and units != found.units:
        source += f", for {units} of its {found.units} multiprocessors"
    return ModelPeaks(
        {key: rate * share * 1e12 for key, rate in rates.items() if not math.isnan(rate)},
        found.memory * 1e12 * min(share, 1.0),
        source,
    )


def _is_named(model: str, name: str) -> bool:
    """Whether the model's name is a word of the device's: "A10" is neither A100 nor A10G."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(model)}(?![A-Za-z0-9])", name) is not None
