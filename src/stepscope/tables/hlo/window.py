"""The sliding window of convolutions, poolings and their like."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.tables.hlo.module import Instruction
from stepscope.wire.read import values

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
    for number, value in values(instruction.message(_WINDOW)):
        if number == 1 and isinstance(value, bytes):
            one = {n: v for n, v in values(value) if isinstance(v, int)}
            low, high = (_signed(one.get(n, 0)) for n in (3, 4))
            strides = [one.get(n, 1) or 1 for n in (2, 5, 6)]
            found.append(WindowDimension(one.get(1, 1), strides[0], low, high, *strides[1:]))
    return found


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
