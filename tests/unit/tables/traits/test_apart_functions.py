"""A function without gradients is a part, with what hands it over, beside one that has some."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Part, compiled_parts
from stepscope.tables.traits.gradients import APART
from tests.profiles import event, space
from tests.profiles.model import EventLike, line, plane
from tests.unit.tables.account.test_account import host

TRAIN, OTHER = "__inference_train_function_12", "__inference_test_function_34"
FORWARD, GRADIENT = "net/dense/MatMul:MatMul", "gradient_tape/net/dense/MatMul/MatMul_1:MatMul"


def told(pool: str, other: str = OTHER, **more: str) -> dict[tuple[str, str], float]:
    """Milliseconds of each part in two steps of 1 ms, which train, then run another function."""
    one = host(
        f"""
        /host:CPU
          python   S---------S---------
          "        T---.O----T---.O----
          tf_pool  {pool}
        """,
        T=event(f"EagerLocalExecute: {TRAIN}"),
        O=event(f"EagerLocalExecute: {other}"),
        F=event(FORWARD),
        G=event(GRADIENT),
        **{letter: event(name) for letter, name in more.items()},
    )
    return {(part.kind, part.name): round(part.total_ps / 1e9, 3) for part in parts_of(one)}


def parts_of(one: Host) -> list[Part]:
    found = account(one)
    assert found is not None
    return compiled_parts(one, found, owners(found))


def test_the_same_layers_in_a_function_without_gradients_are_a_pass_of_its_own() -> None:
    """Of its 500 µs products take 300, and 200 the hand-over: all of it goes with the function."""
    found = told("FFGG.FFF..FFGG.FFF..")
    assert found["layer", APART] == 1.0
    assert found["op", "MatMul"] == 0.8


def test_of_a_program_that_trains_nothing_no_pass_is_apart() -> None:
    assert ("layer", APART) not in told("FFFF.FFF..FFFF.FFF..")


def test_a_function_with_gradients_of_its_own_is_none() -> None:
    """Two models that take turns, as in a GAN."""
    assert ("layer", APART) not in told("FFGG.FGG..FFGG.FGG..")


def test_the_forward_pass_of_a_tape_is_none() -> None:
    """Its gradients are computed in a function that is called later."""
    found = told("FFGG.FFF..FFGG.FFF..", other="__forward_loss_34")
    assert ("layer", APART) not in found


def test_a_metric_without_products_is_none() -> None:
    found = told("FFGG.MMM..FFGG.MMM..", M="metrics/Mean:Mean")
    assert ("layer", APART) not in found


def test_the_line_that_calls_it_is_known_where_python_was_recorded() -> None:
    """Ops that lie in both functions have one name, and the function still tells them apart."""
    calls: list[EventLike] = []
    ops: list[EventLike] = []
    stacks: list[EventLike] = [("$/home/me/train.py:4 main", 0, 2_000)]
    for number, at in enumerate((0, 1_000)):
        calls.append(("train", at, 1_000, {"step_num": number, "_r": 1}))
        calls.append((f"EagerLocalExecute: {TRAIN}", at, 400))
        calls.append((f"EagerLocalExecute: {OTHER}", at + 500, 400))
        ops += [(FORWARD, at, 200), (GRADIENT, at + 200, 200), (FORWARD, at + 500, 350)]
        stacks += [("$/home/me/train.py:9", at, 450), ("$/home/me/train.py:12", at + 450, 550)]
        stacks += [("$/home/me/train.py:20 evaluate", at + 460, 480)]
        stacks += [("$/home/me/train.py:21", at + 460, 480)]
    data = space(
        plane(
            names.HOST_PLANE,
            line("python", *calls, id=7),
            line("tf_pool", *ops, id=8),
        ),
        plane(names.PYTHON_SAMPLES_PLANE, line("MainThread", *stacks, id=7)),
    )
    found = {(part.kind, part.name): part for part in parts_of(Host("h", decode(data)))}
    apart = found["layer", APART]
    assert apart.total_ps == pytest.approx(0.8e9)
    assert apart.first.between == f"within test_function, {APART}"
    placed = next(one for one in apart.owners if one.file)
    assert (placed.function, placed.line) == ("evaluate", 21)
    assert found["op", "MatMul"].total_ps == pytest.approx(0.8e9)
