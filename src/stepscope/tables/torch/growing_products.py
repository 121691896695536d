"""Products that compute all rows of the call before again, and a few new ones.

A model that writes a text word by word, and runs on the whole text for each word, multiplies its
weights with n, n + 1, n + 2 rows. With the keys and values of the past kept it would take the new
rows alone. Shapes of operands tell: PyTorch notes them with ``record_shapes``. Where a backward
pass lies between two passes, the rows are another batch's, or the weights are others: nothing of
the pass before could be kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.columns import rows_of
from stepscope.columns.space import I64
from stepscope.schema import names
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.regions import is_of_backward
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.thresholds import FEW, NEARLY_ALL_FRAC

# Ops whose last two matrices are the rows and the weights.
_PRODUCTS: Final = re.compile(r"aten(?:::|/)(?:addmm|mm|_addmm_activation)\b")
_MATRIX: Final = re.compile(r"\[\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\]")
# Between two falls rows grow twice at least: two sizes that take turns are two kinds of input.
_GROWTHS_A_FALL = 2


@dataclass(frozen=True, slots=True)
class GrowingProducts:
    """Products with the same weights, whose rows grow from pass to pass.

    Attributes:
        op: Name of the products.
        first_rows: Rows of the first pass of the longest run.
        last_rows: Rows of the last pass of the longest run.
        by_rows: Additional rows of each pass.
        passes: Mean number of passes of a run.
        needless_frac: Share of all rows that an earlier pass had already computed.
    """

    op: str
    first_rows: int
    last_rows: int
    by_rows: int
    passes: float
    needless_frac: float


def _products(host: Host) -> I64:
    """Places among the recorded shapes of those of products."""
    space, shapes = host.space, event_stats(host).texts(names.SHAPE)
    named = np.asarray(
        [_PRODUCTS.match(name) is not None for name in space.event_metadata.name] or [False]
    )
    return np.flatnonzero(named[space.events.metadata[shapes.rows]])


def has_products(host: Host) -> bool:
    """Whether products were recorded with the shapes of their operands."""
    return len(_products(host)) > 0


@derived
def growing_products(host: Host) -> GrowingProducts | None:
    """Those with the most rows; None where none grow, or no shapes were recorded."""
    space, shapes, own = host.space, event_stats(host).texts(names.SHAPE), _products(host)
    if len(own) == 0:
        return None
    rows, code = shapes.rows[own], shapes.codes[own]
    order = np.argsort(space.events.start_ps[rows], kind="stable")
    rows, code = rows[order], code[order]
    used = np.unique(code)
    told = [_extents(shapes.texts[int(one)]) for one in used.tolist()]
    which = np.searchsorted(used, code)
    count = np.asarray([one[0] for one in told], dtype=np.int64)[which]
    weights: dict[tuple[int, int], int] = {}
    same = [weights.setdefault(one[1:], len(weights)) for one in told]
    kind = np.asarray(same, dtype=np.int64)[which]
    learned = np.searchsorted(_backward_ps(host), space.events.start_ps[rows])
    best: GrowingProducts | None = None
    most = 0
    for one in range(len(weights)):
        mine = np.flatnonzero((kind == one) & (count > 0))
        if len(mine) and (total := int(count[mine].sum())) > most:
            op = space.event_metadata.name[int(space.events.metadata[rows[mine[0]]])]
            found = _growing(op.partition(":")[0], count[mine], learned[mine])
            if found is not None:
                best, most = found, total
    return best


def _backward_ps(host: Host) -> I64:
    """When parts of backward passes begin, ascending."""
    space = host.space
    is_backward = entries_shaped(host, is_of_backward)
    return np.sort(space.events.start_ps[rows_of(space.events.metadata, is_backward)])


def _extents(shape: str) -> tuple[int, int, int]:
    """Rows, and both extents of the weights; 0 where the operands are not two matrices."""
    matrices = _MATRIX.findall(shape)
    if len(matrices) < 2 or matrices[-2][1] != matrices[-1][0]:
        return 0, 0, 0
    return int(matrices[-2][0]), int(matrices[-1][0]), int(matrices[-1][1])


def _growing(op: str, rows: I64, learned: I64) -> GrowingProducts | None:
    """How the rows of products with weights of one shape grow; None where most do not, alike.

    Args:
        op: Their name.
        rows: Of each.
        learned: How many parts of backward passes came before each.
    """
    change = np.diff(rows)
    turns = np.flatnonzero(change)
    grown, falls = change[change > 0], int((change < 0).sum())
    if len(grown) < FEW or len(grown) < _GROWTHS_A_FALL * falls:
        return None
    sizes, often = np.unique(grown, return_counts=True)
    by = int(sizes[often.argmax()])
    if often.max() < NEARLY_ALL_FRAC * len(grown):
        return None
    begins = np.concatenate([[0], turns + 1])
    length = np.diff(np.append(begins, len(rows)))  # layers with one weight's shape
    passes = rows[begins]
    # The weights have changed since the last product of the pass before.
    is_new = learned[begins[1:]] > learned[begins[1:] - 1]
    is_first = np.concatenate([[True], (np.diff(passes) < 0) | is_new])
    needed = np.where(is_first, passes, np.minimum(by, passes))
    run = np.cumsum(is_first) - 1
    longest = np.flatnonzero(run == np.bincount(run).argmax())
    return GrowingProducts(
        op,
        int(passes[longest[0]]),
        int(passes[longest[-1]]),
        by,
        len(passes) / int(is_first.sum()),
        1.0 - float((needed * length).sum() / (passes * length).sum()),
    )
