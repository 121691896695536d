"""Layers that stand for the ops of several families, where names are all that places an op.

"MatMul takes 39 %, Einsum 32 % and Sum 15 %" are one attention layer. Where no line of the program
was recorded, the scopes that TensorFlow and JAX put into the names of ops say what belongs
together: a layer, a loss, a metric; gradients lie in the scope of their forward ops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from stepscope.tables.account.owners import Owner, time_by_family
from stepscope.tables.core.op_scopes import layer_of
from stepscope.tables.traits.gradient_names import is_of_table
from stepscope.tables.traits.op_families import PLAIN, UNUSUAL
from stepscope.tables.traits.updates import is_update

# A scope stands for its ops where they have this share of all ops' time, or the smaller one and
# more than any family has, and no family of them more than that of the scope's: else the family
# says more.
_SOME_FRAC, _LEAST_FRAC, _FAMILY_FRAC = 0.5, 0.35, 2 / 3
# One that has this share of what the scope around it has is the same as that, unless as many lie in
# that: a model's layers differ in time.
_SAME_FRAC, _SEVERAL = 0.95, 3
# A model beside another one has this share of the other's time at least.
_MODEL_FRAC = 0.02
# A scope is named where it has this share of a family of ops.
_MOST_FRAC = 0.9
# What ops of any formula are called.
_SAY_LITTLE = PLAIN | {"Einsum"}
_OF_GRADIENTS = re.compile(r"(?:^|/)gradient(?:_tape|s\w*)/")
Key = tuple[str, ...]
#: The part of a graph's ops that no layer's name is before.
OUTSIDE = "outside of layers"
_GRAPHS = ("StatefulPartitionedCall/", "PartitionedCall/")
_NUMBERS = re.compile(r"(?:_\d+)+$")
_SUMS = re.compile(r"AddN(?:_\d+)?$")


def named_layers(listed: Iterable[Owner]) -> dict[int, Key]:
    """The scope that stands for ops of several families, by the owners' ids; {} for none.

    What few models are made of stays apart.
    """
    ops = [one for one in listed if one.kind == "op"]
    whole = sum(one.total_ps for one in ops)
    if are_placed(ops, whole):
        return {}
    scopes = _scopes(ops)
    time: dict[Key, int] = {}
    direct: dict[Key, int] = {}
    merged: dict[Key, int] = {}  # of this, several ops that are one row, which may lie deeper
    least = _least(ops, whole)
    for one in ops:
        path = scopes[id(one)]
        direct[path] = direct.get(path, 0) + one.total_ps
        if one.others:
            merged[path] = merged.get(path, 0) + one.total_ps
        for depth in range(1, len(path) + 1):
            time[path[:depth]] = time.get(path[:depth], 0) + one.total_ps
    for path, spent in merged.items():
        if path and time[path] >= _SAME_FRAC * whole:  # nearly all there is
            direct[path] -= spent
    single = _single_ops(ops, scopes)
    standing = [
        path
        for path, spent in time.items()
        if spent >= least and path not in single and _is_layer(path, time, direct, whole)
    ]
    for path in sorted(standing, key=len, reverse=True):
        inside = [one for one in ops if scopes[id(one)][: len(path)] == path]
        inside = [one for one in inside if not is_of_table(one.name)]
        if _says_more(time_by_family(inside)):
            return {id(one): ("layer", "/".join(path)) for one in inside if _belongs(one)}
    return _outside(ops, scopes, whole) or _alike(ops, scopes, least)


def _alike(ops: list[Owner], scopes: dict[int, Key], least_ps: float) -> dict[int, Key]:
    """Ops of the layers of one kind within a model, which their numbers tell apart."""
    kinds: dict[Key, dict[Key, int]] = {}
    for one in ops:
        path = scopes[id(one)]
        for depth in range(2, len(path) + 1):
            of_kind = kinds.setdefault(tuple(map(_kind, path[:depth])), {})
            of_kind[path[:depth]] = of_kind.get(path[:depth], 0) + one.total_ps
    several = {
        kind: set(paths)
        for kind, paths in kinds.items()
        if len(paths) > 1 and sum(paths.values()) >= least_ps
    }
    for kind, paths in sorted(several.items(), key=lambda item: -len(item[0])):
        inside = [one for one in ops if scopes[id(one)][: len(kind)] in paths]
        if _says_more(time_by_family(inside)):
            name = f"{'/'.join(kind)} ({len(paths)} layers)"
            return {id(one): ("layer", name) for one in inside if _belongs(one)}
    return {}


def _kind(scope: str) -> str:
    """What a layer is: "dense" of "dense_3", and of "dense_3_1", as Keras names a later call's."""
    return _NUMBERS.sub("", scope) or scope


