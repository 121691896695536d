"""What a model's layers take, by the paths of their ops, gradients included.

A layer's product, its bias, its activation and the gradients of all of them are ops of several
families; what a person has written, and can change, is the layer. Compilers put words of their own
into the paths, and a model's own name is in front of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from stepscope.records import dataclass
from stepscope.tables.core.op_scopes import layer_of
from stepscope.tables.ops.framework_totals import OpTotals

# Of PyTorch's ops the first word is the name space.
_NAME_SPACES: Final = ("aten/", "autograd/", "prims/", "c10d/")
# TensorFlow names a gradient's op under the op it is the gradient of: dense/MatMul/MatMul_1.
_OF_GRADIENT: Final = re.compile(r"(?:^|/)gradient(?:_tape|s\w*)/")
# While one name has this share of the time, those below it are looked at.
_ALONE_FRAC: Final = 0.8
# A layer with this share of it is listed; without paths for this much of the time, none is.
_SOME_FRAC, _KNOWN_FRAC = 0.02, 0.5


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer, or whatever the program has named.

    Attributes:
        name: As the ops' paths have it.
        self_ps: Of its ops, and of their gradients.
        mostly: Type of op that has most of it.
    """

    name: str
    self_ps: int
    mostly: str


def layers(totals: OpTotals) -> list[Layer]:
    """Those between which the ops' time divides first, the largest first; empty if none is named.

    Args:
        totals: Ops of one side, by name.
    """
    if not has_scopes(totals.name):
        return []
    paths = {name: layer_of(name) for name in totals.name}
    gradients = {name for name in paths if _OF_GRADIENT.search(name)}
    forward = _forward_scopes(paths, gradients)
    listed = [
        (_within(paths[name], forward) if name in gradients else paths[name], spent, kind)
        for name, spent, kind in zip(totals.name, totals.self_ps.tolist(), totals.type, strict=True)
        if spent > 0
    ]
    whole = sum(spent for _path, spent, _kind in listed)
    here = [one for one in listed if one[0]]
    depth = 0
    while here:
        times = _times(here, depth)
        known = sum(times.values())
        if known < _KNOWN_FRAC * whole:
            return []
        most = max(times, key=lambda name: times[name])
        inside = [one for one in here if one[0][depth : depth + 1] == (most,)]
        deeper = sum(_times(inside, depth + 1).values())
        if times[most] < _ALONE_FRAC * whole or deeper < _KNOWN_FRAC * whole:
            return _layers(here, depth, times, whole)
        here, depth = inside, depth + 1
    return []


def has_scopes(operations: Iterable[str]) -> bool:
    """Whether the paths of ops name parts of a model; those of PyTorch name libraries."""
    return not any(name.startswith(_NAME_SPACES) for name in operations)


def _forward_scopes(paths: dict[str, tuple[str, ...]], gradients: set[str]) -> set[tuple[str, ...]]:
    """All scopes that an op lies in that is not a gradient, each with those around it."""
    # An op's weight is read under the op's own name: dense/MatMul/ReadVariableOp.
    forward = {
        path
        for name, path in paths.items()
        if name not in gradients and "/ReadVariableOp" not in name
    }
    return {path[:end] for path in forward for end in range(1, len(path) + 1)}


def _within(path: tuple[str, ...], forward: set[tuple[str, ...]]) -> tuple[str, ...]:
    """A gradient's path without the op that it is the gradient of, which is not a layer.

    That op may be fused into another and have no name left, but no forward op lies in it.
    """
    if path[:1] not in forward:
        return path
    return next(path[:end] for end in range(len(path), 0, -1) if path[:end] in forward)


_Ops = list[tuple[tuple[str, ...], int, str]]


def _times(ops: _Ops, depth: int) -> dict[str, int]:
    times: dict[str, int] = {}
    for path, spent, _kind in ops:
        if len(path) > depth:
            times[path[depth]] = times.get(path[depth], 0) + spent
    return times


def _layers(ops: _Ops, depth: int, times: dict[str, int], whole: int) -> list[Layer]:
    found = []
    for name in sorted(times, key=lambda name: -times[name]):
        if times[name] < _SOME_FRAC * whole:
            break
        kinds: dict[str, int] = {}
        for path, spent, kind in ops:
            if path[depth : depth + 1] == (name,):
                kinds[kind] = kinds.get(kind, 0) + spent
        found.append(Layer(name, times[name], max(kinds, key=lambda kind: kinds[kind])))
    return found if sum(one.self_ps for one in found) >= _KNOWN_FRAC * whole else []
