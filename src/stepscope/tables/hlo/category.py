"""How HLO instructions are filed: elementwise, data formatting, kinds of fusion."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from stepscope.tables.hlo.module import Instruction

# Arithmetic on each element on its own, counted as one operation per element.
ARITHMETIC = frozenset(
    {
        "abs",
        "add",
        "and",
        "ceil",
        "clamp",
        "compare",
        "count-leading-zeros",
        "divide",
        "floor",
        "is-finite",
        "map",
        "maximum",
        "minimum",
        "multiply",
        "negate",
        "not",
        "or",
        "popcnt",
        "reduce-precision",
        "remainder",
        "round-nearest-afz",
        "round-nearest-even",
        "select",
        "shift-left",
        "shift-right-arithmetic",
        "shift-right-logical",
        "sign",
        "stochastic-convert",
        "subtract",
        "xor",
    }
)
# Elementwise functions that hardware computes in units of their own: no FLOPs, as XLA counts.
TRANSCENDENTAL = frozenset(
    {
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan2",
        "atanh",
        "cbrt",
        "cosh",
        "cosine",
        "erf",
        "exponential",
        "exponential-minus-one",
        "log",
        "log-plus-one",
        "logistic",
        "power",
        "rsqrt",
        "sine",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
    }
)
_MOVES = frozenset({"convert", "bitcast-convert", "copy", "real", "imag", "complex"})
_FORMATTING = frozenset({"transpose", "copy", "reshape", "dynamic-reshape"})
# These name storage or enclose other instructions; nothing runs for them themselves.
NO_WORK = frozenset(
    {
        "add-dependency",
        "after-all",
        "bitcast",
        "constant",
        "domain",
        "get-dimension-size",
        "get-tuple-element",
        "opt-barrier",
        "parameter",
        "partition-id",
        "replica-id",
        "set-dimension-size",
        "tuple",
    }
)

OTHER: Final = "Elementwise, other"
# By opcode and kind of fusion, the first that fits: the start of a collective before a copy.
_KINDS: Final = (
    ("Collective", r"\ball-|reduce-scatter|collective|\bsend|\brecv|partition-id|replica-id"),
    ("Matrix product, convolution, custom call", r"\bdot\b|convolution|custom|gemm"),
    ("Fusion", r"(?<!non-)fusion"),
    (
        "Copy, layout",
        r"copy|formatting|transpose|bitcast|reshape|slice|concatenate|\bpad\b|broadcast|"
        r"infeed|outfeed",
    ),
    ("Control", r"while|conditional|\bcall\b"),
    ("Parameter, constant, tuple", r"parameter|constant|tuple|iota"),
)
KINDS: Final = (*(kind for kind, _ in _KINDS), OTHER)


def category(instruction: Instruction) -> str:
    """The category the incumbent files it under, e.g. "loop fusion" (reference §8.3)."""
    opcode = instruction.opcode
    if opcode == "fusion":
        return f"{instruction.fusion_kind.lower() or 'loop'} fusion"
    if opcode in _FORMATTING:
        return "data formatting"
    if opcode in ARITHMETIC | TRANSCENDENTAL | _MOVES:
        return "non-fusion elementwise"
    return opcode


@lru_cache(maxsize=4096)
def kind_of(category: str, opcode: str) -> str:
    """What an instruction is for a reader of the graph, one of ``KINDS``; each has its colour."""
    text = f"{category} {opcode}"
    return next((kind for kind, pattern in _KINDS if re.search(pattern, text)), OTHER)
