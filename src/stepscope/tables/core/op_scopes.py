"""The scopes in an op's name that a person gave: a model's modules, a loss, a metric."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from stepscope.tables.core.thresholds import NEARLY_ALL_FRAC

# Scopes that a framework adds, not a person: control flow, transformations, name spaces of ops.
_NO_SCOPE: Final = re.compile(
    r"(gradient_tape|gradients\w{0,40}|Stateful\w{0,40}Call|PartitionedCall|aten|autograd|torch|prims|c10d|"
    r"cond|while|body|then|else|branch|case|scan|loop|main|pjit|closed_call|checkpoint|remat|"
    r"rematted_computation|core_call|shard_map|custom_[jv]{2}p_call|adam\w{0,40}|sgd|rmsprop|nadam|"
    r"adagrad|adadelta|ftrl|lion|lamb|adafactor|momentum)?(_?\d+)?|"
    r"(jit|pjit|shard_map|checkpoint|remat|custom_\w+)\(.*\)",
    re.IGNORECASE | re.DOTALL,
)
# JAX writes around a name, and around none, what it has transformed: transpose(jvp(vmap())).
_TRANSFORMED: Final = re.compile(r"(?:(?:transpose|jvp|vjp|vmap|pmap|xmap)\()+")

# Functions of a matrix that JAX makes of many products, each compiled by its name.
_ROUTINE: Final = re.compile(r"\bjit\((expm|sqrtm|logm|funm|polar|pinv|matrix_power)\)")

_NUMBER: Final = re.compile(r"(?<=[_.])\d+(?![a-zA-Z\d])")


def routine_of(operation: str) -> str:
    """The function of a matrix, such as "expm", that an op of JAX's is a part of; "" of none."""
    found = _ROUTINE.search(operation)
    return found[1] if found is not None else ""


def scopes_of(operation: str) -> tuple[str, ...]:
    """The modules an op lies in, as a person named them; its gradient lies in the same ones.

    TensorFlow puts "gradient_tape" before the module's name, JAX writes transpose(jvp(module)).
    """
    return tuple(filter(None, map(_module_scope, operation.split("/")[:-1])))


def time_by_scope(timed: Iterable[tuple[tuple[str, ...], int]]) -> dict[tuple[str, ...], int]:
    """Return the time below each scope, by its path; () is around all."""
    found: dict[tuple[str, ...], int] = {}
    for path, time in timed:
        for depth in range(len(path) + 1):
            found[path[:depth]] = found.get(path[:depth], 0) + time
    return found


def shared_scope(times: dict[tuple[str, ...], int]) -> tuple[str, ...]:
    """Return the innermost scope that has nearly all of such times; () where none does."""
    least = NEARLY_ALL_FRAC * times.get((), 0)
    return max((path for path, time in times.items() if time >= least), key=len, default=())


@lru_cache(maxsize=10_000)
def _module_scope(part: str) -> str:
    """Return the module that a part of an op's name stands for; "" if for none."""
    scope = _plain(part)
    return "" if _NO_SCOPE.fullmatch(scope) else scope


def _plain(scope: str) -> str:
    """A scope without what JAX has done to it."""
    found = _TRANSFORMED.match(scope)
    if found is None or not scope.endswith(")"):
        return scope
    inner = scope[found.end() :].rstrip(")")
    return inner + ")" * (inner.count("(") - inner.count(")"))


@lru_cache(maxsize=10_000)
def layer_of(operation: str) -> tuple[str, ...]:
    """The scopes of a model that an op lies in, the outermost first.

    TensorFlow repeats them all within a loop, and once more within the loop's gradient.
    """
    path = scopes_of(operation)
    again = path.index(path[0], 1) if path[:1] and path[0] in path[1:] else len(path)
    return path[:again]


def alike(texts: Sequence[str]) -> list[str]:
    """Texts that differ in their numbers alone as one: "layer_*/mul" for those of all layers."""
    starred = [_NUMBER.sub("*", text) for text in texts]
    several = Counter(starred)
    return [star if several[star] > 1 else text for text, star in zip(texts, starred, strict=True)]
