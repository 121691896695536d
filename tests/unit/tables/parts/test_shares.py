"""What parts of a step are made of, and what they are named by."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import parts
from stepscope.tables.parts.shares import Share, brief, made_of, operands
from tests.profiles import space
from tests.profiles.model import Event, line
from tests.profiles.model import host as model_host


def worded(shares: list[Share]) -> str:
    return ", ".join(f"{share.name} {share.frac:.0%}" for share in shares)


def test_a_family_of_more_ops_than_labels_is_named_by_its_longest() -> None:
    """300 sums of two programs; the longest is neither the first nor the last."""
    ops = [Event(f"m{at}/add:AddV2", 1 + at, 1) for at in range(298)]
    ops += [Event("head/long:AddV2", 400, 300), Event("m/other:AddV2", 720, 5)]
    steps = [Event("train", 1000.0 * n, 1000, {"step_num": n, "_r": 1}) for n in range(2)]
    pool = [
        Event(one.name, 1000.0 * n + one.start_us, one.duration_us) for n in range(2) for one in ops
    ]
    one = Host("h", decode(space(model_host(line("python", *steps), line("tf_pool", *pool)))))
    found = account(one)
    assert found is not None
    (part,) = (part for part in parts(found) if part.kind == "op")
    assert part.first.name == "head/long"
    # Most keep their own names, so that no op bears the time of all the others.
    (rest,) = (owner for owner in part.owners if owner.others)
    assert rest.others + len(part.owners) == len(ops)
    assert sum(owner.total_ps for owner in part.owners) == part.total_ps
    assert rest.said().endswith(f" and {rest.others} other ops")
    assert rest.said() in [share.name for share in made_of(part)]


def test_long_paths_of_ops_are_told_by_their_ends() -> None:
    path = "StatefulPartitionedCall/gradient_tape/gru_1/while/gru_cell_1/MatMul_grad/MatMul"
    assert brief(path) == "gradient_tape/gru_1/gru_cell_1/MatMul_grad/MatMul"
    path = "jit(ascend)/transpose(jvp(vmap(jit(expm))))/jit(_squaring)/while/body/closed_call/mul"
    assert brief(path) == "…/transpose(jvp(vmap(jit(expm))))/jit(_squaring)/mul"
    assert brief("aten/convolution_backward") == "aten/convolution_backward"
    assert brief("a" * 80) == "a" * 80


@pytest.mark.parametrize(
    ("recorded", "told"),
    [
        ("[[128, 512], [512, 1536]]", "128×512, 512×1536"),
        ("[[64], [128,512], [512,64], [], []]", "128×512, 512×64"),
        ("[[], [64]]", ""),
        ("[[1" + " " * 100_000 + ", 2]]", "1×2"),
        ("nonsense", ""),
    ],
)
def test_an_op_is_told_by_the_shapes_of_its_longest_run(recorded: str, told: str) -> None:
    steps = [Event("train", 1000.0 * n, 1000, {"step_num": n, "_r": 1}) for n in range(2)]
    ops = [
        Event("aten/mm:mm", 100.0, 50, {"shape": "[[1, 2], [2, 3]]"}),
        Event("aten/mm:mm", 1100.0, 500, {"shape": recorded}),
    ]
    one = Host("h", decode(space(model_host(line("python", *steps, *ops)))))
    found = account(one)
    assert found is not None
    (part,) = (part for part in parts(found) if part.kind == "op")
    assert ", ".join(operands(one, part)) == told


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
