"""How a part's time is spread over the steps, and what a part is made of."""

from __future__ import annotations

from math import isnan
from types import SimpleNamespace

import numpy as np
import pytest

from stepscope.tables.parts.series import Series, series
from stepscope.tables.parts.shares import brief, made_of


def of(*times: int) -> Series:
    return series(np.asarray(times, dtype=np.int64))


def bursts(*at: int, steps: int) -> list[int]:
    return [60 * (step in at) for step in range(steps)]


@pytest.mark.parametrize(
    ("times", "every"),
    [
        (bursts(2, steps=6), 0.0),  # came once
        (bursts(0, 5, steps=7), 0.0),  # any two are so many steps apart
        (bursts(0, 3, 6, steps=7), 3.0),
        (bursts(1, 2, 9, 21, steps=30), 0.0),
        # One that another program makes takes the rhythm from none of the loop's own.
        (bursts(*range(0, 80, 8), 19, steps=80), 8.0),
    ],
)
def test_bursts_have_a_rhythm(times: list[int], every: float) -> None:
    assert of(*times).every == every


def test_a_part_without_time_is_in_no_step() -> None:
    assert of(0, 0, 0).steps_frac == 0.0


def test_what_grows_as_the_rest_of_the_step_does_is_the_machine() -> None:
    """What grows from step to step is told by its thirds."""
    part, rest = np.asarray([10, 20, 30, 40, 50, 60]), np.asarray([30, 55, 95, 115, 160, 170])
    grown = pytest.approx(55 / 15)
    assert series(part).growth == grown
    assert isnan(series(part, part + rest).growth)
    # A machine that is twice as slow makes Python six times as slow between its ops.
    assert isnan(series(part, part + np.asarray([50, 52, 60, 70, 95, 100])).growth)
    assert series(part, part + rest[::-1]).growth == grown
    assert series(part, part + 100).growth == grown
    # Beside next to nothing there is nobody to compare with.
    assert series(part, part + rest // 40).growth == grown
    # In blocks of many steps, too.
    time = np.linspace(100, 220, 80)
    time[[7, 19, 33]] = 900
    assert isnan(series(time.astype(np.int64), 2 * time.astype(np.int64)).growth)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (
            "StatefulPartitionedCall/gradient_tape/gru_1/while/gru_cell_1/MatMul_grad/MatMul",
            "gradient_tape/gru_1/gru_cell_1/MatMul_grad/MatMul",
        ),
        (
            "jit(ascend)/transpose(jvp(vmap(jit(expm))))/jit(_squaring)/while/body/closed_call/mul",
            "…/transpose(jvp(vmap(jit(expm))))/jit(_squaring)/mul",
        ),
        ("aten/convolution_backward", "aten/convolution_backward"),
        ("a" * 80, "a" * 80),
    ],
)
def test_long_paths_of_ops_are_told_by_their_ends(path: str, told: str) -> None:
    assert brief(path) == told


@pytest.mark.parametrize(
    ("ops", "told"),
    [
        (["copy", "wrapped_reduce-window.1", "copy.24"], ["dynamic_slice", "multiply"]),
        (["Fill", "AssignVariableOp"], ["Fill", "AssignVariableOp"]),
        (["aten/add", "aten/select"], ["aten/add", "aten/select"]),
    ],
)
def test_functions_that_jax_dispatches_say_more_than_their_instructions(
    ops: list[str], told: list[str]
) -> None:
    kinds = [
        *(("op", name) for name in ops),
        *(("framework", n) for n in ("dynamic_slice", "multiply")),
    ]
    owners = [
        SimpleNamespace(kind=kind, name=name, family=name, total_ps=1, said=str)
        for kind, name in kinds
    ]
    part = SimpleNamespace(kind="eager", owners=tuple(owners), total_ps=1)
    assert [share.name for share in made_of(part)] == told  # type: ignore[arg-type]  # what is read
