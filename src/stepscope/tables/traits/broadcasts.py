"""Ops that make a tensor of all pairs from small ones, by the shapes that PyTorch notes.

Predictions of n rows and one column, less targets of n, are n times n errors: each op after that,
and each gradient, works on all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.traits.op_families import family_of, is_elementwise

# The lists of numbers in a list of lists.
_EXTENTS: Final = re.compile(r"\[\s*((?:\d{1,9}\s*,\s*)*\d{1,9})\s*\]")
# What is so many times as large as any operand was made by broadcasting, and no bias.
_TIMES: Final = 8
#: Tensors with fewer elements cost their dispatch.
LEAST_ELEMENTS: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class Broadcast:
    """An op whose result is much larger than what it is given.

    Attributes:
        op: Its name.
        operands: Their extents.
        result: Those of the result.
    """

    op: str
    operands: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]

    def said(self) -> str:
        """It in words: "aten/sub makes 1024×1024 of 1024×1 and 1024"."""
        return f"{self.op} makes {_dims(self.result)} of {' and '.join(map(_dims, self.operands))}"


def _dims(extents: tuple[int, ...]) -> str:
    return "×".join(map(str, extents))


@derived
def broadcasts(host: Host) -> dict[int, Broadcast]:
    """The first op that makes tensors of as many elements from much smaller ones, by that number.

    Empty where no shapes were recorded.
    """
    space, shapes = host.space, event_stats(host).texts(names.SHAPE)
    if len(shapes.rows) == 0:
        return {}
    names_of = [one.partition(":")[0] for one in space.event_metadata.name]
    named = np.asarray(
        [is_elementwise(one, family_of(one.rpartition("/")[2])) for one in names_of], dtype=bool
    )
    metadata = space.events.metadata[shapes.rows]
    own = np.flatnonzero(named[metadata])
    keys, first = np.unique(
        metadata[own].astype(np.int64) * len(shapes.texts) + shapes.codes[own], return_index=True
    )
    found: dict[int, Broadcast] = {}
    order = np.argsort(space.events.start_ps[shapes.rows[own[first]]], kind="stable")
    for key in keys[order].tolist():
        entry, code = divmod(key, len(shapes.texts))
        one = _broadcast(names_of[entry], operands_of(shapes.texts[code]))
        if one is not None:
            found.setdefault(prod(one.result), one)
    return found


def operands_of(shape: str) -> list[tuple[int, ...]]:
    """Extents of the operands that have some."""
    return [tuple(int(one) for one in told.split(",")) for told in _EXTENTS.findall(shape)]


def _broadcast(op: str, operands: list[tuple[int, ...]]) -> Broadcast | None:
    if len(operands) < 2:
        return None
    left, right = operands[:2]
    depth = max(len(left), len(right))
    pairs = list(
        zip(
            (1,) * (depth - len(left)) + left, (1,) * (depth - len(right)) + right, strict=True
        )
    )  # fmt: skip
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        return None
    result = tuple(max(pair) for pair in pairs)
    size = prod(result)
    if size < LEAST_ELEMENTS or size < _TIMES * max(prod(left), prod(right)):
        return None
    return Broadcast(op, (left, right), result)
