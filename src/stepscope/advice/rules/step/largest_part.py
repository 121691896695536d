"""The largest parts of the step, whatever they are, with their place.

What it checks: the account of the step: every moment of it by line, library call, op or wait.
Why it matters: a change pays where the time is; no list of known faults is complete.
What to do: look at the place, and try the experiment that would settle whether it is needed.
When it is wrong: the part is what the program is for (a large model's products), or the recording
covers a phase that is not the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from stepscope.advice.evidence import part_words
from stepscope.advice.evidence.part_words import PartWords
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref, Severity
from stepscope.tables.account.op_families import DOUBLE, PRODUCTS

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount

# Only rules that know them report parts of a smaller share; at most this many of a kind.
_SOME_FRAC, _CODE_FRAC = 0.10, 0.05
_MOST = 3
# The recorder's own work is not the program's; what a runtime does around ops goes with them.
_OURS = ("recorder", "runtime")
_AROUND_FRAC = 0.5
# What time in which nothing was recorded is worth of its worth in a step.
_BESIDE = 0.1
# A line of the program is easier to change than what a framework does.
_CODE = ("python", "library")


@dataclass(frozen=True, slots=True)
class _Hope:
    """Which shares of a part a change takes away at least, as expected and at most.

    Attributes:
        worth: The share it is ranked by: small where a part is likely to be needed.
        confidence: How sure it is that the part is worth a change.
        is_alarm: Whether the part alone is reason enough to change the program.
    """

    low: float
    expected: float
    high: float
    worth: float
    confidence: float
    is_alarm: bool
    assumption: str


_HOPES = {
    "python": _Hope(0.7, 0.95, 1.0, 0.9, 0.85, True, "its work moves out of the loop, or goes"),
    "library": _Hope(0.7, 0.95, 1.0, 0.9, 0.85, True, "the call moves out of the loop, or goes"),
    "compile": _Hope(0.7, 0.95, 1.0, 0.95, 0.85, True, "everything is compiled once"),
    "input": _Hope(0.5, 0.8, 1.0, 0.8, 0.7, True, "batches are ready when the step asks for them"),
    "copy": _Hope(0.4, 0.7, 1.0, 0.6, 0.6, True, "copies run beside the compute"),
    "launch": _Hope(0.4, 0.7, 1.0, 0.5, 0.6, True, "the step is compiled into fewer launches"),
    "allocation": _Hope(0.5, 0.8, 1.0, 0.8, 0.6, True, "memory is allocated once"),
    "wait": _Hope(0.3, 0.6, 1.0, 0.5, 0.5, False, "the host need not wait in every step"),
    "collective": _Hope(0.3, 0.6, 1.0, 0.5, 0.5, False, "transfers run beside the compute"),
    "framework": _Hope(
        0.5, 0.8, 1.0, 0.35, 0.6, False, "the step is compiled, or makes fewer calls"
    ),
    "unrecorded": _Hope(0.5, 0.8, 1.0, 0.6, 0.5, False, "what runs there is not needed"),
    "op": _Hope(0.5, 0.7, 1.0, 0.2, 0.5, False, "half of it, or all, is not needed"),
}
# Ops that seldom are what a model is for can go for the most part.
_UNUSUAL = _Hope(0.6, 0.85, 1.0, 0.75, 0.7, False, "it can be done once, elsewhere or another way")
# What a model is made of is reported after what else can be changed.
_PRODUCT = _Hope(0.5, 0.7, 1.0, 0.15, 0.5, False, "half of it, or all, is not needed")
_DOUBLE = _Hope(0.3, 0.5, 0.85, 0.5, 0.85, True, "32 bits suffice")


def largest_part(results: Results) -> Iterator[Answer]:
    """Fires for parts of the step with 10 % of it or more: the three most worth a change."""
    account = results.step_account
    if not account.step_count or not account.step_time_ms > 0:
        yield Unknown("No event that lasts was recorded on the program's thread or a device.")
        return
    listed = list(account.parts.records())
    _with_runtime(listed, account.step_time_ms)
    # Of a recording without steps it is what was recorded that parts have a share of.
    nothing = sum(part.step_frac for part in listed if part.kind == "unrecorded")
    known = 1 - nothing if account.is_window else 1.0
    shown = [
        part
        for part in listed
        if part.kind not in _OURS
        and part.step_frac >= known * (_CODE_FRAC if part.kind in _CODE else _SOME_FRAC)
    ]
    if not shown:
        yield Silence(f"No part of the step has {_SOME_FRAC:.0%} of it.")
        return
    # Those that are most likely worth a change, and whichever is the largest.
    ranked = sorted(shown, key=lambda part: -_worth(part, account) * part.time_ms)
    largest = max(shown, key=lambda part: part.time_ms)
    for at, part in enumerate(ranked):
        if at < _MOST or part is largest:
            yield _finding(part, account)


def _with_runtime(parts: list[PartRow], step_ms: float) -> None:
    """Give ops the time that the runtime spends around them, each its share."""
    ops = [part for part in parts if part.kind == "op"]
    around = sum(part.time_ms for part in parts if part.kind == "runtime")
    whole = sum(part.time_ms for part in ops)
    for part in ops if whole else ():
        part.time_ms += around * part.time_ms / whole
        part.step_frac = part.time_ms / step_ms


def _finding(part: PartRow, account: StepAccount) -> Finding:
    hope = _hope(part)
    words = part_words.words(part, account)
    step = account.step_time_ms
    # The step cannot get shorter than what computes beside the thread.
    most = part.time_ms
    if part.kind not in ("op", "collective", "copy"):
        most = max(min(most, step - account.busy_ms), 0.0)
    expected = min(hope.expected * part.time_ms, most)
    # What surrounds a part, such as caches it empties, goes with some of it.
    around = _AROUND_FRAC * max(step - account.busy_ms - part.time_ms, 0.0)
    is_code = part.kind in (*_CODE, "eager", "framework", "unrecorded", "compile")
    return Finding(
        rule=RULE.id,
        severity=_severity(part, hope, expected, account),
        saving_ms=expected,
        saving_low_ms=min(hope.low * part.time_ms, expected),
        saving_high_ms=min(hope.high * part.time_ms, most) + (around if is_code else 0.0),
        assumption=hope.assumption,
        confidence=hope.confidence if account.step_count > 1 else min(hope.confidence, 0.6),
        title=words.title,
        message=words.message,
        place=_place(part),
        measured={
            "part_ms": part.time_ms,
            "step_frac": part.step_frac,
            "worth_ms": min(_worth(part, account) * part.time_ms, most),
            "step_time_ms": step,
            "kind": part.kind,
            "data_type": part.data_type,
            "step_after_ms": step - expected,
        },
        evidence=_evidence(part, words),
        actions=words.actions,
    )


def _hope(part: PartRow) -> _Hope:
    if part.kind == "op" and part.data_type in DOUBLE:
        return _DOUBLE
    if part.kind == "eager" or (part.kind == "op" and part_words.is_unusual(part)):
        return _UNUSUAL
    if part.kind == "op" and part.name in PRODUCTS:
        return _PRODUCT
    return _HOPES.get(part.kind, _HOPES["op"])


def _worth(part: PartRow, account: StepAccount) -> float:
    """The share of a part that it is ranked by."""
    worth = _hope(part).worth
    # In a recording without steps nobody knows whether the program ran when nothing was recorded.
    return worth * _BESIDE if account.is_window and part.kind == "unrecorded" else worth


def _severity(part: PartRow, hope: _Hope, saving: float, account: StepAccount) -> Severity:
    if not hope.is_alarm or account.is_window:
        return "info"
    return severity_of(saving, account.step_time_ms)


def _place(part: PartRow) -> Place:
    is_op = part.kind in ("op", "eager")
    call = part.first if part.first_kind in ("library", "framework") and not is_op else ""
    return Place(
        function=part.function,
        file=part.file,
        line=part.line,
        caller=part.caller,
        call=call,
        op=part.op if is_op else "",
        family=part.name if part.kind == "op" else "",
    )


def _evidence(part: PartRow, words: PartWords) -> tuple[Ref, ...]:
    refs = [Ref("step_account", "parts", rows=(part.name,) if part.name else ())]
    if part.kind == "op" and part.op:
        refs.append(Ref("framework_op_stats", "self_time_us", rows=(part.op,)))
    if not isnan(part.every):
        refs.append(Ref("overview_page", "step_table"))
    if words.find:
        refs.append(Ref("trace_viewer", words.find))
    return tuple(refs)


RULE = Rule(
    id="largest-part",
    check=largest_part,
    needs=("step_account",),
    doc=__doc__ or "",
    title="The largest part of the step",
    threshold="a part with ≥ 10 % of the step",
)
