"""TensorFlow 1's timelines: one run of a session, its processes devices, its threads lanes.

``tensorflow.python.client.timeline`` writes ``RunMetadata`` so. The process of a GPU's executor
has what dispatched its ops; its kernels are those of the process ``stream:all``, and of each stream
once more; its copies have a process of their own.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.formats.kineto.names import has_direction
from stepscope.formats.kineto.reading.categories import KIND, OTHER
from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.slices import Slices

#: What a reader of numbers must know of such a trace.
OF_ONE_RUN: Final = (
    "A timeline of TensorFlow 1's: one run of a session. Its threads are lanes, and what Python "
    "did around the run is not in it."
)
_DEVICE: Final = re.compile(
    r"(?:/job:\S{0,200})?/(?:device:)?(?P<kind>[A-Za-z]+):(?P<number>\d{1,4})"
    r"(?:/(?P<part>\S+))? Compute",
    re.IGNORECASE,
)
_ALL_STREAMS: Final = "stream:all"
_LANE: Final = "tf_Compute/"


def is_session_timeline(trace: Trace) -> bool:
    """Whether processes are called like a session's devices."""
    return any(_DEVICE.fullmatch(name) for name in trace.process_names.values())


def tell_timeline(trace: Trace, slices: Slices) -> None:
    """Give ops, kernels and copies their kinds, names and places."""
    found = {pid: _DEVICE.fullmatch(name) for pid, name in trace.process_names.items()}
    has_all = {
        one["number"] for one in found.values() if one is not None and one["part"] == _ALL_STREAMS
    }
    kind_of = np.full(len(slices.places), KIND[OTHER], np.uint8)
    places = list(slices.places)
    for at, (pid, tid) in enumerate(slices.places):
        one = found.get(pid)
        if one is None:
            continue
        part = one["part"] or ""
        if not part:
            kind_of[at] = KIND["op"]
            trace.thread_names[pid, tid] = f"{_LANE}{one['kind']}:{one['number']} {tid}"
        elif part == _ALL_STREAMS or one["number"] not in has_all or "stream" not in part:
            kind_of[at] = KIND["kernel"]
            places[at] = (int(one["number"]), f"{part} {tid}")
    slices.places = places
    slices.kind[:] = kind_of[slices.place]
    _name(trace, slices)
    slices.process = slices.main_process()


def _name(trace: Trace, slices: Slices) -> None:
    """Name events by their node in the graph; their own name is its type."""
    code = slices.args.texts("name").astype(np.int64) + 1
    pair = slices.name.astype(np.int64) * (int(code.max(initial=0)) + 1) + code
    distinct, place = np.unique(pair, return_inverse=True)
    names, copies = [], []
    for one in distinct.tolist():
        type_, node = divmod(one, int(code.max(initial=0)) + 1)
        type_name = slices.names[type_]
        copies.append(has_direction(type_name) and "cpy" in type_name.lower())
        path = trace.texts.string(node - 1).partition(":")[0] if node else ""
        names.append(type_name if copies[-1] else f"{path or type_name}:{type_name}")
    slices.names, slices.name = names, place.astype(np.int32)
    is_copy = np.asarray(copies or [False])[place] & slices.is_kind("kernel")
    slices.kind[is_copy] = KIND["copy"]
