"""What a program computes for one line to take or leave."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.tables.traits.only_chosen import chosen_at
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program, tuple_of
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

HERE = [("/work/world.py", 54, "step")]
STATE = instruction("state", "parameter", f32(64, 64), parameter_number=0)
DONE = instruction("done", "parameter", f32(64, 64), parameter_number=1)
WORLD = instruction("dot.1", "dot", f32(64, 64), "state", "state")


def chosen(of: str, other: str, name: str = "choice", *, first: bool = True) -> Instruction:
    values = (of, other) if first else (other, of)
    return instruction(name, "select", f32(64, 64), "done", *values, stack=HERE)


def found(*entry: Instruction, before: tuple[Instruction, ...] = (), **bodies: Any) -> str:
    listed = [STATE, DONE, *before, WORLD, *entry]
    proto = program("jit_update", listed, bodies=bodies)
    thread = line("tf_XLAEigen", ("dot.1", 0.0, 10.0, {"hlo_op": "dot.1", "program_id": u(7)}))
    (one,) = profile(metadata_plane(("jit_update", 7, proto)), host(thread)).hosts
    return chosen_at(one, int(one.space.lines[-1].begin))


@pytest.mark.parametrize("first", [True, False])
def test_a_branch_is_only_chosen_from(first: bool) -> None:
    assert found(chosen("dot.1", "state", first=first)) == "world.py:54"


def test_what_is_read_elsewhere_too_is_needed() -> None:
    reward = instruction("reward", "negate", f32(64, 64), "dot.1")
    both = instruction("both", "tuple", tuple_of(f32(64, 64)), "choice", "reward")
    assert found(chosen("dot.1", "state"), reward, both) == ""


def test_what_decides_is_needed() -> None:
    asked = instruction("asked", "compare", f32(64, 64), "dot.1", "state")
    by = instruction("choice", "select", f32(64, 64), "asked", "state", "done", stack=HERE)
    assert found(asked, by) == ""


def test_a_mask_that_fills_with_a_constant_chooses_nothing() -> None:
    none = instruction("none", "constant", f32())
    fill = instruction("fill", "broadcast", f32(64, 64), "none")
    assert found(none, fill, chosen("dot.1", "fill")) == ""


def test_of_two_values_that_both_come_of_it_one_is_always_taken() -> None:
    """A gradient, or the same clipped."""
    clipped = instruction("clipped", "multiply", f32(64, 64), "dot.1", "state")
    assert found(clipped, chosen("dot.1", "clipped")) == ""


def test_it_is_followed_into_a_fusion() -> None:
    body = [
        instruction("p0", "parameter", f32(64, 64), parameter_number=0),
        instruction("p1", "parameter", f32(64, 64), parameter_number=1),
        instruction("p2", "parameter", f32(64, 64), parameter_number=2),
        instruction("inner", "select", f32(64, 64), "p0", "p1", "p2", stack=HERE),
    ]
    fusion = instruction("fusion", "fusion", f32(64, 64), "done", "dot.1", "state", calls=["body"])
    assert found(fusion, body=body) == "world.py:54"


@pytest.mark.parametrize(("element", "said"), [(0, "world.py:54"), (1, "")])
def test_only_its_own_element_of_a_tuple_is_followed(element: int, said: str) -> None:
    """The loop leaves both elements as they are; of the other one the result is made."""
    pair = tuple_of(f32(64, 64), f32(64, 64))
    body = [
        instruction("given", "parameter", pair, parameter_number=0),
        instruction("a", "get-tuple-element", f32(64, 64), "given", tuple_index=0),
        instruction("b", "get-tuple-element", f32(64, 64), "given", tuple_index=1),
        instruction("next", "tuple", pair, "a", "b"),
    ]
    cond = [
        instruction("asked", "parameter", pair, parameter_number=0),
        instruction("last", "get-tuple-element", f32(64, 64), "asked", tuple_index=1),
    ]
    held = ("dot.1", "state") if element == 0 else ("state", "dot.1")
    assert said == found(
        instruction("begin", "tuple", pair, *held),
        instruction("loop", "while", pair, "begin", calls=["body", "cond"]),
        instruction("made", "get-tuple-element", f32(64, 64), "loop", tuple_index=0),
        chosen("made", "state"),
        body=body,
        cond=cond,
    )


def test_what_the_host_is_told_is_needed() -> None:
    told = instruction(
        "told", "custom-call", f32(), "dot.1", custom_call_target="xla_python_cpu_callback"
    )
    assert found(told, chosen("dot.1", "state")) == ""


def test_a_program_that_nothing_is_known_of_has_no_choice() -> None:
    (one,) = profile(host(line("tf_XLAEigen", ("dot.1", 0.0, 10.0)))).hosts
    assert chosen_at(one, int(one.space.lines[-1].begin)) == ""


def test_damaged_instructions_have_no_choice() -> None:
    """A select of one value, a branch that is not there."""
    torn = instruction("torn", "select", f32(64, 64), "done", "dot.1", stack=HERE)
    assert found(torn) == ""
    nowhere = instruction("nowhere", "conditional", f32(64, 64), "done", "dot.1")
    assert found(nowhere) == ""
