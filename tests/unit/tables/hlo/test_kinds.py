"""Kinds of instructions in the graph."""

from __future__ import annotations

import pytest

from stepscope.tables.hlo.category import KINDS, kind_of


@pytest.mark.parametrize(
    ("category", "opcode", "kind"),
    [
        ("all-reduce-start", "all-reduce-start", "Collective"),
        ("dot", "dot", "Matrix product, convolution, custom call"),
        ("convolution", "convolution", "Matrix product, convolution, custom call"),
        ("custom-call", "custom-call", "Matrix product, convolution, custom call"),
        ("loop fusion", "fusion", "Fusion"),
        ("custom fusion", "fusion", "Matrix product, convolution, custom call"),
        ("dynamic-slice", "dynamic-slice", "Copy, layout"),
        ("call", "call", "Control"),
        ("get-tuple-element", "get-tuple-element", "Parameter, constant, tuple"),
        ("non-fusion elementwise", "add", "Elementwise, other"),
        # "conv" alone does not make a convolution, nor "reduce" a collective.
        ("non-fusion elementwise", "convert", "Elementwise, other"),
        ("reduce", "reduce", "Elementwise, other"),
    ],
)
def test_an_instruction_has_one_kind(category: str, opcode: str, kind: str) -> None:
    assert kind_of(category, opcode) == kind
    assert kind in KINDS
