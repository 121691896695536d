"""Costs of ops that take lists of tensors: fused optimizers, ``_foreach`` ops, ``cat``.

The file says how many elements a list has, but not of which type; the kernels that such an op
launches are templates of it, and their names say it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from stepscope.tables.torch.cost import UNKNOWN, OpCost
from stepscope.tables.torch.matrix_cost import CostOf
from stepscope.tables.torch.moving_cost import moved
from stepscope.tables.torch.signature import TYPES, Signature

# "OpaqueType<4u>" and "UnaryOpFunctor<float, 2, 1, 1>", as compilers and as linkers write them.
_OPAQUE: Final = re.compile(r"OpaqueType(?:<|ILj)(\d{1,2})")
_FUNCTOR: Final = re.compile(r"Functor(?:<([\w:]+(?: int)?)|I(N3c108BFloat16E|N3c104HalfE|[a-z]))")
_COPY: Final = re.compile(r"Copy<([\w:]+), ([\w:]+)>")
_MANGLED: Final = {
    "f": 4,
    "d": 8,
    "l": 8,
    "x": 8,
    "i": 4,
    "s": 2,
    "a": 1,
    "h": 1,
    "b": 1,
    "N3c108BFloat16E": 2,
    "N3c104HalfE": 2,
}


def _words(text: str) -> list[str]:
    return text.split()


def list_element_bytes(kernel: str) -> int:
    """Bytes of an element of the lists that a kernel goes through, by its name; 0 for unknown."""
    opaque = _OPAQUE.search(kernel)
    if opaque is not None:
        return int(opaque[1])
    found = _FUNCTOR.search(kernel)
    copied = _COPY.search(kernel)
    if found is None or (copied is not None and copied[1] != copied[2]):
        return 0
    return _MANGLED.get(found[2], 0) if found[2] else TYPES.get(found[1], ("", 0))[1]


def _lists(call: Signature, reads: int | None = None, writes: tuple[int, ...] = ()) -> OpCost:
    """Of an op that reads its first lists (all by default) and writes some of them."""
    sizes = [call.list_bytes(at) for at in range(len(call.dims))]
    read = [one for one in sizes[:reads] if one is not None]
    written = [sizes[at] for at in writes if at < len(sizes)]
    size = sum(read) + sum(one for one in written if one is not None)
    return moved(size) if read and not math.isnan(size) else UNKNOWN


def _in_place(call: Signature) -> OpCost:
    return _lists(call, writes=(0,))


def _copy(call: Signature) -> OpCost:
    """Of ``_foreach_copy_(targets, sources)``: the targets are written and not read."""
    return _lists(call, reads=2)


def _reads(call: Signature) -> OpCost:
    """Of norms and the like: one number per tensor is written."""
    return _lists(call)


def _joined(call: Signature) -> OpCost:
    """Of ``cat`` and ``stack``: every tensor is read, and written in its place."""
    return _lists(call, reads=1, writes=(0,))


def _updates(*written: int) -> CostOf:
    """Of fused optimizers: parameters, gradients and states are read, some are written."""

    def cost(call: Signature) -> OpCost:
        return _lists(call, writes=written)

    return cost


_MAPS: Final = _words(
    "add sub mul div clamp_min clamp_max maximum minimum pow addcmul addcdiv lerp abs neg sqrt "
    "rsqrt exp expm1 log log1p log2 log10 sign reciprocal sigmoid tanh sin cos tan erf erfc ceil "
    "floor round trunc frac lgamma acos asin atan cosh sinh"
)

#: By the op's name without "aten::".
LIST_COSTS: Final[Mapping[str, CostOf]] = {
    **{f"_foreach_{name}_": _in_place for name in _MAPS},
    **{f"_foreach_{name}": _in_place for name in _MAPS},  # what is written is as large as the first
    "_foreach_copy_": _copy,
    "_foreach_zero_": _reads,  # written once, not read
    "_foreach_norm": _reads,
    "_foreach_max": _reads,
    "_amp_foreach_non_finite_check_and_unscale_": _in_place,
    "_fused_adam_": _updates(0, 2, 3, 4),
    "_fused_adamw_": _updates(0, 2, 3, 4),
    "_fused_adagrad_": _updates(0, 2),
    "_fused_sgd_": _updates(0, 2),
    "cat": _joined,
    "concat": _joined,
    "stack": _joined,
    "_chunk_cat": _joined,
}
