"""Checkpoints, summaries or prints make some steps much slower than the rest.

What it checks: counted steps longer than twice the median, and whether housekeeping (checkpoint,
summary, print, callback) is in them and not in the others.
Why it matters: the program waits for a disk or a terminal, again and again.
What to do: save on another thread, less often, to a local disk; write fewer summaries.
When it is wrong: the recording caught the only checkpoint in an hour.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.steps import long_steps
from stepscope.advice.parts.changes import EVEN
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import HostActivity, SideRow

# Work in fewer steps than this is what makes some steps slow, if it takes this share of what
# they are slower.
_SOME_FRAC = 0.5
_CULPRIT_FRAC = 0.4
# A rule of its own.
_GARBAGE = "garbage collection"


def slow_steps(results: Results) -> Iterator[Answer]:
    """Fires when steps with such work, beyond twice the median, cost 3 % of all step time."""
    steps = long_steps(results.overview_page)
    if isinstance(steps, Unknown):
        yield steps
        return
    culprit = _side_work(results.host_activity, steps.excess_ms / max(steps.count, 1))
    if steps.is_cheap:
        yield Silence(f"Slow steps cost {steps.cost_frac:.1%} of all step time.")
        return
    if culprit is None:
        no_op = "No op that saves, prints or writes summaries makes some steps slower than the rest"
        yield (
            Silence(f"{no_op}; the timeline shows the Python calls in them.")
            if "python" in results.overview_page.recorded
            else Unknown(f"{no_op}; what the program does in Python was not recorded.")
        )
        return
    kind = str(culprit.kind)
    # Only what the work itself takes can go; steps may be slow for other reasons, too.
    saving = min(steps.per_step_ms, float(culprit.time_ms))
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, float(steps.time_ms.mean())),
        saving_ms=saving,
        saving_high_ms=steps.per_step_ms,
        confidence=0.85,
        message=f"{steps.message}; in them {kind} ({culprit.calls}) takes "
        f"{culprit.in_step_ms:.3g} ms.",
        measured={
            **steps.measured,
            "cause": kind,
            "in_step_ms": float(culprit.in_step_ms),
        },
        evidence=(
            Ref("host_activity", "side_work", rows=(kind,)),
            steps.slowest_ref,
        ),
        actions=_ACTIONS.get(kind, _ACTIONS[""]),
        code=_CODE.get(kind, {}),
    )


def _side_work(host: HostActivity, excess_ms: float) -> SideRow | None:
    """What the program does for its operator in some steps, if it makes them slow."""
    some = [
        one
        for one in host.side_work.records()
        if one.steps_frac < _SOME_FRAC and one.kind != _GARBAGE
    ]
    worst: SideRow | None = max(some, key=lambda one: one.in_step_ms, default=None)
    is_cause = worst is not None and worst.in_step_ms >= _CULPRIT_FRAC * excess_ms > 0
    return worst if is_cause else None


_ACTIONS = {
    "": ("Do it less often, or on another thread.",),
    "checkpoint": (
        "Save checkpoints on another thread, or less often.",
        "Save only what changes; to a local disk first.",
    ),
    "summaries": ("Write summaries less often, and fewer of them.",),
    "printing": ("Print less, or from another thread.",),
}
_CODE = {
    "checkpoint": {
        "tensorflow": "options = tf.train.CheckpointOptions(enable_async=True)\n"
        "checkpoint.save(path, options=options)",
        "jax": "orbax.checkpoint.AsyncCheckpointer(handler).save(path, state)",
        "pytorch": "torch.distributed.checkpoint.async_save(state, checkpoint_id=path)",
    }
}

RULE = Rule(
    id="slow-steps",
    check=slow_steps,
    needs=("overview_page", "host_activity"),
    evidence=("host",),
    doc=__doc__ or "",
    change=EVEN,
    title="Checkpoints or logging make some steps slow",
    threshold="steps beyond twice the median cost ≥ 3 % of all step time",
)
