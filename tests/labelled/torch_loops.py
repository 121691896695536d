"""Loops of PyTorch's with one planted fault each, beside the same loop without."""

from __future__ import annotations

from collections.abc import Callable

from tests.labelled import Labelled
from tests.profiles.torch_loop import TorchLoop, torch_loop

LONELY = TorchLoop(loader="_SingleProcessDataLoaderIter", load_us=600)
BROKEN = TorchLoop(is_compiled=True, breaks=4, break_us=250, product_us=60, products=20)
SMALL = TorchLoop(reductions=(64 << 10,) * 60)
LARGE = TorchLoop(reductions=(25 << 20,), reduction_us=60)


def _one(loop: TorchLoop) -> Callable[[], dict[str, bytes]]:
    return lambda: {"host": torch_loop(loop)}


PROFILES = (
    Labelled("torch: loader without workers", "loader-workers", _one(LONELY)),
    Labelled("torch: graph breaks", "graph-breaks", _one(BROKEN)),
    Labelled("torch: small reductions", "gradient-buckets", _one(SMALL)),
    Labelled("torch: healthy", None, _one(TorchLoop())),
    Labelled("torch: healthy, compiled", None, _one(TorchLoop(is_compiled=True))),
    Labelled("torch: healthy, one bucket", None, _one(LARGE)),
)
