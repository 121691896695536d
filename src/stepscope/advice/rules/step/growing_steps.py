"""Each step runs more ops than the one before.

What it checks: the number of ops that the loop's thread runs in each step: whether every step has
more of them than the last.
Why it matters: the program goes through what it has kept in every step, so that the hundredth step
takes a hundred times what the first added, and its memory grows as well.
What to do: look for what is kept and gone through again: losses or outputs with their graph, a list
that every step goes over, hooks, callbacks or metrics that are added again.
When it is wrong: later steps are meant to do more (longer sequences, more samples by plan).
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.parts.changes import REMOVED
from stepscope.advice.parts.part_facts import at
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref

_FEWEST_STEPS = 4


def growing_steps(results: Results) -> Iterator[Answer]:
    """Fires when every one of at least four steps runs more ops than the one before."""
    account = results.step_account
    grows = account.growth
    if account.step_count < _FEWEST_STEPS or not account.has_events:
        yield Unknown(f"Fewer than {_FEWEST_STEPS} steps with ops were recorded.")
        return
    if grows is None:
        yield Silence("Not every step runs more ops than the one before.")
        return
    step = account.step_time_ms
    each = (grows.last_ops - grows.first_ops) / (account.step_count - 1)
    # It grew before the recording began as well, up to all but the steady rest.
    low = step * (1 - grows.first_ops / grows.mean_ops)
    high = step * (1 - (grows.first_ops % each) / grows.mean_ops)
    saving = (low + high) / 2
    owner = next((one for one in account.owners.records() if one.name == grows.op), None)
    where = f" for {owner.function}{at(owner)}" if owner is not None and owner.function else ""
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        saving_low_ms=low,
        saving_high_ms=high,
        assumption="what the steps keep is let go; how long it had grown is not recorded",
        confidence=0.85,
        message=f"Each step runs {each:.0f} ops more than the one before: {grows.first_ops} in "
        f"the first, {grows.last_ops} in the last of {account.step_count}, {grows.op} above "
        f"all{where}. The program keeps something and goes through all of it in every step.",
        place=None
        if owner is None
        else Place(
            function=owner.function,
            file=owner.file,
            line=owner.line or 0,
            caller=owner.caller,
            op=grows.op,
        ),
        measured={
            "first_ops": grows.first_ops,
            "last_ops": grows.last_ops,
            "more_ops_per_step": each,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(Ref("step_account", "growth"), Ref("trace_viewer", grows.op)),
        actions=(
            "Look for what grows: a list of losses or outputs with their graph, or of what every "
            "step adds.",
            "Keep numbers, not tensors: float(loss) or loss.detach(); clear lists, and register "
            "hooks and callbacks once, before the loop.",
        ),
        code={
            "tensorflow": "history.append(float(loss))  # not the tensor",
            "jax": "history.append(float(loss))",
            "pytorch": "running_loss += loss.item()  # not the tensor, which keeps its graph",
        },
    )


RULE = Rule(
    id="growing-steps",
    check=growing_steps,
    needs=("step_account",),
    evidence=("ops",),
    doc=__doc__ or "",
    change=REMOVED,
    title="Each step does more than the one before",
    threshold="every one of ≥ 4 steps runs more ops than the one before",
    cause_of=("eager-execution", "memory-growth", "python-bound"),
)
