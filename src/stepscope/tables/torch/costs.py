"""The cost of a call of an op: floating-point operations and bytes, from the shapes of its inputs.

The file has no FLOPs; shapes are there if they were recorded. ``model_flops`` are those of
``torch.utils.flop_counter``: products of matrices and nothing else, masks not regarded, so that
numbers of different programs compare. ``flops`` are what is done: half the scores where
attention is causal, and the addition of a bias. Bytes are each input and output once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from math import prod
from typing import Final, NamedTuple

from stepscope.records import dataclass
from stepscope.tables.torch.signature import TYPES, Shape, Signature, Tensor, element_bytes


@dataclass(frozen=True, slots=True)
class OpCost:
    """The cost of one call; NaN if it was not recorded.

    Attributes:
        model_flops: Operations that the model asks for, as PyTorch's own counter has them.
        flops: Operations that are done.
        bytes: Inputs and outputs, each once.
        type: What is multiplied: "bf16", "fp32" …; "" where nothing is.
        is_at_most: Whether sizes are on the device, so that this is the most it can be.
        is_inputs_only: Whether nothing is known of the op, and ``bytes`` are those of its inputs.
    """

    model_flops: float = math.nan
    flops: float = math.nan
    bytes: float = math.nan
    type: str = ""
    is_at_most: bool = False
    is_inputs_only: bool = False

    @property
    def moved_bytes(self) -> float:
        """``bytes``, NaN where they are not all that is moved."""
        return math.nan if self.is_inputs_only else self.bytes


UNKNOWN = OpCost()
CostOf = Callable[[Signature], OpCost]


def _words(text: str) -> list[str]:
    return text.split()


# ---------------------------------------------------------------------------- products of matrices


def _product(at: int, added: int | None = None) -> CostOf:
    """Return the cost of multiplying inputs ``at`` and ``at + 1`` and adding input ``added``."""

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
    """Return the cost of ``linear(input, weight, bias)`` if it launches kernels by itself."""
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


# ---------------------------------------------------------------------------- fused attention

# Kinds of masks that are causal.
_CAUSAL_MASKS: Final = ("1", "2")


class _Heads(NamedTuple):
    """Sizes of an attention: scores are batch × heads × queries × keys."""

    batch: int
    heads: int
    queries: int
    keys: int
    size_qk: int
    size_v: int


def _sizes(query: Tensor, key: Tensor, value: Tensor, *, heads_first: bool) -> _Heads | None:
    if not len(query.shape) == len(key.shape) == len(value.shape) == 4:
        return None
    heads, length = (1, 2) if heads_first else (2, 1)
    q, k, v = query.shape, key.shape, value.shape
    # With grouped heads several heads of the query share one of the keys: the query's count.
    return _Heads(q[0], q[heads], q[length], k[length], q[3], v[3])


def _kept(sizes: _Heads, *, from_end: bool) -> float:
    """The share of scores that a causal mask keeps.

    Row i of the queries sees the keys up to i, or, counted ``from_end``, as many as leave the last
    row to see all keys.
    """
    queries, keys = sizes.queries, sizes.keys
    if not queries or not keys:
        return 1.0
    offset = keys - queries if from_end else 0
    # Rows see offset+1 … offset+queries keys, none below 0 and none above `keys`.
    first, last = offset + 1, offset + queries
    grows_from, grows_to = max(first, 1), min(last, keys)
    seen = 0.0
    if grows_to >= grows_from:
        seen = (grows_from + grows_to) * (grows_to - grows_from + 1) / 2
    seen += max(last - max(keys, first - 1), 0) * keys
    return seen / (queries * keys)


def _attention(
    *,
    at: int = 0,
    heads_first: bool = False,
    causal: int,
    lengths: int | None = None,
    backward: bool = False,
    from_end: bool = False,
) -> CostOf:
    """Of an op with query, key and value from ``at`` on.

    Args:
        at: Place of the query.
        heads_first: Whether shapes are batch, heads, length (else batch, length, heads).
        causal: Place of the flag, or of the kind of mask.
        lengths: Place of the sequences' begins, where several are packed into one row; the
            longest query and key stand two and three places behind.
        backward: Five products, scores computed once more, instead of two.
        from_end: Whether a causal mask is counted from the end.
    """

    def cost(call: Signature) -> OpCost:
        query, key, value = (call.tensor(at + place) for place in range(3))
        if query is None or key is None or value is None:
            return UNKNOWN
        packed = lengths is not None and call.tensor(lengths) is not None
        sizes = _packed(call, query, key, value, lengths or 0) if packed else None
        sizes = sizes or _sizes(query, key, value, heads_first=heads_first)
        if sizes is None:
            return UNKNOWN
        scores = sizes.batch * sizes.heads * sizes.queries * sizes.keys
        products = (3, 2) if backward else (1, 1)
        model = 2.0 * scores * (products[0] * sizes.size_qk + products[1] * sizes.size_v)
        is_causal = call.flag(causal) or call.value(causal) in _CAUSAL_MASKS
        share = _kept(sizes, from_end=from_end) if is_causal and not packed else 1.0
        out = query.bytes / sizes.size_qk * sizes.size_v if sizes.size_qk else math.nan
        size = query.bytes + key.bytes + value.bytes + out
        if backward:  # reads the gradient and the result, too, and writes three gradients
            size = 2 * size + out
        # Without the values of the arguments it is unknown whether half of it was masked.
        is_at_most = packed or not call.values
        return OpCost(model, model * share, size, query.type, is_at_most)

    return cost


def _packed(
    call: Signature, query: Tensor, key: Tensor, value: Tensor, lengths: int
) -> _Heads | None:
    """Sequences packed one after the other: at most, each query sees as many keys as any does."""
    longest = call.whole_numbers(lengths + 3)
    if not longest or len(query.shape) < 3 or len(value.shape) < 3:
        return None
    batch = query.shape[0] if len(query.shape) == 4 else 1
    tokens, heads, size = query.shape[-3:]
    return _Heads(batch, heads, tokens, longest[0], size, value.shape[-1])


_of_heads: Final = partial(_attention, heads_first=True)
_backward: Final = partial(_attention, at=1, backward=True)


# ---------------------------------------------------------------------------- what only moves bytes


def _moved(size: float) -> OpCost:
    """An op that moves bytes and multiplies nothing."""
    return OpCost(0.0, 0.0, size)


def _element_by_element(count: int, *, out_type: str = "") -> CostOf:
    """Return the cost of combining the first ``count`` inputs by element, with broadcasting."""

    def cost(call: Signature) -> OpCost:
        inputs = [one for at in range(count) if (one := call.tensor(at)) is not None]
        if not inputs:
            return UNKNOWN
        size = sum(one.bytes for one in inputs)
        if call.op.endswith("_"):  # in place: what is read is written
            return _moved(size + inputs[0].bytes)
        out = prod(_broadcast(one.shape for one in inputs))
        return _moved(size + out * element_bytes(out_type or _promoted(inputs)))

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
    return _moved(sum(one.bytes for one in inputs) + inputs[0].bytes)


def _softmax(call: Signature) -> OpCost:
    one = call.tensor(0)
    if one is None:
        return UNKNOWN
    to_float = call.flag(2)
    return _moved(one.bytes + prod(one.shape) * (4.0 if to_float else element_bytes(one.type)))


def _each_once(count: int) -> CostOf:
    """Return the cost of reading or writing each of the first ``count`` inputs once."""

    def cost(call: Signature) -> OpCost:
        inputs = [call.tensor(at) for at in range(count)]
        known = [one.bytes for one in inputs if one is not None]
        return _moved(sum(known)) if len(known) == count else UNKNOWN

    return cost


def _reduce(call: Signature) -> OpCost:
    """Of reductions: the result's size is that of the dimensions that are left."""
    one = call.tensor(0)
    if one is None:
        return UNKNOWN
    if not call.values:
        return _moved(one.bytes)  # what is written is small beside what is read
    rank = len(one.shape)
    dims = {at % rank for at in call.whole_numbers(1)} if rank else set()
    left = [size for at, size in enumerate(one.shape) if at not in dims] if dims else []
    return _moved(one.bytes + prod(left) * element_bytes(one.type))


