"""The sliding window of convolutions, poolings and their like."""

from __future__ import annotations

import math
from typing import NamedTuple

from stepscope.tables.hlo.module import Instruction, fields_of

_WINDOW = 15


class WindowDimension(NamedTuple):
    """One dimension of a window.

    Attributes:
        low, high: Padding before and after; negative padding cuts.
        dilation: Distance between the window's taps.
        base_dilation: Distance between elements of the padded input.
    """

    size: int
    stride: int
    low: int
    high: int
    dilation: int
    base_dilation: int


def window_dimensions(instruction: Instruction) -> list[WindowDimension]:
    """The dimensions of an instruction's window; empty when it has none."""
    found = []
    for value in fields_of(instruction.message(_WINDOW)).get(1, ()):
        if isinstance(value, bytes):
            said = fields_of(value).items()
            one = {n: v[-1] for n, v in said if isinstance(v[-1], int)}
            low, high = (_signed(one.get(n, 0)) for n in (3, 4))
            strides = [one.get(n, 1) or 1 for n in (2, 5, 6)]
            found.append(WindowDimension(one.get(1, 1), strides[0], low, high, *strides[1:]))
    return found


def window_size(instruction: Instruction) -> float:
    """How many elements its window covers; 1 without one."""
    return math.prod(float(one.size) for one in window_dimensions(instruction))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
