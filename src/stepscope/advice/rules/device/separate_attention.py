"""Attention runs as a product, a softmax and a product, and not as one fused kernel.

What it checks: the device time of softmaxes whose scores a batched product of matrices writes and
another one reads, with all other ops on tensors of the scores' shape.
Why it matters: scores are as many as pairs of positions; each of these ops moves all of them
through the device's memory, where a fused kernel keeps them on the chip.
What to do: call scaled_dot_product_attention, or let the model do so.
When it is wrong: the scores themselves are wanted, or changed in a way that no fused kernel knows
(then flex_attention compiles one).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import nan, prod
from typing import TYPE_CHECKING, Final

from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import BATCHED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.model_flops import ModelFlops, ShapedOpRow

SOME_FRAC: Final = 0.10
_SOFTMAX: Final = re.compile(r"::_?(safe_)?softmax")
_PRODUCT: Final = re.compile(r"::(bmm|baddbmm|matmul|einsum)")
# Scores of fewer positions fit beside the data they come from: fusing them gains little.
_LEAST_KEYS: Final = 64
# Of the products a fused kernel computes as much, but moves no scores.
_PRODUCTS_LEFT: Final = 0.5

_Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Attention:
    """The ops on scores of one shape.

    Attributes:
        scores: Shape of the softmax's input.
        ops: Names of the ops, the longest first.
        products_us, others_us: Device time of products, and of all else.
        compute_us: What the products' FLOPs take at the peak; 0 where it is unknown.
    """

    scores: _Shape
    ops: tuple[str, ...]
    products_us: float
    others_us: float
    compute_us: float


def separate_attention(results: Results) -> Iterator[Answer]:
    """Fires when attention in separate ops takes 10 % of the step or more."""
    overview, model = results.overview_page, results.model_flops
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    found = list(_attentions(model))
    if not found:
        yield Silence("No softmax runs between two products of matrices over the same scores.")
        return
    runs = max(model.utilisation.steps, 1) * max(model.limits.device_count, 1) * 1e3
    time = sum(one.products_us + one.others_us for one in found) / runs
    if time < SOME_FRAC * step:
        yield Silence(f"Attention in separate ops takes {time / step:.1%} of the step.")
        return
    saved = sum(one.others_us + (1 - _PRODUCTS_LEFT) * one.products_us for one in found) / runs
    most = time - sum(one.compute_us for one in found) / runs
    longest = max(found, key=lambda one: one.products_us + one.others_us)
    shape = "×".join(map(str, longest.scores))
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saved, step),
        saving_ms=saved,
        saving_high_ms=max(saved, most),
        confidence=0.7,
        message=f"Attention runs as {', '.join(longest.ops[:4])} over scores of {shape}: "
        f"{time:.3g} ms of each {step:.3g} ms step ({time / step:.0%}), most of it to write and "
        "read the scores.",
        measured={"attention_ms": time, "attention_frac": time / step},
        evidence=(Ref("model_flops", "ops", rows=longest.ops[:4]),),
        actions=(
            "Call scaled_dot_product_attention: one kernel computes the scores, their softmax and "
            "the product, and never writes the scores.",
            "In models of transformers: attn_implementation='sdpa', and no output of attentions.",
        ),
        code={
            "pytorch": "out = torch.nn.functional.scaled_dot_product_attention(\n"
            "    q, k, v, attn_mask=mask, dropout_p=dropout if self.training else 0.0)"
        },
    )


def _attentions(model: ModelFlops) -> Iterator[_Attention]:
    """The attentions whose softmax has a product before and after it."""
    rows = [(row, _shapes(row.shapes)) for row in model.ops.records()]
    seen: set[_Shape] = set()
    for softmax, shapes in rows:
        scores = shapes[0] if shapes else ()
        is_like = len(scores) >= 3 and scores[-1] >= _LEAST_KEYS
        if not _SOFTMAX.search(softmax.op) or not is_like or _flat(scores) in seen:
            continue
        seen.add(_flat(scores))
        products = [
            (row, one) for row, one in rows if _PRODUCT.search(row.op) and _touches(one, scores)
        ]
        if any(_writes(one, scores) for _, one in products) and any(
            _reads(one, scores) for _, one in products
        ):
            others = [
                row for row, one in rows if not _PRODUCT.search(row.op) and _reads(one, scores)
            ]
            yield _attention(scores, [row for row, _ in products], others)


def _attention(
    scores: _Shape, products: list[ShapedOpRow], others: list[ShapedOpRow]
) -> _Attention:
    ordered = sorted([*products, *others], key=lambda row: -row.device_time_us)
    return _Attention(
        scores=scores,
        ops=tuple(dict.fromkeys(row.op for row in ordered)),
        products_us=sum(row.device_time_us for row in products),
        others_us=sum(row.device_time_us for row in others),
        compute_us=sum(_at_peak_us(row) for row in products),
    )


def _at_peak_us(row: ShapedOpRow) -> float:
    share = row.peak_frac if row.peak_frac is not None else nan
    return row.device_time_us * min(share, 1.0) if share == share else 0.0


def _shapes(text: str) -> list[_Shape]:
    """Shapes of an op's inputs; () of what has none, as numbers have."""
    return [
        tuple(int(part) for part in one.split("×")) if re.fullmatch(r"\d+(×\d+)*", one) else ()
        for one in text.split(", ")
    ]


def _flat(shape: _Shape) -> _Shape:
    """A shape with all dimensions but the last two as one, as batched products have them."""
    return (prod(shape[:-2]), *shape[-2:])


def _reads(shapes: list[_Shape], scores: _Shape) -> bool:
    return any(len(one) >= 3 and _flat(one) == _flat(scores) for one in shapes)


def _writes(shapes: list[_Shape], scores: _Shape) -> bool:
    """Whether the product of the last two of these has the shape of the scores."""
    if len(shapes) < 2 or min(len(one) for one in shapes[-2:]) < 3:
        return False
    left, right = shapes[-2:]
    return _flat((*left[:-1], right[-1])) == _flat(scores)


def _touches(shapes: list[_Shape], scores: _Shape) -> bool:
    return _reads(shapes, scores) or _writes(shapes, scores)


RULE = Rule(
    id="separate-attention",
    check=separate_attention,
    needs=("overview_page", "model_flops"),
    evidence=("ops",),
    doc=__doc__ or "",
    change=BATCHED,
    title="Attention is not fused",
    threshold="a softmax between products of matrices, with all on its scores ≥ 10 % of the step",
    cause_of=("roofline-gap", "unfused-ops", "dominant-op"),
)
