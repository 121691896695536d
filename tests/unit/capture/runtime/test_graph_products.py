"""Which products of TensorFlow's graphs a recording notes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.capture.runtime.graph_products import NotedProducts

LARGE, NARROW = (300, 300), (300, 24)


class Value:
    """A tensor: its extents, and what reads it."""

    def __init__(self, *extents: int | None) -> None:
        self.shape = Shape(extents)
        self.read: list[Any] = []

    def consumers(self) -> list[Any]:
        return self.read


class Shape(tuple[int | None, ...]):
    """Of one dimension or more, as far as it is known."""

    __slots__ = ()

    @property
    def rank(self) -> int:
        return len(self)


class FuncGraph:
    """One of TensorFlow's, as far as it is asked."""

    def __init__(self) -> None:
        self.ops: list[Any] = []

    def op(self, name: str, type_: str, extents: tuple[int, ...], *given: Value) -> Value:
        out = Value(*extents)
        op = SimpleNamespace(
            name=name, type=type_, inputs=list(given), outputs=[out], get_attr=lambda _: False
        )
        for one in given:
            one.read.append(op)
        self.ops.append(op)
        return out

    def get_operations(self) -> list[Any]:
        return self.ops


def noted(graph: FuncGraph) -> list[Any]:
    found = NotedProducts()
    found.add(graph)
    listed: list[Any] = json.loads(found.message())
    return listed


def square(graph: FuncGraph, a: Value) -> Value:
    return graph.op("square", "MatMul", LARGE, a, a)


PLAIN = [False, False]


def test_a_product_that_a_product_reads_is_noted_with_all_extents() -> None:
    graph, a, x = FuncGraph(), Value(*LARGE), Value(300, None)
    graph.op("last", "MatMul", NARROW, square(graph, a), x)
    assert noted(graph) == [
        ["square", [[300, 300], [300, 300]], PLAIN, [["last", 0, [300, -1], PLAIN, 0]]]
    ]


def test_it_may_be_scaled_and_turned_negative() -> None:
    graph, a, x = FuncGraph(), Value(*LARGE), Value(*NARROW)
    doubled = graph.op("doubled", "Mul", LARGE, square(graph, a), Value())
    less = graph.op("less", "Neg", LARGE, doubled)
    graph.op("last", "MatMul", NARROW, less, x)
    assert noted(graph)[0][3] == [["last", 0, [300, 24], PLAIN, 0]]


def test_sums_count_but_for_what_is_multiplied_alike_itself() -> None:
    """(A A − B) x, where B x is needed as well."""
    graph, a, b, x = FuncGraph(), Value(*LARGE), Value(*LARGE), Value(*NARROW)
    less = graph.op("less", "Sub", LARGE, square(graph, a), b)
    graph.op("last", "MatMul", NARROW, less, x)
    assert noted(graph)[0][3] == [["last", 0, [300, 24], PLAIN, 1]]
    graph.op("beside", "MatMul", NARROW, b, x)
    assert noted(graph)[0][3] == [["last", 0, [300, 24], PLAIN, 0]]


@pytest.mark.parametrize(
    ("type_", "beside"), [("Relu", ()), ("Mul", LARGE), ("Softmax", ()), ("AddV2", (300,))]
)
def test_what_else_reads_it_needs_it_as_it_is(type_: str, beside: tuple[int, ...]) -> None:
    graph, a, x = FuncGraph(), Value(*LARGE), Value(*NARROW)
    made = square(graph, a)
    graph.op("last", "MatMul", NARROW, made, x)
    graph.op("other", type_, LARGE, made, *([Value(*beside)] if beside else []))
    assert noted(graph) == []


def test_a_result_of_the_graph_is_needed() -> None:
    graph = FuncGraph()
    square(graph, Value(*LARGE))
    assert noted(graph) == []


def test_a_product_of_it_with_itself_has_no_other_order() -> None:
    graph = FuncGraph()
    made = square(graph, Value(*LARGE))
    graph.op("fourth", "MatMul", LARGE, made, made)
    assert noted(graph) == []
