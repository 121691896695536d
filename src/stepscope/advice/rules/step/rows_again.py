"""Each pass of a model computes what the pass before has computed.

What it checks: products of PyTorch's with the same weights, whose rows grow by the same number from
pass to pass, as a text does that a model writes word by word.
Why it matters: with what past passes computed kept (keys and values of past tokens), a pass takes
the new rows alone; the longer the text, the more of each pass is needless.
What to do: keep it (use_cache, past_key_values), and run the model on the new rows only.
When it is wrong: what grows is not a sequence whose past stays the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import REUSED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount

# Rows that a pass computes again are worth a word from this share of all on.
_SOME_FRAC = 0.2
# What passes over rows take: ops, and what hands them over.
_PASSES = ("op", "function", "line", "eager", "framework", "launch", "runtime", "python", "library")


def rows_again(results: Results) -> Iterator[Answer]:
    """Fires when products with the same weights grow from pass to pass, by the same rows."""
    found, account = results.host_activity.growing_rows, results.step_account
    step = account.step_time_ms
    if not step > 0:
        yield NO_STEPS
        return
    if not results.host_activity.has_product_shapes:
        yield Unknown(
            "No product of PyTorch's was recorded with the shapes of its inputs (record_shapes)."
        )
        return
    if found is None or found.needless_frac < _SOME_FRAC:
        yield Silence("No products were recorded whose rows grow from pass to pass.")
        return
    parts = list(account.parts.records())
    ops = sum(part.time_ms for part in parts if part.kind in _PASSES)
    # What runs alike in each pass is needed once: about as much of it goes as of rows that grow.
    same = found.same_frac if found.same_frac >= _SOME_FRAC else 0.0
    growing = found.needless_frac * (1 - same)
    saving = found.needless_frac * ops
    before = _SAME.format(rows=found.same_rows, share=same) if same else ""
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        saving_high_ms=min(saving, step),
        confidence=0.8,
        title="The same rows are computed in each pass" if same > growing else "",
        place=_place(account),
        message=f"Products with the same weights ({found.op}) take {found.first_rows} rows, then "
        f"{found.first_rows + found.by_rows}, up to {found.last_rows}: about {found.passes:.0f} "
        f"passes, each over all rows of the one before and {found.by_rows} new "
        f"{'row' if found.by_rows == 1 else 'rows'}. {found.needless_frac:.0%} of these rows "
        f"were computed already.{before}",
        measured={
            "needless_frac": found.needless_frac,
            "same_frac": found.same_frac,
            "passes": found.passes,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(Ref("host_activity", "growing_rows"), Ref("trace_viewer", found.op)),
        actions=(*((_ONCE,) if same else ()), *_KEEP),
        code={"pytorch": _CODE},
    )


_SAME = (
    " Beside them products of {rows:,} rows or so run alike in each pass, with {share:.0%} of all "
    "products' time: an encoder's, where its input (a source text, a picture, a prompt) is the "
    "same for all of them."
)
_ONCE = (
    "Run the encoder once, before the loop over new rows, and hand its output to the decoder: "
    "memory = model.encode(source)."
)
_KEEP = (
    "Keep what past passes have computed, and run the new rows only: of attention, keys "
    "and values (a KV cache: use_cache=True, past_key_values).",
    "Without attention: keep the state, the codes, or the smallest distance so far.",
)


def _place(account: StepAccount) -> Place | None:
    """Where the largest of what runs ops is called from."""
    for part in account.parts.records():
        if part.kind in ("op", "function", "line", "eager") and part.file:
            return Place(part.function, part.file, part.line or 0, part.caller)
    return None


_CODE = (
    "out = model(new_tokens, past_key_values=cache, use_cache=True)\ncache = out.past_key_values"
)

RULE = Rule(
    id="rows-again",
    check=rows_again,
    needs=("host_activity", "step_account"),
    doc=__doc__ or "",
    change=REUSED,
    title="Rows of past passes are computed again",
    threshold="rows of products grow evenly from pass to pass; ≥ 20 % of them come again",
)
