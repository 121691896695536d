"""What a call of an op costs: floating-point operations and bytes, from the shapes of its inputs.

The file has no FLOPs; shapes are there if they were recorded. ``model_flops`` are those of
``torch.utils.flop_counter``: products of matrices and nothing else, masks not regarded, so that
numbers of different programs compare. ``flops`` are what is done: half the scores where
attention is causal, and the addition of a bias. Bytes are each input and output once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpCost:
    """What one call costs; NaN where the recording does not say it.

    Attributes:
        model_flops: Operations that the model asks for, as PyTorch's own counter has them.
        flops: Operations that are done.
        bytes: Inputs and outputs, each once.
        type: What is multiplied: "bf16", "fp32" …; "" where nothing is.
        is_at_most: Whether sizes are on the device, so that this is the most it can be.
        is_inputs_only: Whether nothing is known of the op, and ``bytes`` are those of its inputs.
    """

    model_flops: float = math.nan
    flops: float = math.nan
    bytes: float = math.nan
    type: str = ""
    is_at_most: bool = False
    is_inputs_only: bool = False

    @property
    def moved_bytes(self) -> float:
        """``bytes``, NaN where they are not all that is moved."""
        return math.nan if self.is_inputs_only else self.bytes


UNKNOWN = OpCost()
