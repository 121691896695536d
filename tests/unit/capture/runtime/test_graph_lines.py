"""Which lines of the program a recording notes for the ops of TensorFlow's graphs."""

from __future__ import annotations

import gc
import json
import sysconfig
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from stepscope.capture.runtime import graph_lines
from stepscope.capture.runtime.graph_lines import NotedLines, facts
from stepscope.schema import names

TRAIN = ("/home/me/train.py", 30, "train_step")
LOSS = ("/home/me/loss.py", 7, "penalty")
FIT = ("/home/me/train.py", 50, "main")
EVALUATE = ("/home/me/train.py", 40, "evaluate")
KERAS = (f"{sysconfig.get_paths()['purelib']}/keras/src/layers/layer.py", 900, "__call__")


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
