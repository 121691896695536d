"""Products of whose result few values are taken: scores of all pairs, rows of all positions.

``scores[range(n), best]`` takes one of many. The gradient tells: the node of what takes is given
few values and puts zeros around them, and from node to node that many values come to the product.
A gradient to which something else is added is not of these alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Final

import numpy as np

from stepscope.columns import distinct, look_up
from stepscope.columns.space import I64, Bool
from stepscope.schema import names
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.torch.autograd import NumberedOps, numbered_ops

# A quarter of the values is worth taking first; more may be cheaper to compute whole.
_LEAST_TIMES: Final = 4
# So many nodes lie at most between what takes and its product, with those of other branches. So
# many that take are followed; of more, some are drawn from all.
_MOST_NODES, _MOST_TAKEN = 64, 4_000
_PRODUCTS: Final = frozenset(("Mm", "Bmm", "Addmm", "Baddbmm", "Addbmm"))
_TAKES: Final = frozenset(("Index", "Gather", "Select", "Slice", "IndexSelect", "MaskedSelect"))
# As many values as before: another shape, type or layout, or each value by itself.
_PASSES: Final = frozenset(
    ("View", "UnsafeView", "ReshapeAlias", "Reshape", "Permute", "Transpose", "T", "Squeeze",
     "Unsqueeze", "Clone", "Alias", "ToCopy", "Copy", "Add", "Sub", "Mul", "Div", "Neg", "Gelu",
     "Relu", "Silu", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "Threshold", "MaskedFill",
     "NativeDropout", "AsStrided")
)  # fmt: skip
_NODE: Final = re.compile(r"(?:.*[:/])?([A-Za-z]+)Backward\d{0,3}\Z")
_ADDS: Final = re.compile(r"aten(?:::|/)add_?(?![A-Za-z_])")
_FIRST: Final = re.compile(r"\[\[([\d, ]{1,100})\]")
# What has more values is damage: sums of sizes still fit 64 bits.
_LARGEST: Final = 1 << 40


@dataclass(frozen=True, eq=False, slots=True)
class FewTaken:
    """Products of which few values are taken, each with its gradient.

    Attributes:
        taken, of: How many values, of how many.
        taker: Event of the op that takes them, in the forward pass; -1 unknown.
        product: Event of the product.
        thread: The ids of the lines that the product and its gradient ran on,
        start_ps, end_ps: and when: two rows of each.
        each: For how many like it each stands.
    """

    taken: I64
    of: I64
    taker: I64
    product: I64
    thread: I64
    start_ps: I64
    end_ps: I64
    each: float


@dataclass(frozen=True, eq=False, slots=True)
class _Nodes:
    """Nodes of autograd that ran, by thread, then by time.

    Attributes:
        number: Of the forward op.
        thread, start_ps, end_ps: Where and when.
        kind: Their names without "Backward0".
        size: How many values the gradient has that one is given.
        made: How many the largest tensor has that one works on.
        added: The thread, time and size of sums of two gradients, which lie between nodes.
    """

    number: I64
    thread: I64
    start_ps: I64
    end_ps: I64
    kind: list[str]
    size: I64
    made: I64
    added: tuple[I64, I64, I64]

    def is_added_to(self, first: int, last: int, sizes: set[int]) -> bool:
        """Whether a gradient of one of these sizes is added to between two nodes."""
        thread, time, size = self.added
        begin, end = np.searchsorted(time, (self.end_ps[first], self.start_ps[last]))
        here = thread[begin:end] == self.thread[last]
        return not sizes.isdisjoint(size[begin:end][here].tolist())


@derived
def few_taken(host: Host) -> FewTaken | None:
    """Those of a host; None where none is known, as without the shapes of ops."""
    if not entries_named(host, lambda name: _kind(name) in _TAKES).any():
        return None
    numbered = numbered_ops(host)
    nodes = _nodes(host, numbered)
    takers = np.asarray(
        [
            at
            for at in np.flatnonzero((nodes.size > 0) & (nodes.made > nodes.size)).tolist()
            if nodes.kind[at] in _TAKES
        ],
        dtype=np.int64,
    )
    each = max(len(takers) / _MOST_TAKEN, 1.0)
    if each > 1:  # by chance: every so manieth may be the same one of each step
        takers = np.sort(np.random.default_rng(0).choice(takers, _MOST_TAKEN, replace=False))
    found: dict[int, int] = {}
    for at in takers.tolist():
        product = _product(nodes, at)
        if product >= 0 and nodes.size[product] >= _LEAST_TIMES * nodes.size[at]:
            found.setdefault(product, at)  # the first node of several in a row takes the fewest
    if not found:
        return None
    pairs = np.asarray([*found.items()], dtype=np.int64)
    return _with_forward(nodes, numbered, pairs[:, 0], pairs[:, 1], each)


def _product(nodes: _Nodes, taker: int) -> int:
    """The node of the product that one takes of; -1 where something else made it, or adds to it."""
    size = int(nodes.made[taker])
    sizes = {size}
    for at in range(taker + 1, min(taker + 1 + _MOST_NODES, len(nodes.kind))):
        if nodes.thread[at] != nodes.thread[taker] or nodes.number[at] > nodes.number[taker]:
            break
        if nodes.size[at] != size:
            continue
        kind = nodes.kind[at]
        if kind in _PRODUCTS:
            return -1 if nodes.is_added_to(taker, at, sizes) else at
        if kind in _TAKES:
            size = int(nodes.made[at])
            sizes.add(size)
        elif kind not in _PASSES:
            break
    return -1


def _with_forward(
    nodes: _Nodes, numbered: NumberedOps, product: I64, taker: I64, each: float
) -> FewTaken:
    forward = numbered.last_forward()
    known = numbered.number[forward]

    def op_of(at: I64) -> tuple[I64, Bool]:
        place = np.minimum(np.searchsorted(known, nodes.number[at]), max(len(known) - 1, 0))
        is_known = known[place] == nodes.number[at] if len(known) else np.zeros(len(at), bool)
        return (forward[place] if len(forward) else place), is_known

    made, is_made = op_of(product)
    product, taker, made = product[is_made], taker[is_made], made[is_made]
    takes, is_taken = op_of(taker)
    return FewTaken(
        taken=nodes.size[taker],
        of=nodes.size[product],
        taker=np.where(is_taken, numbered.row[takes], -1),
        product=numbered.row[made],
        thread=np.stack([numbered.thread[made], nodes.thread[product]]),
        start_ps=np.stack([numbered.start_ps[made], nodes.start_ps[product]]),
        end_ps=np.stack([numbered.end_ps[made], nodes.end_ps[product]]),
        each=each,
    )


def _nodes(host: Host, numbered: NumberedOps) -> _Nodes:
    space, shapes = host.space, event_stats(host).texts(names.SHAPE)
    sizes = np.asarray([*map(_first_size, shapes.texts), -1], dtype=np.int64)
    kinds = [_kind(name) for name in space.event_metadata.name]
    is_kind = np.asarray([bool(kind) for kind in kinds] or [False])
    meta = space.events.metadata[numbered.row].astype(np.int64)
    size = sizes[look_up(shapes.rows, shapes.codes.astype(np.int64), numbered.row, -1)]
    rows = np.flatnonzero(numbered.backward & is_kind[meta] & (size >= 0))
    rows = rows[np.lexsort((numbered.start_ps[rows], numbered.thread[rows]))]
    thread, start, end = numbered.thread[rows], numbered.start_ps[rows], numbered.end_ps[rows]
    ids = np.asarray([line.id for line in space.lines] or [0], np.int64)
    op_thread, op_size = ids[space.lines_of(shapes.rows)], sizes[shapes.codes]
    op_start = space.events.start_ps[shapes.rows]
    inside = _inside(thread, start, end, op_thread, op_start)
    made = np.zeros(len(rows), np.int64)
    np.maximum.at(made, inside[inside >= 0], op_size[inside >= 0])
    is_add = np.asarray([*map(_adds, space.event_metadata.name), False])
    adds = np.flatnonzero(is_add[space.events.metadata[shapes.rows]] & (inside < 0))
    adds = adds[np.argsort(op_start[adds], kind="stable")]
    return _Nodes(
        number=numbered.number[rows],
        thread=thread,
        start_ps=start,
        end_ps=end,
        kind=[kinds[at] for at in meta[rows].tolist()],
        size=size[rows],
        made=made,
        added=(op_thread[adds], op_start[adds], op_size[adds]),
    )


def _inside(thread: I64, start: I64, end: I64, op_thread: I64, op_start: I64) -> I64:
    """The node that each op begins in, -1 in none; nodes are by thread, then by time."""
    found = np.full(len(op_start), -1, np.int64)
    for one in distinct(thread).tolist():
        first, last = np.searchsorted(thread, [one, one + 1])
        ops = np.flatnonzero(op_thread == one)
        at = np.searchsorted(start[first:last], op_start[ops], side="right") - 1 + first
        found[ops] = np.where((at >= first) & (op_start[ops] < end[at]), at, -1)
    return found


def _kind(name: str) -> str:
    """Of what a node of autograd is the gradient, as "Index"; "" if it is none."""
    found = _NODE.match(name)
    return found[1] if found is not None else ""


def _adds(name: str) -> bool:
    return _ADDS.match(name) is not None


@lru_cache(maxsize=4096)
def _first_size(text: str) -> int:
    """How many values the first input has; -1 where that is not a tensor."""
    found = _FIRST.match(text)
    try:
        size = prod(map(int, found[1].split(","))) if found else -1
    except ValueError:
        return -1
    return size if size <= _LARGEST else -1
