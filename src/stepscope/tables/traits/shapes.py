"""Tensors that broadcasting or padding made much larger than their inputs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.torch.signature import Shape, Signature, parse_signature
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

    @property
    def extents(self) -> str:
        """Operands and result: "1024×1, 1024 → 1024×1024"."""
        return f"{', '.join(map(_dims, self.operands))} → {_dims(self.result)}"


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
        zip((1,) * (depth - len(left)) + left, (1,) * (depth - len(right)) + right, strict=True)
    )
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        return None
    result = tuple(max(pair) for pair in pairs)
    size = prod(result)
    if size < LEAST_ELEMENTS or size < _TIMES * max(prod(left), prod(right)):
        return None
    return Broadcast(op, (left, right), result)


# The ops that others are made of come within these, and say the same once more.
_PADS: Final = re.compile(r"aten(?:::|/)(?:pad|pad_sequence|constant_pad_nd)\b")
_WIDTH: Final = re.compile(r"-?\d{1,9}")
# Less is what a convolution needs around a picture, or what lengths differ by anyway.
_TIMES_PADDINGS: Final = 1.5
# Beyond these an extent is damage.
_MOST_DIMS, _LARGEST = 12, 1 << 32


@dataclass(frozen=True, slots=True)
class Padding:
    """An op that pads.

    Attributes:
        op: Its name.
        given: Shape of what it pads; of several tensors those of the longest.
        result: Shape of the result.
        tensors: How many it pads to one length.
        times: Elements of the result by those that it was given.
    """

    op: str
    given: Shape
    result: Shape
    tensors: int
    times: float

    def grown(self) -> Shape:
        """The extents that padding made."""
        if self.tensors > 1:
            return self.result[1:2]
        return tuple(b for a, b in zip(self.given, self.result, strict=True) if a != b)

    @property
    def extents(self) -> str:
        """Operand and result: "136×136 → 256×256"."""
        return f"{_dims(self.given)} → {_dims(self.result)}"


@derived
def paddings(host: Host) -> tuple[Padding, ...]:
    """Those that make much more of what they are given, the largest result first.

    Empty where no shapes were recorded.
    """
    space, stats = host.space, event_stats(host)
    shapes, said = stats.texts(names.SHAPE), stats.texts(names.ARGUMENTS)
    pads = np.asarray([_PADS.match(name) is not None for name in space.event_metadata.name], bool)
    rows = shapes.rows[pads[space.events.metadata[shapes.rows]]]
    if len(rows) == 0:
        return ()
    calls = zip(
        space.events.metadata[rows].tolist(),
        shapes.at(rows).tolist(),
        said.at(rows).tolist(),
        strict=True,
    )
    found = set()
    for entry, shape, text in set(calls):
        op = space.event_metadata.name[entry].partition(":")[0]
        one = _padding(
            parse_signature(op, shapes.texts[shape], said.texts[text] if text >= 0 else "")
        )
        if one is not None:
            found.add(one)
    return tuple(sorted(found, key=lambda one: (-prod(one.result), one.op != "aten/pad", one.op)))


def padding_of(host: Host, extents: list[Shape]) -> Padding | None:
    """The padding whose extents are among those of some operands; None where there is none."""
    for one in paddings(host):
        grown = one.grown()
        if any(_has(each, grown) for each in extents):
            return one
    return None


def _has(extents: Shape, wanted: Shape) -> bool:
    rest = list(extents)
    for one in wanted:
        if one not in rest:
            return False
        rest.remove(one)
    return bool(wanted)


def _padding(call: Signature) -> Padding | None:
    given = call.dims[0] if call.dims else ()
    if "pad_sequence" in call.op:
        return _sequences(call.op, given)
    widths = _widths(call.values[1] if len(call.values) > 1 else "")
    if not _is_shape(given) or len(widths) > 2 * len(given):
        return None
    result = list(given)
    for at in range(0, len(widths) - 1, 2):
        result[-1 - at // 2] += widths[at] + widths[at + 1]
    return _large(call.op, given, tuple(result), 1, prod(given))


def _sequences(op: str, given: tuple[Any, ...]) -> Padding | None:
    if len(given) < 2 or not all(_is_shape(one) for one in given):
        return None
    longest: Shape = max(given, key=lambda one: int(one[0]))
    return _large(op, longest, (len(given), *longest), len(given), sum(map(prod, given)))


def _large(op: str, given: Shape, result: Shape, tensors: int, elements: int) -> Padding | None:
    """The padding, if it makes many more elements than it is given."""
    if min(result) <= 0 or prod(result) < max(LEAST_ELEMENTS, _TIMES_PADDINGS * elements):
        return None
    return Padding(op, given, result, tensors, prod(result) / elements)


def _widths(said: str) -> list[int]:
    """How much is added before and after, the last dimension first."""
    told = _WIDTH.findall(said)
    return [int(one) for one in told] if len(told) % 2 == 0 else []


def _is_shape(value: Any) -> bool:
    """Whether this is the shape of a tensor with elements, and not damage."""
    return (
        isinstance(value, tuple)
        and 0 < len(value) <= _MOST_DIMS
        and all(isinstance(one, int) and 0 < one < _LARGEST for one in value)
    )
