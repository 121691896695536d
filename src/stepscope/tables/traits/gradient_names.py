"""Which ops of a training step no gradient goes through, by their names.

JAX writes ``jvp`` around what it differentiates, TensorFlow names gradients after their forward
ops. Names are strangers', and may be long: nothing here goes over one more than a few times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.thresholds import DEEPEST
from stepscope.tables.host.tapes import TAPE
from stepscope.tables.steps.calls import is_single_op
from stepscope.tables.traits.op_families import scope_of

_CALLS = ("StatefulPartitionedCall/", "PartitionedCall/")
DIGITS = "0123456789"
# What JAX puts around a function that it differentiates, or that has rules of its own for that.
_BACKWARD = "transpose("
_DIFFERENTIATED = ("jvp(", _BACKWARD, "custom_vjp", "custom_jvp")
_PROGRAM = re.compile(r"jit\((\w+)\)/")
# Scopes in which TensorFlow names gradients by other rules.
_OTHER_RULES = ("gradients/", "_grad/", "while", "cond")
# Ends of paths of products that are not fused into what comes after them.
_ITSELF = frozenset(
    (
        *("matmul", "batchmatmul", "batchmatmulv2", "einsum", "depthwise"),
        *("conv1d", "conv2d", "conv3d", "convolution"),
    )
)


def apart_from_gradients(host: Host, names: Iterable[str]) -> frozenset[str]:
    """Those of the names of products that no gradient goes through; none where none is computed."""
    listed = frozenset(names)
    of_jax = [name for name in listed if _is_of_jax(name)]
    if any(_BACKWARD in name for name in of_jax):
        return frozenset(
            name
            for name in of_jax
            if not any(mark in name for mark in _DIFFERENTIATED) and not is_eager_in_jax(name)
        )
    paths, scopes = _gradient_paths(host), _gradient_scopes(host)
    return frozenset(name for name in listed if paths and _is_apart(name, paths, scopes))


def is_eager_in_jax(name: str) -> bool:
    """Whether an op of JAX's was dispatched by itself: it is a program of its own then."""
    program = _PROGRAM.match(name)
    return program is not None and is_single_op(program[1])


def _is_of_jax(name: str) -> bool:
    return name.startswith(("jit(", "pmap(", "pjit("))


@derived
def _gradient_paths(host: Host) -> frozenset[str]:
    """Of TensorFlow's gradients: what comes after the tape's scope, without type and number."""
    found = map(gradient_path, host.space.event_metadata.name)
    return frozenset(numbered(path)[0] for path in found if path)


@derived
def _gradient_scopes(host: Host) -> frozenset[str]:
    """All that gradients lie in, each with "/" at its end."""
    found: set[str] = set()
    for path in _gradient_paths(host):
        at = -1
        for _ in range(DEEPEST):
            at = path.find("/", at + 1)
            if at < 0:
                break
            found.add(path[: at + 1])
    return frozenset(found)


def gradient_path(name: str) -> str:
    """What comes after the tape's scope, without the op's type; "" for ops of no tape."""
    path = name.partition(TAPE)[2]
    return path.rpartition(":")[0] or path


def numbered(path: str) -> tuple[str, str]:
    """A path without the number by which TensorFlow tells it from others, and that; "" without."""
    stem = path.rstrip(DIGITS)
    if stem == path or not stem.endswith("_"):
        return path, ""
    return stem[:-1], path[len(stem) :]


def _is_apart(name: str, gradients: frozenset[str], scopes: frozenset[str]) -> bool:
    """Whether none of the gradients is of this op of TensorFlow's, or of another in its scope.

    Loops, and functions that are called, have scopes of their own around gradients: what is in
    them is taken to have one. An op that is fused into the one after it has that one's name.
    """
    path = next((name.removeprefix(call) for call in _CALLS if name.startswith(call)), name)
    scope, _, last = path.rpartition("/")
    if not scope or TAPE in path or scope_of(path):
        return False
    if any(mark in path for mark in (*_CALLS, *_OTHER_RULES)):
        return False
    is_itself = last.rstrip(DIGITS).rstrip("_").lower() in _ITSELF
    within = f"{path}/" if is_itself else f"{scope}/"
    return within not in scopes and not (is_itself and numbered(path)[0] in gradients)
