"""Which lines of the program made the ops of TensorFlow's graphs, as known when a recording ends.

TensorFlow's profiler notes the names of ops, and each op of a graph keeps the stack that made it:
through AutoGraph, layers and gradients these are lines of the program. Nothing is imported; graphs
are found among the objects that Python's garbage collector tracks.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from stepscope.capture.runtime.frame_names import FrameNames
from stepscope.capture.runtime.instances import instances
from stepscope.schema import names

# What runs a program to record it has frames around all of its own.
_OURS: Final = str(Path(__file__).parents[2])
_GRAPHS: Final = "tensorflow.python.framework.func_graph"
# What only hands values on.
_PASSES: Final = frozenset(("Const", "Placeholder", "Identity", "NoOp", "ReadVariableOp"))
# Ops that are looked at, and for how long: a program ends meanwhile.
_MOST_OPS: Final = 200_000
_MOST_SECONDS: Final = 2.0
# Lines of the program that are kept of a stack, the innermost first.
_MOST_FRAMES: Final = 16


def facts(modules: Mapping[str, ModuleType] | None = None) -> dict[str, bytes]:
    """Return the lines of all ops as one message; {} if no graph was made."""
    module: Any = (sys.modules if modules is None else modules).get(_GRAPHS)
    graph = getattr(module, "FuncGraph", None)
    if not isinstance(graph, type):
        return {}
    lines = NotedLines()
    for one in instances(graph):
        with contextlib.suppress(Exception):  # of another version, or half made
            lines.add(one)
    return {names.GRAPH_LINES: lines.message()} if lines.ops else {}


class NotedLines:
    """Lines of ops, each stack kept once.

    Attributes:
        ops: The number of each op's stack; -1 of one whose graphs have different lines of it.
    """

    def __init__(self) -> None:
        self.ops: dict[str, int] = {}
        self._names = FrameNames()
        self._frames: dict[tuple[str, int, str], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._listed: list[tuple[int, ...]] = []
        self._known: dict[Any, int] = {}
        self._end = time.monotonic() + _MOST_SECONDS

    def add(self, graph: Any) -> None:
        """The ops of a graph."""
        for op in graph.get_operations():
            if len(self.ops) >= _MOST_OPS or time.monotonic() > self._end:
                return
            if op.type in _PASSES:
                continue
            stack = self._stack(op.traceback)
            if stack < 0:
                continue
            known = self.ops.setdefault(op.name, stack)
            if known != stack:
                self.ops[op.name] = self._common(known, stack)

    def message(self) -> bytes:
        """All of it as JSON: frames are (file, line, function), stacks lists of their numbers."""
        said = {
            "frames": list(self._frames),
            "stacks": self._listed,
            "ops": {name: stack for name, stack in self.ops.items() if stack >= 0},
        }
        return json.dumps(said, separators=(",", ":")).encode()

    def _stack(self, traceback: Any) -> int:
        """The number of the program's own lines in a stack; -1 without any.

        Ops of one line have equal stacks, which take five times as long to read as to compare.
        """
        try:
            known = self._known.get(traceback)
            if known is None:
                known = self._known[traceback] = self._read(traceback)
        except TypeError:  # of a version whose stacks are lists
            return self._read(traceback)
        return known

    def _read(self, traceback: Any) -> int:
        own = [
            (str(one.filename), int(one.lineno or 0), str(one.name))
            for one in traceback
            if self._names.is_own_file(one.filename) and not one.filename.startswith(_OURS)
        ]
        if not own:
            return -1
        innermost = own[::-1][:_MOST_FRAMES]
        numbers = tuple(self._frames.setdefault(one, len(self._frames)) for one in innermost)
        return self._numbered(numbers)

    def _numbered(self, stack: tuple[int, ...]) -> int:
        number = self._stacks.setdefault(stack, len(self._stacks))
        self._listed += [stack] * (number == len(self._listed))
        return number

    def _common(self, one: int, other: int) -> int:
        """What two stacks of one name have in common from the op outwards; -1 nothing."""
        if one < 0:
            return -1
        pairs = zip(self._listed[one], self._listed[other], strict=False)
        shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        return self._numbered(self._listed[one][:shared]) if shared else -1
