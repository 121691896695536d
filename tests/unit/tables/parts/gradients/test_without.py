"""Products that no gradient goes through, of a step that computes some, are a part of their own."""

from __future__ import annotations

import pytest

from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.parts.grouping import compiled_parts
from stepscope.tables.traits.gradient_names import apart_from_gradients
from tests.profiles import event
from tests.unit.tables.account.test_account import host


def products(pool: str, **names: str) -> dict[bool, float]:
    """Milliseconds of products in all steps, by whether they are apart from gradients."""
    one = host(
        f"""
        /host:CPU
          python   S---------S---------
          "        W--------.W--------.
          tf_pool  {pool}
        """,
        W=event("BlockHostUntilReady"),
        **{letter: event(name) for letter, name in names.items()},
    )
    found = account(one)
    assert found is not None
    return {
        part.is_apart: part.total_ps / 1e9
        for part in compiled_parts(one, found, owners(found))
        if part.kind == "op" and part.name == "MatMul"
    }


TRAINED = {
    "F": "StatefulPartitionedCall/net/dense/MatMul:MatMul",
    "G": "StatefulPartitionedCall/gradient_tape/net/dense/MatMul/MatMul_1:MatMul",
}


def test_a_constant_that_is_multiplied_again_is_apart_from_the_layer() -> None:
    power = {"P": "StatefulPartitionedCall/net/hops/MatMul:MatMul"}
    assert products("PPPFGG...." * 2, **TRAINED, **power) == {True: 0.6, False: 0.6}


@pytest.mark.parametrize(
    "other",
    [
        "StatefulPartitionedCall/net/dense/BiasAdd:_FusedMatMul",
        "StatefulPartitionedCall/while/body/cell/MatMul:MatMul",
        "StatefulPartitionedCall/StatefulPartitionedCall/score/MatMul:MatMul",
        "MatMul:MatMul",
    ],
    ids=["fused with its bias", "in a loop", "in a function that is called", "in no scope"],
)
def test_of_a_product_whose_gradient_may_have_another_name_nothing_is_said(other: str) -> None:
    assert products("PPPPFGG..." * 2, **TRAINED, P=other) == {False: 1.4}


def test_where_nothing_is_trained_nothing_is_apart() -> None:
    assert products("PPPPFF...." * 2, F=TRAINED["F"], P="serve/net/MatMul:MatMul") == {False: 1.2}


def test_jax_tells_what_it_differentiates() -> None:
    one = host("/host:CPU\n  python   S---------S---------")
    forward, backward = "jit(step)/jvp(Net)/dot_general", "jit(step)/transpose(jvp(Net))/transpose"
    apart, other = "jit(step)/while/body/dot_general", "jit(step)/custom_vjp_call/dot_general"
    names = [forward, backward, apart, other, "jit(norms)/dot_general", "dot.3"]
    assert apart_from_gradients(one, names) == {apart, "jit(norms)/dot_general"}
    assert apart_from_gradients(one, [forward, apart]) == frozenset()  # nothing goes backward
