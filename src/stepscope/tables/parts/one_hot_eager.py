"""Products of PyTorch's that multiply a one-hot matrix, by the order of the ops on a thread.

Without Python's lines an op is placed by the one it runs within: "aten/mm within aten/linear". The
linear layer that starts after ``one_hot``, with nothing but a change of type or shape between, is
given what that made; and its gradient multiplies it once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import numpy as np

from stepscope.columns import distinct
from stepscope.columns.space import I64
from stepscope.tables.account.owners import Owner
from stepscope.tables.core.profile import Host
from stepscope.tables.host.ops import host_ops
from stepscope.tables.traits.op_families import PRODUCTS

_NAME: Final = re.compile(r"aten(?:/|::)(\w+)")
_ONE_HOT: Final = "one_hot"
_MULTIPLIES: Final = frozenset(("linear", "matmul", "mm", "addmm", "bmm", "einsum", "tensordot"))
_KEEPS: Final = frozenset(
    ("to", "_to_copy", "copy_", "view", "reshape", "flatten", "unsqueeze", "squeeze", "transpose",
     "t", "permute", "contiguous", "expand", "detach", "type_as", "clone")
)  # fmt: skip
# Making them takes this share of all ops' time, or they are labels; and of the time of all calls
# of one product, those that follow have this share.
_SOME_FRAC, _MOST_FRAC = 0.03, 0.6


def one_hot_eager(
    host: Host, owners: Iterable[Owner], key: tuple[str, ...]
) -> dict[int, tuple[str, ...]]:
    """The key, by the owners' ids, of one-hot ops and of what multiplies them."""
    placed = [one for one in owners if one.under is None and not one.file]
    whole = sum(one.total_ps for one in placed)
    made = [one for one in placed if _is_within(one, _ONE_HOT)]
    if not placed or sum(one.total_ps for one in made) < _SOME_FRAC * whole:
        return {}
    products = _multiplied(host)
    multiplied = [
        one
        for one in placed
        if one.family in PRODUCTS and any(_is_within(one, name) for name in products)
    ]
    return {id(one): key for one in (*made, *multiplied)} if multiplied else {}


def _is_within(one: Owner, name: str) -> bool:
    """Whether an op runs within one of this name, in its gradient, or is it."""
    within = re.compile(rf"aten(?:/|::){name}\b")
    return within.search(one.between) is not None or within.match(one.name) is not None


def _multiplied(host: Host) -> set[str]:
    """Names of the products of which most of the time follows ``one_hot``."""
    ops, space = host_ops(host), host.space
    told = [found[1] if (found := _NAME.match(one.name)) else "" for one in ops.ops]
    name_of = np.asarray(told or [""], dtype=object)
    lines = space.lines_of(ops.rows)
    after: dict[str, int] = {}
    total: dict[str, int] = {}
    for line in distinct(lines[np.isin(ops.op, np.flatnonzero(name_of == _ONE_HOT))]).tolist():
        names, length = _outermost(host, ops.rows[lines == line], name_of[ops.op[lines == line]])
        for name in _MULTIPLIES:
            here = names == name
            total[name] = total.get(name, 0) + int(length[here].sum())
        # What only changes a type or a shape is looked through.
        kept = np.flatnonzero(~np.isin(names, list(_KEEPS)))
        follows = kept[1:][names[kept[:-1]] == _ONE_HOT]
        for at in follows.tolist():
            if names[at] in _MULTIPLIES:
                after[names[at]] = after.get(names[at], 0) + int(length[at])
    return {name for name, time in after.items() if time >= _MOST_FRAC * total[name] > 0}


def _outermost(host: Host, rows: I64, names: np.ndarray) -> tuple[np.ndarray, I64]:
    """Names and lengths of the ops of one line that lie in no other, in order."""
    start = host.space.events.start_ps[rows]
    length = host.space.length_ps[rows]
    order = np.lexsort((-length, start))
    start, length, names = start[order], length[order], names[order]
    end = np.maximum.accumulate(start + length)
    outer = np.concatenate([[True], start[1:] >= end[:-1]])
    return names[outer], length[outer]
