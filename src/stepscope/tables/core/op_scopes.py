"""The scopes in an op's name that a person gave: a model's modules, a loss, a metric."""

from __future__ import annotations

import re
from typing import Final

# Scopes that a framework adds, not a person: control flow, transformations, name spaces of ops.
_NO_SCOPE: Final = re.compile(
    r"(gradient_tape|gradients\w*|Stateful\w*Call|PartitionedCall|aten|autograd|torch|prims|c10d|"
    r"cond|while|body|then|else|branch|case|scan|loop|main|pjit|closed_call|checkpoint|remat|"
    r"rematted_computation|core_call|shard_map|custom_[jv]{2}p_call|adam\w*|sgd|rmsprop|nadam|"
    r"adagrad|adadelta|ftrl|lion|lamb|adafactor|momentum)?(_?\d+)?|"
    r"(jit|pjit|vmap|xmap|shard_map|checkpoint|remat|custom_\w+)\(.*\)",
    re.IGNORECASE | re.DOTALL,
)
_GRADIENT: Final = re.compile(r"^(?:transpose\()?(?:jvp\()?([^()]*)\)*$")


def scopes_of(operation: str) -> tuple[str, ...]:
    """The modules an op lies in, as a person named them; its gradient lies in the same ones.

    TensorFlow puts "gradient_tape" before the module's name, JAX writes transpose(jvp(module)).
    """
    parts = (_GRADIENT.sub(r"\1", part) for part in operation.split("/")[:-1])
    return tuple(part for part in parts if not _NO_SCOPE.fullmatch(part))


def layer_of(operation: str) -> tuple[str, ...]:
    """The scopes of a model that an op lies in, the outermost first.

    TensorFlow repeats them all within a loop, and once more within the loop's gradient.
    """
    path = scopes_of(operation)
    again = path.index(path[0], 1) if path[:1] and path[0] in path[1:] else len(path)
    return path[:again]
