"""Costs of ops that multiply no matrices: the bytes that they read and write.

They count no FLOPs, as PyTorch's own counter has it: memory is what bounds them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Final

from stepscope.tables.torch.cost import UNKNOWN, OpCost
from stepscope.tables.torch.signature import Shape, Signature, Tensor, element_bytes

CostOf = Callable[[Signature], OpCost]


def moved(size: float) -> OpCost:
    """An op that moves bytes and multiplies nothing."""
    return OpCost(0.0, 0.0, size)


def _element_by_element(count: int, *, out_type: str = "") -> CostOf:
    """Of ops whose first ``count`` inputs are combined element by element, broadcast if need be."""

    def cost(call: Signature) -> OpCost:
        inputs = [one for at in range(count) if (one := call.tensor(at)) is not None]
        if not inputs:
            return UNKNOWN
        size = sum(one.bytes for one in inputs)
        if call.op.endswith("_"):  # in place: what is read is written
            return moved(size + inputs[0].bytes)
        out = prod(_broadcast(one.shape for one in inputs))
        return moved(size + out * element_bytes(out_type or _promoted(inputs)))

    return cost


def _broadcast(shapes: Iterable[Shape]) -> Shape:
    """The shape that several are broadcast to."""
    listed = list(shapes)
    rank = max(map(len, listed))
    padded = [(1,) * (rank - len(shape)) + shape for shape in listed]
    return tuple(
        next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True)
    )


def _promoted(inputs: list[Tensor]) -> str:
    """The type of a result: of the widest tensor, floating point first, scalars last."""

    def rank(one: Tensor) -> tuple[bool, bool, float]:
        floating = one.type.startswith(("fp", "bf", "complex"))
        width = element_bytes(one.type)
        return bool(one.shape), floating, -1.0 if math.isnan(width) else width

    return max(inputs, key=rank).type


def _like_first(call: Signature) -> OpCost:
    """Of norms and the like: every input once, and a result like the first input."""
    inputs = list(call.tensors())
    if not inputs:
        return UNKNOWN
    return moved(sum(one.bytes for one in inputs) + inputs[0].bytes)


def _softmax(call: Signature) -> OpCost:
    one = call.tensor(0)
    if one is None:
        return UNKNOWN
    to_float = call.flag(2)
    return moved(one.bytes + prod(one.shape) * (4.0 if to_float else element_bytes(one.type)))


def _copy(call: Signature) -> OpCost:
    target, source = call.tensor(0), call.tensor(1)
    return UNKNOWN if target is None or source is None else moved(target.bytes + source.bytes)


def _fill(call: Signature) -> OpCost:
    target = call.tensor(0)
    return UNKNOWN if target is None else moved(target.bytes)


def _reduce(call: Signature) -> OpCost:
    """Of reductions: the result's size is that of the dimensions that are left."""
    one = call.tensor(0)
    if one is None:
        return UNKNOWN
    if not call.values:
        return moved(one.bytes)  # what is written is small beside what is read
    rank = len(one.shape)
    dims = {at % rank for at in call.whole_numbers(1)} if rank else set()
    left = [size for at, size in enumerate(one.shape) if at not in dims] if dims else []
    return moved(one.bytes + prod(left) * element_bytes(one.type))


def _gathered(rows: int, index: int) -> CostOf:
    """Of look-ups of whole rows in a table: they are read and written, the rest is not."""

    def cost(call: Signature) -> OpCost:
        table, at = call.tensor(rows), call.tensor(index)
        if table is None or at is None or not table.shape:
            return UNKNOWN
        row = prod(table.shape[1:]) * element_bytes(table.type)
        return moved(at.bytes + 2 * prod(at.shape) * row)

    return cost


def _gather(call: Signature) -> OpCost:
    """Of look-ups of single elements."""
    table, at = call.tensor(0), call.tensor(2)
    if table is None or at is None:
        return UNKNOWN
    return moved(at.bytes + 2 * prod(at.shape) * element_bytes(table.type))


def _embedding_backward(call: Signature) -> OpCost:
    grad, at, rows = call.tensor(0), call.tensor(1), call.whole_numbers(2)
    if grad is None or at is None or not rows or not grad.shape:
        return UNKNOWN
    return moved(grad.bytes + at.bytes + rows[0] * grad.shape[-1] * element_bytes(grad.type))


def triton_cost(call: Signature) -> OpCost:
    """Of a kernel of Triton's: every tensor it is given once.

    Inductor's pointwise, reducing and persistent kernels multiply no matrices; of others nothing
    says whether they do.
    """
    inputs = list(call.tensors())
    size = sum(one.bytes for one in inputs) if inputs else math.nan
    plain = call.op.startswith(("triton_poi_", "triton_red_", "triton_per_"))
    return moved(size) if plain else OpCost(bytes=size)


def _words(text: str) -> list[str]:
    return text.split()


_UNARY: Final = _words(
    "abs neg exp exp2 expm1 log log2 log1p sqrt rsqrt sin cos tan tanh sigmoid relu relu6 gelu "
    "silu mish elu selu celu clamp clamp_min clamp_max erf erfinv reciprocal square bitwise_not "
    "hardtanh leaky_relu softplus hardswish hardsigmoid log_sigmoid ceil floor round trunc sign "
    "tril triu flip roll clone cumsum cumprod logit nan_to_num"
)
_BINARY: Final = _words(
    "add sub rsub mul div true_divide pow remainder floor_divide fmod maximum minimum atan2 "
    "bitwise_and bitwise_or bitwise_xor masked_fill prelu threshold_backward gelu_backward "
    "silu_backward sigmoid_backward tanh_backward hardtanh_backward leaky_relu_backward "
    "elu_backward hardswish_backward _softmax_backward_data _log_softmax_backward_data "
    "native_dropout_backward mse_loss_backward"
)
_TESTS: Final = _words("eq ne lt le gt ge logical_and logical_or logical_xor")
_TERNARY: Final = _words("where addcmul addcdiv lerp _fused_dropout")
_NORMS: Final = _words(
    "native_layer_norm native_layer_norm_backward native_group_norm native_group_norm_backward "
    "native_batch_norm native_batch_norm_backward cudnn_batch_norm cudnn_batch_norm_backward "
    "miopen_batch_norm miopen_batch_norm_backward _fused_rms_norm _fused_rms_norm_backward"
)
_REDUCTIONS: Final = _words(
    "sum mean prod amax amin max min any all argmax argmin norm linalg_vector_norm var std "
    "logsumexp"
)

#: By the op's name without "aten::".
MOVING_COSTS: Final[Mapping[str, CostOf]] = {
    **dict.fromkeys([*_UNARY, *(f"{one}_" for one in _UNARY)], _element_by_element(1)),
    **dict.fromkeys([*_BINARY, *(f"{one}_" for one in _BINARY)], _element_by_element(2)),
    **dict.fromkeys(_TESTS, _element_by_element(2, out_type="bool")),
    **dict.fromkeys(["logical_not", "isnan", "isinf"], _element_by_element(1, out_type="bool")),
    **dict.fromkeys([*_TERNARY, *(f"{one}_" for one in _TERNARY)], _element_by_element(3)),
    **dict.fromkeys(_NORMS, _like_first),
    **dict.fromkeys(_REDUCTIONS, _reduce),
    **dict.fromkeys(["_softmax", "_log_softmax"], _softmax),
    **dict.fromkeys(["fill_", "zero_"], _fill),
    "copy_": _copy,
    "embedding": _gathered(0, 1),
    "index_select": _gathered(0, 2),
    "gather": _gather,
    "embedding_dense_backward": _embedding_backward,
}
