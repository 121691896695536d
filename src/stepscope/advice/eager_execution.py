"""Ops run one by one instead of as a compiled function.

What it checks: the share of op time on host and device that ran eagerly.
Why it matters: each eager op pays for Python, dispatch and a launch of its own.
What to do: put the step into tf.function (or jax.jit, torch.compile).
When it is wrong: the recording covers set-up or evaluation code that is eager on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Ref

# Reference §3.5: eager time above this share is worth a word.
EAGER_FRAC = 0.10


def eager_execution(results: Mapping[str, Any]) -> Iterator[Answer]:
    """Fires when more than 10 % of op time is eager."""
    shares = results["overview_page"].op_shares
    sides = {"host": shares.host_eager_frac, "device": shares.device_eager_frac}
    eager = {
        side: share for side, share in sides.items() if share is not None and share > EAGER_FRAC
    }
    if all(share is None for share in sides.values()):
        yield Unknown("No op was recorded.")
        return
    if not eager:
        yield Silence(f"At most {EAGER_FRAC:.0%} of op time is eager.")
        return
    said = " and ".join(f"{share:.0%} of {side} op time" for side, share in eager.items())
    yield Finding(
        rule=RULE.id,
        severity="medium",
        saving_ms=None,
        confidence=0.7,
        message=f"Ops run eagerly: {said}.",
        evidence=(Ref("framework_op_stats", "eager"),),
        actions=(
            "Wrap the training step in tf.function; add jit_compile=True where XLA "
            "supports its ops.",
            "Keep Python side effects (prints, metrics to NumPy) out of the step.",
        ),
    )


RULE = Rule(
    id="eager-execution",
    check=eager_execution,
    needs=("overview_page",),
    doc=__doc__ or "",
    title="Ops run one by one",
    threshold="eager ops > 10 % of op time",
)
