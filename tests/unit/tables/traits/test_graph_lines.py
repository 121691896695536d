"""Where the ops of TensorFlow's graphs were made, as our recorder noted it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.source import SourceFrame
from stepscope.tables.traits.graph_lines import GraphLines, graph_lines
from stepscope.tables.traits.instructions import compiled_from
from tests.profiles import space
from tests.profiles.model import environment, host, line

STEP, CALL, LOSS = (
    SourceFrame("/me/train.py", 30, "train_step"),
    SourceFrame("/me/model.py", 12, "call"),
    SourceFrame("/me/loss.py", 7, "penalty"),
)
OPS = {
    "net/dense/MatMul": (CALL, STEP),
    "net/mul": (LOSS, CALL, STEP),
    "while/dot": (CALL, STEP),
    "loss/Mean": (STEP,),
    "gradient_tape/net/mul/Mul": (STEP,),
    "gradient_tape/AddN": (STEP,),
}


def message(ops: Mapping[str, tuple[SourceFrame, ...]]) -> bytes:
    frames = list(dict.fromkeys(frame for stack in ops.values() for frame in stack))
    stacks = list(dict.fromkeys(ops.values()))
    said = {
        "frames": frames,
        "stacks": [[frames.index(frame) for frame in stack] for stack in stacks],
        "ops": {name: stacks.index(stack) for name, stack in ops.items()},
    }
    return json.dumps(said).encode()


def recorded(noted: bytes, *names: str) -> Host:
    thread = line("tf_Compute", *((name, 10.0 * at, 5.0) for at, name in enumerate(names)))
    data = space(host(thread), environment(graph_lines=noted))
    return Host("host", decode(data))


def lines(noted: bytes) -> GraphLines | None:
    return graph_lines(recorded(noted))


FIT = SourceFrame("/me/train.py", 90, "main")
# The layers' names say more than a line that calls the whole model.
WHOLE = {f"net/layer_{at}/MatMul": (FIT,) for at in range(5)} | {"net/mul": (LOSS, FIT)}
# So much of an optimizer's work does not make it one.
UPDATES = OPS | {f"adam/Mul_{at}": (CALL,) for at in range(50)}
ONE_LINE = {"mul": (LOSS,), "Sum": (LOSS,), "add": (LOSS,)}


@pytest.mark.parametrize(
    ("ops", "op", "stack"),
    [
        (OPS, "net/mul", (LOSS, CALL, STEP)),
        (OPS, "StatefulPartitionedCall/net/mul", (LOSS, CALL, STEP)),
        (OPS, "StatefulPartitionedCall_2/PartitionedCall/net/mul", (LOSS, CALL, STEP)),
        (OPS, "while/body/_1/while/dot", (CALL, STEP)),
        (OPS, "net/ArithmeticOptimizer/ReplaceMulWithSquare_mul", (LOSS, CALL, STEP)),
        (OPS, "StatefulPartitionedCall/gradient_tape/net/mul/Mul_1", (LOSS, CALL, STEP)),
        (OPS, "gradient_tape/AddN", ()),
        (OPS, "other/mul", ()),
        (OPS, "", ()),
        (WHOLE, "net/layer_1/MatMul", ()),
        (WHOLE, "net/mul", (LOSS, FIT)),
        (UPDATES, "net/dense/MatMul", (CALL, STEP)),
        (ONE_LINE, "mul", (LOSS,)),
    ],
)
def test_an_op_is_found_by_its_recorded_name(
    ops: dict[str, tuple[SourceFrame, ...]], op: str, stack: tuple[SourceFrame, ...]
) -> None:
    found = lines(message(ops))
    assert found is not None
    assert found.of(op) == stack


def test_an_event_is_placed_by_the_op_that_it_ran() -> None:
    one = recorded(message(OPS), "StatefulPartitionedCall/net/mul:Mul", "elsewhere/mul:Mul")
    event = int(one.space.lines[0].begin)
    made = compiled_from(one, event)
    assert (made.file, made.line, made.function) == LOSS
    assert made.caller == "/me/model.py:12 call"
    assert compiled_from(one, event + 1).line == 0


@pytest.mark.parametrize(
    "noted",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b'{"frames": 1, "stacks": [], "ops": {}}',
        b'{"frames": [["a", 1, "f"]], "stacks": [[0]], "ops": {"x": 7}}',
        b'{"frames": [["a", "1", "f"]], "stacks": [[0]], "ops": {"x": 0}}',
        b'{"frames": [["a", 1, "f"]], "stacks": [[5, -1]], "ops": {"x": 0}}',
        b'{"frames": [["a", 1, "f"]], "stacks": [[0]], "ops": {"x": true, "y": null}}',
        b'{"frames": [["a", 99999999999999999999, "f"]], "stacks": [[0]], "ops": {"x": 0}}',
        b"[" * 100_000,
    ],
)
def test_what_is_damaged_places_nothing(noted: bytes) -> None:
    assert lines(noted) is None


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(frames=_ANYTHING, stacks=_ANYTHING, ops=_ANYTHING)
def test_no_message_breaks_it(frames: Any, stacks: Any, ops: Any) -> None:
    noted = json.dumps({"frames": frames, "stacks": stacks, "ops": ops}).encode()
    found = lines(noted)
    assert found is None or all(found.ops.values())
    # Half a character is shown as none.
    half = lines(b'{"frames": [["\\ud800.py", 1, "f"]], "stacks": [[0]], "ops": {"x": 0}}')
    assert half is not None and half.of("x") == (SourceFrame("?.py", 1, "f"),)
