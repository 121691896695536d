"""Ranges that the program marks, apart from those that frameworks and drivers mark themselves."""

from __future__ import annotations

import re

_MARKED = re.compile(
    r"Optimizer\.|autograd|DistributedDataParallel|FullyShardedDataParallel|FSDP|[Tt]orch|AOT|"
    r"Compiled|## Call Compiled|Inductor|nn\.Module|enumerate\(|cuda|hip|cu[A-Z]|nccl|c10d|aten|"
    r"\[|ProfilerStep"
)
# Lightning names the program's own class and the hook of it that runs.
_HOOK = re.compile(r"(?:\[pl\]\[(?:profile|module)\])?\[(?:LightningModule|Callback)\](\w+\.\w+)")


def region_name(text: str) -> str:
    """What the program calls a range; "" where it is not the program's."""
    if hook := _HOOK.match(text):
        return hook.group(1)
    return "" if _MARKED.match(text) else text.strip()
