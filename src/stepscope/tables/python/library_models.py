"""Models that libraries bring: their own Python hands ops over, as that of the program's does.

``transformers.GPT2Model.forward`` runs below PyTorch's call of a module. What it takes besides its
ops cannot be left out of the loop, whatever decorator of the library's it is called through. What
it calls in other libraries stays theirs.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from stepscope.tables.python.frames import FRAMEWORK, LIBRARY, OWN, Frames, Name
from stepscope.tables.python.moments import one_line

# By which PyTorch calls a module, as samplers and as its own profiler name it.
_CALLS = re.compile(r"(?:^|\.)(?:_wrapped_call_impl|_call_impl)$")
_FORWARD = re.compile(r"(?:^|\.)forward$")


def is_module_call(name: Name) -> bool:
    """Whether PyTorch calls a module in it."""
    return name.kind == FRAMEWORK and _CALLS.search(name.function) is not None


def at_module_calls(calls: Frames) -> Frames:
    """The calls, each in a library's model below the program's or a trainer's call of that model.

    Of a program without such a model nothing is looked at.
    """
    modules = [row for row, one in calls.names.items() if is_module_call(one)]
    packages = {_package(one) for one in calls.names.values() if _FORWARD.search(one.function)}
    models = [
        row
        for row, one in calls.names.items()
        if one.kind == FRAMEWORK or (one.kind == LIBRARY and _package(one) in packages)
    ]
    if not modules or not packages - {""}:
        return calls
    nesting = one_line(calls.start_ps, calls.length_ps)
    parent = nesting.parent.astype(np.int64)
    is_module, is_model = np.isin(calls.name, modules), np.isin(calls.name, models)
    is_line = np.isin(calls.name, [row for row, one in calls.names.items() if not one.function])
    # The outermost call of a module, or what the model calls in another library.
    inside = np.full(len(calls.rows), -1, dtype=np.int64)
    for level in range(int(nesting.depth.max(initial=-1)) + 1):
        here = np.flatnonzero(nesting.depth == level)
        outer = np.where(parent[here] >= 0, inside[np.maximum(parent[here], 0)], -1)
        leaves = (outer >= 0) & is_module[np.maximum(outer, 0)]
        leaves &= ~(is_model[here] | is_line[here]) & (calls.kind[here] == LIBRARY)
        begins = leaves | ((outer < 0) & is_module[here])
        found = np.where(begins, here, outer)
        inside[here] = np.where((calls.kind[here] == OWN) & ~is_line[here], -1, found)
    return replace(calls, call=np.where(inside >= 0, inside, calls.call))


def _package(one: Name) -> str:
    return one.public.partition(".")[0] if one.kind == LIBRARY else ""
