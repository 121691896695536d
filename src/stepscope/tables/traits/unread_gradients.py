"""Gradients of compiled programs that only a sum reads, of arguments given back as they came.

A part of a model is frozen by an optimizer that leaves it as it is, while its gradients are still
computed for the norm that all are clipped by. Others multiply them by zero, which XLA must keep:
zero times infinity is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.tables.core.profile import Host, derived
from stepscope.tables.hlo.module import ENCLOSES, HloModule, Instruction, fields_of
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.hlo.rewritten import before_rewriting

# JAX writes the one around what it differentiates, the other around gradients.
_DIFFERENTIATED: Final = "jvp("
_GRADIENT: Final = "transpose("
# What may lie between an argument and the result that gives it back.
_SAME: Final = frozenset(("copy", "bitcast", "get-tuple-element"))
_LONGEST: Final = 8
# What the compiler makes by itself: copies into other layouts, products rewritten for a library.
_MADE: Final = frozenset(("copy", "fusion", "dot", "convolution"))
_SHAPE: Final = 1  # of xla.LiteralProto; its other fields hold the values
# What is given back has to be an array of weights, not a counter or a bias that nothing changed.
_WEIGHTS: Final = 2


@dataclass(frozen=True, slots=True)
class UnreadGradients:
    """Those of one program.

    Attributes:
        module: The program.
        ids: Of its instructions that compute them.
        kept: The arguments that it gives back as they came, by the names that JAX has for them.
    """

    module: HloModule
    ids: frozenset[int]
    kept: tuple[str, ...]


@derived
def unread_gradients(host: Host) -> tuple[UnreadGradients, ...]:
    """Of all programs that compute some."""
    found = []
    for module in hlo_modules(host).with_gradients():
        kept = _kept(module)
        ids = _unread(module, _read(module, stop_at_sums=bool(kept)))
        if ids and (not kept or _are_of(module, ids, kept)):
            names = tuple(one.op_name or one.name for one in kept)
            found.append(UnreadGradients(module, ids, names))
    return tuple(found)


def _are_of(module: HloModule, ids: frozenset[int], kept: tuple[Instruction, ...]) -> bool:
    """Whether any has the extents of one of the weights, in whatever order.

    A gradient by its input is summed as well, where that sum is what a program is for.
    """
    weights = {tuple(sorted(one.shape.dimensions)) for one in kept}
    inner = (each for id_ in ids for each in _inner(module, module.by_id[id_]))
    return any(tuple(sorted(one.shape.dimensions)) in weights for one in inner)


def _kept(module: HloModule) -> tuple[Instruction, ...]:
    """The arguments that are weights, and that the program gives back as they came."""
    entry = module.entry
    if entry is None:
        return ()
    given = module.operands(entry.root) if entry.root.opcode == "tuple" else iter((entry.root,))
    found = []
    for one in given:
        for _ in range(_LONGEST):
            if one.opcode not in _SAME:
                break
            one = next(module.operands(one), one)
        if one.opcode == "parameter" and len(one.shape.dimensions) >= _WEIGHTS:
            found.append(one)
    return tuple(found)


def _read(module: HloModule, *, stop_at_sums: bool) -> frozenset[int]:
    """Ids of what the program's results come of, but for what only sums and zeros read."""
    entry = module.entry
    found: set[int] = set()
    open_ = [] if entry is None else [entry.root]
    while open_:
        one = open_.pop()
        if one.id in found:
            continue
        found.add(one.id)
        if stop_at_sums and _is_sum_of_all(module, one):
            continue
        open_ += _worked_on(module, one)
    return frozenset(found)


def _worked_on(module: HloModule, one: Instruction) -> list[Instruction]:
    """What an instruction needs; nothing of a product with zero."""
    if one.opcode == "multiply" and any(_is_zero(module, each) for each in module.given(one)):
        return []
    if one.opcode in ENCLOSES:
        # Of a body that is called from several places, whose its parameters are is unknown.
        is_shared = any(id_ not in module.enclosing for id_ in one.called_ids)
        return [*module.given(one), *(module.operands(one) if is_shared else ())]
    # What loops and branches run is not followed from one to the next: all of it is needed.
    bodies = (each for body in module.called(one) for each in body.instructions)
    return [*module.given(one), *bodies]


def _is_zero(module: HloModule, one: Instruction) -> bool:
    """Whether it is nothing but zeros."""
    for _ in range(_LONGEST):
        if one.opcode == "constant":
            values = [value for number, value in fields_of(one.literal).items() if number != _SHAPE]
            return bool(values) and not any(
                any(each) if isinstance(each, bytes) else each for value in values for each in value
            )
        if one.opcode not in ("broadcast", "bitcast", "reshape", "convert", "fusion", "parameter"):
            return False
        given = module.given(one)
        if not given:
            return False
        one = given[0]
    return False


def _is_sum_of_all(module: HloModule, one: Instruction) -> bool:
    """Whether it is a sum to one number that is none of the loss."""
    itself = _ends_in(module, one)
    return (
        itself.opcode == "reduce"
        and not itself.shape.dimensions
        and _DIFFERENTIATED not in itself.op_name
    )


def _ends_in(module: HloModule, one: Instruction) -> Instruction:
    """What a fusion computes last, else itself."""
    for _ in range(_LONGEST):
        if one.opcode not in ENCLOSES:
            break
        one = next(iter(module.given(one)), one)
    return one


def _unread(module: HloModule, read: frozenset[int]) -> frozenset[int]:
    """Ids of the program's own instructions that compute gradients, of which none is read.

    With those that the compiler made around them, which have no name of an op.
    """
    entry = module.entry
    found, nameless = set(), set()
    for one in entry.instructions if entry is not None else ():
        gradients = [each.id for each in _inner(module, one) if _GRADIENT in _op(module, each)]
        if gradients and read.isdisjoint(gradients):
            found.add(one.id)
        elif one.opcode in _MADE and one.id not in read and not _op(module, one):
            nameless.add(one.id)
    return frozenset(found | nameless if found else ())


def _inner(module: HloModule, one: Instruction) -> list[Instruction]:
    """What a fusion is made of, else the instruction itself."""
    if one.opcode not in ENCLOSES:
        return [one]
    return [each for body in module.called(one) for each in body.instructions]


def _op(module: HloModule, one: Instruction) -> str:
    return before_rewriting(module, one).op_name
