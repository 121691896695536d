"""A PyTorch DataLoader makes batches in the training process, between the steps.

What it checks: whether the loader that the step waits for is the one without worker processes,
which PyTorch names in the recording.
Why it matters: such a loader does nothing until it is asked, and the device waits for the whole
batch; workers make the next ones while the device computes.
What to do: give the loader workers; where copies come from pageable memory, pinned memory, too.
When it is wrong: the data is in memory already, so that a worker's sending it costs more than
making it; a worker process cannot have what the dataset holds (an open file, a device); or the
sampler takes the time, which runs in the training process whatever workers there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.evidence.pinning import comes_from
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.advice.wording import brief_place
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref
from stepscope.schema import names

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount

_LOADER: Final = "DataLoader"
_PIN: Final = (
    "Set pin_memory=True and copy with non_blocking=True: batches are copied from pageable memory."
)
_CODE: Final = "loader = DataLoader(dataset, num_workers={}, persistent_workers=True)"
_PINNED: Final = (
    "loader = DataLoader(dataset, num_workers={}, pin_memory=True,\n"
    "                    persistent_workers=True)"
)
# More processes than that few machines have cores for.
_MOST: Final = 8
_SAMPLER: Final = (
    "See whether the dataset, what puts batches together, or the sampler runs these ops. A sampler "
    "stays in this process: draw the indices of a whole epoch at once."
)
_KEPT: Final = (
    "What {} makes alike in each epoch (decoded and resized pictures, words as numbers), make once "
    "and keep, in memory or in files: that helps on any number of cores."
)
# Ops in calls for the next batch that are so much of the step are reported, so many of them.
_MOSTLY_FRAC, _SOME_FRAC, _NAMED = 0.5, 0.03, 3
# Batches of another process are copied, and may be late: so much of what they could save is left.
_LEAST_FRAC: Final = 0.8


def loader_workers(results: Results) -> Iterator[Answer]:
    """Fires when the step waits 3 % or more for a loader without workers."""
    overview = results.overview_page
    step, waiting = overview.steps.time_ms.mean, overview.breakdown_ms["input"]
    if not step > 0:
        yield NO_STEPS
        return
    loaders = {
        one.op: one.self_time_ms
        for one in results.input_pipeline_analyzer.input_ops.records()
        if one.op.startswith(_LOADER)
    }
    if not loaders:
        yield Unknown("No DataLoader of PyTorch's was recorded.")
        return
    if names.LONELY_LOADER not in loaders:
        yield Silence("The DataLoader has worker processes.")
        return
    restarts = results.input_pipeline_analyzer.restarts
    if restarts is not None and restarts.is_habit:
        yield Silence("The loader is started again in every step, and so would its workers be.")
        return
    # Of several loaders this one's share of the wait.
    saving = waiting * loaders[names.LONELY_LOADER] / max(sum(loaders.values()), 1e-9)
    if saving < NEGLIGIBLE_FRAC * step:
        yield Silence(f"The loader without workers costs {saving / step:.1%} of the step.")
        return
    rest = step - saving
    wanted = max(round(saving / max(rest, 1e-9)) + 1, 2)
    made = _ops_of_batches(results.optional.step_account)
    is_pageable = comes_from(results.optional.device_idle) == "pageable"
    maker = _maker(results.optional.step_account)
    yield Finding(
        rule=RULE.id,
        title="" if maker is None else f"{RULE.title}: {_at(maker)} makes its batches",
        severity=severity_of(saving, step),
        saving_ms=saving,
        # Two of them, on two cores, make two batches at a time.
        saving_low_ms=_LEAST_FRAC * min(saving, step - saving / 2),
        saving_high_ms=saving,
        confidence=0.9,
        message=f"The DataLoader has no worker processes: each {step:.3g} ms step waits "
        f"{saving:.3g} ms for its batch ({saving / step:.0%}).{_said(made)}{_where(maker)}",
        measured={
            "input_wait_ms": saving,
            "step_time_ms": step,
            "step_after_ms": rest,
        },
        evidence=(
            Ref("input_pipeline_analyzer", "input_ops", rows=(names.LONELY_LOADER,)),
            Ref("overview_page", "breakdown_ms.input"),
        ),
        actions=tuple(_actions(wanted, is_pageable, made, maker)),
        code={"pytorch": (_PINNED if is_pageable else _CODE).format(min(wanted, _MOST))},
    )


def _actions(
    wanted: int, is_pageable: bool, made: list[PartRow], maker: PartRow | None
) -> Iterator[str]:
    yield f"Set num_workers: {_enough(wanted)}; keep them between epochs with persistent_workers."
    if is_pageable:
        yield _PIN
    if made:
        yield _SAMPLER
    if maker is not None:
        yield _KEPT.format(maker.function)


def _ops_of_batches(account: StepAccount | None) -> list[PartRow]:
    """The ops that make batches, where no line tells where they are made; the largest first."""
    if account is None or account.has_python:
        return []
    made = [
        part
        for part in account.parts.records()
        if part.kind == "op" and part.input_frac >= _MOSTLY_FRAC and part.step_frac >= _SOME_FRAC
    ]
    return sorted(made, key=lambda part: -part.time_ms)[:_NAMED]


def _maker(account: StepAccount | None) -> PartRow | None:
    """The function of the program that most of making batches is in; None where none is known."""
    listed = () if account is None else account.parts.records()
    made = [
        part
        for part in listed
        if part.input_frac >= _MOSTLY_FRAC and part.function and part.file and part.line
    ]
    most = max(made, key=lambda part: part.time_ms, default=None)
    return most if most is not None and most.step_frac >= _SOME_FRAC else None


def _at(maker: PartRow) -> str:
    return brief_place(maker.function, maker.file, maker.line)


def _where(maker: PartRow | None) -> str:
    return "" if maker is None else f" Most of that is in {_at(maker)}."


def _said(made: list[PartRow]) -> str:
    if not made:
        return ""
    listed = ", ".join(f"{part.op or part.name} {part.step_frac:.0%}" for part in made)
    return f" Making it runs, as shares of the step: {listed}."


def _enough(wanted: int) -> str:
    if wanted <= _MOST:
        return f"about {wanted} processes keep up with the rest of the step, given as many cores"
    return (
        f"as many as there are cores; it would take {wanted} processes to keep up with the rest "
        "of the step"
    )


RULE = Rule(
    id="loader-workers",
    check=loader_workers,
    needs=("overview_page", "input_pipeline_analyzer"),
    optional=("device_idle", "step_account"),
    evidence=("input",),
    change=SUPPLIED,
    parts=("input",),
    doc=__doc__ or "",
    title="The DataLoader has no workers",
    threshold="≥ 3 % of the step waits for a loader without worker processes",
    cause_of=("input-bound", "idle-device", "python-bound"),
)
