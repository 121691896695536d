"""A few steps are much slower than the rest, and nothing recorded says why.

What it checks: counted steps longer than twice the median, and which part of the step grew.
Why it matters: garbage collection, logging, a starved pipeline or another job on the machine show
as spikes.
What to do: look at the slowest step beside a median one in the timeline.
When it is wrong: warm-up steps inside a short recording, or other programs on the machine: likely
where ops of the CPU just take longer than usual.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.advice.evidence.steps import long_steps
from stepscope.advice.parts.changes import EVEN
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Ref

# A larger share of the steps is the rule: each fourth step may end a round of four.
_FEW_FRAC = 0.24
# Parts that grow when the machine is busy with something else.
_OF_THE_MACHINE = ("host_compute", "host_wait", "other", "input")
# So does this, where every step has some of it.
_COMPILING = "compilation"


def uneven_steps(results: Results) -> Iterator[Answer]:
    """Fires when steps beyond twice the median cost 3 % of all step time or more."""
    overview = results.overview_page
    steps = long_steps(overview)
    if isinstance(steps, Unknown):
        yield steps
        return
    if steps.is_cheap:
        yield Silence(f"Slow steps cost {steps.cost_frac:.1%} of all step time.")
        return
    if steps.count > _FEW_FRAC * len(steps.time_ms):
        yield Silence(
            f"{steps.count} of {len(steps.time_ms)} steps take more than twice the median, too "
            "many to be exceptions: what the loop does differs from step to step."
        )
        return
    table = overview.step_table
    grown, usual = {}, {}
    for name in overview.part_labels:
        part = np.asarray(table[f"{name}_ms"], dtype=np.float64)[steps.rows]
        usual[name] = float(np.median(part[~steps.is_long]))
        # One of them that compiles, or collects garbage, does not explain the others.
        grown[name] = float(np.median(part[steps.is_long])) - usual[name]
    cause = max(grown, key=lambda part: grown[part])
    # On a machine without devices a slower CPU looks the same as a neighbour that takes it.
    of_machine = cause in _OF_THE_MACHINE or (cause == _COMPILING and usual[cause] > 0)
    alone = overview.device.busy_frac is not None or not of_machine
    is_once = cause == _COMPILING and steps.count == 1  # warming up, until it happens again
    yield Finding(
        rule=RULE.id,
        severity="medium" if alone and not is_once else "info",
        saving_ms=steps.per_step_ms,
        confidence=0.6 if alone else 0.3,
        message=f'{steps.message}; in most of them "{overview.part_labels[cause]}" grows most '
        f"(+{grown[cause]:.3g} ms)."
        + ("" if alone else " Other programs on this machine would look the same."),
        measured={**steps.measured, "cause": cause},
        evidence=(
            Ref("overview_page", "step_table", rows=(str(steps.slowest),)),
            steps.slowest_ref,
        ),
        actions=("Compare the slowest step with a median one in the timeline.",),
    )


RULE = Rule(
    id="uneven-steps",
    check=uneven_steps,
    needs=("overview_page",),
    doc=__doc__ or "",
    change=EVEN,
    title="A few steps are much slower",
    threshold="steps beyond twice the median cost ≥ 3 % of all step time",
    symptom_of=(
        "start-up",
        "slow-steps",
        "retracing",
        "recompilation",
        "eager-execution",
        "python-bound",
        "print-every-step",
        "no-xla",
    ),
)
