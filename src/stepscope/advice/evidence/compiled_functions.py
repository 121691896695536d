"""The compiled functions that a step runs, where no line tells which of them a part is of."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.advice.results import Results
    from stepscope.analysis.step_account import PartRow, StepAccount
    from stepscope.result import Finding

# As many are named; each has the least share, and all together the most of the step.
_MOST, _SOME_FRAC, _MOSTLY_FRAC = 3, 0.10, 0.5
# What a compiled function runs.
_OF_CALLS = ("op", "framework", "program")
# An op of a compiled function of JAX's, which its path begins with.
_COMPILED = re.compile(r"(?:jit|pjit)\((\w+)\)/")


def compiled_functions(
    part: PartRow, account: StepAccount, results: Results, more: float
) -> dict[str, float]:
    """The compiled functions of a step, if several, where no line tells whose the part is; in ms.

    Calls last as long as what they run, or the step hands its work over and calls none long; then
    the names of its ops say whose they are, each with its share of the runtime's time around them.
    """
    host = results.optional.host_activity
    if part.kind not in _OF_CALLS or account.is_window or (part.file and part.is_source):
        return {}
    step = account.step_time_ms
    called: dict[str, float] = {}
    if host is not None and not part.file:
        called = {one.function: one.time_ms for one in host.calls.records()}
    for times in (called, _functions_of_ops(account, more)):
        longest = sorted(times, key=lambda name: -times[name])[:_MOST]
        long = {name: times[name] for name in longest if times[name] >= _SOME_FRAC * step}
        if len(long) > 1 and sum(long.values()) >= _MOSTLY_FRAC * step:
            return long
    return {}


def _functions_of_ops(account: StepAccount, more: float) -> dict[str, float]:
    """What the ops of each compiled function take, of those whose names say it; in ms."""
    found: dict[str, float] = {}
    for one in account.owners.records():
        told = _COMPILED.match(one.name) if one.kind == "op" else None
        if told is not None:
            found[told[1]] = found.get(told[1], 0.0) + one.time_ms * (1 + more)
    return found


def of_several(found: Finding, functions: dict[str, float], step_ms: float) -> Finding:
    """A finding about what several functions run: which of them is needed is the first question."""
    listed = [f"{name} ({time:.3g} ms, {time / step_ms:.0%})" for name, time in functions.items()]
    return replace(
        found,
        message=f"{found.message} Each step runs {', '.join(listed[:-1])} and {listed[-1]}.",
        measured={**found.measured, "functions": len(functions)},
        actions=(
            "Leave one of these functions out for some steps and time the loop: what it computes "
            "may be known already, or needed less often.",
            *found.actions,
        ),
    )
