"""An op, its gradients and its fused variants are one family."""

from __future__ import annotations

import pytest

from stepscope.schema import names
from stepscope.tables.traits.op_families import UNUSUAL, family_of, scope_of


@pytest.mark.parametrize(
    ("op_type", "family"),
    [
        ("Conv2D", "Conv2D"),
        ("Conv2DBackpropFilter", "Conv2D"),
        ("_FusedConv2D", "Conv2D"),
        ("_MklNativeConv2DBackpropFilterWithBias", "Conv2D"),
        ("_MklNativeFusedMatMul", "MatMul"),
        ("BatchMatMulV2", "MatMul"),
        ("MaxPoolGrad", "MaxPool"),
        ("FusedBatchNormGradV3", "FusedBatchNorm"),
        ("TopKV2", "Sort"),
        # Lists of tensors go with the loop that reads and writes them.
        *((f"TensorList{how}", "while") for how in ("Stack", "FromTensor", "GetItem")),
        ("aten::convolution_backward", "convolution"),
        ("aten::addmm", "matmul"),
        ("aten/_slow_conv2d_forward", "convolution"),
        ("aten/_scaled_dot_product_flash_attention_backward", "scaled_dot_product_attention"),
        ("aten/native_batch_norm_backward", "batch_norm"),
        ("aten/native_layer_norm_backward", "native_layer_norm"),
        ("dot.9", "dot_general"),
        ("AssignSubVariableOp", "AssignSubVariableOp"),
        ("AsString", "text"),
        ("StringSplitV2", "text"),
        ("StaticRegexReplace", "text"),
    ],
)
def test_a_type_belongs_to_a_family(op_type: str, family: str) -> None:
    assert family_of(op_type) == family


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("jit(update)/jvp(jit(_bernoulli))/jit(_uniform)/while/body/closed_call/add", "random"),
        ("jit(step)/jit(_normal)/jit(_normal_real)/erf_inv", "random"),
        ("jit(step)/threefry2x32", "random"),
        ("jit(step)/vmap(jit(_gumbel))/log", "random"),
        ("jit(step)/while/body/add", "while"),
        ("jit(step)/normal_loss/mul", ""),
        ("net/_normal/MatMul", ""),
        ("loop_body/pfor/MatMul", "pfor"),
    ],
)
def test_a_path_lies_in_a_scope(path: str, scope: str) -> None:
    assert scope_of(path) == scope


def test_calls_of_python_from_a_graph_are_unusual_and_what_models_are_made_of_is_not() -> None:
    assert {family_of(op_type) for op_type in names.PYTHON_OPS} <= UNUSUAL
    assert not {"Conv2D", "MatMul", "dot_general", "matmul", "FusedBatchNorm"} & UNUSUAL
