"""The memory of PyTorch's allocator on GPUs: a driver only sees what it has reserved."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from stepscope.capture.telemetry import Metric, Reading


def open_source() -> TorchMemorySource | None:
    """The source where the program has loaded PyTorch."""
    torch = sys.modules.get("torch")
    return None if torch is None else TorchMemorySource(torch)


class TorchMemorySource:
    """See the module.

    Args:
        torch: The module.
    """

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def close(self) -> None:
        """Nothing is held."""

    def read(self, now_ns: int) -> Iterable[Reading]:
        """Bytes of tensors and bytes taken, per GPU; nothing before the program uses CUDA."""
        cuda = getattr(self._torch, "cuda", None)
        # Asking earlier would make this thread initialise CUDA for the program.
        if cuda is None or not cuda.is_initialized():
            return
        for index in range(cuda.device_count()):
            name = f"GPU {index} memory"
            yield Metric(f"{name} in tensors", "bytes"), float(cuda.memory_allocated(index))
            yield Metric(f"{name} reserved", "bytes"), float(cuda.memory_reserved(index))
