"""Single rows are written into a JAX array outside of a compiled function.

What it checks: calls of JAX's own programs that only write into an array (scatter,
dynamic_update_slice), and what they take of the step.
Why it matters: JAX's arrays do not change. ``x.at[i].set(v)`` by itself copies all of x to change
one row: of a replay buffer, or a table, that is the whole of it in each step.
What to do: keep what is written row by row in NumPy, or write in a jitted function that is given
the array for good (donate_argnums).
When it is wrong: most of the array changes each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.changes import REPLACED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount

# From this share of the step on it is more than a habit.
_LEAST_FRAC: Final = 0.1
_WRITES: Final = re.compile(r"_?(?:scatter(?:[-_](?:add|mul|min|max))?|dynamic_update_slice)")
# As Python calls them: ``x.at[i].set``.
_SETS: Final = re.compile(r"_IndexUpdateRef\.|\bscatter\b")


def array_writes(results: Results) -> Iterator[Answer]:
    """Fires when writes into arrays, called by themselves, take 10 % of the step."""
    host = results.host_activity
    step, calls = host.step_time_ms, list(host.calls.records())
    if not step > 0:
        yield Unknown("All detected steps have zero duration.")
        return
    overview = results.optional.overview_page
    if overview is not None and overview.environment.framework not in ("JAX", ""):
        yield Silence("Other frameworks write into their arrays in place.")
        return
    if not calls:
        yield Unknown("No call of a compiled function was recorded in a step.")
        return
    writes = [one for one in calls if _WRITES.fullmatch(one.function)]
    spent = sum(one.time_ms for one in writes)
    if spent < _LEAST_FRAC * step:
        yield Silence(f"Writes into arrays that are called by themselves take {spent / step:.1%}.")
        return
    count = sum(one.calls for one in writes)
    account = results.optional.step_account
    place = _place(account)
    if account is not None and account.has_python and not place.function:
        # A program may have a function of such a name: Python's calls would show ``x.at[i].set``.
        yield Silence("A function has the name of a write, and Python made no write.")
        return
    at = f"{place.file.rpartition('/')[2]}:{place.line}" if place.line else place.file
    where = f" in {place.function} ({at})" if place.function else ""
    name = max(writes, key=lambda one: one.time_ms).function
    yield Finding(
        rule=RULE.id,
        severity=severity_of(spent, step),
        saving_ms=spent,
        confidence=0.8 if place.function else 0.5,  # a name alone may be the program's
        title=f"Each write copies the whole array{where}",
        place=place if place.function else None,
        message=f"Rows are written into arrays {count:.3g} times a step by calls of their own "
        f"({name}){where}: {spent:.3g} ms of each {step:.3g} ms step. JAX's arrays do not change: "
        "x.at[i].set(v) outside of a compiled function copies all of x each time.",
        measured={
            "writes_per_step": count,
            "writes_ms": spent,
            "step_time_ms": step,
            "step_after_ms": step - spent,
        },
        evidence=(Ref("host_activity", "calls", rows=(name,)), Ref("trace_viewer", name)),
        actions=(
            "Keep what is filled row by row (a replay buffer, a history) in NumPy, and write it in "
            "place; hand over the batch that a step draws.",
            "Or write within a jitted function that the array is donated to: it is then changed "
            "in place. Write several rows at once.",
        ),
        code={
            "jax": "push = jax.jit(lambda buffer, i, row: buffer.at[i].set(row), donate_argnums=0)"
        },
    )


def _place(account: StepAccount | None) -> Place:
    """Where the program calls most of them."""
    if account is None:
        return Place()
    time: dict[tuple[str, str, int, str], float] = {}
    for one in account.owners.records():
        if one.function and one.kind in ("framework", "library") and _SETS.search(one.name):
            at = one.function, one.file, one.line, one.caller
            time[at] = time.get(at, 0.0) + one.time_ms
    most = max(time, key=lambda at: time[at], default=None)
    return Place() if most is None else Place(*most)


RULE = Rule(
    id="array-writes",
    check=array_writes,
    needs=("host_activity",),
    optional=("overview_page", "step_account"),
    evidence=("host",),
    parts=("framework", "wait", "runtime", "op"),
    doc=__doc__ or "",
    change=REPLACED,
    title="Each write copies the whole array",
    threshold="writes into arrays, called by themselves, take ≥ 10 % of the step",
    cause_of=("eager-execution", "host-waits", "idle-device"),
)