def _gathered(index: int, *, whole_rows: bool = True) -> CostOf:
    """Of look-ups in a table: its rows or elements are read and written, the rest is not."""

    def cost(call: Signature) -> OpCost:
        values, at = call.tensor(0), call.tensor(index)
        if values is None or at is None or not values.shape:
            return UNKNOWN
        each = (prod(values.shape[1:]) if whole_rows else 1) * element_bytes(values.type)
        return _moved(at.bytes + 2 * prod(at.shape) * each)

    return cost


def _embedding_backward(call: Signature) -> OpCost:
    grad, at, rows = call.tensor(0), call.tensor(1), call.whole_numbers(2)
    if grad is None or at is None or not rows or not grad.shape:
        return UNKNOWN
    return _moved(grad.bytes + at.bytes + rows[0] * grad.shape[-1] * element_bytes(grad.type))


def _triton_cost(call: Signature) -> OpCost:
    """Of a kernel of Triton's: every tensor it is given once.

    Inductor's pointwise, reducing and persistent kernels multiply no matrices; of others nothing
    says whether they do.
    """
    inputs = list(call.tensors())
    size = sum(one.bytes for one in inputs) if inputs else math.nan
    plain = call.op.startswith(("triton_poi_", "triton_red_", "triton_per_"))
    return _moved(size) if plain else OpCost(bytes=size)


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


