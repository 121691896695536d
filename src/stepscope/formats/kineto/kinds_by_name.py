"""Traces of unknown categories: what their events are, by their names.

Tracers of one's own, viztracer, py-spy and engines write Chrome traces without Kineto's
categories. A thread on which nearly all is kernels and copies is a stream of a device.
``f (a.py:1)`` is a call of Python, and so is ``f`` with a Python file and a line as arguments.
Anything else is a range that the program named.

``torch.autograd.profiler`` exported such traces before it was Kineto's. Ops of the host are on
threads of a process "CPU functions". On "CUDA functions" each op has the time between two events
around it on the device, and so have those that it calls: the outermost ones are what ran, and
ranges around them are the program's.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import nest, one_of
from stepscope.formats.kineto.names import has_direction
from stepscope.formats.kineto.reading.categories import KIND, OTHER
from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.session_timeline import (
    OF_ONE_RUN,
    is_session_timeline,
    tell_timeline,
)
from stepscope.formats.kineto.slices import Slices

_TOLD_BY_NAME: Final = (
    "No category of this trace says what its events are: kernels, copies and calls of Python were "
    "recognised by their names, all others are ranges of the program."
)
# viztracer's "f (/a/b.py:12)".
_CALL: Final = re.compile(r"(?P<function>[^()]+) \((?P<file>.+\.pyw?|<[^>]*>):(?P<line>\d+)\)")
_FILE_KEYS: Final = ("filename", "file")
_LINE_KEYS: Final = ("line", "lineno")
_PYTHON_FILE: Final = re.compile(r".+\.pyw?|<[^>]+>")
# A function of C, beside such calls: "builtins.sum", "time.sleep", "list.append".
_BUILT_IN: Final = re.compile(r"(?P<owner>[\w.]+)\.(?P<function>\w+)")
_COPY: Final = re.compile(r"mem_?cpy|mem ?copy|\bcopy\b", re.IGNORECASE)
_SET: Final = re.compile(r"\[?mem_?set\b", re.IGNORECASE)
# Mangled C++, and the libraries' own names.
_KERNEL: Final = re.compile(
    r"_Z\w+$|nccl(?:Dev)?Kernel|"
    r"(?:ampere|volta|turing|hopper|sm\d{2,3}|cutlass|cudnn|nccl|triton)_\w+$"
)
# How demangled C++ begins; its arguments end it, and nothing between is looked at.
_DEMANGLED: Final = re.compile(r"void [\w:~]|[\w:]+<")
_ON_DEVICE: Final = tuple(KIND[kind] for kind in ("kernel", "copy", "set"))
# A stream's events are what devices run, but for a few that somebody added.
_STREAM_FRAC: Final = 0.9
OF_AUTOGRAD: Final = (
    "A trace of torch.autograd.profiler from before PyTorch 1.8.1: of devices it has the time of "
    "each op, by events around it, and no kernels, launches and copies."
)
_PROFILER_SPAN: Final = "PyTorch Profiler ("
_AUTOGRAD_HOST: Final = "CPU functions"
_AUTOGRAD_DEVICE: Final = "CUDA functions"


def tell_kinds(trace: Trace, slices: Slices) -> str:
    """Give the slices kinds by their names, where no category does.

    Args:
        trace: The recording.
        slices: Its slices; names, places and kinds change.

    Returns:
        What a reader of numbers must know of it; "" where categories say all.
    """
    if not is_untold(trace):
        return ""
    if is_session_timeline(trace):
        tell_timeline(trace, slices)
        return OF_ONE_RUN
    if _is_of_autograd(slices):
        _tell_autograd(slices)
        return OF_AUTOGRAD
    kinds = np.asarray([_kind(name) for name in slices.names], np.uint8)
    kind = kinds[slices.name]
    on_device = one_of(kind, _ON_DEVICE)
    count = np.bincount(slices.place, minlength=len(slices.places))
    streams = np.bincount(slices.place, on_device, len(slices.places)) >= _STREAM_FRAC * count
    streams &= count > 0
    kind[on_device & ~streams[slices.place]] = KIND["annotation"]
    kind[~on_device & streams[slices.place]] = KIND[OTHER]
    _tell_calls(trace, slices, kind)
    _tell_placed_calls(slices, kind)
    slices.kind[:] = kind
    _number_devices(slices, streams)
    slices.process = slices.main_process()
    return _TOLD_BY_NAME


def is_untold(trace: Trace) -> bool:
    """Whether there are slices, and no category says what one of them is.

    Kineto's own trace of a time in which nothing ran holds a span of the profiler, and no other.
    """
    kind = trace.slices["kind"]
    if not len(kind) or trace.has_planes or (kind != KIND[OTHER]).any():
        return False
    return not any(name.startswith(_PROFILER_SPAN) for name in trace.names)


def _kind(name: str) -> int:
    if _CALL.fullmatch(name):
        return KIND["python"]
    if _COPY.search(name) and has_direction(name):
        return KIND["copy"]
    if _SET.match(name):
        return KIND["set"]
    is_demangled = name.endswith(")") and _DEMANGLED.match(name) is not None
    return KIND["kernel" if is_demangled or _KERNEL.match(name) else "annotation"]


def _tell_calls(trace: Trace, slices: Slices, kind: NDArray[np.uint8]) -> None:
    """Write Python's calls as PyTorch does, and functions of C of the same category beside them."""
    calls = kind == KIND["python"]
    if not calls.any():
        return
    category = trace.slices["category"]
    both = np.isin(category, np.unique(category[calls]))
    names = list(slices.names)
    for code in np.unique(slices.name[calls]).tolist():
        found = _CALL.fullmatch(names[code])
        if found is not None:
            names[code] = f"{found['file']}({found['line']}): {found['function']}"
    built_in = np.zeros(len(names), np.bool_)
    for code in np.unique(slices.name[both & ~calls]).tolist():
        found = _BUILT_IN.fullmatch(names[code])
        if found is not None:
            names[code] = f"{found['owner']} {found['function']}"
            built_in[code] = True
    kind[both & built_in[slices.name]] = KIND["python"]
    slices.names = names


