"""Costs of PyTorch's ops, worked out by hand beside each."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from stepscope.tables.torch.costs import UNKNOWN, OpCost, cost_of, list_element_bytes
from stepscope.tables.torch.signature import Signature, parse_signature

Tensor = tuple[str, tuple[int, ...]]
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


def lists(op: str, *shapes: list[list[int]], element: int = 4) -> Signature:
    """A call with lists of tensors."""
    args = {"Input type": ["TensorList"] * len(shapes)}
    known = parse_signature(op, str(list(shapes)), json.dumps(args))
    return replace(known, list_element_bytes=element)


# ------------------------------------------------------------------ products

A, B, C = (BF16, (3, 5)), (BF16, (5, 7)), (BF16, (7,))
BATCHES = [(FP32, (4, *shape)) for shape in ((3, 7), (3, 5), (5, 7))]
LEFT, RIGHT, SCALE = (FP8, (3, 5)), (FP8, (5, 7)), (FP32, ())
GROUPS = ((BF16, (12, 5)), (BF16, (4, 5, 7)), ("int", (4,)))


@pytest.mark.parametrize(
    ("made", "model_flops", "flops", "moved"),
    [
        # A bias is added, but the model does not count it.
        (call("aten::addmm", C, A, B, 1, 1), 210, 231, 2 * (7 + 15 + 35 + 21)),
        (call("aten::baddbmm", *BATCHES, 1, 1), 840, 924, 4 * 4 * (21 + 15 + 35 + 21)),
        # Products of 8 bits are written in 16.
        (call("aten::_scaled_mm", LEFT, RIGHT, SCALE, SCALE), 210, 210, 15 + 35 + 2 * 21),
    ],
)
def test_products(made: Signature, model_flops: float, flops: float, moved: float) -> None:
    found = cost_of(made)
    assert (found.model_flops, found.flops, found.bytes) == (model_flops, flops, moved)
    assert found.type == ("fp8" if LEFT[0] in made.types else found.type)


def test_groups_of_unknown_size_are_at_most_all_rows() -> None:
    found = cost_of(call("aten::_grouped_mm", *GROUPS))
    assert found.is_at_most and found.flops == 2 * 12 * 5 * 7


# ------------------------------------------------------------------ convolutions

NONE, ONES, TWOS = "[0, 0]", "[1, 1]", "[2, 2]"
IMAGE, KERNEL = (BF16, (10, 6, 8, 8)), (BF16, (4, 3, 3, 3))  # two groups
SMALL, TURNED = (FP32, (2, 6, 5, 5)), (FP32, (6, 4, 3, 3))
OUT, IN = (BF16, (10, 4, 8, 8)), (BF16, (10, 3, 8, 8))
BACKWARD = ("aten::convolution_backward", OUT, IN, KERNEL, "[0]", ONES, ONES, ONES, False, NONE, 1)


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "out"),
    [
        (ONES, ONES, ONES, 8 * 8),
        (TWOS, NONE, ONES, 3 * 3),
        (ONES, NONE, TWOS, 4 * 4),
        ("[1]", "[1]", "[1]", 8 * 8),
    ],
)
def test_a_convolution_multiplies_the_kernel_at_each_place_of_its_result(
    stride: str, padding: str, dilation: str, out: int
) -> None:
    made = call("aten::cudnn_convolution", IMAGE, KERNEL, padding, stride, dilation, 2, False)
    assert cost_of(made).flops == 2 * 10 * out * 4 * 3 * 9
    assert cost_of(made).bytes == 2 * (10 * 6 * 64 + 4 * 3 * 9 + 10 * 4 * out)


@pytest.mark.parametrize(
    ("made", "flops"),
    [
        # Transposed, it multiplies the kernel at each place of its input.
        (
            call("aten::convolution", SMALL, TURNED, "", TWOS, NONE, ONES, True, NONE, 1),
            2 * 2 * 25 * 6 * 4 * 9,
        ),
        # Backward is one for each gradient; that of the bias is none.
        (call(*BACKWARD, "[True, True, False]"), 2 * 2 * 10 * 64 * 4 * 3 * 9),
        (call(*BACKWARD, "[False, True, True]"), 2 * 10 * 64 * 4 * 3 * 9),
    ],
)
def test_other_convolutions(made: Signature, flops: int) -> None:
    assert cost_of(made).flops == flops


def test_a_convolution_whose_stride_was_not_recorded_is_unknown() -> None:
    old = parse_signature("aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3]]", "{}")
    assert math.isnan(cost_of(old).flops)


# ------------------------------------------------------------------ attention

FLASH = "aten::_flash_attention_forward"


def attended(queries: int, keys: int, heads: int = 4) -> list[Tensor]:
    return [(BF16, (2, queries, 4, 8)), *[(BF16, (2, keys, heads, 8))] * 2]


def flash(queries: int, keys: int, heads: int = 4, *, causal: bool = False) -> OpCost:
    shapes = attended(queries, keys, heads)
    return cost_of(call(FLASH, *shapes, "", "", queries, keys, "0.", causal, False))


def test_attention_is_two_products_over_all_scores() -> None:
    found = flash(6, 10)
    assert found.model_flops == found.flops == 2 * 2 * 4 * 6 * 10 * (8 + 8)
    assert found.bytes == 2 * 2 * 4 * 8 * (6 + 10 + 10 + 6)
    assert flash(6, 10, heads=1).flops == found.flops  # grouped heads count as the query's


@pytest.mark.parametrize(("queries", "keys"), [(6, 6), (4, 6), (6, 4), (1, 9)])
def test_causal_attention_does_what_its_mask_keeps(queries: int, keys: int) -> None:
    pairs = [(i, j) for i in range(queries) for j in range(keys)]
    found = flash(queries, keys, causal=True)
    assert found.flops == pytest.approx(2 * 2 * 4 * sum(j <= i for i, j in pairs) * 16)
    assert found.model_flops == 2 * 2 * 4 * len(pairs) * 16
    # The masks of the library itself end at the last key.
    shapes = attended(queries, keys)
    other = cost_of(call("flash_attn::_flash_attn_forward", *shapes, "0.", "1.", True))
    kept = sum(j <= i + keys - queries for i, j in pairs)
    assert other.flops == pytest.approx(2 * 2 * 4 * kept * 16)


def test_backward_of_attention_is_five_products() -> None:
    op = "aten::_scaled_dot_product_flash_attention_backward"
    one, sums = (BF16, (2, 4, 6, 8)), (FP32, (2, 4, 6))
    found = cost_of(call(op, *[one] * 5, sums, "", "", 6, 6, "0.", False))
    assert found.flops == 5 * 2 * 2 * 4 * 6 * 6 * 8


def test_packed_sequences_are_at_most_as_long_as_the_longest() -> None:
    one, ends = (BF16, (100, 4, 8)), ("int", (5,))
    found = cost_of(call(FLASH, one, one, one, ends, ends, 32, 32, "0.", True, False))
    assert found.is_at_most and found.flops == 2 * 4 * 100 * 32 * 16


# ------------------------------------------------------------------ bytes

HALF, WHOLE, ROW = (BF16, (4, 8)), (FP32, (4, 8)), (FP32, (8,))
TABLE, AT, NORM = (BF16, (100, 8)), (LONG, (5,)), (BF16, (8,))
EXPANDED = [[8, 1], [0, 1], []]


@pytest.mark.parametrize(
    ("made", "moved"),
    [
        (call("aten::relu", HALF), 2 * 32 * 2),
        (call("aten::add", WHOLE, ROW, 1), 4 * (32 + 8 + 32)),
        (call("aten::add", HALF, WHOLE, 1), 2 * 32 + 4 * 32 + 4 * 32),
        (call("aten::add", WHOLE, WHOLE, 1, strides=EXPANDED), 4 * (32 + 8 + 32)),  # is read once
        (call("aten::mul", HALF, SCALE, 1), 2 * 32 + 4 + 2 * 32),
        (call("aten::add_", WHOLE, WHOLE), 4 * 32 * 3),
        (call("aten::eq", WHOLE, 1), 4 * 32 + 32),
        (call("aten::copy_", HALF, WHOLE, False), 2 * 32 + 4 * 32),
        (call("aten::fill_", WHOLE, 0), 4 * 32),
        (call("aten::sum", WHOLE, "[1]", True, ""), 4 * (32 + 4)),
        (call("aten::sum", WHOLE, ""), 4 * (32 + 1)),
        (call("aten::_softmax", HALF, -1, False), 2 * 32 * 2),
        (call("aten::_softmax", HALF, -1, True), 2 * 32 + 4 * 32),
        (call("aten::embedding", TABLE, AT), 8 * 5 + 2 * 5 * 16),
        (call("aten::index_select", TABLE, 0, AT), 8 * 5 + 2 * 5 * 16),
        (call("aten::native_layer_norm", HALF, "[8]", NORM, NORM, 1), 2 * (32 + 8 + 8 + 32)),
        (call("triton_poi_fused_add_0", HALF, HALF, 32, kernel_backend="triton"), 2 * 64),
        (lists("aten::cat", [[1, 8], [3, 8]], element=2), 2 * 2 * 32),
        (lists("aten::_foreach_add_", [[4, 8], [8]], [[4, 8], [8]]), 4 * 3 * 40),
        (lists("aten::_foreach_sqrt", [[4, 8], [8]]), 4 * 2 * 40),
        (lists("aten::_foreach_copy_", [[8]], [[8]]), 4 * 2 * 8),
        (lists("aten::_foreach_zero_", [[8]]), 4 * 8),
        # Parameters, gradients, two moments and no maximum are read; three of them written.
        (lists("aten::_fused_adamw_", *[[[4, 8]]] * 4), 4 * 32 * (4 + 3)),
        (lists("aten::_fused_sgd_", *[[[8]]] * 3), 4 * 8 * (3 + 2)),
    ],
)
def test_other_ops_count_the_bytes_they_move_and_no_operations(made: Signature, moved: int) -> None:
    assert cost_of(made) == OpCost(0.0, 0.0, moved)


def test_an_op_nobody_knows_counts_what_it_is_given_and_says_so() -> None:
    found = cost_of(call("mine::special", HALF, ROW, 1))
    assert math.isnan(found.flops) and found.bytes == 2 * 32 + 4 * 8
    assert found.is_inputs_only and math.isnan(found.moved_bytes)
    assert cost_of(call("mine::nothing", 1)) == UNKNOWN
    written = cost_of(call("my_matmul", HALF, HALF, 32, kernel_backend="triton"))
    assert math.isnan(written.flops) and written.bytes == 2 * 64


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


def test_of_a_list_whose_type_or_shapes_nothing_tells_no_bytes_are_known() -> None:
    untyped = lists("aten::_foreach_add_", [[8]], element=0)
    too_long = lists("aten::_foreach_add_", [])
    assert cost_of(untyped) == cost_of(too_long) == UNKNOWN
    assert too_long.has_long_list and not untyped.has_long_list


APPLY = "void multi_tensor_apply_kernel<TensorListMetadata<2>, UnaryOpFunctor"
MANGLED = "_ZN2at6native25multi_tensor_apply_kernelINS1_14UnaryOpFunctorI"
ADAM = "FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4, (ADAM_MODE)1, false>"


@pytest.mark.parametrize(
    ("kernel", "element"),
    [
        (f"{APPLY}<c10::BFloat16, 2, 1, 1>, at::native::Sqrt<float> >(…)", 2),
        (f"void multi_tensor_apply_kernel<{ADAM}, float const*>(…)", 4),
        (f"{APPLY}<long, 2, 1, 1>, at::native::Copy<long, long> >(…)", 8),
        # Two types: one size for both is none.
        (f"{APPLY}<float, 2, 1, 1>, at::native::Copy<float, c10::BFloat16> >(…)", 0),
        ("void CatArrayBatchedCopy<at::native::OpaqueType<4u>, unsigned int, 3, 64, 64>(…)", 4),
        ("_ZN2at6native19CatArrayBatchedCopyINS0_10OpaqueTypeILj2EEEjLi3EEEvPT_", 2),
        (f"{MANGLED}N3c108BFloat16ELi2EEE", 2),
        (f"{MANGLED}fLi2ELi1EEE", 4),
        ("triton_poi_fused_cat_0", 0),
        ("void mine<MyFunctor<Strange>>(…)", 0),
    ],
)
def test_a_kernel_says_how_large_the_elements_of_its_lists_are(kernel: str, element: int) -> None:
    assert list_element_bytes(kernel) == element
