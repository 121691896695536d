"""The backward pass computes again what the forward pass had.

What it checks: the time of ops that JAX names as recomputed: those of functions under
``jax.checkpoint`` (``jax.remat``, ``nn.remat``, ``keras.RematScope``).
Why it matters: each such function runs once more in every step, to save the memory that its
intermediate values would take.
What to do: where memory is left, checkpoint fewer functions, or keep costly results by a policy.
When it is wrong: without it the step does not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.parts.changes import RECOMPUTED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Place, Ref

if TYPE_CHECKING:
    from stepscope.analysis.step_account import OwnerRow, StepAccount

# What JAX puts into the names of what it computes again.
_AGAIN = "rematted_computation"
_SOME_FRAC = 0.05
# Kept values are written once and read once more: a part of the time comes back as memory traffic.
_LOW_FRAC, _EXPECTED_FRAC = 0.3, 0.7
# What a model is made of is likely to be needed; this is needed for its memory alone.
_WORTH_FRAC = 0.8


def recomputed_activations(results: Results) -> Iterator[Answer]:
    """Fires when ops that are computed again for the backward pass take 5 % of the step."""
    account = results.step_account
    step = account.step_time_ms
    if not account.step_count or not step > 0:
        yield Unknown("No step with ops was recorded.")
        return
    ops = [one for one in account.owners.records() if one.kind == "op"]
    again = [one for one in ops if _AGAIN in one.name]
    if not any("jit(" in one.name for one in ops):
        yield Unknown("No op has a name of JAX's, which says whether it is computed again.")
        return
    # The runtime's work around ops goes with them.
    around = sum(one.time_ms for one in account.owners.records() if one.kind == "runtime")
    whole = sum(one.time_ms for one in ops)
    spent = sum(one.time_ms for one in again)
    if spent < _SOME_FRAC * step:
        yield Silence(f"Ops that are computed again take {spent / step:.0%} of the step.")
        return
    high = spent * (1 + around / whole)
    families = _families(again)
    made_of = ", ".join(f"{name} {time / spent:.0%}" for name, time in families[:3])
    first = max(again, key=lambda one: one.time_ms)
    place = _place(account, families[0][0])
    at = "" if place is None else f" Its largest part comes from {place.file}:{place.line}."
    saving = _EXPECTED_FRAC * spent
    yield Finding(
        rule=RULE.id,
        severity="info",
        saving_ms=saving,
        saving_low_ms=_LOW_FRAC * spent,
        saving_high_ms=high,
        assumption="what it computes is kept instead, which takes memory and its traffic",
        confidence=0.6,
        message=f"The backward pass computes again what the forward pass had, under "
        f"jax.checkpoint: {spent:.3g} of each {step:.3g} ms step ({spent / step:.0%}), {made_of}."
        f"{at}",
        place=place,
        measured={
            "recomputed_ms": spent,
            "worth_ms": _WORTH_FRAC * high,
            "kind": "op",
            "part_ms": spent,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(
            Ref("step_account", "owners", rows=(first.name,)),
            Ref("trace_viewer", first.name),
        ),
        actions=(
            "Take jax.checkpoint away from some functions and watch the memory: where it suffices "
            "nothing need be computed twice.",
            "If memory is short: keep the results of products alone, which cost most to compute "
            "again (policy=jax.checkpoint_policies.dots_saveable).",
        ),
        code={
            "jax": "jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)",
        },
    )


def _families(ops: list[OwnerRow]) -> list[tuple[str, float]]:
    """Families of ops with their times in ms, the largest first."""
    found: dict[str, float] = {}
    for one in ops:
        found[one.family] = found.get(one.family, 0.0) + one.time_ms
    return sorted(found.items(), key=lambda item: -item[1])


def _place(account: StepAccount, family: str) -> Place | None:
    """The line that most of a family of ops comes from; None where it is not recorded."""
    for part in account.parts.records():
        if part.name == family and part.file and part.line and part.is_source:
            return Place(part.function, part.file, part.line, part.caller, op=part.op)
    return None


RULE = Rule(
    id="recomputed-activations",
    check=recomputed_activations,
    needs=("step_account",),
    evidence=("ops",),
    parts=("op", "line", "function", "layer"),
    doc=__doc__ or "",
    change=RECOMPUTED,
    title="Activations are computed again",
    threshold="ops computed again for the backward pass ≥ 5 % of the step",
)
