"""Products that multiply a one-hot matrix: with it, they are one look-up of rows.

Programs of XLA's say what a product is given. TensorFlow's graphs are not in a recording. Its
executor goes on with what an op was computed for, on the same thread: a product that starts right
after the one-hot op there, in nearly all of its runs, is what multiplies it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.tables.account.owners import Owner
from stepscope.tables.core.profile import Host
from stepscope.tables.host.ops import HostOps, host_ops
from stepscope.tables.parts.one_hot_eager import one_hot_eager
from stepscope.tables.traits.gradient_names import gradient_path
from stepscope.tables.traits.instructions import instruction_of
from stepscope.tables.traits.one_hot import one_hot_of
from stepscope.tables.traits.op_families import PRODUCTS, family_of

_ONE_HOT: Final = "OneHot"
# One with less of all time is that of labels: a product next to it may be there by chance.
_SOME_FRAC = 0.02
# Of so many of its runs the next op has to be the same product, and start so soon.
_MOST_FRAC, _SOON_PS = 0.8, 100_000_000
_CALLS: Final = ("StatefulPartitionedCall/", "PartitionedCall/")

Key = tuple[str, ...]
#: Of all but TensorFlow's: as JAX and PyTorch call the function.
LOOK_UP: Final[Key] = ("op", "one_hot")
# Ops with less of all ops' time are not looked up.
_SEEN_FRAC = 0.005


def one_hot_products(host: Host, listed: Iterable[Owner]) -> dict[int, Key]:
    """The key of one-hot ops, by the owners' ids, for products that multiply what they make."""
    owners = [one for one in listed if one.kind == "op"]
    found = _of_graphs(host, owners) | _of_programs(host, owners)
    return found or one_hot_eager(host, owners, LOOK_UP)


def _of_programs(host: Host, owners: list[Owner]) -> dict[int, Key]:
    """Products that XLA compiled, and what makes the one-hot rows for them."""
    whole = sum(one.total_ps for one in owners)
    large = [one for one in owners if one.event >= 0 and one.total_ps >= _SEEN_FRAC * whole > 0]
    made: set[tuple[int, int]] = set()
    of: dict[int, tuple[int, int]] = {}
    found: dict[int, Key] = {}
    for one in large:
        if (ran := instruction_of(host, one.event)) is None:
            continue
        module, instruction = ran
        of[id(one)] = id(module), instruction.id
        if way := one_hot_of(module, instruction):
            made |= {(id(module), each) for each in way}
            found[id(one)] = LOOK_UP
    return found | {id(one): LOOK_UP for one in large if of.get(id(one)) in made}


def _of_graphs(host: Host, owners: list[Owner]) -> dict[int, Key]:
    """Products that TensorFlow's executor runs."""
    whole = sum(one.total_ps for one in owners)
    large = {
        one.name
        for one in owners
        if one.family == _ONE_HOT and one.total_ps >= _SOME_FRAC * whole > 0
    }
    products = _multiplied_by(host, large) if large else frozenset[str]()
    return {
        id(one): ("op", _ONE_HOT)
        for one in owners
        if one.family in PRODUCTS and any(_is_of(one.name, product) for product in products)
    }


def _is_of(name: str, product: str) -> bool:
    """Whether an op is a product, or a gradient of it."""
    return name == product or gradient_path(name).startswith(f"{_plain(product)}/")


def _plain(name: str) -> str:
    return next((name.removeprefix(call) for call in _CALLS if name.startswith(call)), name)


def _multiplied_by(host: Host, large: set[str]) -> frozenset[str]:
    """The products that start right after the runs of these one-hot ops, on the same thread."""
    ops, space = host_ops(host), host.space
    rows = np.flatnonzero(ops.is_execution)
    line = space.lines_of(ops.rows[rows])
    start = space.events.start_ps[ops.rows[rows]]
    end = start + space.length_ps[ops.rows[rows]]
    order = np.lexsort((start, line))
    rows, line, start, end = rows[order], line[order], start[order], end[order]
    code = ops.op[rows]
    found: set[str] = set()
    for at, op in enumerate(ops.ops):
        if op.name not in large or family_of(op.type) != _ONE_HOT:
            continue
        runs: I64 = np.flatnonzero(code[:-1] == at)
        soon = (line[runs + 1] == line[runs]) & (start[runs + 1] - end[runs] <= _SOON_PS)
        found |= _mostly(ops, code[runs[soon] + 1].astype(np.int64), int((code == at).sum()))
    return frozenset(found)


def _mostly(ops: HostOps, after: I64, runs: int) -> set[str]:
    """The product that comes after most of the runs; empty where none does."""
    if len(after) == 0:
        return set()
    count = np.bincount(after)
    most = int(count.argmax())
    op = ops.ops[most]
    is_one = count[most] >= _MOST_FRAC * runs and family_of(op.type) in PRODUCTS
    return {op.name} if is_one else set()
