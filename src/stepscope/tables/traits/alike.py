"""Along which dimensions a compiled program's values are the same, because one was copied.

One picture that is repeated for a hundred candidates and then encoded is encoded a hundred times.
What broadcasts it is an instruction of the program; from there on each layer keeps what is alike,
until something that differs meets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import gcd, prod
from typing import Final, NamedTuple

from stepscope.errors import DecodeError
from stepscope.tables.hlo.category import ARITHMETIC, TRANSCENDENTAL
from stepscope.tables.hlo.module import (
    ENCLOSES,
    Computation,
    HloModule,
    Instruction,
    fields_of,
    ints_of,
)
from stepscope.tables.hlo.shape import Shape


class Repeats(NamedTuple):
    """How one dimension repeats itself: rows abab are two whole copies, rows aabb runs of two.

    Attributes:
        whole: How many copies of it all follow one another.
        runs: How often each of its rows comes in a row.
        by: The id of the instruction that has copied; -1 for one number everywhere, and for what a
            gradient hands back to all that were added up.
    """

    whole: int
    runs: int
    by: int


#: By dimension, of those that repeat themselves.
Alike = Mapping[int, Repeats]
_NONE: Final[Alike] = {}
# Of xla.HloInstructionProto: dimensions, dimension numbers of a convolution and of a product, and
# the lengths of a transform.
_DIMENSIONS, _CONVOLUTION, _DOT, _FFT_LENGTH = 14, 16, 30, 32
# Of xla.ConvolutionDimensionNumbers, and of xla.DotDimensionNumbers.
_OUT_BATCH, _IN_BATCH = 9, 7
_CONTRACTED, _BATCH = (1, 2), (3, 4)
# Bodies in bodies; a damaged program's may go in circles.
_DEEPEST: Final = 16
# What JAX puts into the names of a backward pass.
_BACKWARD: Final = "transpose("
# What makes copies.
_COPIES: Final = ("broadcast", "concatenate")
_EACH: Final = ARITHMETIC | TRANSCENDENTAL | {"convert", "copy", "rsqrt", "sqrt", "tanh"}
# What works on the last dimensions of each matrix of a batch, as instructions and in libraries.
_OF_MATRICES: Final = ("cholesky", "triangular-solve")
_IN_LIBRARIES: Final = ("lapack_", "blas_", "cusolver", "cublas")


class AlikeValues:
    """What is alike in a program, by the ids of its instructions."""

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self.found: dict[int, Alike] = {}
        self._seen: set[int] = set()
        if module.entry is not None:
            self._walk(module.entry, [], 0)

    def copies(self, one: Instruction) -> tuple[int, Instruction | None]:
        """How many times it computes the same, and what has copied that; 1 and None: once.

        A solver with the same matrix for each of many right-hand sides works on copies as well.
        """
        count, by = self._copies(one)
        if count > 1 or not (one.opcode == "triangular-solve" or is_of_library(one)):
            return count, by
        matrix = next(self._module.operands(one), None)
        return (1, None) if matrix is None else self._copies(matrix)

    def _copies(self, one: Instruction) -> tuple[int, Instruction | None]:
        alike = [each for each in self.found.get(one.id, _NONE).values() if each.by >= 0]
        most = max(alike, key=lambda each: each.whole * each.runs, default=None)
        by = None if most is None else self._module.by_id.get(most.by)
        return prod(each.whole * each.runs for each in alike), by

    def _walk(self, body: Computation, given: list[Alike], depth: int) -> None:
        """What is alike in all that a body has, which is gone through once."""
        if body.id in self._seen:
            return
        self._seen.add(body.id)
        for one in body.instructions:  # operands come before what reads them
            inner = list(self._module.called(one)) if depth < _DEEPEST else []
            if one.opcode == "parameter":
                at = one.parameter_number
                self.found[one.id] = given[at] if at < len(given) else _NONE
            elif one.opcode in ENCLOSES:
                values = [self.found.get(id_, _NONE) for id_ in one.operand_ids]
                for each in inner:  # what several call is given now this, now that
                    is_only = self._module.enclosing.get(each.id) is one
                    self._walk(each, values if is_only else [], depth + 1)
                self.found[one.id] = self.found.get(inner[0].root_id, _NONE) if inner else _NONE
            else:
                if one.opcode in ("while", "conditional"):
                    for each in inner:  # what comes round is not known to be alike
                        self._walk(each, [], depth + 1)
                self.found[one.id] = self._of(one)

    def _of(self, one: Instruction) -> Alike:
        is_made = one.opcode in _COPIES
        if not is_made and not any(map(self.found.get, one.operand_ids)):
            return _NONE  # as of most instructions, whose shapes are then not read
        operands = list(self._module.operands(one))
        if len(operands) != len(one.operand_ids):
            return _NONE
        known = [self.found.get(each.id, _NONE) for each in operands]
        try:
            return _alike(one, operands, known)
        except (DecodeError, IndexError, ZeroDivisionError):
            return _NONE  # what the numbers of a damaged instruction say fits nothing


def _alike(one: Instruction, operands: list[Instruction], known: list[Alike]) -> Alike:
    if one.opcode in _EACH:
        same = [each.shape.dimensions == one.shape.dimensions for each in operands]
        listed = [alike for alike, is_same in zip(known, same, strict=True) if is_same]
        return _shared(listed, one.shape.dimensions)
    if (rule := _RULES.get(one.opcode)) is not None and operands:
        return rule(one, operands, known)
    if one.opcode in _OF_MATRICES or is_of_library(one):
        return _before(2, operands, known)
    return _NONE


def _before(last: int, operands: list[Instruction], known: list[Alike]) -> Alike:
    """What is alike in all of them before their last dimensions, which are worked on as one."""
    extents = operands[0].shape.dimensions if operands else ()
    shared = _shared(known, extents)
    return {at: each for at, each in shared.items() if at < len(extents) - last}


def is_of_library(one: Instruction) -> bool:
    """Whether it calls a library's decomposition, solver or product of matrices."""
    return one.opcode == "custom-call" and one.custom_call_target.startswith(_IN_LIBRARIES)


