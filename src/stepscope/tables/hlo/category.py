"""How HLO instructions are filed: elementwise, data formatting, kinds of fusion."""

from __future__ import annotations

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