def _tell_placed_calls(slices: Slices, kind: NDArray[np.uint8]) -> None:
    """Write ranges whose arguments name a line of a Python file as PyTorch writes its calls."""
    line = slices.args.numbers(*_LINE_KEYS)
    names = list(slices.names)
    name = slices.name.astype(np.int32)
    for key in _FILE_KEYS:
        file = slices.args.texts(key) if slices.args.has(key) else np.full_like(name, -1)
        rows = np.flatnonzero((file >= 0) & (line > 0) & (kind == KIND["annotation"]))
        places = np.stack([name[rows], file[rows], line[rows]], axis=1)
        calls, first, call = np.unique(places, axis=0, return_index=True, return_inverse=True)
        files = slices.args.values(key, rows[first])
        is_call = np.zeros(len(calls), np.bool_)
        for number, path in enumerate(files):
            if isinstance(path, str) and _PYTHON_FILE.fullmatch(path):
                is_call[number] = True
                names.append(f"{path}({calls[number, 2]}): {names[calls[number, 0]]}")
        code = len(names) - is_call.sum() + np.cumsum(is_call) - 1
        is_mine = is_call[call]
        name[rows[is_mine]] = code[call[is_mine]]
        kind[rows[is_mine]] = KIND["python"]
    slices.names, slices.name = names, name


def _is_of_autograd(slices: Slices) -> bool:
    """Whether the processes are called as that profiler calls them."""
    called = {pid for pid, _tid in slices.places}
    return _AUTOGRAD_HOST in called and called <= {_AUTOGRAD_HOST, _AUTOGRAD_DEVICE}


def _tell_autograd(slices: Slices) -> None:
    """Give the slices their kinds: ops of the host, ranges of the program, ops on devices."""
    is_op = np.asarray([_is_op(name) for name in slices.names] or [False])
    slices.kind[:] = np.where(is_op[slices.name], KIND["op"], KIND["annotation"])
    on_device = np.asarray([pid == _AUTOGRAD_DEVICE for pid, _tid in slices.places] or [False])
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
    _number_devices(slices, on_device)
    slices.process = slices.main_process()


def _is_op(name: str) -> bool:
    """Ops are called with their library; backward ops, by their class."""
    return "::" in name or name.endswith(("Backward", "Backward0"))


def _number_devices(slices: Slices, streams: NDArray[np.bool_]) -> None:
    """Count processes with streams as devices: their own numbers are of processes."""
    number: dict[Any, int] = {}
    places = list(slices.places)
    for place in np.flatnonzero(streams).tolist():
        pid, tid = places[place]
        places[place] = (number.setdefault(pid, len(number)), tid)
    slices.places = places
