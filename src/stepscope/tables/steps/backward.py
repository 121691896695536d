"""Which events of PyTorch's are of a backward pass, or prepare one."""

from __future__ import annotations

import re
from typing import Final

_BACKWARD: Final = "autograd::engine::evaluate_function"
# What sharded and distributed models add to a forward pass, for the backward pass that follows.
_FOR_BACKWARD: Final = re.compile(r"PostBackward|PreBackward|_DDPSink")


def is_of_backward(text: str) -> bool:
    """Whether an event of this name is a part of a backward pass."""
    return text.startswith(_BACKWARD)


def prepares_backward(text: str) -> bool:
    """Whether an event of this name prepares a backward pass that is to come."""
    return not is_of_backward(text) and _FOR_BACKWARD.search(text) is not None