# ---------------------------------------------------------------------------- lists of tensors

# Lists are recorded with their number of elements, without a type: it is in names of kernels, which
# are templates of it.
# "OpaqueType<4u>" and "UnaryOpFunctor<float, 2, 1, 1>", as compilers and as linkers write them.
_OPAQUE: Final = re.compile(r"OpaqueType(?:<|ILj)(\d{1,2})")
_FUNCTOR: Final = re.compile(r"Functor(?:<([\w:]+(?: int)?)|I(N3c108BFloat16E|N3c104HalfE|[a-z]))")
_COPIES: Final = re.compile(r"Copy<([\w:]+), ([\w:]+)>")
_MANGLED: Final = {
    "f": 4,
    "d": 8,
    "l": 8,
    "x": 8,
    "i": 4,
    "s": 2,
    "a": 1,
    "h": 1,
    "b": 1,
    "N3c108BFloat16E": 2,
    "N3c104HalfE": 2,
}


def list_element_bytes(kernel: str) -> int:
    """Bytes of an element of the lists that a kernel goes through, by its name; 0 for unknown."""
    opaque = _OPAQUE.search(kernel)
    if opaque is not None:
        return int(opaque[1])
    found = _FUNCTOR.search(kernel)
    copied = _COPIES.search(kernel)
    if found is None or (copied is not None and copied[1] != copied[2]):
        return 0
    return _MANGLED.get(found[2], 0) if found[2] else TYPES.get(found[1], ("", 0))[1]


def _lists(*written: int, reads: int | None = None) -> CostOf:
    """Of an op that reads its first lists (all by default) and writes some of them."""

    def cost(call: Signature) -> OpCost:
        sizes = [call.list_bytes(at) for at in range(len(call.dims))]
        read = [one for one in sizes[:reads] if one is not None]
        size = sum(read) + sum(sizes[at] or 0.0 for at in written if at < len(sizes))
        return _moved(size) if read and not math.isnan(size) else UNKNOWN

    return cost


_MAPS: Final = _words(
    "add sub mul div clamp_min clamp_max maximum minimum pow addcmul addcdiv lerp abs neg sqrt "
    "rsqrt exp expm1 log log1p log2 log10 sign reciprocal sigmoid tanh sin cos tan erf erfc ceil "
    "floor round trunc frac lgamma acos asin atan cosh sinh"
)


# ---------------------------------------------------------------------------- any known op

