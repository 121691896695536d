"""The input pipeline is started again in every step.

What it checks: how often an iterator is made within the steps: of PyTorch's DataLoader, or of a
dataset of tf.data, which Keras makes in each call of predict, evaluate and fit.
Why it matters: an iterator is made for a pass over the data. A new one draws the order of all
samples again, starts workers, or traces the dataset's functions, for a single batch.
What to do: make it once, before the loop, and ask it for one batch after another; give Keras all
rows in one call, or call the model itself.
When it is wrong: a pass over the data is a single batch, and the order has to be drawn again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import ONCE
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount

# What hands a dataset's ops over goes with them.
_WITH_DATASETS: Final = ("input", "compile", "framework", "unrecorded")
_CODE: Final = {
    "tensorflow": "scores = model.predict(all_rows)   # one call, one pipeline\n"
    "score = model(one_row)             # or, for a single row, none",
    "pytorch": "batches = iter(loader)              # once, before the loop\n"
    "for step in range(steps):\n    batch = next(batches)",
}


def restarted_pipeline(results: Results) -> Iterator[Answer]:
    """Fires when 8 of 10 steps make an iterator, and it costs 3 % of the step."""
    overview = results.overview_page
    found, step = results.input_pipeline_analyzer.restarts, overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    account = results.optional.step_account
    if found is None and not (account is not None and account.has_python) and _loads(results):
        yield Unknown(
            "Python's calls were not recorded, and without them a new iterator of a DataLoader "
            "shows only where it draws an order."
        )
        return
    if found is None or not found.is_habit or found.time_ms < NEGLIGIBLE_FRAC * step:
        seen = 0.0 if found is None else found.per_step
        yield Silence(f"A step makes {seen:.2g} iterators of datasets or loaders.")
        return
    is_loader = found.kind == "DataLoader"
    most = overview.breakdown_ms["input"]
    if not is_loader and account is not None:
        most = sum(part.time_ms for part in account.parts.records() if part.kind in _WITH_DATASETS)
    most = max(most, found.time_ms)
    # A call that begins a pipeline prepares more for its one batch: half of all such work, or more.
    saving = found.time_ms if is_loader else (found.time_ms + most) / 2
    yield Finding(
        rule=RULE.id,
        severity=severity_of(found.time_ms, step),
        saving_ms=saving,
        saving_high_ms=most,
        confidence=0.9,
        message=f"Each step makes {_times(found.per_step)} of a {_WHOSE[found.kind]}. That takes "
        f"{found.time_ms:.3g} ms of each {step:.3g} ms step ({found.time_ms / step:.0%}): "
        + (_OF_LOADER if is_loader else _OF_DATASET + _made(account)),
        measured={
            "restarts_per_step": found.per_step,
            "restart_ms": found.time_ms,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(
            Ref("input_pipeline_analyzer", "restarts"),
            Ref("trace_viewer", "__iter__" if is_loader else "MakeIterator"),
        ),
        actions=_FOR_LOADER if is_loader else _FOR_DATASET,
        code=_CODE,
    )


# Ops that make a stage of a pipeline.
_A_DATASET: Final = re.compile(r"(?:^|/)(\w+?)DatasetV?\d*$")
# So many of them are named.
_NAMED: Final = 4


def _made(account: StepAccount | None) -> str:
    """The stages that each step makes again, as a sentence to go on with; "" unknown."""
    listed = [] if account is None else list(account.owners.records())
    found = [
        told[1]
        for one in listed
        if one.kind in ("op", "framework") and (told := _A_DATASET.search(one.name))
    ]
    stages = list(dict.fromkeys(found))[:_NAMED]
    return f" Stages that the loop makes in each step: {', '.join(stages)}." if stages else ""


def _loads(results: Results) -> bool:
    ops = results.input_pipeline_analyzer.input_ops["op"]
    return any(op.startswith("DataLoader") for op in ops)


_WHOSE: Final = {"DataLoader": "DataLoader", "tf.data": "tf.data dataset"}
_OF_LOADER: Final = "it draws the order of a whole pass over the data for one batch."
_OF_DATASET: Final = (
    "it builds a pipeline, and its functions, for the elements of one step. Keras does so in each "
    "call of predict, evaluate and fit."
)
_FOR_LOADER: Final = (
    "Make the iterator once, before the loop, and take each batch from it; begin it again when "
    "it ends.",
    "Workers do not help here: they would be started again in every step.",
)
_FOR_DATASET: Final = (
    "Give predict, evaluate or fit all rows in one call; for single rows call the model itself, "
    "in a tf.function.",
    "In a loop of your own make the dataset and its iterator once, before the loop.",
)


def _times(per_step: float) -> str:
    return "a new iterator" if round(per_step) <= 1 else f"{per_step:.3g} new iterators"


RULE = Rule(
    id="restarted-pipeline",
    check=restarted_pipeline,
    needs=("overview_page", "input_pipeline_analyzer"),
    optional=("step_account",),
    evidence=("input",),
    parts=_WITH_DATASETS,
    doc=__doc__ or "",
    change=ONCE,
    title="The input pipeline is started again in every step",
    threshold="an iterator is made in 8 of 10 steps, and takes ≥ 3 % of the step",
    cause_of=("input-bound", "loader-workers", "idle-device", "python-bound", "host-input-limit"),
)
