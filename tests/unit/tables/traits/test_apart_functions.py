"""A function without gradients is a part, with what hands it over, beside one that has some."""

from __future__ import annotations

from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.parts.programs import compiled_parts
from stepscope.tables.traits.gradients import APART
from tests.profiles import event
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
    found = account(one)
    assert found is not None
    return {
        (part.kind, part.name): round(part.total_ps / 1e9, 3)
        for part in compiled_parts(one, found, owners(found))
    }


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
