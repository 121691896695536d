"""The step waits for input.

What it checks: the share of the step spent waiting for the input pipeline or copying its data
to the device, where no compute hides it.
Why it matters: nothing downstream gets faster while it starves.
What to do: overlap input with compute (prefetch), parallelise the slow stage, cache.
When it is wrong: the recording covers only the start of training, while a shuffle buffer fills.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.advice.evidence.recorded import not_recorded
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.advice.wording import brief_place
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref
from stepscope.schema import names
from stepscope.tables.steps.bottleneck import INPUT_SOME_FRAC

if TYPE_CHECKING:
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.tables.in_steps.loaders import WorkerPlace

# Of fewer steps one that waits may be chance, if it has this share of all waiting.
_FEW, _NEARLY_ALL = 20, 0.8


_CODE: Final = {
    "tensorflow": "dataset = dataset.map(function, num_parallel_calls=tf.data.AUTOTUNE)"
    ".batch(size).prefetch(tf.data.AUTOTUNE)",
    "jax": "loader = grain.DataLoader(data_source=source, sampler=sampler, operations=operations,\n"
    "                          worker_count=4)  # processes that work ahead",
    "pytorch": "loader = DataLoader(dataset, num_workers=4, prefetch_factor=4, "
    "persistent_workers=True)",
}

_LOADER: Final = "DataLoader"
# Where to look, in the words that a person's own code has for it.
_OF_WORKERS: Final = (
    " The DataLoader's worker processes make the batches, in the dataset's __getitem__ and the "
    "collate function; which line of these takes the time, the loop's thread does not tell."
)
# A function with this share of what a worker could do is what makes its batches slow.
_AT_WORK_FRAC: Final = 0.2
_BY_ITSELF: Final = (
    "Time the loader by itself (stepscope loader train.py:make_loader), and dataset[i] and the "
    "collate function under cProfile: the slow line is in one of them."
)


def input_bound(results: Results) -> Iterator[Answer]:
    """Fires when input costs 5 % of the step or more."""
    overview = results.overview_page
    step = overview.steps.time_ms.mean
    waiting = overview.breakdown_ms["input"] + overview.breakdown_ms["host_to_device"]
    if not step > 0:
        yield NO_STEPS
        return
    if waiting / step < INPUT_SOME_FRAC:
        yield _unseen(overview) or Silence(
            f"Input costs {waiting / step:.1%} of the step, below {INPUT_SOME_FRAC:.0%}."
        )
        return
    alone = overview.breakdown_ms["input"]
    if alone < INPUT_SOME_FRAC * step:
        yield Silence(
            f"Waiting for input costs {alone / step:.1%} of the step; the rest is copies to the "
            "device (see host-copies)."
        )
        return
    share = waiting / step
    # One late batch among a few is not a habit of the pipeline.
    is_once = _is_once(overview)
    is_of_workers = _is_of_workers(results)
    busy = _busy_worker(results)
    yield Finding(
        rule=RULE.id,
        severity="info" if is_once else severity_of(waiting, step),
        saving_ms=waiting,
        confidence=round((0.4 if is_once else 0.95) * overview.steps.confidence, 2),
        title="" if is_once else f"The step waits for input for {share:.0%} of its time",
        message=f"The input pipeline costs {waiting:.3g} ms of each {step:.3g} ms step "
        f"({share:.0%}){', nearly all of it in one step' if is_once else ''}."
        + (_said(busy) if busy is not None else _OF_WORKERS if is_of_workers else ""),
        place=None if busy is None else Place(busy.function, busy.file, busy.line),
        measured={"input_wait_ms": waiting, "input_wait_frac": share, "step_time_ms": step},
        evidence=(Ref("overview_page", "breakdown_ms.input"), Ref("input_pipeline_analyzer")),
        actions=(
            *_of_worker(busy),
            "Prefetch: prepare the next batches while the step runs.",
            "Give slow stages threads or processes, and read several files at once.",
            "Cache what is expensive and fits in memory; move constant preprocessing offline.",
            *((_BY_ITSELF,) if is_of_workers and busy is None else ()),
        ),
        code=_CODE,
    )


def _is_once(overview: OverviewPage) -> bool:
    """Whether one of a few steps has nearly all of the waiting."""
    table = overview.step_table
    kept = np.asarray(table["kept"], dtype=np.bool_)
    waited = np.asarray(table["input_ms"], dtype=np.float64)[kept]
    return 1 < len(waited) < _FEW and float(waited.max()) >= _NEARLY_ALL * float(waited.sum())


def _is_of_workers(results: Results) -> bool:
    """Whether processes of a PyTorch loader make the batches, away from the loop's thread."""
    stages = results.optional.input_pipeline_analyzer
    ops = set[str]() if stages is None else {one.op for one in stages.input_ops.records()}
    return any(op.startswith(_LOADER) for op in ops) and names.LONELY_LOADER not in ops


def _busy_worker(results: Results) -> WorkerPlace | None:
    """Where worker processes spend much of the steps; None where none was seen to."""
    stages = results.optional.input_pipeline_analyzer
    at = None if stages is None else stages.worker_place
    return at if at is not None and at.busy_frac >= _AT_WORK_FRAC else None


def _of_worker(busy: WorkerPlace | None) -> tuple[str, ...]:
    if busy is None:
        return ()
    from stepscope.advice.evidence.makers import less_work

    return less_work(busy.function)


def _said(at: WorkerPlace) -> str:
    who = "a worker process is" if at.processes == 1 else f"{at.processes} worker processes are"
    place = brief_place(at.function, at.file, at.line)
    return f" Meanwhile {who} in {place} for {at.busy_frac:.0%} of the time."


def _unseen(overview: OverviewPage) -> Unknown | None:
    """Why a wait may have gone unseen: time is left in the step that nothing recorded explains."""
    is_open = overview.breakdown_ms["other"] >= INPUT_SOME_FRAC * overview.steps.time_ms.mean
    return not_recorded(overview, "input") if is_open else None


RULE = Rule(
    id="input-bound",
    check=input_bound,
    needs=("overview_page",),
    adds=("input_pipeline_analyzer",),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="The step waits for input",
    symptom_of=("host-copies",),
    threshold="input and its copies to the device ≥ 5 % of the step",
)
