"""Ranges that the program marks, and those that frameworks and drivers mark themselves."""

from __future__ import annotations

import re
from typing import Final

from stepscope.schema import names

_MARKED = re.compile(
    r"Optimizer\.|autograd|DistributedDataParallel|FullyShardedDataParallel|FSDP|[Tt]orch|AOT|"
    r"Compiled|## Call Compiled|Inductor|nn\.Module|enumerate\(|cuda|hip|cu[A-Z]|nccl|c10d|aten|"
    r"\[|ProfilerStep"
)
# Lightning names the program's own class and the hook of it that runs.
_HOOK = re.compile(r"(?:\[pl\]\[(?:profile|module)\])?\[(?:LightningModule|Callback)\](\w+\.\w+)")
# Its strategies call what the program has written by the same name.
_STEP = re.compile(
    r"(?:\[pl\]\[profile\])?\[Strategy\]\w+\."
    r"((?:training|validation|test|predict)_step)$"
)


def region_name(text: str) -> str:
    """What the program calls a range; "" where it is not the program's."""
    if hook := _HOOK.match(text) or _STEP.match(text):
        return hook.group(1)
    return "" if _MARKED.match(text) else text.strip()


_BACKWARD: Final = "autograd::engine::evaluate_function"
# What sharded and distributed models add to a forward pass, for the backward pass that follows.
_FOR_BACKWARD: Final = re.compile(r"PostBackward|PreBackward|_DDPSink")


def is_of_backward(text: str) -> bool:
    """Whether an event of this name is a part of a backward pass."""
    return text.startswith(_BACKWARD)


def prepares_backward(text: str) -> bool:
    """Whether an event of this name prepares a backward pass that is to come.

    A look at Python may fall into the import of such a class: that prepares nothing.
    """
    if text.startswith((_BACKWARD, names.PYTHON_CALL_MARK)):
        return False
    return _FOR_BACKWARD.search(text) is not None
