"""FLOPs of calls into libraries, whose code no module holds: from the shapes they take and give.

Products of matrices, convolutions and attention say by their shapes what they must compute; of any
other call it is unknown. Attention counts as without a mask, so a causal one that skips its upper
half does up to half of this.
"""

from __future__ import annotations

import math
import re
from typing import Any

from stepscope.limits import json_value
from stepscope.tables.hlo.module import Instruction
from stepscope.tables.hlo.shape import TUPLE, Shape

_GEMM = re.compile(r"gemm|matmul|(?<![a-z])mm(?![a-z])|(?<![a-z])dot(?![a-z])", re.I)
_ATTENTION = re.compile(r"attention|attn|fmha|(?<![a-z])mha(?![a-z])|sdpa|splash", re.I)
_BACKWARD = re.compile(r"bwd|backward|grad|transpose\(", re.I)
_DQ = re.compile(r"(?<![a-z])d_?q(?![a-z])", re.I)
_DKV = re.compile(r"(?<![a-z])d_?kv?(_d?v)?(?![a-z])", re.I)
_NUMBER = re.compile(r"[0-9]{1,18}")
_FLOATS = frozenset({10, 11, 12, 16, 19, 20, 23, 24, 25, 28, 29, 32})
# Multiply-adds per pair of a query and a key, in head sizes: forward QKᵀ and PV; backward those of
# the weights, of their gradient, and of the gradients of Q, K and V.
_FORWARD, _ALL_BACKWARD, _ONLY_DQ, _ONLY_DKV = 2, 5, 3, 4


def gemm_contracting(config: str) -> tuple[int, ...] | None:
    """The left operand's contracting dimensions from a GPU backend config (JSON)."""
    gemm = _section(config, "gemm_backend_config")
    numbers = gemm.get("dot_dimension_numbers")
    if not isinstance(numbers, dict):
        return None
    said = numbers.get("lhs_contracting_dimensions")
    return _whole(said) if isinstance(said, list) else ()


def library_call_flops(call: Instruction, operands: list[Shape]) -> float:
    """FLOPs of a custom call that is a product or attention by its name; NaN of any other."""
    words = f"{call.custom_call_target} {call.name} {call.op_name}"
    config = call.backend_config[:100_000]
    named = _kernel_name(config)
    return shape_flops(f"{words} {named}", operands, call.shape, config)


def shape_flops(words: str, operands: list[Shape], result: Shape, config: str = "") -> float:
    """FLOPs of a call with these words in its names, from what it takes and gives."""
    taken = [one for one in operands if one.element_type in _FLOATS]
    made = result.parts[0] if result.element_type == TUPLE and result.parts else result
    if _ATTENTION.search(words):
        return _attention_flops(words, taken, config)
    if _GEMM.search(words) and len(taken) >= 2:
        return _product_flops(taken[0], taken[1], made)
    return math.nan


def _product_flops(left: Shape, right: Shape, out: Shape) -> float:
    """Two per multiply-add of a product whose three shapes fit together in one way only."""
    batch = 1
    if len(left.dimensions) == len(right.dimensions) == len(out.dimensions) > 2:
        for extents in zip(left.dimensions, right.dimensions, out.dimensions, strict=True):
            if len(set(extents)) != 1:
                break
            batch *= extents[0]
    a, b, c = (one.elements // max(batch, 1) for one in (left, right, out))
    if not a or not b or not c:
        return math.nan
    inner = math.isqrt(a * b // c)
    fits = inner and inner * inner * c == a * b and not a % inner and not b % inner
    return 2.0 * batch * c * inner if fits else math.nan


def _attention_flops(words: str, taken: list[Shape], config: str) -> float:
    if len(taken) < 3 or any(len(one.dimensions) < 3 for one in taken[:3]):
        return math.nan
    query, key = taken[:2]
    scores = _scores_of_cudnn(config)
    head = query.dimensions[-1]
    pairs = math.prod(scores) if scores else query.elements // max(head, 1) * _keys(query, key)
    products = _FORWARD
    if _BACKWARD.search(words):
        products = _ALL_BACKWARD
        if bool(_DQ.search(words)) != bool(_DKV.search(words)):
            products = _ONLY_DQ if _DQ.search(words) else _ONLY_DKV
    return 2.0 * products * pairs * head if pairs else math.nan


def _keys(query: Shape, key: Shape) -> int:
    """How many keys each query meets: of (batch, keys, heads, size) in either order the keys.

    Queries may have more heads than keys, and be fewer; where both could be it, a sequence is
    longer than heads are many.
    """
    inner = key.dimensions[-3:-1]
    return max(inner) if len(key.dimensions) >= 4 else inner[-1]


def _scores_of_cudnn(config: str) -> tuple[int, ...]:
    """Extents of the attention weights (batch, heads, queries, keys) that cuDNN's calls note."""
    noted = _section(config, "cudnn_fmha_backend_config").get("intermediate_tensor_shape")
    extents = noted.get("dimensions", ()) if isinstance(noted, dict) else ()
    found = _whole(extents) if isinstance(extents, list) else ()
    return found if len(found) == 4 else ()


def _whole(said: list[Any]) -> tuple[int, ...]:
    """Those of a list in JSON that are numbers, or texts of one, that a dimension can have."""
    return tuple(int(one) for one in map(str, said) if _NUMBER.fullmatch(one))


def _section(config: str, name: str) -> dict[str, Any]:
    """A part of a backend config; the whole where it has no such part; {} where it is not JSON."""
    try:
        found: Any = json_value(config)
    except ValueError:
        return {}
    part = found.get(name, found) if isinstance(found, dict) else {}
    return part if isinstance(part, dict) else {}


def _kernel_name(config: str) -> str:
    """The name that Triton and Pallas calls carry: in JSON, or as ``name = "…"``."""
    found = re.search(r"(?:kernel_name|\bname|sym_name)\"?\s*[:=]\s*\"([\w.]{1,200})\"", config)
    return found.group(1) if found else ""