def _shared(known: Sequence[Alike], extents: tuple[int, ...]) -> Alike:
    """What is alike in all of them."""
    found: dict[int, Repeats] = {}
    for at in known[0] if known else ():
        mine = [each[at] for each in known if at in each]
        if len(mine) == len(known) and (both := _both(mine, extents[at])) is not None:
            found[at] = both
    return found


def _both(mine: list[Repeats], extent: int) -> Repeats | None:
    by = next((one.by for one in mine if one.by >= 0), -1)
    parts = [one for one in mine if one.whole * one.runs < extent]  # the others are all alike
    if not parts:
        return Repeats(extent, 1, by)
    whole, runs = (gcd(*numbers) for numbers in zip(*(one[:2] for one in parts), strict=True))
    return Repeats(whole, runs, by) if whole * runs > 1 else None


def _broadcast(one: Instruction, operands: list[Instruction], known: list[Alike]) -> Alike:
    places, extents = one.ints(_DIMENSIONS), one.shape.dimensions
    by = one.id if operands[0].shape.dimensions and _BACKWARD not in one.op_name else -1
    new = {
        at: Repeats(extent, 1, by)
        for at, extent in enumerate(extents)
        if at not in places and extent > 1
    }
    return new | {places[at]: each for at, each in known[0].items()}


def _transposed(one: Instruction, _operands: list[Instruction], known: list[Alike]) -> Alike:
    places = one.ints(_DIMENSIONS)
    return {to: known[0][at] for to, at in enumerate(places) if at in known[0]}


def _reshaped(one: Instruction, operands: list[Instruction], known: list[Alike]) -> Alike:
    """The elements stay in the order of the dimensions, or of a bitcast's layouts."""
    if one.shape.elements != operands[0].shape.elements:
        return _NONE
    is_bitcast = one.opcode == "bitcast"
    old, new = (_order(each.shape, is_bitcast) for each in (operands[0], one))
    before = [operands[0].shape.dimensions[at] for at in old]
    after = [one.shape.dimensions[at] for at in new]
    alike = {place: known[0][at] for place, at in enumerate(old) if at in known[0]}
    return {new[place]: each for place, each in _regrouped(before, after, alike)}


def _order(shape: Shape, is_laid_out: bool) -> tuple[int, ...]:
    rank = len(shape.dimensions)
    order = shape.minor_to_major[::-1] if is_laid_out else ()
    return order if sorted(order) == list(range(rank)) else tuple(range(rank))


def _regrouped(before: list[int], after: list[int], alike: Alike) -> Iterator[tuple[int, Repeats]]:
    """What repeats itself of dimensions that are joined and divided, in one order of elements."""
    place, to = 0, 0
    while place < len(before):
        first, start = place, to
        left = right = 1
        while place < len(before) and (left != right or place == first):
            left *= before[place]
            place += 1
            while to < len(after) and right < left:
                right *= after[to]
                to += 1
        joined = _joined_up([(before[at], alike.get(at)) for at in range(first, place)])
        if joined is not None:
            yield from _divided(joined, [(at, after[at]) for at in range(start, to)], left)


def _joined_up(dimensions: list[tuple[int, Repeats | None]]) -> Repeats | None:
    """Dimensions as one, the slowest first; None where that does not repeat itself."""
    found = Repeats(1, 1, -1)
    size = 1
    for extent, mine in dimensions:
        one = mine or Repeats(1, 1, -1)
        by = max(found.by, one.by)
        is_whole, is_alike = found.whole * found.runs == size, one.whole * one.runs == extent
        if is_whole:
            found = Repeats(size * one.whole, one.runs, by)
        elif is_alike:
            found = Repeats(found.whole, found.runs * extent, by)
        elif found.runs == 1 == one.whole:
            found = Repeats(found.whole, one.runs, by)
        else:
            return None
        size *= extent
    return found if found.whole * found.runs > 1 else None


