"""Convolutions whose window is so long that a Fourier transform does the same for less.

A filter of thousands of taps is one convolution of few channels: its cost is that of all pairs of
a sample and a tap.
"""

from __future__ import annotations

from typing import Final

from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.window import window_dimensions, window_size
from stepscope.tables.traits.instructions import instruction_of

# Shorter windows are as quick as transforms of their length; of many channels each transform is
# a product for each frequency.
_LONG: Final = 256
_MOST_CHANNELS: Final = 16


def long_window(host: Host, event: int) -> int:
    """The length of the window of the convolution that an event ran; 0 where it is not long."""
    found = instruction_of(host, event)
    if found is None or found[1].opcode != "convolution":
        return 0
    module, one = found
    window = window_dimensions(one)
    longest = max(window, key=lambda each: each.size, default=None)
    kernel = list(module.operands(one))[1:2]
    if longest is None or not kernel or longest.size < _LONG:
        return 0
    channels = kernel[0].shape.elements / (window_size(one) or 1.0)
    is_plain = longest.stride == longest.dilation == longest.base_dilation == 1
    return longest.size if is_plain and channels <= _MOST_CHANNELS else 0
