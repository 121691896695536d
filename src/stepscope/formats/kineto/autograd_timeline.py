"""What ``torch.autograd.profiler`` exported before it was Kineto's: no category says what is what.

Ops of the host are on threads of a process "CPU functions". On "CUDA functions" each op has the
time between two events around it on the device, and so have those that it calls: the outermost ones
are what ran, and ranges around them are the program's.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import nest
from stepscope.formats.kineto.reading.categories import KIND, OTHER
from stepscope.formats.kineto.slices import Slices

OF_AUTOGRAD: Final = (
    "A trace of torch.autograd.profiler from before PyTorch 1.8.1: of devices it has the time of "
    "each op, by events around it, and no kernels, launches and copies."
)
_HOST: Final = "CPU functions"
_DEVICE: Final = "CUDA functions"


def is_of_autograd(slices: Slices) -> bool:
    """Whether the processes are called as that profiler calls them."""
    called = {pid for pid, _tid in slices.places}
    return _HOST in called and called <= {_HOST, _DEVICE}


def tell_autograd(slices: Slices) -> None:
    """Give the slices their kinds: ops of the host, ranges of the program, ops on devices."""
    is_op = np.asarray([_is_op(name) for name in slices.names] or [False])
    slices.kind[:] = np.where(is_op[slices.name], KIND["op"], KIND["annotation"])
    on_device = np.asarray([pid == _DEVICE for pid, _tid in slices.places] or [False])
    for place in np.flatnonzero(on_device).tolist():
        rows = np.flatnonzero(slices.place == place)
        outer = np.zeros(len(rows), np.bool_)
        ops = np.flatnonzero(is_op[slices.name[rows]])
        start = slices.start_ns[rows[ops]].astype(np.int64)
        length = slices.duration_ns[rows[ops]].astype(np.int64)
        order = np.lexsort((-length, start))
        whole = np.asarray([0, len(ops)], np.int64)
        outer[ops[order]] = nest(start[order], length[order], whole).depth == 0
        slices.kind[rows] = np.where(outer, KIND["kernel"], KIND[OTHER])
    number_devices(slices, on_device)
    slices.process = slices.main_process()


def _is_op(name: str) -> bool:
    """Ops are called with their library; backward ops, by their class."""
    return "::" in name or name.endswith(("Backward", "Backward0"))


def number_devices(slices: Slices, streams: NDArray[np.bool_]) -> None:
    """Count processes with streams as devices: their own numbers are of processes."""
    number: dict[Any, int] = {}
    places = list(slices.places)
    for place in np.flatnonzero(streams).tolist():
        pid, tid = places[place]
        places[place] = (number.setdefault(pid, len(number)), tid)
    slices.places = places
