"""Whom the recordings of all hosts suspect of making the others wait, for the rules about them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from stepscope.registry import NEGLIGIBLE_FRAC, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.pod.report import Pod, SuspectRow

#: What transfers slowly, and who was given more to do: causes with rules of their own.
LINK: Final = "network"
UNEQUAL: Final = "unequal"
STAGE: Final = "stage"
# Findings of one rule about as many suspects at most; the page has all.
_MOST: Final = 3
# Who saves less than this share of its cost alone is slow together with others.
_HIDDEN: Final = 0.5
# How sure a suspect is, by how often it was late.
_CONFIDENCE: Final = {"persistent": 0.85, "episodic": 0.65, "once": 0.4}
# Of fewer steps nobody is sure.
_FEW_STEPS: Final = 3


def costly(pod: Pod | None) -> list[SuspectRow]:
    """Suspects that cost 3 % of the step or more, the most expensive first."""
    rows = [] if pod is None else list(pod.suspects.records())
    return [row for row in rows if row.cost_frac >= NEGLIGIBLE_FRAC]


def finding_of(rule: str, pod: Pod, row: SuspectRow, actions: Collection[str]) -> Finding:
    """What a rule says of one suspect.

    What it saves alone is expected, but where others are slow with it: they hide it until they are
    fixed as well. Then its cost is expected, and the saving alone is the least.
    """
    alone = max(row.saving_ms, 0.0)
    is_hidden = alone < _HIDDEN * row.cost_ms
    why = f": {row.evidence}" if row.evidence else ""
    since = "" if row.since_step < 0 else f" since step {row.since_step}"
    absent = pod.expected - pod.recordings
    unseen = f" {absent:,} of {pod.expected:,} recordings are missing." if absent > 0 else ""
    return Finding(
        rule=rule,
        severity=severity_of(row.cost_ms, pod.step_ms),
        saving_ms=row.cost_ms if is_hidden else alone,
        saving_low_ms=alone if is_hidden else None,
        saving_high_ms=max(row.cost_ms, alone),
        confidence=_CONFIDENCE[row.pattern] if pod.counted_steps >= _FEW_STEPS else 0.4,
        message=f"{row.name} costs {row.cost_ms:.3g} ms of each {pod.step_ms:.3g} ms step "
        f"(± {row.error_ms:.2g}){since}{why}.{unseen}",
        measured={
            "cost_ms": row.cost_ms,
            "error_ms": row.error_ms,
            "saving_alone_ms": row.saving_ms,
            "worker": row.name,
            "kind": row.kind,
            "cause": row.cause,
            "pattern": row.pattern,
            "late_frac": row.late_frac,
        },
        evidence=(Ref("pod", "suspects.cost_ms", rows=(row.name,)), Ref("pod", "evidence")),
        actions=tuple(actions),
    )


def foremost(rows: list[SuspectRow]) -> list[SuspectRow]:
    """Those of them that a rule speaks of."""
    return rows[:_MOST]
