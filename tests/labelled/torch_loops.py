"""Loops of PyTorch's with one planted fault each, beside the same loop without."""

from __future__ import annotations

from collections.abc import Callable

from tests.labelled import Labelled
from tests.profiles.torch_loop import A100, PLAIN, TorchLoop, torch_loop

LONELY = TorchLoop(loader="_SingleProcessDataLoaderIter", load_us=600)
BROKEN = TorchLoop(is_compiled=True, breaks=4, break_us=250, product_us=60, products=20)
SMALL = TorchLoop(reductions=(64 << 10,) * 60)
READ = TorchLoop(reads=10, products=2)
PAGEABLE = TorchLoop(copy_us=500)
RETRIED = TorchLoop(retries=1)
COLLECTED = TorchLoop(collection_us=400)
ONE_BY_ONE = TorchLoop(updates=150)
PLAIN_FLOAT = TorchLoop(kernel=PLAIN, dtype="float", gpu=A100)
TINY = TorchLoop(products=300, product_us=5)
UNFUSED = TorchLoop(unfused=4, unfused_us=30)
LARGE = TorchLoop(reductions=(25 << 20,), reduction_us=60)


def _one(loop: TorchLoop) -> Callable[[], dict[str, bytes]]:
    return lambda: {"host": torch_loop(loop)}


PROFILES = (
    Labelled("torch: loader without workers", "loader-workers", _one(LONELY)),
    Labelled("torch: graph breaks", "graph-breaks", _one(BROKEN)),
    Labelled("torch: small reductions", "gradient-buckets", _one(SMALL)),
    Labelled("torch: .item() in each step", "host-waits", _one(READ)),
    Labelled("torch: pageable copies", "host-copies", _one(PAGEABLE)),
    Labelled("torch: allocator retries", "allocation-stalls", _one(RETRIED)),
    Labelled("torch: garbage collections", "garbage-collection", _one(COLLECTED)),
    Labelled(
        "torch: unfused optimizer", "optimizer-per-variable", _one(ONE_BY_ONE), ("tiny-kernels",)
    ),
    Labelled("torch: TF32 off", "tensor-cores-unused", _one(PLAIN_FLOAT), ("full-precision",)),
    Labelled("torch: small kernels without a graph", "tiny-kernels", _one(TINY)),
    Labelled("torch: a chain of elementwise ops", "unfused-ops", _one(UNFUSED)),
    Labelled("torch: healthy", None, _one(TorchLoop())),
    Labelled("torch: healthy, compiled", None, _one(TorchLoop(is_compiled=True))),
    Labelled("torch: healthy, one bucket", None, _one(LARGE)),
)
