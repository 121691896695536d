"""Printing, summaries, metrics or callbacks in every step.

What it checks: the time of ops that print, write summaries or call back into Python, in which no
other op runs, and the share of steps that have it.
Why it matters: it keeps the step waiting for a terminal, a file or the interpreter, and makes the
host wait for values it would not need yet.
What to do: every n-th step; keep metrics on the device and read them at the end of the epoch.
When it is wrong: the step is meant to deliver its values to Python (reinforcement learning).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.parts.changes import REMOVED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import SideRow

# A checkpoint now and then is a spike, not a habit: slow-steps speaks of those.
_MOST_STEPS_FRAC = 0.5
_WORDS = {
    "printing": "Printing",
    "summaries": "Writing summaries",
    "checkpoint": "Saving checkpoints",
    "callback": "Calling Python from the compiled step",
}

# Where every step does it.
_TITLES = {
    "printing": "Every step prints",
    "summaries": "Every step writes summaries",
    "checkpoint": "Every step saves a checkpoint",
    "callback": "The compiled step calls Python every time",
}


def print_every_step(results: Results) -> Iterator[Answer]:
    """Fires when such work takes 3 % of the step and is in at least half of the steps."""
    host = results.host_activity
    step = host.step_time_ms
    if not step > 0:
        yield Unknown("All detected steps have zero duration.")
        return
    kinds = [
        one
        for one in host.side_work.records()
        if one.kind in _WORDS and one.steps_frac >= _MOST_STEPS_FRAC
    ]
    saving = sum(one.time_ms for one in kinds)
    if saving < NEGLIGIBLE_FRAC * step:
        cost = f"cost {saving / step:.1%} of the step"
        yield (
            Silence(f"Printing, summaries and callbacks {cost}.")
            if len(host.python)
            else Unknown(
                f"Ops that print, write summaries or call Python {cost}; what the program does "
                "in Python was not recorded."
            )
        )
        return
    worst = max(kinds, key=lambda one: one.time_ms)
    often = f"{worst.steps_frac:.0%} of the steps" if worst.steps_frac < 1 else "every step"
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        confidence=0.85,
        message=f"{_what(worst)} ({worst.calls}) takes {worst.whole_ms:.3g} ms of "
        f"each {step:.3g} ms step, in {often}.{_beside(worst)}",
        measured={
            **{f"{one.kind}_ms": one.whole_ms for one in kinds},
            "alone_ms": saving,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(
            Ref("host_activity", "side_work", rows=tuple(one.kind for one in kinds)),
            Ref("trace_viewer", worst.calls.partition(",")[0]),
        ),
        title=_title(worst) if worst.steps_frac == 1 else "",
        actions=(
            _FIRST.get(worst.kind, "Do it every n-th step, or once per epoch."),
            _INSTEAD[worst.kind],
        ),
        code=_CODE[worst.kind],
    )


# Of JAX: before it printed by a call of its own, as a function of the program's is called.
_DEBUG = "debug_callback"


def _what(one: SideRow) -> str:
    is_debug = _DEBUG in one.calls
    return "Calling Python back for jax.debug" if is_debug else _WORDS[one.kind]


def _title(one: SideRow) -> str:
    return "Every step calls Python back (jax.debug)" if _DEBUG in one.calls else _TITLES[one.kind]


def _beside(one: SideRow) -> str:
    """How much of it the step waits for, where other ops run beside the rest."""
    if f"{one.time_ms:.2g}" == f"{one.whole_ms:.2g}":
        return ""
    return f" For {one.time_ms:.3g} ms of it no other op runs."


_READ_LATER = "Keep metrics on the device and read them when they are shown."
_INSTEAD = {
    "printing": _READ_LATER,
    "summaries": _READ_LATER,
    "checkpoint": "Write it on another thread or process, which the loop does not wait for.",
    "callback": "Compute what needs the batch alone in the input pipeline, once; the rest with ops "
    "of the framework, in the compiled step.",
}
_FIRST = {
    "callback": "Look for what calls Python ([tensorflow: tf.numpy_function, tf.py_function | jax: "
    "jax.pure_callback, jax.experimental.io_callback | pytorch: a custom op]) in metrics, losses "
    "and layers. A metric is for the end of an epoch, or every n-th step. Of what each step needs, "
    "time the function on one batch: rows that are padding, and what is the same in every step, it "
    "need not compute.",
}
_PRINT = {
    "tensorflow": "if step % 100 == 0:\n    tf.print(loss)\n"
    "model.compile(..., steps_per_execution=100)",
    "jax": "if step % 100 == 0:\n    print(float(loss))  # outside of the jitted function",
    "pytorch": "if step % 100 == 0:\n    print(loss.item())",
}
_SAVE = {
    "tensorflow": "if step % 1000 == 0:\n    checkpoint.write(path, "
    "options=tf.train.CheckpointOptions(enable_async=True))",
    "jax": "if step % 1000 == 0:\n    checkpointer.save(path, state)  # orbax's AsyncCheckpointer",
    "pytorch": "if step % 1000 == 0:\n    torch.distributed.checkpoint.async_save(state, "
    "checkpoint_id=path)",
}
# What a callback computes is not meant to be shown: it may go out of the step whole.
_CALLBACK = {
    "tensorflow": "dataset = dataset.map(function, num_parallel_calls=tf.data.AUTOTUNE).cache()"
    "  # if it needs the data alone",
    "jax": "batch = {**batch, 'weights': function(batch)}  # before the jitted function",
    "pytorch": "batch['weights'] = function(batch)  # in the dataset, before the compiled function",
}
_CODE = {"printing": _PRINT, "summaries": _PRINT, "checkpoint": _SAVE, "callback": _CALLBACK}


RULE = Rule(
    id="print-every-step",
    check=print_every_step,
    needs=("host_activity",),
    evidence=("host",),
    parts=("op", "python", "library", "framework"),
    doc=__doc__ or "",
    change=REMOVED,
    title="Printing or logging in every step",
    threshold="≥ 3 % of the step, in at least half of the steps",
)
