"""Where in the program the ops of TensorFlow's graphs were made, where our recorder noted it.

TensorFlow's own profiler knows ops by name alone; at the end of a recording the recorder asks the
graphs for the stack that made each op (``capture.runtime.graph_lines``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from stepscope.columns import pivot
from stepscope.columns.space import KIND_BYTES
from stepscope.limits import json_value
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.op_scopes import layer_of
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.thresholds import DEEPEST, FEW, HALF_FRAC, LINES
from stepscope.tables.hlo.source import SourceFrame
from stepscope.tables.host.tapes import TAPE
from stepscope.tables.in_steps.optimizer_updates import optimizer_scope

# A call of a function, the body of a loop or a branch, as the runtime writes them before the names
# of the ops inside.
_OUTER: Final = re.compile(
    r"(?:(?:Stateful)?PartitionedCall(?:_\d+)?|[^/]+/(?:body|cond|then|else|branch\w*)/_\d+)/"
)
# What Grappler puts before the name of the op that it rewrote.
_REWRITTEN: Final = re.compile(r"ArithmeticOptimizer/[A-Za-z]+_(?=\w)")

Stack = tuple[SourceFrame, ...]


@dataclass(frozen=True, slots=True)
class GraphLines:
    """Stacks of ops, the innermost line of the program first.

    Attributes:
        ops: By the op's name in its graph.
        whole: Lines that most ops are made at, as that which calls ``fit``: they place no op.
    """

    ops: Mapping[str, Stack]
    whole: frozenset[SourceFrame]

    def of(self, op: str) -> Stack:
        """The stack of an op by its recorded name, of a gradient that of what it is of; () unknown.

        Lines that most ops have in common are its callers, and never its own; so is the line that
        asks for all gradients.
        """
        stacks = (
            self._forward(name) if TAPE in name else self.ops.get(name, ())
            for name in names_in_graph(op)
        )
        return next((one for one in stacks if one and one[0] not in self.whole), ())

    def _forward(self, name: str) -> Stack:
        forward = name.partition(TAPE)[2]
        for _ in range(DEEPEST):
            forward = forward.rpartition("/")[0]
            if stack := self.ops.get(forward):
                return stack
        return ()


def names_in_graph(op: str) -> Iterator[str]:
    """Return the names that an op may have in its graph: without the runtime's prefixes."""
    name = _REWRITTEN.sub("", op)
    for _ in range(DEEPEST):
        yield name
        outer = _OUTER.match(name)
        if outer is None:
            return
        name = name[outer.end() :]


@derived
def graph_lines(host: Host) -> GraphLines | None:
    """The lines of a host's graphs; None where none were noted."""
    for message in messages(host, names.GRAPH_LINES):
        if ops := _read(message):
            return GraphLines(ops, _whole(ops))
    return None


def messages(host: Host, wanted: str) -> Iterator[bytes]:
    """Our recorder's notes of graphs of one name."""
    space = host.space
    for key, name in enumerate(space.stat_metadata.name):
        if name == wanted:
            stats = space.plane_stats
            rows = ((stats.key == key) & (stats.kind == KIND_BYTES)).nonzero()[0]
            yield from (pivot.read_bytes(space, int(stats.value[row])) for row in rows.tolist())


def _read(message: bytes) -> dict[str, Stack]:
    """Stacks by the op's name; without what is damaged."""
    try:
        said: Any = json_value(message)
        frames = [_frame(one) for one in said["frames"]]
        stacks = [tuple(frames[at] for at in one if _is_of(at, frames)) for one in said["stacks"]]
        ops = said["ops"].items()
        return {name: stacks[at] for name, at in ops if _is_of(at, stacks) and stacks[at]}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _frame(said: Any) -> SourceFrame:
    file, line, function = said
    if not (isinstance(line, int) and 0 <= line < LINES):
        raise ValueError(line)
    return SourceFrame(_text(file), line, _text(function))


def _text(said: str) -> str:
    """Without halves of characters, which JSON can say and nothing can write."""
    return said.encode("utf-8", "replace").decode("utf-8")


def _is_of(at: Any, listed: list[Any]) -> bool:
    return isinstance(at, int) and 0 <= at < len(listed)


def _whole(ops: Mapping[str, Stack]) -> frozenset[SourceFrame]:
    forward = [one for one in ops.items() if TAPE not in one[0] and not optimizer_scope(one[0])]
    count = Counter(stack[0] for _name, stack in forward)
    return frozenset(
        line
        for line, many in count.items()
        if many > HALF_FRAC * len(forward)
        and len({layer_of(name) for name, stack in forward if stack[0] == line}) >= FEW
    )
