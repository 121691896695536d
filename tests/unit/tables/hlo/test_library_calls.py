"""FLOPs of calls into libraries, by what they take and give; unknown where that does not tell."""

from __future__ import annotations

import json
import math

import pytest

from stepscope.tables.hlo.library_calls import shape_flops
from stepscope.tables.hlo.shape import TUPLE, Shape, shapes_of_text

BF16, F32, S32 = 16, 11, 4


def bf16(*dimensions: int) -> Shape:
    return Shape(BF16, dimensions)


def _cudnn(*extents: int) -> str:
    noted = {"intermediate_tensor_shape": {"dimensions": [str(one) for one in extents]}}
    return json.dumps({"cudnn_fmha_backend_config": noted})


PRODUCT = 2.0 * 128 * 256 * 512
# 4 sequences of 1,024 with 8 heads of 64: each of the two products makes 2 × 4 × 8 × 1024² × 64.
ONE_PRODUCT = 2.0 * 4 * 8 * 1024**2 * 64
QKV = [bf16(4, 1024, 8, 64)] * 3


@pytest.mark.parametrize(
    ("words", "operands", "result", "flops"),
    [
        ("pallas_matmul", [bf16(128, 512), bf16(512, 256)], bf16(128, 256), PRODUCT),
        ("mosaic_gemm", [bf16(128, 512), bf16(256, 512)], Shape(F32, (128, 256)), PRODUCT),
        # Weights that a batch shares, and a product for each element of the batch.
        ("my_matmul", [bf16(4, 32, 512), bf16(512, 256)], bf16(4, 32, 256), PRODUCT),
        ("bmm.mm", [bf16(8, 16, 32), bf16(8, 32, 64)], bf16(8, 16, 64), 2.0 * 8 * 16 * 32 * 64),
        # A prefetched scalar before the matrices, and a scratch space in the result.
        (
            "matmul",
            [Shape(S32, (1,)), bf16(128, 512), bf16(512, 256)],
            Shape(TUPLE, parts=(bf16(128, 256), Shape(S32, (8,)))),
            PRODUCT,
        ),
        ("flash_attention", QKV, bf16(4, 1024, 8, 64), 2 * ONE_PRODUCT),
        ("splash_mha_bwd", QKV, bf16(4, 1024, 8, 64), 5 * ONE_PRODUCT),
        ("attention_bwd_dq", QKV, bf16(4, 1024, 8, 64), 3 * ONE_PRODUCT),
        ("attention_bwd_dkv", QKV, bf16(4, 1024, 8, 64), 4 * ONE_PRODUCT),
        # A few queries against many keys, of which several heads share each.
        (
            "decode_attention",
            [bf16(4, 8, 1, 64), bf16(4, 2, 1024, 64), bf16(4, 2, 1024, 64)],
            bf16(4, 8, 1, 64),
            2 * 2.0 * 4 * 8 * 1024 * 64,
        ),
    ],
)
def test_shapes_say_what_a_named_call_must_compute(
    words: str, operands: list[Shape], result: Shape, flops: float
) -> None:
    assert shape_flops(words, operands, result) == flops


def test_what_cudnn_notes_of_its_attention_goes_before_a_guess() -> None:
    # 64 heads and 32 positions: by shapes alone the longer would be the sequence.
    query = bf16(2, 32, 64, 128)
    config = _cudnn(2, 64, 32, 32)
    found = shape_flops("__cudnn$fmhaSoftmax", [query] * 3, query, config)
    assert found == 2 * 2.0 * 2 * 64 * 32 * 32 * 128


@pytest.mark.parametrize(
    ("words", "operands", "result"),
    [
        ("tpu_custom_call", [bf16(128, 512), bf16(512, 256)], bf16(128, 256)),
        ("matmul", [bf16(128, 512), bf16(500, 256)], bf16(128, 256)),
        ("matmul", [bf16(128, 512)], bf16(128, 256)),
        ("flash_attention", [bf16(128, 64)] * 3, bf16(128, 64)),
        ("summary", [bf16(128, 512), bf16(512, 256)], bf16(128, 256)),
    ],
)
def test_what_shapes_do_not_tell_is_unknown(
    words: str, operands: list[Shape], result: Shape
) -> None:
    assert math.isnan(shape_flops(words, operands, result))


@pytest.mark.parametrize(
    "config", ["", "{", "[1]", "[" * 100_000, '{"cudnn_fmha_backend_config": 3}']
)
def test_a_config_that_says_nothing_is_left(config: str) -> None:
    assert shape_flops("attention", QKV, bf16(4, 1024, 8, 64), config) == 2 * ONE_PRODUCT


def test_shapes_are_read_from_the_text_of_an_op() -> None:
    text = (
        "%custom-call.3 = (bf16[128,256]{1,0:T(8,128)(2,1)}, s32[]) custom-call("
        "bf16[128,512]{1,0:T(8,128)(2,1)} %a, bf16[512,256]{1,0} %b), "
        'custom_call_target="tpu_custom_call", operand_layout_constraints={f32[9,9]{1,0}}'
    )
    operands, result = shapes_of_text(text)
    assert [str(one) for one in operands] == ["bf16[128,512]", "bf16[512,256]"]
    assert [str(one) for one in result.parts] == ["bf16[128,256]", "s32[]"]
    assert shapes_of_text("all-reduce.3") == ([], Shape(TUPLE))
