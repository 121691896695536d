"""Python collects garbage in the step, and all its threads stop.

What it checks: the time of collections by Python's cyclic collector within the steps, on any thread
of the program.
Why it matters: a collection of the oldest generation visits every object, tens of milliseconds for
a few million, and nothing else runs in Python meanwhile.
What to do: freeze what lives on (gc.freeze) once the program is set up, and collect every few
hundred steps; do not call gc.collect() in the loop.
When it is wrong: the program makes cycles that hold much memory and must be freed soon.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.changes import REMOVED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import HostActivity, SideRow

_KIND: Final = "garbage collection"
# The collector still has to run now and then.
_EXPECTED: Final = 0.8
# Of fewer steps one that has this share of the time may be chance.
_FEW: Final = 20
_NEARLY_ALL: Final = 0.8
# From this share of its time on a function is named.
_MOSTLY_FRAC: Final = 0.5


def garbage_collection(results: Results) -> Iterator[Answer]:
    """Fires when collections take 3.75 % of the step or more."""
    host = results.host_activity
    step = host.step_time_ms
    if not step > 0:
        yield Unknown("All detected steps have zero duration.")
        return
    rows = [one for one in host.side_work.records() if one.kind == _KIND]
    worst = max(rows, key=lambda one: one.time_ms, default=None)
    spent = 0.0 if worst is None else worst.time_ms
    if worst is None or _EXPECTED * spent < NEGLIGIBLE_FRAC * step:
        yield Silence(f"Garbage collections take {spent / step:.1%} of the step.")
        return
    is_once = round(worst.per_step * host.step_count) <= 1 < host.step_count
    # Short ones of young objects come beside the one that takes the time.
    is_once |= 1 < host.step_count < _FEW and worst.most_frac >= _NEARLY_ALL
    often = "every step" if worst.steps_frac == 1 else f"{worst.steps_frac:.0%} of the steps"
    yield Finding(
        rule=RULE.id,
        # A single collection shows no habit.
        severity="info" if is_once else severity_of(_EXPECTED * spent, step),
        saving_ms=_EXPECTED * spent,
        saving_high_ms=min(spent + _own_ms(worst, host, spent), step),
        confidence=0.4 if is_once else 0.85,
        place=_place(worst),
        message=f"Python collects garbage for {spent:.3g} ms of each {step:.3g} ms step "
        f"({worst.per_step:.3g} collections a step, of {worst.calls}; {worst.in_step_ms:.3g} ms in "
        f"{often}), and all its threads wait.{_said(worst)}",
        measured={
            "garbage_ms": spent,
            "collections_per_step": worst.per_step,
            "steps_frac": worst.steps_frac,
            "step_time_ms": step,
            "step_after_ms": step - _EXPECTED * spent,
        },
        evidence=(Ref("host_activity", "side_work", rows=(_KIND,)), Ref("trace_viewer", _KIND)),
        actions=(
            *_fewer(worst),
            "Freeze what lives on once model and data are loaded: gc.collect(); gc.freeze().",
            "Switch the collector off and collect every few hundred steps; take gc.collect() out "
            "of the loop.",
        ),
        code=dict.fromkeys(
            ("tensorflow", "jax", "pytorch"),
            "gc.collect(); gc.freeze(); gc.disable()  # before the loop\n"
            "if step % 500 == 0: gc.collect(1)",
        ),
    )


def _is_placed(row: SideRow) -> bool:
    """Whether most collections interrupt one function: it makes the objects that set them off."""
    return bool(row.function) and row.function_frac >= _MOSTLY_FRAC


def _own_ms(row: SideRow, host: HostActivity, spent_ms: float) -> float:
    """What else goes with the objects: the time of the function that makes them.

    One that takes longer than its collections is a matter of its own, which they come with.
    """
    if not _is_placed(row):
        return 0.0
    named = (row.function, row.file)
    own = sum(one.self_ms for one in host.python.records() if (one.function, one.file) == named)
    return own if own <= spent_ms else 0.0


def _place(row: SideRow) -> Place | None:
    return Place(row.function, row.file, row.line or 0) if _is_placed(row) else None


def _said(row: SideRow) -> str:
    if not _is_placed(row):
        return ""
    return (
        f" {row.function_frac:.0%} of that interrupts {row.function} ({row.file}:{row.line}): a "
        "collection begins where many new objects are made."
    )


def _fewer(row: SideRow) -> tuple[str, ...]:
    if not _is_placed(row):
        return ()
    return (
        f"Make fewer objects in {row.function}: arrays in place of lists and tuples of numbers, "
        "and what does not change once, before the loop. Its own time goes with it.",
    )


RULE = Rule(
    id="garbage-collection",
    check=garbage_collection,
    needs=("host_activity",),
    optional=("overview_page",),
    evidence=("garbage",),
    doc=__doc__ or "",
    change=REMOVED,
    title="Python collects garbage",
    threshold="garbage collections ≥ 3.75 % of the step",
    cause_of=("python-bound", "uneven-steps", "slow-steps", "eager-execution", "idle-device"),
)
