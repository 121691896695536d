"""Costs of fused attention, by the places of the arguments of each op that launches it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from stepscope.tables.torch.cost import UNKNOWN, OpCost
from stepscope.tables.torch.signature import Signature, Tensor

CostOf = Callable[[Signature], OpCost]
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
    heads_first: bool,
    causal: int | None,
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
        is_causal = causal is not None and (
            call.flag(causal) or call.value(causal) in _CAUSAL_MASKS
        )
        share = _kept(sizes, from_end=from_end) if is_causal and not packed else 1.0
        out = query.bytes / sizes.size_qk * sizes.size_v if sizes.size_qk else math.nan
        size = query.bytes + key.bytes + value.bytes + out
        if backward:  # reads the gradient and the result, too, and writes three gradients
            size = 2 * size + out
        # Without the values of the arguments it is unknown whether half of it was masked.
        is_at_most = packed or (causal is not None and not call.values)
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


_FLASH: Final = _attention(heads_first=False, causal=8, lengths=3)
_FLASH_BACK: Final = _attention(at=1, heads_first=False, causal=11, lengths=6, backward=True)

#: By the op's name, without "aten::" where it has that.
ATTENTION_COSTS: Final[Mapping[str, CostOf]] = {
    "_flash_attention_forward": _FLASH,
    "_flash_attention_backward": _FLASH_BACK,
    "_scaled_dot_product_flash_attention": _attention(heads_first=True, causal=4),
    "_scaled_dot_product_flash_attention_backward": _attention(
        at=1, heads_first=True, causal=11, backward=True
    ),
    "_scaled_dot_product_flash_attention_for_cpu": _attention(heads_first=True, causal=4),
    "_scaled_dot_product_efficient_attention": _attention(heads_first=True, causal=6),
    "_scaled_dot_product_efficient_attention_backward": _attention(
        at=1, heads_first=True, causal=10, backward=True
    ),
    "_efficient_attention_forward": _attention(heads_first=False, causal=9, lengths=4),
    "_efficient_attention_backward": _attention(
        at=1, heads_first=False, causal=14, lengths=6, backward=True
    ),
    "_scaled_dot_product_cudnn_attention": _attention(heads_first=True, causal=6),
    "_cudnn_attention_forward": _attention(heads_first=True, causal=10, lengths=4),
    "_scaled_dot_product_cudnn_attention_backward": _attention(
        at=1, heads_first=True, causal=14, backward=True
    ),
    "flash_attn::_flash_attn_forward": _attention(heads_first=False, causal=5, from_end=True),
    "flash_attn::_flash_attn_backward": _attention(
        at=1, heads_first=False, causal=11, backward=True, from_end=True
    ),
    "flash_attn::_flash_attn_varlen_forward": _attention(
        heads_first=False, causal=9, lengths=3, from_end=True
    ),
    "flash_attn::_flash_attn_varlen_backward": _attention(
        at=1, heads_first=False, causal=15, lengths=9, backward=True, from_end=True
    ),
}
