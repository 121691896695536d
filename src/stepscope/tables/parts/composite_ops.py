"""Ops of PyTorch's that stand for what they run, where no line of the program was recorded.

"matmul takes 25 %, mul 12 % and bernoulli 12 %" are one scaled_dot_product_attention: each of its
ops is placed by the one that it runs within, and gradients by the op that they are of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from stepscope.tables.account.owners import Owner, time_by_family
from stepscope.tables.traits.op_families import PRODUCTS, is_elementwise
from stepscope.tables.traits.updates import is_update

_WITHIN: Final = re.compile(r"(?:within|the gradient of) (aten(?:/|::)\w+)$")
# One stands for what it runs where that has this share of all ops' time, more than any family has,
# and no family of it more than that.
_LEAST_FRAC, _FAMILY_FRAC = 0.3, 2 / 3
Key = tuple[str, ...]


def composite_ops(listed: Iterable[Owner]) -> dict[int, Key]:
    """The op that stands for ops of several families, by the owners' ids; {} for none."""
    ops = [one for one in listed if one.kind == "op"]
    whole = sum(one.total_ps for one in ops)
    if any(one.file for one in ops):
        return {}
    families = time_by_family(ops)
    groups: dict[str, list[Owner]] = {}
    for one in ops:
        found = _WITHIN.search(one.between)
        name = found[1] if found else one.name
        name = name.replace("::", "/")
        is_formula = is_elementwise(name, name.rpartition("/")[2])  # says less than the chain
        if name.startswith("aten/") and not is_formula and not is_update(one.family):
            groups.setdefault(name, []).append(one)
    name, group = max(groups.items(), key=lambda item: _total(item[1]), default=("", []))
    inside = time_by_family(group)
    is_most = _total(group) >= max(_LEAST_FRAC * whole, max(families.values(), default=0) + 1)
    is_mixed = max(inside.values(), default=0) <= _FAMILY_FRAC * _total(group)
    # A layer that is one product, and a copy or a sum around it, is that product.
    is_product = name.rpartition("/")[2] in ("linear", "matmul", "einsum", "conv2d", "conv1d")
    if not (is_most and is_mixed) or is_product or set(inside) <= PRODUCTS:
        return {}
    return {id(one): ("layer", name) for one in group}


def _total(ops: list[Owner]) -> int:
    return sum(one.total_ps for one in ops)
