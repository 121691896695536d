"""What one run of a device-level op costs, in the units of the roofline."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Final

import numpy as np

from stepscope.columns.space import I32, I64
from stepscope.records import dataclass
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.torch.costs import cost_of
from stepscope.tables.torch.signature import Signature

# How many operations of a type a device does in the time of one in 16 bits.
_SPEED: Final = {"fp8": 2.0, "int8": 2.0, "fp4": 4.0}

# 32-bit products on matrix units; only the kernel's name tells.
_TF32: Final = re.compile(r"tf32|s1688(?!_bf16)|xf32", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RunCost:
    """What one run of an op costs; NaN where nothing says.

    Attributes:
        model_flops: Operations the program asks for.
        flops: The same in units of the device's peak: 8-bit work counts half, 4-bit a quarter.
        bytes: Bytes moved, all memories.
        hbm_bytes: Of these, to and from device memory.
        on_chip_read_bytes, on_chip_write_bytes: Of these, from and to on-chip memory.
        fp32_flops, tf32_flops: Of the flops, those in a type whose peak is a lower one.
    """

    model_flops: float = math.nan
    flops: float = math.nan
    bytes: float = math.nan
    hbm_bytes: float = math.nan
    on_chip_read_bytes: float = math.nan
    on_chip_write_bytes: float = math.nan
    fp32_flops: float = 0.0
    tf32_flops: float = 0.0


def shaped_cost(call: Signature) -> RunCost:
    """The cost of a PyTorch op, from the shapes that it was called with."""
    found = cost_of(call)
    flops = found.flops / _SPEED.get(found.type, 1.0)
    size = found.moved_bytes
    in_fp32 = flops if found.type == "fp32" and flops > 0 else 0.0
    return RunCost(found.model_flops, flops, size, size, math.nan, math.nan, in_fp32)


def is_tf32_name(name: str) -> bool:
    """Whether a kernel of this name multiplies in TF32 (AMD: xf32)."""
    return bool(_TF32.search(name))


def with_tf32(host: Host, rows: I64, op_of: I32, costs: list[RunCost]) -> list[RunCost]:
    """The costs of ops, those of 32-bit products on matrix units told by their kernels' names."""
    if not any(cost.fp32_flops for cost in costs):
        return costs
    is_tf32 = entries_named(host, is_tf32_name)[host.space.events.metadata[rows]]
    told = set(np.unique(op_of[is_tf32]).tolist())
    return [
        replace(cost, fp32_flops=0.0, tf32_flops=cost.fp32_flops) if at in told else cost
        for at, cost in enumerate(costs)
    ]


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