# By the op's name, without "aten::" where it has that.
_OPS: Final[Mapping[str, CostOf]] = {
    **dict.fromkeys(_words("mm bmm mv dot vdot matmul _int_mm _scaled_mm"), _product(0)),
    **dict.fromkeys(
        _words("addmm addmm_ _addmm_activation addmv baddbmm baddbmm_"), _product(1, added=0)
    ),
    "linear": _linear,
    **dict.fromkeys(_words("_grouped_mm _scaled_grouped_mm"), _grouped),
    **dict.fromkeys(_words("convolution _convolution convolution_overrideable"), _PLAIN),
    "cudnn_convolution": _convolution(bias=None, padding=2, stride=3, dilation=4),
    "cudnn_convolution_relu": _convolution(bias=2, stride=3, padding=4, dilation=5),
    **dict.fromkeys(
        _words("miopen_convolution miopen_depthwise_convolution mkldnn_convolution"),
        _convolution(bias=2, padding=3, stride=4, dilation=5),
    ),
    "_conv_depthwise2d": _convolution(bias=3, stride=4, padding=5, dilation=6),
    "conv_depthwise3d": _convolution(bias=3, stride=4, padding=5, dilation=6),
    "convolution_backward": _convolution_backward,
    "cudnn_convolution_backward_input": _one_gradient,
    "cudnn_convolution_backward_weight": _one_gradient,
    "_flash_attention_forward": _attention(causal=8, lengths=3),
    "_flash_attention_backward": _backward(causal=11, lengths=6),
    "_scaled_dot_product_flash_attention": _of_heads(causal=4),
    "_scaled_dot_product_flash_attention_backward": _backward(heads_first=True, causal=11),
    "_scaled_dot_product_flash_attention_for_cpu": _of_heads(causal=4),
    "_scaled_dot_product_efficient_attention": _of_heads(causal=6),
    "_scaled_dot_product_efficient_attention_backward": _backward(heads_first=True, causal=10),
    "_efficient_attention_forward": _attention(causal=9, lengths=4),
    "_efficient_attention_backward": _backward(causal=14, lengths=6),
    "_scaled_dot_product_cudnn_attention": _of_heads(causal=6),
    "_cudnn_attention_forward": _of_heads(causal=10, lengths=4),
    "_scaled_dot_product_cudnn_attention_backward": _backward(heads_first=True, causal=14),
    "flash_attn::_flash_attn_forward": _attention(causal=5, from_end=True),
    "flash_attn::_flash_attn_backward": _backward(causal=11, from_end=True),
    "flash_attn::_flash_attn_varlen_forward": _attention(causal=9, lengths=3, from_end=True),
    "flash_attn::_flash_attn_varlen_backward": _backward(causal=15, lengths=9, from_end=True),
    **dict.fromkeys([*_UNARY, *(f"{one}_" for one in _UNARY)], _element_by_element(1)),
    **dict.fromkeys([*_BINARY, *(f"{one}_" for one in _BINARY)], _element_by_element(2)),
    **dict.fromkeys(_TESTS, _element_by_element(2, out_type="bool")),
    **dict.fromkeys(["logical_not", "isnan", "isinf"], _element_by_element(1, out_type="bool")),
    **dict.fromkeys([*_TERNARY, *(f"{one}_" for one in _TERNARY)], _element_by_element(3)),
    **dict.fromkeys(_NORMS, _like_first),
    **dict.fromkeys(_REDUCTIONS, _reduce),
    **dict.fromkeys(["_softmax", "_log_softmax"], _softmax),
    **dict.fromkeys(["fill_", "zero_"], _each_once(1)),
    "copy_": _each_once(2),
    "embedding": _gathered(1),
    "index_select": _gathered(2),
    "gather": _gathered(2, whole_rows=False),
    "embedding_dense_backward": _embedding_backward,
    # What is written is as large as the first, in place or not.
    **dict.fromkeys([f"_foreach_{name}{end}" for name in _MAPS for end in ("", "_")], _lists(0)),
    "_foreach_copy_": _lists(reads=2),  # the targets are written and not read
    # Norms write one number per tensor; zeros are written, not read.
    **dict.fromkeys(_words("_foreach_norm _foreach_max _foreach_zero_"), _lists()),
    "_amp_foreach_non_finite_check_and_unscale_": _lists(0),
    **dict.fromkeys(_words("_fused_adam_ _fused_adamw_"), _lists(0, 2, 3, 4)),
    **dict.fromkeys(_words("_fused_adagrad_ _fused_sgd_"), _lists(0, 2)),
    **dict.fromkeys(_words("cat concat stack _chunk_cat"), _lists(0, reads=1)),
}
_ATEN: Final = "aten::"
_COSTS: Final[Mapping[str, CostOf]] = {
    (name if "::" in name else _ATEN + name): cost for name, cost in _OPS.items()
}


@lru_cache(maxsize=50_000)
def cost_of(call: Signature) -> OpCost:
    """Return the cost of one call; unknown if its shapes were not recorded.

    Of an op that is not known, such as a program's own, the inputs alone.
    """
    if not call.dims:
        return UNKNOWN
    if call.is_triton:
        return _triton_cost(call)
    found = _COSTS.get(call.op)
    return _inputs(call) if found is None else found(call)


def _inputs(call: Signature) -> OpCost:
    """The bytes that an op is given."""
    tensors = [one.bytes for one in call.tensors()]
    lists = [one for at in range(len(call.dims)) if (one := call.list_bytes(at)) is not None]
    size = sum(tensors) + sum(lists)
    return UNKNOWN if math.isnan(size) or not size else OpCost(bytes=size, is_inputs_only=True)
