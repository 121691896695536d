"""Which lines of the program a recording notes for the ops of TensorFlow's graphs."""

from __future__ import annotations

import gc
import json
import sysconfig
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from stepscope.capture.runtime import graph_lines
from stepscope.capture.runtime.graph_lines import NotedLines, facts
from stepscope.schema import names

TRAIN = ("/home/me/train.py", 30, "train_step")
LOSS = ("/home/me/loss.py", 7, "penalty")
FIT = ("/home/me/train.py", 50, "main")
EVALUATE = ("/home/me/train.py", 40, "evaluate")
KERAS = (f"{sysconfig.get_paths()['purelib']}/keras/src/layers/layer.py", 900, "__call__")


class SimpleFrame(NamedTuple):
    """A frame that can be compared."""

    filename: str
    lineno: int
    name: str


class FuncGraph:
    """One of TensorFlow's, as far as it is asked; frames are the outermost first."""

    def __init__(self, **ops: tuple[str, list[tuple[str, int, str]]]) -> None:
        self.ops = ops

    def get_operations(self) -> list[Any]:
        return [
            SimpleNamespace(
                name=name,
                type=type_,
                traceback=[
                    SimpleNamespace(filename=file, lineno=line, name=function)
                    for file, line, function in stack
                ],
            )
            for name, (type_, stack) in self.ops.items()
        ]


def noted(*graphs: FuncGraph) -> dict[str, list[tuple[str, int, str]]]:
    """The stack of each op, innermost first, as the message has them."""
    lines = NotedLines()
    for graph in graphs:
        lines.add(graph)
    said = json.loads(lines.message())
    stacks = [[tuple(said["frames"][at]) for at in stack] for stack in said["stacks"]]
    return {name: stacks[at] for name, at in said["ops"].items()}


def test_an_op_has_the_lines_of_the_program_innermost_first() -> None:
    graph = FuncGraph(mul=("Mul", [FIT, KERAS, TRAIN, KERAS, LOSS]))
    assert noted(graph) == {"mul": [LOSS, TRAIN, FIT]}


def test_what_hands_values_on_or_is_a_librarys_alone_has_none() -> None:
    ours = (graph_lines.__file__, 9, "run")
    graph = FuncGraph(
        read=("ReadVariableOp", [TRAIN]), inner=("MatMul", [KERAS]), mine=("MatMul", [ours])
    )
    assert noted(graph) == {}


def test_what_two_graphs_call_alike_has_the_lines_that_both_have() -> None:
    trained = FuncGraph(mul=("Mul", [FIT, TRAIN, LOSS]), add=("AddV2", [FIT, TRAIN]))
    tested = FuncGraph(mul=("Mul", [FIT, EVALUATE, LOSS]), add=("AddV2", [FIT, EVALUATE]))
    assert noted(trained, tested, trained) == {"mul": [LOSS]}


def test_graphs_are_found_among_the_objects_there_are() -> None:
    module = ModuleType("func_graph")
    module.FuncGraph = FuncGraph  # type: ignore[attr-defined]
    kept = [FuncGraph(mul=("Mul", [TRAIN]))]
    found = facts({"tensorflow.python.framework.func_graph": module})
    assert json.loads(found[names.GRAPH_LINES])["frames"] == [list(TRAIN)]
    assert len(kept) == 1


def test_a_program_without_graphs_notes_nothing() -> None:
    assert facts({}) == {}
    assert facts({"tensorflow.python.framework.func_graph": ModuleType("other")}) == {}


def test_a_graph_that_fails_leaves_out_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken(FuncGraph):
        def get_operations(self) -> list[Any]:
            raise RuntimeError("a graph of another version")

    graphs = [Broken(), FuncGraph(mul=("Mul", [TRAIN]))]
    module = ModuleType("func_graph")
    module.FuncGraph = FuncGraph  # type: ignore[attr-defined]
    monkeypatch.setattr(gc, "get_objects", lambda: graphs)
    found = facts({"tensorflow.python.framework.func_graph": module})
    assert list(json.loads(found[names.GRAPH_LINES])["ops"]) == ["mul"]


def test_equal_stacks_are_read_once_and_lists_each_time() -> None:
    class Stack(tuple[Any, ...]):
        read = 0

        def __iter__(self) -> Any:
            Stack.read += 1
            return super().__iter__()

    frames = FuncGraph(mul=("Mul", [FIT, TRAIN])).get_operations()[0].traceback
    hashable = [SimpleFrame(one.filename, one.lineno, one.name) for one in frames]
    lines = NotedLines()
    for number in range(5):
        op = SimpleNamespace(name=f"mul_{number}", type="Mul", traceback=Stack(hashable))
        lines.add(SimpleNamespace(get_operations=lambda op=op: [op]))
    assert (Stack.read, len(lines.ops), len(set(lines.ops.values()))) == (1, 5, 1)