def _outside(ops: list[Owner], scopes: dict[int, Key], whole_ps: int) -> dict[int, Key]:
    """Ops of a graph that lie in none of its layers: what a loss adds to the model."""
    layers = {path[:2] for path in scopes.values() if path}
    inside = [one for one in ops if not _of_layer(scopes[id(one)]) and _is_in_graph(one)]
    families = time_by_family(inside)
    spent = sum(families.values())
    most = max(time_by_family(ops).values(), default=0)
    is_most = spent >= _LEAST_FRAC * whole_ps and spent > most
    if len(layers) < _SEVERAL or not is_most or len(families) < _SEVERAL:
        return {}
    return {id(one): ("layer", OUTSIDE) for one in inside} if _says_more(families) else {}


def _of_layer(path: Key) -> bool:
    """Whether a scope is a layer's: a sum of gradients has none, however it is called."""
    return bool(path) and not _SUMS.match(path[0])


def _is_in_graph(one: Owner) -> bool:
    return one.name.startswith(_GRAPHS) and not is_update(one.family)


def _scopes(ops: list[Owner]) -> dict[int, Key]:
    """The scopes of each op, by the owners' ids; what a scope ends in may be named after it."""
    within = {id(one): one.layer for one in ops}
    known = {path[:depth] for path in within.values() for depth in range(1, len(path) + 1)}
    for one in (each for each in ops if not each.others):
        path = (*one.layer, one.name.rpartition("/")[2])
        within[id(one)] = path if path in known else within[id(one)]
    return within


def _single_ops(ops: list[Owner], scopes: dict[int, Key]) -> set[Key]:
    """Scopes that are one op, in which its gradients lie: a formula's, and no layer."""
    forward = {one.name for one in ops if not _OF_GRADIENTS.search(one.name)}
    paths = [layer_of(name) for name in forward]
    named = {(*layer_of(name), name.rpartition("/")[2]) for name in forward}
    around = {path[:depth] for path in paths for depth in range(1, len(path) + 1)}
    return (named & set(scopes.values())) - around


def _says_more(families: dict[str, int]) -> bool:
    """Whether a scope says more than the largest family of its ops: those that say little aside."""
    most = max((time for name, time in families.items() if name not in _SAY_LITTLE), default=0)
    return most <= _FAMILY_FRAC * sum(families.values())


def _least(ops: list[Owner], whole_ps: int) -> float:
    """What a scope's ops have to have together, to say more than families of ops do."""
    most = max(time_by_family(ops).values(), default=0)
    return min(max(_LEAST_FRAC * whole_ps, most + 1), _SOME_FRAC * whole_ps)


def are_placed(ops: list[Owner], whole_ps: int) -> bool:
    """Whether lines tell ops apart: where one call runs them all, they do not.

    Nor do several calls of one compiled function, each of which runs all of its ops: of these the
    names have a path, and the same ones come back at each line.
    """
    lines: dict[tuple[str, int], int] = {}
    first: dict[str, tuple[str, int]] = {}
    for one in sorted(ops, key=lambda one: -one.total_ps):
        at = one.file, one.line
        if "/" in one.name:
            at = first.setdefault(one.name, at)
        lines[at] = lines.get(at, 0) + one.total_ps
    return max(lines.values(), default=0) < _SAME_FRAC * whole_ps


def scope_with_most(ops: Iterable[Owner]) -> tuple[str, float]:
    """The innermost scope below the model's with nearly all of some ops' time, and its share.

    "" where there is none.
    """
    time: dict[Key, int] = {}
    for one in ops:
        path = one.layer
        for depth in range(len(path) + 1):
            time[path[:depth]] = time.get(path[:depth], 0) + one.total_ps
    whole = time.get((), 0)
    most = [path for path, spent in time.items() if spent >= _MOST_FRAC * whole and len(path) > 1]
    chosen = max(most, key=len, default=())
    return "/".join(chosen), time.get(chosen, 0) / max(whole, 1) if chosen else 0.0


def _is_layer(path: Key, time: dict[Key, int], direct: dict[Key, int], whole_ps: int) -> bool:
    """Whether a scope is less than what is around it: neither the model nor all there is of it.

    A scope at the top that is made of others is the model, which nobody can leave out.
    """
    around = time.get(path[:-1], whole_ps)
    beside = sum(len(one) == len(path) and one[:-1] == path[:-1] for one in time)
    is_model = (
        len(path) == 1 and direct.get(path, 0) < time[path] / 2 and not _is_one_of(path, time)
    )
    return (time[path] < _SAME_FRAC * around or beside >= _SEVERAL) and not is_model


def _is_one_of(path: Key, time: dict[Key, int]) -> bool:
    """Whether another scope at the top is made of layers, too: an encoder beside its decoder."""
    inner: dict[Key, int] = {}
    for one in time:
        if len(one) == 2 and one[:1] != path:
            inner[one[:1]] = inner.get(one[:1], 0) + 1
    least = _MODEL_FRAC * time[path]
    return any(count >= _SEVERAL and time[one] >= least for one, count in inner.items())


def _belongs(one: Owner) -> bool:
    is_few = one.family in UNUSUAL or is_update(one.family) or is_of_table(one.name)
    return not is_few
