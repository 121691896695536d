"""The backward pass computes again what the forward pass had.

What it checks: the time of ops that JAX names as recomputed: those of functions under
``jax.checkpoint`` (``jax.remat``, ``nn.remat``, ``keras.RematScope``). Of PyTorch, what a backward
pass runs of the model's own ops, as under ``torch.utils.checkpoint``.
Why it matters: each such function runs once more in every step, to save the memory that its
intermediate values would take.
What to do: where memory is left, checkpoint fewer functions, or keep costly results by a policy.
When it is wrong: without it the step does not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepscope.advice.parts.changes import RECOMPUTED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Place, Ref

if TYPE_CHECKING:
    from stepscope.analysis.step_account import OwnerRow, StepAccount
    from stepscope.tables.in_steps.recomputed import Recomputed

# What JAX puts into the names of what it computes again.
_AGAIN = "rematted_computation"
_SOME_FRAC = 0.05
# Kept values are written once and read once more: a part of the time comes back as memory traffic.
_LOW_FRAC, _EXPECTED_FRAC = 0.3, 0.7
# What a model is made of is likely to be needed; this is needed for its memory alone.
_WORTH_FRAC = 0.8


def recomputed_activations(results: Results) -> Iterator[Answer]:
    """Fires when ops that are computed again for the backward pass take 5 % of the step."""
    account, host = results.step_account, results.optional.host_activity
    step = account.step_time_ms
    if not account.step_count or not step > 0:
        yield Unknown("No step with ops was recorded.")
        return
    ops = [one for one in account.owners.records() if one.kind == "op"]
    again = [one for one in ops if _AGAIN in one.name]
    of_torch = None if host is None else host.recomputed
    is_of_jax = any("jit(" in one.name for one in ops)
    if not is_of_jax and of_torch is None and not any("aten/" in one.name for one in ops):
        yield Unknown("No op of JAX's or PyTorch's was recorded, which say what is computed again.")
        return
    found = _of_jax(again, account) if of_torch is None else _of_torch(of_torch)
    if found.spent_ms < _SOME_FRAC * step:
        yield Silence(f"Ops that are computed again take {found.spent_ms / step:.0%} of the step.")
        return
    # The runtime's work around ops goes with them.
    around = sum(one.time_ms for one in account.owners.records() if one.kind == "runtime")
    whole = sum(one.time_ms for one in ops)
    high = found.spent_ms * (1 + around / whole if whole else 1)
    place = found.place
    at = "" if place is None else f" Its largest part comes from {place.file}:{place.line}."
    saving = _EXPECTED_FRAC * found.spent_ms
    yield Finding(
        rule=RULE.id,
        severity="info",
        saving_ms=saving,
        saving_low_ms=_LOW_FRAC * found.spent_ms,
        saving_high_ms=high,
        assumption="what it computes is kept instead, which takes memory and its traffic",
        confidence=0.6,
        message=f"The backward pass computes again what the forward pass had, under {found.by}: "
        f"{found.spent_ms:.3g} of each {step:.3g} ms step ({found.spent_ms / step:.0%}), "
        f"{found.ops}.{at}",
        place=place,
        measured={
            "recomputed_ms": found.spent_ms,
            "worth_ms": _WORTH_FRAC * high,
            "kind": "op",
            "part_ms": found.spent_ms,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(found.evidence, Ref("trace_viewer", found.first)),
        actions=(
            "Take [jax: jax.checkpoint | pytorch: torch.utils.checkpoint (in libraries: "
            "gradient_checkpointing)] away from some functions and watch the memory: where it "
            "suffices nothing need be computed twice.",
            "If memory is short: keep the results of products alone, which cost most to compute "
            "again ([jax: policy=jax.checkpoint_policies.dots_saveable | pytorch: context_fn with "
            "a policy of create_selective_checkpoint_contexts]).",
        ),
        code={
            "jax": "jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)",
            "pytorch": "model.gradient_checkpointing_disable()  # Transformers\n"
            "x = block(x)  # not checkpoint(block, x)",
        },
    )


@dataclass(frozen=True, slots=True)
class _Again:
    """What is computed again, as one of the frameworks says it.

    Attributes:
        by: What makes it compute again.
        spent_ms: How long, in an average step.
        ops: The largest of it, with their shares.
        first: The op to look for in the timeline.
        place: Where the largest part comes from; None unknown.
        evidence: The table that says so.
    """

    by: str
    spent_ms: float
    ops: str
    first: str
    place: Place | None
    evidence: Ref


def _of_jax(again: list[OwnerRow], account: StepAccount) -> _Again:
    spent = sum(one.time_ms for one in again)
    families = _families(again)
    first = max(again, key=lambda one: one.time_ms).name if again else ""
    return _Again(
        by="jax.checkpoint",
        spent_ms=spent,
        ops=", ".join(f"{name} {time / spent:.0%}" for name, time in families[:3]),
        first=first,
        place=_place(account, families[0][0]) if families else None,
        evidence=Ref("step_account", "owners", rows=(first,)),
    )


def _of_torch(again: Recomputed) -> _Again:
    return _Again(
        by="torch.utils.checkpoint",
        spent_ms=again.ms,
        ops=again.ops,
        first=again.first,
        place=None,
        evidence=Ref("host_activity", "recomputed"),
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
    optional=("host_activity",),
    evidence=("ops",),
    parts=("op", "line", "function", "layer"),
    doc=__doc__ or "",
    change=RECOMPUTED,
    title="Activations are computed again",
    threshold="ops computed again for the backward pass ≥ 5 % of the step",
)
