"""What one run of a device-level op costs, in the units of the roofline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Final

from stepscope.tables.torch.costs import cost_of
from stepscope.tables.torch.signature import Signature

# How many operations of a type a device does in the time of one in 16 bits.
_SPEED: Final = {"fp8": 2.0, "int8": 2.0, "fp4": 4.0}


@dataclass(frozen=True, slots=True)
class RunCost:
    """What one run of an op costs; NaN where nothing says.

    Attributes:
        model_flops: Operations the program asks for.
        flops: The same in units of the device's peak: 8-bit work counts half, 4-bit a quarter.
        bytes: Bytes moved, all memories.
        hbm_bytes: Of these, to and from device memory.
        on_chip_read_bytes, on_chip_write_bytes: Of these, from and to on-chip memory.
    """

    model_flops: float = math.nan
    flops: float = math.nan
    bytes: float = math.nan
    hbm_bytes: float = math.nan
    on_chip_read_bytes: float = math.nan
    on_chip_write_bytes: float = math.nan


def shaped_cost(call: Signature) -> RunCost:
    """The cost of a PyTorch op, from the shapes that it was called with."""
    found = cost_of(call)
    flops = found.flops / _SPEED.get(found.type, 1.0)
    size = found.moved_bytes
    return RunCost(found.model_flops, flops, size, size, math.nan, math.nan)


def mean_cost(runs: Sequence[tuple[int, RunCost]]) -> RunCost:
    """The mean of several costs, each of so many runs; NaN where one of them is."""
    count = max(sum(times for times, _ in runs), 1)
    columns = zip(*(astuple(cost) for _, cost in runs), strict=True)
    return RunCost(
        *(
            sum(times * value for (times, _), value in zip(runs, values, strict=True)) / count
            for values in columns
        )
    )
