"""Costs of PyTorch's ops, worked out by hand beside each."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from stepscope.tables.torch.costs import UNKNOWN, OpCost, cost_of, list_element_bytes
from stepscope.tables.torch.signature import Signature, parse_signature

BF16, FP32, LONG, FP8 = "c10::BFloat16", "float", "long int", "c10::Float8_e4m3fn"


def call(op: str, *inputs: Any, strides: Any = None, **said: Any) -> Signature:
    """A call; inputs are (type, shape) of tensors, and values of everything else."""
    pairs = [(one, isinstance(one, tuple)) for one in inputs]
    args = {
        "Input type": [one[0] if is_tensor else "Scalar" for one, is_tensor in pairs],
        "Concrete Inputs": ["" if is_tensor else str(one) for one, is_tensor in pairs],
        **({"Input Strides": strides} if strides else {}),
        **said,
    }
    dims = [list(one[1]) if is_tensor else [] for one, is_tensor in pairs]
    return parse_signature(op, str(dims), json.dumps(args))


def test_a_bias_is_done_but_the_model_does_not_count_it() -> None:
    found = cost_of(call("aten::addmm", (BF16, (7,)), (BF16, (3, 5)), (BF16, (5, 7)), 1, 1))
    assert (found.model_flops, found.flops) == (210.0, 231.0)
    assert found.bytes == 2 * (7 + 15 + 35 + 21)
    many = call("aten::baddbmm", (FP32, (4, 3, 7)), (FP32, (4, 3, 5)), (FP32, (4, 5, 7)), 1, 1)
    assert cost_of(many).model_flops == 4 * 210


def test_products_of_eight_bits_are_written_in_sixteen() -> None:
    found = cost_of(call("aten::_scaled_mm", (FP8, (3, 5)), (FP8, (5, 7)), (FP32, ()), (FP32, ())))
    assert (found.flops, found.bytes, found.type) == (210.0, 15 + 35 + 2 * 21, "fp8")


def test_groups_of_unknown_size_are_at_most_all_rows() -> None:
    found = cost_of(call("aten::_grouped_mm", (BF16, (12, 5)), (BF16, (4, 5, 7)), ("int", (4,))))
    assert found.is_at_most and found.flops == 2 * 12 * 5 * 7


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "out"),
    [
        ("[1, 1]", "[1, 1]", "[1, 1]", 8 * 8),
        ("[2, 2]", "[0, 0]", "[1, 1]", 3 * 3),
        ("[1, 1]", "[0, 0]", "[2, 2]", 4 * 4),
        ("[1]", "[1]", "[1]", 8 * 8),
    ],
)
def test_a_convolution_multiplies_the_kernel_at_each_place_of_its_result(
    stride: str, padding: str, dilation: str, out: int
) -> None:
    image, weight = (BF16, (10, 6, 8, 8)), (BF16, (4, 3, 3, 3))  # two groups
    found = cost_of(
        call("aten::cudnn_convolution", image, weight, padding, stride, dilation, 2, False)
    )
    assert found.flops == 2 * 10 * out * 4 * 3 * 9
    assert found.bytes == 2 * (10 * 6 * 64 + 4 * 3 * 9 + 10 * 4 * out)


def test_a_transposed_convolution_multiplies_it_at_each_place_of_its_input() -> None:
    found = cost_of(
        call(
            "aten::convolution",
            (FP32, (2, 6, 5, 5)),
            (FP32, (6, 4, 3, 3)),
            "",
            "[2, 2]",
            "[0, 0]",
            "[1, 1]",
            True,
            "[0, 0]",
            1,
        )
    )
    assert found.flops == 2 * 2 * 25 * 6 * 4 * 9


@pytest.mark.parametrize(
    ("mask", "times"), [("[True, True, False]", 2), ("[False, True, True]", 1)]
)
def test_backward_of_a_convolution_is_one_for_each_gradient(mask: str, times: int) -> None:
    found = cost_of(
        call("aten::convolution_backward", (BF16, (10, 4, 8, 8)), (BF16, (10, 3, 8, 8)),
             (BF16, (4, 3, 3, 3)), "[0]", "[1, 1]", "[1, 1]", "[1, 1]", False, "[0, 0]", 1, mask)
    )  # fmt: skip
    assert found.flops == times * 2 * 10 * 64 * 4 * 3 * 9


def test_a_convolution_whose_stride_was_not_recorded_is_unknown() -> None:
    old = parse_signature("aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3]]", "{}")
    assert math.isnan(cost_of(old).flops)


def flash(queries: int, keys: int, heads: int = 4, *, causal: bool = False) -> OpCost:
    shapes = [(BF16, (2, queries, 4, 8)), *[(BF16, (2, keys, heads, 8))] * 2]
    return cost_of(
        call("aten::_flash_attention_forward", *shapes, "", "", queries, keys, "0.", causal, False)
    )


def test_attention_is_two_products_over_all_scores() -> None:
    found = flash(6, 10)
    assert found.model_flops == found.flops == 2 * 2 * 4 * 6 * 10 * (8 + 8)
    assert found.bytes == 2 * 2 * 4 * 8 * (6 + 10 + 10 + 6)
    assert flash(6, 10, heads=1).flops == found.flops  # grouped heads count as the query's


@pytest.mark.parametrize(("queries", "keys"), [(6, 6), (4, 6), (6, 4), (1, 9)])
def test_causal_attention_does_what_its_mask_keeps(queries: int, keys: int) -> None:
    kept = sum(j <= i for i in range(queries) for j in range(keys))
    found = flash(queries, keys, causal=True)
    assert found.flops == pytest.approx(2 * 2 * 4 * kept * 16)
    assert found.model_flops == 2 * 2 * 4 * queries * keys * 16
    shapes = [(BF16, (2, queries, 4, 8)), *[(BF16, (2, keys, 4, 8))] * 2]
    other = cost_of(call("flash_attn::_flash_attn_forward", *shapes, "0.", "1.", True))
    kept = sum(j <= i + keys - queries for i in range(queries) for j in range(keys))
    assert other.flops == pytest.approx(2 * 2 * 4 * kept * 16)


def test_backward_of_attention_is_five_products() -> None:
    one = (BF16, (2, 4, 6, 8))
    found = cost_of(
        call("aten::_scaled_dot_product_flash_attention_backward", one, one, one, one, one,
             (FP32, (2, 4, 6)), "", "", 6, 6, "0.", False)
    )  # fmt: skip
    assert found.flops == 5 * 2 * 2 * 4 * 6 * 6 * 8


def test_packed_sequences_are_at_most_as_long_as_the_longest() -> None:
    one = (BF16, (100, 4, 8))
    ends = ("int", (5,))
    found = cost_of(
        call("aten::_flash_attention_forward", one, one, one, ends, ends, 32, 32, "0.", True, False)
    )
    assert found.is_at_most and found.flops == 2 * 4 * 100 * 32 * 16


@pytest.mark.parametrize(
    ("made", "moved"),
    [
        (call("aten::relu", (BF16, (4, 8))), 2 * 32 * 2),
        (call("aten::add", (FP32, (4, 8)), (FP32, (8,)), 1), 4 * (32 + 8 + 32)),
        (call("aten::add", (BF16, (4, 8)), (FP32, (4, 8)), 1), 2 * 32 + 4 * 32 + 4 * 32),
        (call("aten::mul", (BF16, (4, 8)), (FP32, ()), 1), 2 * 32 + 4 + 2 * 32),
        (call("aten::add_", (FP32, (4, 8)), (FP32, (4, 8)), 1), 4 * 32 * 3),
        (call("aten::eq", (FP32, (4, 8)), 1), 4 * 32 + 32),
        (call("aten::copy_", (BF16, (4, 8)), (FP32, (4, 8)), False), 2 * 32 + 4 * 32),
        (call("aten::fill_", (FP32, (4, 8)), 0), 4 * 32),
        (call("aten::sum", (FP32, (4, 8)), "[1]", True, ""), 4 * (32 + 4)),
        (call("aten::sum", (FP32, (4, 8)), ""), 4 * (32 + 1)),
        (call("aten::_softmax", (BF16, (4, 8)), -1, False), 2 * 32 * 2),
        (call("aten::_softmax", (BF16, (4, 8)), -1, True), 2 * 32 + 4 * 32),
        (call("aten::embedding", (BF16, (100, 8)), (LONG, (5,))), 8 * 5 + 2 * 5 * 16),
        (call("aten::index_select", (BF16, (100, 8)), 0, (LONG, (5,))), 8 * 5 + 2 * 5 * 16),
        (
            call("aten::native_layer_norm", (BF16, (4, 8)), "[8]", (BF16, (8,)), (BF16, (8,)), 1),
            2 * (32 + 8 + 8 + 32),
        ),
    ],
)
def test_other_ops_count_the_bytes_they_move_and_no_operations(made: Signature, moved: int) -> None:
    assert cost_of(made) == OpCost(0.0, 0.0, moved)


def test_what_is_expanded_is_read_once() -> None:
    made = call("aten::add", (FP32, (4, 8)), (FP32, (4, 8)), 1, strides=[[8, 1], [0, 1], []])
    assert cost_of(made).bytes == 4 * (32 + 8 + 32)


def test_a_kernel_of_triton_moves_its_tensors() -> None:
    said = {"kernel_backend": "triton"}
    made = call("triton_poi_fused_add_0", (BF16, (4, 8)), (BF16, (4, 8)), 32, **said)
    assert cost_of(made) == OpCost(0.0, 0.0, 2 * 64)
    other = cost_of(call("my_matmul", (BF16, (4, 8)), (BF16, (4, 8)), 32, **said))
    assert math.isnan(other.flops) and other.bytes == 2 * 64


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ("", ""),
        ("[[", "{"),
        ("[[3, 5], [5, 7]]", "[]"),
        ("[[1e400], [5]]", "{}"),
        (str([[10**30, 5], [5, 7]]), "{}"),
        (str([[-3, 5], [5, 7]]), "{}"),
        ("[" * 5000, "{}"),
        (str([[2] * 13, [2] * 13]), "{}"),
        ('{"a": 1}', '{"Input type": "x"}'),
    ],
)
def test_damaged_shapes_cost_nothing_that_anybody_could_print(shapes: str, said: str) -> None:
    found = cost_of(parse_signature("aten::mm", shapes, said))
    assert math.isnan(found.flops) or found.flops == 210


def test_an_op_nobody_knows_counts_what_it_is_given_and_says_so() -> None:
    found = cost_of(call("mine::special", (BF16, (4, 8)), (FP32, (8,)), 1))
    assert math.isnan(found.flops) and found.bytes == 2 * 32 + 4 * 8
    assert found.is_inputs_only and math.isnan(found.moved_bytes)
    assert cost_of(call("mine::nothing", 1)) == UNKNOWN


def lists(op: str, *shapes: list[list[int]], element: int = 4) -> Signature:
    """A call with lists of tensors."""
    args = {"Input type": ["TensorList"] * len(shapes)}
    return replace(
        parse_signature(op, str(list(shapes)), json.dumps(args)), list_element_bytes=element
    )


@pytest.mark.parametrize(
    ("made", "moved"),
    [
        (lists("aten::cat", [[1, 8], [3, 8]], element=2), 2 * 2 * 32),
        (lists("aten::_foreach_add_", [[4, 8], [8]], [[4, 8], [8]]), 4 * 3 * 40),
        (lists("aten::_foreach_sqrt", [[4, 8], [8]]), 4 * 2 * 40),
        (lists("aten::_foreach_copy_", [[8]], [[8]]), 4 * 2 * 8),
        (lists("aten::_foreach_zero_", [[8]]), 4 * 8),
        # Parameters, gradients, two moments and no maximum are read; three of them written.
        (lists("aten::_fused_adamw_", [[4, 8]], [[4, 8]], [[4, 8]], [[4, 8]]), 4 * 32 * (4 + 3)),
        (lists("aten::_fused_sgd_", [[8]], [[8]], [[8]]), 4 * 8 * (3 + 2)),
    ],
)
def test_lists_of_tensors_are_moved_as_their_elements_are(made: Signature, moved: int) -> None:
    assert cost_of(made) == OpCost(0.0, 0.0, moved)


def test_of_a_list_whose_type_or_shapes_nothing_tells_no_bytes_are_known() -> None:
    assert cost_of(lists("aten::_foreach_add_", [[8]], element=0)) == UNKNOWN
    too_long = lists("aten::_foreach_add_", [], element=4)
    assert cost_of(too_long) == UNKNOWN and too_long.has_long_list
    assert not lists("aten::_foreach_add_", [[8]]).has_long_list


@pytest.mark.parametrize(
    ("kernel", "element"),
    [
        ("void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>, "
         "UnaryOpFunctor<c10::BFloat16, 2, 1, 1>, at::native::Sqrt<float> >(…)", 2),
        ("void multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, "
         "FusedAdamMathFunctor<float, 4, (ADAM_MODE)1, false>, float const*>(…)", 4),
        ("void multi_tensor_apply_kernel<TensorListMetadata<2>, UnaryOpFunctor<long, 2, 1, 1>, "
         "at::native::Copy<long, long> >(…)", 8),
        ("void multi_tensor_apply_kernel<TensorListMetadata<2>, UnaryOpFunctor<float, 2, 1, 1>, "
         "at::native::Copy<float, c10::BFloat16> >(…)", 0),  # two types: one size for both is none
        ("void CatArrayBatchedCopy<at::native::OpaqueType<4u>, unsigned int, 3, 64, 64>(…)", 4),
        ("_ZN2at6native19CatArrayBatchedCopyINS0_10OpaqueTypeILj2EEEjLi3EEEvPT_", 2),
        ("_ZN2at6native25multi_tensor_apply_kernelINS1_14UnaryOpFunctorIN3c108BFloat16ELi2EEE", 2),
        ("_ZN2at6native25multi_tensor_apply_kernelINS1_14UnaryOpFunctorIfLi2ELi1EEE", 4),
        ("triton_poi_fused_cat_0", 0),
        ("void mine<MyFunctor<Strange>>(…)", 0),
    ],
)  # fmt: skip
def test_a_kernel_says_how_large_the_elements_of_its_lists_are(kernel: str, element: int) -> None:
    assert list_element_bytes(kernel) == element
