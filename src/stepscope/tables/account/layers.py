"""Layers that stand for the ops of several families, where names are all that places an op.

"MatMul takes 39 %, Einsum 32 % and Sum 15 %" are one attention layer. Where no line of the program
was recorded, the scopes that TensorFlow and JAX put into the names of ops say what belongs
together: a layer, a loss, a metric; gradients lie in the scope of their forward ops.
"""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.tables.account.op_families import UNUSUAL
from stepscope.tables.account.owners import Owner
from stepscope.tables.account.updates import is_update

# A scope stands for its ops where they have this share of all ops' time, and no family of them
# more than that of the scope's: else the family says more.
_SOME_FRAC, _FAMILY_FRAC = 0.5, 2 / 3
# Or it has this share, this many times what the next one beside it has, and more than any family.
_LARGEST_FRAC, _TIMES_NEXT = 0.3, 2.5
# One that has this share of what the scope around it has is the same as that, unless as many lie in
# that: a model's layers differ in time.
_SAME_FRAC, _SEVERAL = 0.95, 3
# A scope is named where it has this share of a family of ops.
_MOST_FRAC = 0.9
Key = tuple[str, ...]


def named_layers(listed: Iterable[Owner]) -> dict[int, Key]:
    """The scope that stands for ops of several families, by the owners' ids; {} for none.

    What few models are made of stays apart.
    """
    ops = [one for one in listed if one.kind == "op"]
    whole = sum(one.total_ps for one in ops)
    if _are_placed(ops, whole):
        return {}
    scopes = {id(one): one.layer for one in ops}
    time: dict[Key, int] = {}
    direct: dict[Key, int] = {}
    for one in ops:
        path = scopes[id(one)]
        direct[path] = direct.get(path, 0) + one.total_ps
        for depth in range(1, len(path) + 1):
            time[path[:depth]] = time.get(path[:depth], 0) + one.total_ps
    most_of_a_family = max(_families(ops).values(), default=0)
    least = {
        path: _least(path, time, whole, most_of_a_family)
        for path in time
        if _is_layer(path, time, direct)
    }
    standing = [path for path, enough in least.items() if time[path] >= enough]
    for path in sorted(standing, key=len, reverse=True):
        inside = [one for one in ops if scopes[id(one)][: len(path)] == path and _belongs(one)]
        families = _families(inside)
        spent = sum(families.values())
        if least[path] <= spent and max(families.values()) <= _FAMILY_FRAC * spent:
            return {id(one): ("layer", "/".join(path)) for one in inside}
    return {}


def _families(ops: Iterable[Owner]) -> dict[str, int]:
    time: dict[str, int] = {}
    for one in ops:
        time[one.family] = time.get(one.family, 0) + one.total_ps
    return time


def _least(path: Key, time: dict[Key, int], whole_ps: int, family_ps: int) -> float:
    """How much of all ops' time a scope needs to stand for its ops.

    Half of it, unless no layer beside it comes near, and no family of ops has as much.
    """
    beside = (one for one in time if len(one) == len(path) and one[:-1] == path[:-1])
    following = max((time[one] for one in beside if one != path), default=whole_ps)
    stands_out = max(_LARGEST_FRAC * whole_ps, _TIMES_NEXT * following, family_ps)
    return min(_SOME_FRAC * whole_ps, stands_out)


def _are_placed(ops: list[Owner], whole_ps: int) -> bool:
    """Whether lines tell ops apart: where one call runs them all, they do not."""
    lines: dict[tuple[str, int], int] = {}
    for one in ops:
        lines[one.file, one.line] = lines.get((one.file, one.line), 0) + one.total_ps
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


def _is_layer(path: Key, time: dict[Key, int], direct: dict[Key, int]) -> bool:
    """Whether a scope is less than what is around it: neither the model nor all there is of it.

    A scope at the top that is made of others is the model, which nobody can leave out.
    """
    around = time.get(path[:-1], sum(direct.values()))
    beside = sum(len(one) == len(path) and one[:-1] == path[:-1] for one in time)
    is_model = len(path) == 1 and direct.get(path, 0) < time[path] / 2
    return (time[path] < _SAME_FRAC * around or beside >= _SEVERAL) and not is_model


def _belongs(one: Owner) -> bool:
    return one.family not in UNUSUAL and not is_update(one.family)
