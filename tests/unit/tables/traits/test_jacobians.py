"""Backward passes that are mapped over outputs, by the names that JAX gives ops."""

from __future__ import annotations

import pytest

from stepscope.tables.traits.jacobians import is_jacobian
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

X = instruction("x", "parameter", f32(50, 64), parameter_number=0)


def op(name: str, at: int) -> Instruction:
    return instruction(f"dot.{at}", "dot", f32(50, 50), "x", "x", op_name=f"jit(step)/{name}/dot")


def found(forward: str, backward: str) -> bool:
    """Whether the second op is of a backward pass that is mapped over outputs."""
    proto = program("jit_step", [X, op(forward, 1), op(backward, 2)])
    thread = line("tf_XLAEigen", ("dot.2", 0.0, 10.0, {"hlo_op": "dot.2", "program_id": u(7)}))
    (one,) = profile(metadata_plane(("jit_step", 7, proto)), host(thread)).hosts
    return is_jacobian(one, int(one.space.lines[-1].begin))


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        ("jvp()", "vmap(transpose(jvp()))"),
        ("jvp(score)", "vmap(transpose(jvp(score)))"),
        ("vmap(jvp())", "vmap(vmap(transpose(jvp())))"),
        ("jvp(vmap(jvp()))", "transpose(jvp(vmap(vmap(transpose(jvp())))))"),
        ("vmap(jvp(jvp()))", "vmap(jvp(vmap(transpose(jvp()))))"),
    ],
)
def test_a_backward_pass_that_is_mapped_more_often_than_the_forward_pass(
    forward: str, backward: str
) -> None:
    assert found(forward, backward)


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        ("jvp()", "transpose(jvp())"),
        ("vmap(jvp())", "vmap(transpose(jvp()))"),
        ("jvp(vmap())", "transpose(jvp(vmap()))"),
        ("jvp(vmap(jvp()))", "transpose(jvp(vmap(transpose(jvp()))))"),
        ("jvp()", "vmap(jvp())"),
        ("", ""),
    ],
)
def test_gradients_of_each_example_map_both(forward: str, backward: str) -> None:
    assert not found(forward, backward)


def test_a_strangers_name_may_be_long() -> None:
    assert not found("jvp()", "vmap(" * 20_000)
