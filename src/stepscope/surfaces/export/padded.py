"""Arrays of protobuf pieces of one width: numbers as padded varints, written side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64, U8, U64


def padded(values: NDArray[np.integer], width: int) -> U8:
    """Varints of ``width`` bytes each: all but the last say that more follows.

    Negative numbers become 0; ``padded_bits`` takes all 64 bits as they are.
    """
    return padded_bits(np.maximum(values, 0).astype(np.uint64), width)


def padded_bits(values: U64, width: int = 10) -> U8:
    """As ``padded``, of unsigned numbers that need no more than ``7 * width`` bits."""
    shifts = np.arange(0, 7 * width, 7, dtype=np.uint64)
    parts = ((values[:, None] >> shifts) & np.uint64(0x7F)).astype(np.uint8)
    parts[:, :-1] |= 0x80
    return parts


def constant(count: int, data: bytes) -> U8:
    """The same bytes ``count`` times."""
    return np.broadcast_to(np.frombuffer(data, np.uint8), (count, len(data)))


def scatter(out: U8, at: I64, block: U8) -> None:
    """Write each row of ``block`` at its place."""
    out[at[:, None] + np.arange(block.shape[1])] = block
