"""What parts of a step are made of, and what they are named by."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stepscope.tables.parts.shares import brief, made_of


def test_long_paths_of_ops_are_told_by_their_ends() -> None:
    path = "StatefulPartitionedCall/gradient_tape/gru_1/while/gru_cell_1/MatMul_grad/MatMul"
    assert brief(path) == "gradient_tape/gru_1/gru_cell_1/MatMul_grad/MatMul"
    path = "jit(ascend)/transpose(jvp(vmap(jit(expm))))/jit(_squaring)/while/body/closed_call/mul"
    assert brief(path) == "…/transpose(jvp(vmap(jit(expm))))/jit(_squaring)/mul"
    assert brief("aten/convolution_backward") == "aten/convolution_backward"
    assert brief("a" * 80) == "a" * 80


@pytest.mark.parametrize(
    ("ops", "told"),
    [
        (("copy", "wrapped_reduce-window.1", "copy.24"), "dynamic_slice, multiply"),
        (("Fill", "AssignVariableOp"), "Fill, AssignVariableOp"),
        (("aten/add", "aten/select"), "aten/add, aten/select"),
    ],
)
def test_functions_that_jax_dispatches_say_more_than_their_instructions(
    ops: tuple[str, ...], told: str
) -> None:
    named = [SimpleNamespace(kind="op", name=name, family=name) for name in ops]
    called = [SimpleNamespace(kind="framework", name=n) for n in ("dynamic_slice", "multiply")]
    for one in called:
        one.family = one.name
    for one in (*named, *called):
        one.total_ps = 1
        one.said = lambda name: name
    part = SimpleNamespace(kind="eager", owners=(*named, *called), total_ps=1)
    made = made_of(part)  # type: ignore[arg-type]  # what is read of a part
    assert ", ".join(share.name for share in made) == told
