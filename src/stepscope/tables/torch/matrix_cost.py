"""Costs of products of matrices and of convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from math import prod
from typing import Final

from stepscope.tables.torch.cost import UNKNOWN, OpCost
from stepscope.tables.torch.signature import Shape, Signature, Tensor, element_bytes

CostOf = Callable[[Signature], OpCost]


def _product(at: int, added: int | None = None) -> CostOf:
    """Of ops that multiply the inputs ``at`` and ``at + 1``, and add the input ``added``."""

    def cost(call: Signature) -> OpCost:
        left, right = call.tensor(at), call.tensor(at + 1)
        if left is None or right is None or not left.shape or not right.shape:
            return UNKNOWN
        # A vector is a matrix of one row, or of one column.
        rows = left.shape if len(left.shape) > 1 else (1, *left.shape)
        columns = right.shape if len(right.shape) > 1 else (*right.shape, 1)
        batch = rows[:-2] if len(rows) >= len(columns) else columns[:-2]
        out = prod(batch) * rows[-2] * columns[-1]
        flops = 2.0 * out * rows[-1]
        bias = None if added is None else call.tensor(added)
        size = left.bytes + right.bytes + (bias.bytes if bias else 0)
        size += out * _out_bytes(call, left)
        return OpCost(flops, flops + (out if bias else 0), size, left.type)

    return cost


def _out_bytes(call: Signature, left: Tensor) -> float:
    """Bytes of an element of the result; products of 8 bits are written in more."""
    if left.type == "int8":
        return 4
    if left.type in ("fp8", "fp4"):
        return 2
    return element_bytes(left.type)


def _linear(call: Signature) -> OpCost:
    """Of ``linear(input, weight, bias)``, where it launches kernels by itself."""
    rows, weight, bias = (call.tensor(at) for at in range(3))
    if rows is None or weight is None or not rows.shape or len(weight.shape) != 2:
        return UNKNOWN
    out = prod(rows.shape[:-1]) * weight.shape[0]
    flops = 2.0 * out * weight.shape[1]
    size = rows.bytes + weight.bytes + out * element_bytes(rows.type)
    return OpCost(flops, flops + (out if bias else 0), size, rows.type)


def _grouped(call: Signature) -> OpCost:
    """Of products whose group sizes are on the device: at most all rows take part."""
    left, right = call.tensor(0), call.tensor(1)
    if left is None or right is None or len(left.shape) < 2 or len(right.shape) < 2:
        return UNKNOWN
    flops = 2.0 * prod(left.shape) * right.shape[-1]
    groups = 1 if len(right.shape) == 3 or len(left.shape) == 3 else 0
    out = prod(left.shape[:-1]) * right.shape[-1] if groups else 0
    size = left.bytes + right.bytes + out * _out_bytes(call, left)
    return OpCost(flops, flops, size if groups else math.nan, left.type, is_at_most=True)


def _convolution(
    *, bias: int | None, stride: int, padding: int, dilation: int, transposed: int | None = None
) -> CostOf:
    """Of convolutions, by the places of their arguments."""

    def cost(call: Signature) -> OpCost:
        image, weight = call.tensor(0), call.tensor(1)
        if image is None or weight is None or len(image.shape) != len(weight.shape):
            return UNKNOWN
        is_transposed = transposed is not None and call.flag(transposed)
        added = call.tensor(bias) if bias is not None else None
        steps, edges, spread = (call.whole_numbers(at) for at in (stride, padding, dilation))
        if is_transposed:
            flops = 2.0 * image.shape[0] * prod(image.shape[2:]) * prod(weight.shape)
            return OpCost(flops, flops, math.nan, image.type)
        out = _out_shape(image.shape, weight.shape, steps, edges, spread)
        if out is None:
            return UNKNOWN
        # The weight has Cout × Cin/groups × kernel.
        flops = 2.0 * image.shape[0] * prod(out) * prod(weight.shape)
        written = image.shape[0] * weight.shape[0] * prod(out)
        size = image.bytes + weight.bytes + written * element_bytes(image.type)
        size += added.bytes if added else 0
        return OpCost(flops, flops + (written if added else 0), size, image.type)

    return cost


def _out_shape(
    image: Shape, weight: Shape, stride: Shape, padding: Shape, dilation: Shape
) -> Shape | None:
    """The result's size in space; None where an argument was not recorded."""
    found = []
    for at, (size, kernel) in enumerate(zip(image[2:], weight[2:], strict=True)):
        one = [values[min(at, len(values) - 1)] for values in (stride, padding, dilation) if values]
        if len(one) < 3 or one[0] < 1:
            return None
        step, edge, spread = one
        found.append(max((size + 2 * edge - spread * (kernel - 1) - 1) // step + 1, 0))
    return tuple(found)


def _convolution_backward(call: Signature) -> OpCost:
    """Of ``convolution_backward(grad, image, weight, …, transposed, …, output_mask)``."""
    grad, image, weight = (call.tensor(at) for at in range(3))
    if grad is None or image is None or weight is None or len(grad.shape) < 3:
        return UNKNOWN
    wanted = _flags(call.value(10))
    if not wanted:
        return UNKNOWN
    space = image.shape[2:] if call.flag(7) else grad.shape[2:]
    each = 2.0 * grad.shape[0] * prod(space) * prod(weight.shape)
    count = sum(wanted[:2])
    size = grad.bytes
    size += (image.bytes + weight.bytes) * count  # each gradient reads one and writes the other
    return OpCost(each * count, each * count, size, grad.type)


def _flags(text: str) -> list[bool]:
    """The flags of a list such as "[True, False, True]"."""
    words = text.strip("[] ").split(",")
    return [word.strip() == "True" for word in words if word.strip() in ("True", "False")]


def _one_gradient(call: Signature) -> OpCost:
    """Of cuDNN's two halves of a convolution's backward, as PyTorch had them until 1.10.

    ``cudnn_convolution_backward_input(size, grad, weight, …)`` has the weight;
    ``cudnn_convolution_backward_weight(size, grad, image, …)`` does not have the kernel's size.
    """
    grad, weight = call.tensor(1), call.tensor(2)
    if not call.op.endswith("_input") or grad is None or weight is None or len(grad.shape) < 3:
        return UNKNOWN
    flops = 2.0 * grad.shape[0] * prod(grad.shape[2:]) * prod(weight.shape)
    return OpCost(flops, flops, math.nan, grad.type)


_PLAIN: Final = _convolution(bias=2, stride=3, padding=4, dilation=5, transposed=6)

#: By the op's name without "aten::".
MATRIX_COSTS: Final[Mapping[str, CostOf]] = {
    "mm": _product(0),
    "bmm": _product(0),
    "mv": _product(0),
    "dot": _product(0),
    "vdot": _product(0),
    "matmul": _product(0),
    "_int_mm": _product(0),
    "_scaled_mm": _product(0),
    "addmm": _product(1, added=0),
    "addmm_": _product(1, added=0),
    "_addmm_activation": _product(1, added=0),
    "addmv": _product(1, added=0),
    "baddbmm": _product(1, added=0),
    "baddbmm_": _product(1, added=0),
    "linear": _linear,
    "_grouped_mm": _grouped,
    "_scaled_grouped_mm": _grouped,
    "convolution": _PLAIN,
    "_convolution": _PLAIN,
    "convolution_overrideable": _PLAIN,
    "cudnn_convolution": _convolution(bias=None, padding=2, stride=3, dilation=4),
    "cudnn_convolution_relu": _convolution(bias=2, stride=3, padding=4, dilation=5),
    "miopen_convolution": _convolution(bias=2, padding=3, stride=4, dilation=5),
    "miopen_depthwise_convolution": _convolution(bias=2, padding=3, stride=4, dilation=5),
    "mkldnn_convolution": _convolution(bias=2, padding=3, stride=4, dilation=5),
    "_conv_depthwise2d": _convolution(bias=3, stride=4, padding=5, dilation=6),
    "conv_depthwise3d": _convolution(bias=3, stride=4, padding=5, dilation=6),
    "convolution_backward": _convolution_backward,
    "cudnn_convolution_backward_input": _one_gradient,
    "cudnn_convolution_backward_weight": _one_gradient,
}
