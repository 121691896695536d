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
        ("Conv2DBackpropInput", "Conv2D"),
        ("_FusedConv2D", "Conv2D"),
        ("_MklNativeConv2DBackpropFilterWithBias", "Conv2D"),
        ("_MklNativeFusedMatMul", "MatMul"),
        ("BatchMatMulV2", "MatMul"),
        ("MaxPoolGrad", "MaxPool"),
        ("FusedBatchNormGradV3", "FusedBatchNorm"),
        ("TopKV2", "Sort"),
        ("aten::convolution_backward", "convolution"),
        ("aten::addmm", "matmul"),
        ("aten/cudnn_convolution_backward_weight", "convolution"),
        ("aten/_slow_conv2d_forward", "convolution"),
        ("aten/_scaled_dot_product_flash_attention_backward", "scaled_dot_product_attention"),
        ("aten/_flash_attention_forward", "scaled_dot_product_attention"),
        ("aten/native_batch_norm_backward", "batch_norm"),
        ("aten/native_layer_norm_backward", "native_layer_norm"),
        ("dot.9", "dot_general"),
        ("AssignSubVariableOp", "AssignSubVariableOp"),
        ("AsString", "text"),
        ("StringToHashBucketStrong", "text"),
        ("StringSplitV2", "text"),
        ("StaticRegexReplace", "text"),
    ],
)
def test_a_type_belongs_to_a_family(op_type: str, family: str) -> None:
    assert family_of(op_type) == family


def test_what_models_are_made_of_is_not_unusual() -> None:
    assert not {"Conv2D", "MatMul", "dot_general", "matmul", "FusedBatchNorm"} & UNUSUAL


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


@pytest.mark.parametrize("op_type", names.PYTHON_OPS)
def test_calls_of_python_from_a_graph_are_unusual(op_type: str) -> None:
    assert family_of(op_type) in UNUSUAL


def test_lists_of_tensors_go_with_the_loop_that_reads_and_writes_them() -> None:
    for kind in ("TensorListStack", "TensorListFromTensor", "TensorListGetItem"):
        assert family_of(kind) == "while"
