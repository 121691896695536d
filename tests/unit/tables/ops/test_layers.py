"""What a model's layers take, by the paths of their ops."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.tables.core.op_scopes import layer_of
from stepscope.tables.ops.framework_totals import OpTotals
from stepscope.tables.ops.layers import Layer, layers


def totals(**spent: int) -> OpTotals:
    """Ops by path and type ("a|b:MatMul" for a/b), with their self times."""
    names = [name.rpartition(":")[0].replace("|", "/") for name in spent]
    count = len(names)
    none, times = np.full(count, np.nan), np.asarray(list(spent.values()), dtype=np.int64)
    ones = np.ones(count, dtype=np.int64)
    types = [name.rpartition(":")[2] for name in spent]
    return OpTotals(
        names,
        types,
        ones,
        ones,
        times,
        times,
        np.zeros(count, dtype=bool),
        none,
        none,
        np.zeros(count, dtype=np.int64),
        0,
    )


def test_a_layer_is_its_ops_and_their_gradients_of_whatever_family() -> None:
    found = layers(
        totals(
            **{
                "StatefulPartitionedCall|model|scores|MatMul:MatMul": 20,
                "StatefulPartitionedCall|gradient_tape|model|scores|MatMul|MatMul_1:MatMul": 20,
                "StatefulPartitionedCall|model|scores|BiasAdd:BiasAdd": 10,
                "model|conv1d|Conv1D:Conv2D": 30,
                "gradient_tape|model|conv1d|Conv1D|Conv2DBackpropFilter:Conv2D": 15,
                "adam|Mul:Mul": 4,
                "model|norm|add:AddV2": 1,
            }
        )
    )
    assert found == [Layer("scores", 50, "MatMul"), Layer("conv1d", 45, "Conv2D")]


@pytest.mark.parametrize(
    "spent",
    [
        {
            "gradient_tape|net|table|MatMul|MatMul_1:MatMul": 50,
            "net|table|MatMul:MatMul": 39,
            "net|table|MatMul|ReadVariableOp:ReadVariableOp": 1,
            "net|head|Add:MatMul": 10,
        },
        # The forward op is fused into the activation, and its name is lost.
        {
            "gradient_tape|net|table|convolution|Conv2DBackpropFilter:Conv2D": 70,
            "net|table|Relu:Conv2D": 19,
            "net|table|convolution|ReadVariableOp:ReadVariableOp": 1,
            "net|head|Add:MatMul": 10,
        },
        {
            "gradients|net|table|MatMul_grad|MatMul_1:MatMul": 60,
            "net|table|MatMul:MatMul": 30,
            "net|head|Add:MatMul": 10,
        },
    ],
    ids=["by its name", "fused", "TensorFlow 1"],
)
def test_an_op_that_gradients_are_named_under_is_no_layer(spent: dict[str, int]) -> None:
    assert [(one.name, one.self_ps) for one in layers(totals(**spent))] == [
        ("table", 90),
        ("head", 10),
    ]


def test_a_model_that_is_called_twice_is_two_names_if_its_paths_are() -> None:
    spent = {
        "driver_1|body_1|conv|Conv2D:Conv2D": 60,
        "driver_1|body_1|dense|MatMul:MatMul": 10,
        "driver_3|body_1|conv|Conv2D:Conv2D": 30,
    }
    assert [one.name for one in layers(totals(**spent))] == ["driver_1", "driver_3"]


def test_jax_writes_what_it_differentiates_around_a_path() -> None:
    path = "jit(train_step)/jit(main)/transpose(jvp(Encoder))/Dense_0/dot_general"
    assert layer_of(path) == ("Encoder", "Dense_0")
    assert layer_of("jit(f)/while/body/closed_call/jvp()/dot_general") == ()


@pytest.mark.parametrize(
    "spent",
    [
        {"aten|mm:mm": 10, "aten|add:add": 5},  # PyTorch has no paths
        {"MatMul:MatMul": 60, "head|Softmax:Softmax": 40},  # most of it has none
        {f"matmul_{at}|MatMul:MatMul": 1 for at in range(90)},  # each is small
        {},
    ],
    ids=["PyTorch", "hardly any", "many small ones", "nothing"],
)
def test_where_no_name_tells_none_is_given(spent: dict[str, int]) -> None:
    assert layers(totals(**spent)) == []
