"""Names that two runs of one program share although the recordings spell them differently.

Frameworks number what they build (``dense_1``, ``fusion.12``, ``__inference_step_408``) and the
numbers change from one process to the next. A *stem* is the name without them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from stepscope.tables.device.kernel_classes import kernel_class

_FUNCTION = re.compile(r"__(inference|forward|backward)_(.{1,200}?)_\d{1,12}(_\d{1,12}){0,4}$")
_CLUSTER = re.compile(r"_XlaCompile_\w+|cluster_\d+(_\d+)*")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_COUNTER = re.compile(r"(?<=[^\d_./])([_.]\d+)+$")
# What the XLA compiler appends when it copies an instruction.
_CLONE = re.compile(r"\.(clone|remat\d*|sunk|cloned)+(?=\.|$)")
_TEMPLATE = re.compile(r"<[^<>]*>")
_WRAPPED = re.compile(r"(?:\w+)\((.*)\)$")
_CALL = re.compile(r"^(p?jit|pmap|xmap|shard_map|while|body|cond|branch_\d+_fun|closed_call|main)$")
# What a function call of TensorFlow, or of older versions of JAX, puts into the paths of its ops.
_FRAMES = frozenset({"StatefulPartitionedCall", "PartitionedCall", "jit(main)"})
_DIGITS = re.compile(r"(\d+)")


@lru_cache(maxsize=200_000)
def stem(name: str) -> str:
    """An op's path without the numbers that a new process counts up again, and without call frames.

    >>> stem("model/dense_1/MatMul"), stem("fusion.12.clone"), stem("__inference_step_408")
    ('model/dense/MatMul', 'fusion', 'step')
    """
    *scopes, own = (_stem_of_part(part) for part in name.split("/"))
    return "/".join([*(scope for scope in scopes if scope not in _FRAMES), own])


def _stem_of_part(part: str) -> str:
    part = _FUNCTION.sub(r"\2", part)
    part = _CLUSTER.sub("cluster", part)
    part = _ADDRESS.sub("0x", part)
    part = _CLONE.sub("", part)
    return _COUNTER.sub("", part) or part


@lru_cache(maxsize=200_000)
def leaf_stem(name: str) -> str:
    """The stem of the last part of an op's path: what is left when its module was renamed."""
    return _stem_of_part(name.rpartition("/")[2])


@lru_cache(maxsize=200_000)
def module_of(name: str) -> str:
    """The module an op belongs to: its path without its own name; "" at the top.

    JAX's transformations and calls are taken off, so that forward and backward of one layer
    are one module: ``jit(step)/jit(main)/transpose(jvp(Dense_0))/dot_general`` → ``Dense_0``.
    """
    parts = []
    for part in name.rpartition("/")[0].split("/"):
        bare = _unwrapped(part)
        if bare and bare not in _FRAMES and bare != "gradient_tape":
            parts.append(bare)
    return "/".join(parts)


def _unwrapped(part: str) -> str:
    while found := _WRAPPED.match(part):
        if part.startswith(("jit(", "pjit(", "pmap(", "xmap(")):
            return ""
        part = found[1]
    return "" if _CALL.match(part) else part


@lru_cache(maxsize=200_000)
def kernel_stem(name: str) -> str:
    """A kernel's name without return type, template arguments and counters.

    >>> kernel_stem("void at::native::vectorized_elementwise_kernel<4, Add<float> >(int)")
    'at::native::vectorized_elementwise_kernel'
    """
    before = None
    while before != name:
        before, name = name, _TEMPLATE.sub("", name)
    name = name.replace("(anonymous namespace)::", "").partition("(")[0].strip()
    # ROCm's name of a kernel's descriptor is that of the kernel and ".kd".
    return _stem_of_part(name.removeprefix("void ").removesuffix(".kd").strip() or name)


def op_class(name: str, op_type: str) -> str:
    """The class of an op across frameworks ("gemm", "convolution" …); "other" where unknown."""
    typed = op_type.removeprefix("aten::").removeprefix("_")
    # JAX's max and min are of two arrays, TensorFlow's Max and Min over one.
    if typed in ("max", "min"):
        return "elementwise"
    return kernel_class("", typed if typed and typed != "Unknown" else leaf_stem(name))


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts ``a_10`` after ``a_9``."""
    return tuple(
        (0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part)
        for part in _DIGITS.split(name)
    )
