"""How much each instruction of a program has to do, to compare those of one program.

An estimate in additions, from shapes alone: right within a factor of two or three for processors,
and only meant to find what a program spends most of its time on where its ops were not recorded,
or where a fusion runs many as one. A loop counts as often as its compiler knows it to run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from stepscope.limits import json_value
from stepscope.tables.hlo.category import ARITHMETIC, NO_WORK, TRANSCENDENTAL
from stepscope.tables.hlo.cost import CostAnalysis
from stepscope.tables.hlo.module import Computation, HloModule, Instruction

# What processors take for an element, in additions.
_SLOW: Final = dict.fromkeys(("divide", "remainder", "sqrt", "rsqrt"), 4.0)
_TRANSCENDENTAL: Final = 10.0
_RANDOM: Final = 20.0
_SORT: Final = 4.0
# Of what only moves elements; other moves are done where their result is read.
_MOVES: Final = {
    "copy": 1.0,
    "transpose": 2.0,
    "reverse": 1.0,
    "concatenate": 1.0,
    "gather": 2.0,
    "scatter": 8.0,
    "dynamic-update-slice": 1.0,
    "dynamic-slice": 1.0,
}
# Multiply-adds of a product come in wide registers, eight or more at once.
_PRODUCT: Final = 0.1
_PRODUCTS: Final = ("dot", "convolution")
# Decompositions of n × n matrices, in n³ multiply-adds, by LAPACK's names of them; they run less
# well than products.
_LAPACK: Final = re.compile(
    r"(?:lapack|blas|cusolver|cu|solver)_\w{0,30}?(getrf|potrf|geqrf|orgqr|"
    r"ungqr|gesdd|gesvd|syevd|heevd|geev|trsm)"
)
_CUBES: Final = {
    "getrf": 0.7,
    "potrf": 0.4,
    "geqrf": 1.4,
    "orgqr": 1.4,
    "ungqr": 1.4,
    "gesdd": 20.0,
    "gesvd": 20.0,
    "syevd": 9.0,
    "heevd": 9.0,
    "geev": 25.0,
    "trsm": 1.0,
}
_CUBIC: Final = 0.3
# A transform whose length has a larger prime factor is done as three of twice the length.
_LARGEST_FACTOR, _AWKWARD = 13, 6.0
_ENCLOSING: Final = ("fusion", "call", "async-start")
# How often a loop runs whose end depends on what it computes.
_UNKNOWN_TRIPS: Final = 10.0
_MOST_TRIPS: Final = 1e12
# Nobody nests deeper, nor runs as many instructions; a module that calls itself is damaged.
_DEEPEST: Final = 16
_MOST: Final = 300_000

Work = tuple[Instruction, float]


def program_work(module: HloModule) -> Iterator[Work]:
    """Every instruction that a run of the program runs, with its work in all its runs."""
    if module.entry is not None:
        yield from _some(_walk(module, CostAnalysis(module), [module.entry], 1.0, 0))


def body_work(module: HloModule, instruction: Instruction) -> Iterator[Work]:
    """The same of what a fusion or a call encloses."""
    bodies = module.called(instruction)
    yield from _some(_walk(module, CostAnalysis(module), bodies, 1.0, 0))


def _some(walked: Iterator[Work | None]) -> Iterator[Work]:
    return (one for one in islice(walked, _MOST) if one is not None)


def _walk(
    module: HloModule, cost: CostAnalysis, bodies: Iterable[Computation], times: float, depth: int
) -> Iterator[Work | None]:
    """None stands for each that encloses others, which in a stranger's file may be all there is."""
    for body in bodies:
        for one in body.instructions:
            if depth >= _DEEPEST or one.opcode not in (*_ENCLOSING, "while", "conditional"):
                yield one, times * _work(module, cost, one)
                continue
            inner, again = list(module.called(one)), times
            if one.opcode == "while":
                again *= _trips(one)
            elif one.opcode == "conditional":  # one of its branches runs, which is unknown
                again /= max(len(inner), 1)
            yield None
            yield from _walk(module, cost, inner, again, depth + 1)


def _trips(loop: Instruction) -> float:
    try:
        known = json_value(loop.backend_config)["known_trip_count"]["n"]
        return min(max(float(known), 1.0), _MOST_TRIPS)
    except (ValueError, KeyError, TypeError, OverflowError):
        return _UNKNOWN_TRIPS


def _work(module: HloModule, cost: CostAnalysis, one: Instruction) -> float:
    opcode, elements = one.opcode, float(one.shape.elements)
    if opcode in NO_WORK:
        return 0.0
    if opcode in _SLOW:
        return _SLOW[opcode] * elements
    if opcode in TRANSCENDENTAL:
        return _TRANSCENDENTAL * elements
    if opcode in ARITHMETIC:
        return elements
    if opcode in _MOVES:
        return _MOVES[opcode] * elements
    if opcode in ("rng", "rng-bit-generator"):
        return _RANDOM * elements
    if opcode == "fft":
        return _transform_flops(one)
    if opcode == "custom-call":
        return _library_call_flops(module, cost, one)
    flops = cost.flops(one)
    if not math.isfinite(flops):
        return 0.0
    factor = _PRODUCT if opcode in _PRODUCTS else _SORT if opcode == "sort" else 1.0
    return factor * flops


def _library_call_flops(module: HloModule, cost: CostAnalysis, call: Instruction) -> float:
    flops = cost.flops(call)
    if math.isfinite(flops) and flops > 0:
        return _PRODUCT * flops
    taken = [one.shape for one in module.operands(call)]
    largest = max(taken, key=lambda shape: shape.elements, default=call.shape)
    told = _LAPACK.search(call.custom_call_target)
    if told is not None and len(largest.dimensions) >= 2:
        return _CUBIC * _CUBES[told[1]] * largest.elements * min(largest.dimensions[-2:])
    return float(sum(shape.elements for shape in taken)) + call.shape.elements


def _transform_flops(one: Instruction) -> float:
    length = one.shape.dimensions[-1] if one.shape.dimensions else 1
    awkward = _AWKWARD if _largest_factor(length) > _LARGEST_FACTOR else 1.0
    return awkward * 2.5 * one.shape.elements * math.log2(max(length, 2))


def _largest_factor(number: int) -> int:
    """The largest prime factor, as far as small ones tell."""
    factor, largest = 2, 1
    while factor * factor <= number and factor <= _LARGEST_FACTOR:
        if number % factor:
            factor += 1
        else:
            number, largest = number // factor, factor
    return max(largest, number)
