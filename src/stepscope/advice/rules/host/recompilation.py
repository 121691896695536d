"""Programs are compiled in step after step.

What it checks: the time of calls of compiled functions that compile, in which nothing is computed.
Why it matters: XLA takes tenths of a second to minutes for a program, and is meant to do it once.
What to do: keep shapes and static arguments the same; pad or bucket what varies.
When it is wrong: the recording covers the first steps, in which everything is compiled once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stepscope.advice.evidence.steps import NO_STEPS, WINDOW, is_window
from stepscope.advice.parts.changes import ONCE
from stepscope.advice.results import Results
from stepscope.advice.wording import brief_place
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import CallRow
    from stepscope.analysis.overview_page import OverviewPage

_TWICE = 2
# Of less confidence, steps may be what a program does before its loop, each thing once.
_GUESS = 0.5


def recompilation(results: Results) -> Iterator[Answer]:
    """Fires when compiling takes 3 % of the step or more, and happened at least twice."""
    overview, host = results.overview_page, results.host_activity
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    if is_window(overview):
        yield WINDOW
        return
    compiled = [one for one in host.calls.records() if not one.traces and one.built > 0]
    # Of what is traced again another rule tells.
    traced = sum(one.build_ms for one in host.calls.records() if one.traces and one.built > 0)
    part = max(overview.breakdown_ms["compilation"] - traced, 0.0)
    saving = max(sum(one.build_ms for one in compiled), part)
    times = sum(one.built for one in compiled) * host.step_count
    # Without calls that name their function, steps that compile are counted.
    often = round(times) if compiled else _steps_that_compile(overview)
    if part < NEGLIGIBLE_FRAC * step or often < _TWICE:
        once = ", and did so once" if part >= NEGLIGIBLE_FRAC * step else ""
        yield Silence(f"Calls that compile cost {part / step:.1%} of the step{once}.")
        return
    worst = max(compiled, key=lambda one: one.build_ms, default=None)
    named = "" if worst is None else f" {worst.function!r}"
    told = _told(worst)
    at = "" if worst is None else brief_place(worst.function, worst.file, worst.line)
    is_guess = overview.steps.confidence < _GUESS
    usual = " Where the recording covers the set-up, that is usual." if is_guess else ""
    share = "" if worst is None else f" in {worst.built / worst.calls:.0%} of its calls"
    yield Finding(
        rule=RULE.id,
        severity="info" if is_guess else severity_of(saving, step),
        saving_ms=min(saving, step),
        confidence=0.9 * min(overview.steps.confidence / _GUESS, 1.0),
        title="" if worst is None else f"{at} is compiled again{share}{told.title}",
        message=f"The program{named} is compiled again{share}: {saving:.3g} ms of each "
        f"{step:.3g} ms step.{told.message}{usual}",
        measured={
            "build_ms": saving,
            "compilation_ms": part,
            "step_time_ms": step,
            "step_after_ms": max(step - saving, 0.0),
        },
        evidence=(
            Ref("host_activity", "calls", rows=() if worst is None else (worst.function,)),
            Ref("overview_page", "breakdown_ms.compilation"),
        ),
        actions=told.actions,
        code=told.code,
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """Why it is compiled again, and what to do; whatever it may be where no program says it."""

    title: str
    message: str
    actions: tuple[str, ...]
    code: dict[str, str]


_SHAPES: Final = "Keep shapes the same: drop or pad the last batch, pad sequences to a few lengths."
_VALUES: Final = (
    "Arguments that change must be [jax: arrays, not static (static_argnums, Python "
    "numbers) | tensorflow: tensors, not numbers of Python | pytorch: tensors, not numbers "
    "of Python; where sizes must differ, dynamic=True lets one graph serve them]."
)
_ONCE: Final = "Create the compiled function once, outside of the loop."
_PAD: Final = "batch = jnp.pad(batch, ((0, size - len(batch)), (0, 0)))"
_MADE_ONCE: Final = "step = jax.jit(train_step)  # once, outside of the loop"
_CODE: Final = {
    "jax": f"{_MADE_ONCE}\n{_PAD}",
    "tensorflow": "dataset = dataset.batch(size, drop_remainder=True)",
    "pytorch": "torch.compile(model, dynamic=True)",
}


def _told(worst: CallRow | None) -> _Told:
    if worst is not None and worst.differs == "shapes":
        message = f" Its versions differ in the shapes of arguments: {worst.differs_at}."
        return _Told(": shapes change", message, (_SHAPES,), {"jax": _PAD})
    if worst is not None and worst.differs == "values":
        used = f", used at {worst.differs_at}" if worst.differs_at else ""
        return _Told(
            ": a value in it changes",
            " Its versions have arguments of the same shapes and differ in a value that is "
            f"compiled into them{used}: a static argument, or a number or an object of Python that "
            "the function takes from outside.",
            (
                "Hand the value over as an array: out of static_argnums and static_argnames, and "
                "as an argument in place of a name from outside the function.",
                "If it is defined and compiled within a function that runs again and again, do "
                "that once, outside: what it finds around itself becomes constants of each.",
                "Where it must be static, let it take few values.",
            ),
            {"jax": "step = jax.jit(train_step)  # no static_argnames\n"
                    "step(params, batch, jnp.float32(rate))"},
        )  # fmt: skip
    if worst is not None and worst.differs == "nothing":
        return _Told(
            ": the same program each time",
            " Its versions are the same program: the function is a new one each time (a lambda, a "
            "partial, jax.jit or a decorator within the loop), or its cache was cleared.",
            (_ONCE,),
            {"jax": _MADE_ONCE},
        )
    return _Told("", "", (_SHAPES, _VALUES, _ONCE), _CODE)


def _steps_that_compile(overview: OverviewPage) -> int:
    table = overview.step_table
    return sum(
        1 for one in table.records() if one.kept and one.compilation_ms >= 0.01 * one.step_time_ms
    )


RULE = Rule(
    id="recompilation",
    check=recompilation,
    needs=("overview_page", "host_activity"),
    evidence=("host",),
    parts=("compile", "framework", "python", "library", "unrecorded", "region"),
    doc=__doc__ or "",
    change=ONCE,
    title="Programs are compiled again",
    threshold="compiling ≥ 3 % of the step, at least twice",
    symptom_of=("retracing",),
)
