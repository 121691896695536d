"""Elementwise ops of a graph are one chain, whatever line hands the graph over."""

from __future__ import annotations

from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.parts.grouping import parts
from tests.profiles import event
from tests.profiles.drawing import Drawn
from tests.unit.tables.account.test_account import host

OPS = {"A": "SelectV2:SelectV2", "B": "mul_1:Mul", "C": "sub:Sub", "D": "Abs:Abs", "E": "Less:Less"}


def kinds(*lines: str, **frames: Drawn) -> dict[str, str]:
    """Parts of two steps of ten moments, by kind, whose ops run on a pool."""
    rows = "".join(f'\n          "        {line * 2}' for line in lines)
    one = host(
        f"""
        /host:CPU
          python   S---------S---------{rows}
          "        W--------.W--------.
          tf_pool  AABBCDE...AABBCDE...
        """,
        W=event("BlockHostUntilReady"),
        **{letter: event(f"step/{name}") for letter, name in OPS.items()},
        **frames,
    )
    found = account(one)
    assert found is not None
    return {part.name: part.kind for part in parts(found, owners(found)) if part.kind == "op"}


def test_ops_of_a_graph_that_one_line_hands_over_are_a_chain() -> None:
    """Without Python's lines, and with them where they tell no ops apart."""
    assert kinds() == {"elementwise": "op"}
    assert kinds("m---------", m=event("$train.py:21 go")) == {"elementwise": "op"}


def test_lines_that_tell_ops_apart_say_more() -> None:
    two = {"m": event("$loss.py:9 first"), "n": event("$loss.py:12 second")}
    assert "elementwise" not in kinds("mmmmnnnn..", **two)