def _divided(
    one: Repeats, dimensions: list[tuple[int, int]], size: int
) -> Iterator[tuple[int, Repeats]]:
    """The same of the dimensions that one is divided into, with their numbers."""
    whole, runs = (size, 1) if one.whole * one.runs == size else one[:2]
    left = list(dimensions)
    while (left and left[0][1] > 1 and whole % left[0][1] == 0) or (left and left[0][1] == 1):
        at, extent = left.pop(0)
        whole //= extent
        if extent > 1:
            yield at, Repeats(extent, 1, one.by)
    while (left and left[-1][1] > 1 and runs % left[-1][1] == 0) or (left and left[-1][1] == 1):
        at, extent = left.pop()
        runs //= extent
        if extent > 1:
            yield at, Repeats(extent, 1, one.by)
    if len(left) == 1 and whole * runs > 1:
        yield left[0][0], Repeats(whole, runs, one.by)
    elif len(left) > 1 and whole > 1 and left[0][1] % whole == 0:
        yield left[0][0], Repeats(whole, 1, one.by)
    if len(left) > 1 and runs > 1 and left[-1][1] % runs == 0:
        yield left[-1][0], Repeats(1, runs, one.by)


def _reduced(one: Instruction, operands: list[Instruction], known: list[Alike]) -> Alike:
    gone, extents = one.ints(_DIMENSIONS), operands[0].shape.dimensions
    kept = [at for at in range(len(extents)) if at not in gone]
    alike = _shared(known[: len(operands) // 2], extents)
    return {to: alike[at] for to, at in enumerate(kept) if at in alike}


def _multiplied(one: Instruction, operands: list[Instruction], known: list[Alike]) -> Alike:
    numbers = fields_of(one.message(_DOT))
    batch = [ints_of(numbers.get(number, ())) for number in _BATCH]
    inner = [ints_of(numbers.get(number, ())) for number in _CONTRACTED]
    found: dict[int, Repeats] = {}
    for to, (left, right) in enumerate(zip(*batch, strict=False)):
        if left in known[0] and right in known[1]:
            extent = operands[0].shape.dimensions[left]
            both = _both([known[0][left], known[1][right]], extent)
            found |= {} if both is None else {to: both}
    to = len(batch[0])
    for side, operand in enumerate(operands[:2]):
        for at in range(len(operand.shape.dimensions)):
            if at in batch[side] or at in inner[side]:
                continue
            if at in known[side]:
                found[to] = known[side][at]
            to += 1
    return found


def _convolved(one: Instruction, operands: list[Instruction], known: list[Alike]) -> Alike:
    numbers = fields_of(one.message(_CONVOLUTION))
    out, into = (next(iter(ints_of(numbers.get(at, ()))), 0) for at in (_OUT_BATCH, _IN_BATCH))
    is_each = operands[0].shape.dimensions[into] == one.shape.dimensions[out]  # of no groups
    return {out: known[0][into]} if is_each and into in known[0] else _NONE


def _transformed(one: Instruction, operands: list[Instruction], known: list[Alike]) -> Alike:
    lengths = len(one.ints(_FFT_LENGTH))
    return _before(lengths, operands, known) if lengths else _NONE


def _put_together(one: Instruction, operands: list[Instruction], known: list[Alike]) -> Alike:
    along = next(iter(one.ints(_DIMENSIONS)), -1)
    shared = _shared(known, operands[0].shape.dimensions)
    found = {at: each for at, each in shared.items() if at != along}
    if len({each.id for each in operands}) == 1 < len(operands):
        found[along] = Repeats(len(operands), 1, one.id)
    return found


def _sorted(one: Instruction, operands: list[Instruction], known: list[Alike]) -> Alike:
    along = one.ints(_DIMENSIONS)
    shared = _shared(known, operands[0].shape.dimensions)
    return {at: each for at, each in shared.items() if at not in along}


def _cut(one: Instruction, operands: list[Instruction], known: list[Alike]) -> Alike:
    found: dict[int, Repeats] = {}
    for at, each in known[0].items():
        before, extent = operands[0].shape.dimensions[at], one.shape.dimensions[at]
        if before == extent:
            found[at] = each
        elif each.whole * each.runs == before and extent > 1:
            found[at] = Repeats(extent, 1, each.by)
    return found


def _of_several(one: Instruction, operands: list[Instruction], known: list[Alike]) -> Alike:
    """Of what a library's call gives, all has the batch before its own dimensions."""
    if not is_of_library(operands[0]):
        return _NONE
    return {at: each for at, each in known[0].items() if at < len(one.shape.dimensions)}


_Rule = Callable[[Instruction, list[Instruction], list[Alike]], Alike]
_RULES: Final[Mapping[str, _Rule]] = {
    "broadcast": _broadcast,
    "transpose": _transposed,
    "reshape": _reshaped,
    "bitcast": _reshaped,
    "reduce": _reduced,
    "dot": _multiplied,
    "convolution": _convolved,
    "concatenate": _put_together,
    "fft": _transformed,
    "sort": _sorted,
    "slice": _cut,
    "dynamic-slice": _cut,
    "get-tuple-element": _of_several,
}
