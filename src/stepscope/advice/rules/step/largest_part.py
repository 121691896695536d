"""The largest parts of the step, whatever they are, with their place.

What it checks: the account of the step: every moment of it by line, library call, op or wait.
Why it matters: a change pays where the time is; no list of known faults is complete.
What to do: look at the place, and try the experiment that would settle whether it is needed.
When it is wrong: the part is what the program is for (a large model's products), or the recording
covers a phase that is not the loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from stepscope.advice.evidence import layers, makers
from stepscope.advice.evidence.after_update import NOT_LATER, after_update
from stepscope.advice.evidence.compiled_functions import compiled_functions, of_several
from stepscope.advice.evidence.dispatches import dispatch_threshold, dispatched
from stepscope.advice.evidence.savings import is_hidden, saving_of, untraced, without_saving
from stepscope.advice.evidence.steps import THE_RECORDERS, is_the_recorders
from stepscope.advice.evidence.turns import BETWEEN_OPS, NO_LOOP, loop_within, of_loop
from stepscope.advice.parts import changes, part_words
from stepscope.advice.parts.expected_effects import (
    ExpectedEffect,
    effect_of,
    effect_of_kind,
    is_mostly_runtime,
)
from stepscope.advice.parts.hints.traits import trait_hints
from stepscope.advice.parts.lock_words import lock_place, turns, waits_for_lock
from stepscope.advice.parts.part_facts import MANY_STRETCHES, PartWords, wrong_when
from stepscope.advice.parts.replacements import (
    AGAIN,
    ARGUMENTS,
    CALLS,
    CELLS,
    of_cells,
)
from stepscope.advice.parts.runtime_around import around, title_with_runtime, with_runtime
from stepscope.advice.parts.waits_for_others import waited_for, waits_for_others
from stepscope.advice.render import listed
from stepscope.advice.results import Results
from stepscope.advice.signals import main_ops
from stepscope.quantities import time_words
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref, Severity
from stepscope.schema import names
from stepscope.tables.parts.part_traits import IN_FIRST_RUN
from stepscope.tables.recording.recorder_costs import TRACED_CALLS

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount

# Only rules that know them report parts of a smaller share; at most this many of a kind.
_SOME_FRAC, _CODE_FRAC = 0.10, 0.05
# Of a recording in which little was recorded a part of less is not worth a word.
_LEAST_FRAC = 0.01
_MOST = 3
# Where this share of the step is unrecorded, nothing of it was.
_ALL_FRAC = 0.99
# A part that fewer steps have is not in each; a typical step has less than this of its mean.
_FEW_STEPS_FRAC = 0.5
# Another thread that is in the program's Python so much may be what a library's call waits for.
_BUSY_FRAC = 0.1
# What has this share of its time in the first step is not what each step costs.
_MOSTLY_FRAC = 0.5
# The recorder's own work is not the program's; what a runtime does around ops goes with them.
_OURS = ("recorder", "runtime")
# What is likely to be of no use is worth this share: time in which nothing was recorded, outside
# of steps, and what was compiled once.
_BESIDE = 0.1
# A line of the program is easier to change than what a framework does.
_CODE = ("python", "library")
# What a line of the program runs, where lines were recorded.
_HAS_LINE = ("op", "eager", "framework", "program", "compile")
# A graph that TensorFlow has made of a function: each trace has a number of its own.
_GRAPH = re.compile(r"__inference_(\w{1,200})_(\d{1,12})\b")
# What needs the interpreter's lock.
_LOCKED = ("python", "framework", "eager", "unrecorded", "region")


# A processor computes twice as many numbers of half the width at once, and holds twice as many in
# each cache. What GPUs do in double precision is anything from a half to a 64th.
_HALVED_AT_MOST = 0.85


# Kernels that the recording ties to no op: there is nothing to halve.
_UNKNOWN_OPS = tuple(
    name for one in (names.BEFORE_RECORDING, names.NO_LAUNCH) for name in (one, f"{one} ops")
)


def largest_part(results: Results) -> Iterator[Answer]:
    """Fires for parts of the step with 10 % of it or more: the three most worth a change."""
    account = results.step_account
    if not account.step_count or not account.step_time_ms > 0:
        yield Unknown("No event that lasts was recorded on the program's thread or a device.")
        return
    if is_the_recorders(account):
        yield THE_RECORDERS
        return
    listed = list(account.parts.records())
    more = with_runtime(listed, account.step_time_ms)
    shown = _shown(listed, account, results)
    if not shown:
        yield Silence(f"No part of the step has {_SOME_FRAC:.0%} of it.")
        return
    # Those that are most likely worth a change, and whichever is the largest.
    is_compiled, by_layer = _is_compiled(results), _by_layer(shown, results)
    later = after_update(results.optional.host_activity)
    loop = loop_within(results.optional.host_activity)
    if by_itself := of_loop(results.optional.host_activity, account, RULE.id):
        loop = replace(loop, kinds=BETWEEN_OPS)
        yield by_itself
    ranked = sorted(shown, key=lambda part: -_worth(part, account) * part.time_ms)
    largest = max(shown, key=lambda part: part.time_ms)
    for at, part in enumerate(ranked):
        if at < _MOST or part is largest:
            words = part_words.words(part, account, _compiled(part, results), is_compiled)
            words = replace(words, actions=(*_before(part, results), *words.actions))
            if is_mostly_runtime(part, more):  # what it is called for is the smaller share
                words = replace(words, title=title_with_runtime(part))
            stage = around(part, more) + _stage(part, results)
            beside = NOT_LATER
            if part.kind == "op" and not (part.file and part.is_source):
                stage, by_layer = stage + by_layer + later.sentence, ""
                words = replace(words, actions=(*later.actions, *words.actions))
                beside, later = later, NOT_LATER
            if loop.tells(part):
                stage += loop.sentence
                words, loop = replace(words, actions=loop.before(words.actions)), NO_LOOP
            found = _finding(part, account, words, stage, effect_of(part, more, account))
            found = beside.with_upper_bound(found)
            several = compiled_functions(part, account, results, more)
            yield of_several(found, several, account.step_time_ms) if several else found


def _shown(listed: list[PartRow], account: StepAccount, results: Results) -> list[PartRow]:
    """Parts that are large enough for a word."""
    # Of a recording without steps it is what was recorded that parts have a share of.
    nothing = sum(part.step_frac for part in listed if part.kind == "unrecorded")
    known = 1 - nothing if account.is_window else 1.0
    return [
        part
        for part in listed
        if part.kind not in _OURS
        and part.name not in _UNKNOWN_OPS
        and part.step_frac >= known * (_CODE_FRAC if part.kind in _CODE else _SOME_FRAC)
        and part.step_frac >= _LEAST_FRAC
        and not _is_of_traces(part, results)
    ]


def _by_layer(shown: list[PartRow], results: Results) -> str:
    """Which layers have the ops' time, to be said once; "" where one of them is a part."""
    if any(part.kind == "layer" for part in shown):
        return ""
    return layers.said(results.optional.framework_op_stats)


def _before(part: PartRow, results: Results) -> Iterator[str]:
    """What to look at before all else, where the recording tells how a part comes to its time."""
    if part.kind in _HANDS_OVER and _sends(results):
        yield ARGUMENTS
    yield from trait_hints(part)
    if part.again:
        yield CALLS.format(part.again)
    if _runs_cells(part, results):
        yield CELLS
    if part.has(IN_FIRST_RUN):
        yield AGAIN


def _runs_cells(part: PartRow, results: Results) -> bool:
    """Whether a part is cells of a recurrent layer, or a function that calls them."""
    if part.kind == "op":
        return of_cells(part.between)
    return part.kind == "function" and any(
        (one.file, one.function) == (part.file, part.function) and of_cells(one.name)
        for one in results.step_account.owners.records()
    )


# Parts that call compiled functions, and the least share of a step in which they are sent data.
_HANDS_OVER, _SENT_FRAC = ("framework", "library"), 0.05


def _sends(results: Results) -> bool:
    """Whether arguments of JAX's calls may be sent to a device in each step."""
    overview = results.optional.overview_page
    if overview is None or overview.environment.framework != "JAX":
        return False
    sent, step = overview.breakdown_ms["host_to_device"], overview.steps.time_ms.mean
    return bool(sent >= _SENT_FRAC * step)


def _is_of_traces(part: PartRow, results: Results) -> bool:
    """Whether it is the first runs of graphs that a function is traced to again and again.

    What tracing costs has them in it: they end with it, and with nothing else.
    """
    host = results.optional.host_activity
    if part.kind != "framework" or host is None:
        return False
    again = {one.function for one in host.calls.records() if one.traces and one.built > 0}
    graphs = {(name, number) for name, number in _GRAPH.findall(part.made_of) if name in again}
    return len(graphs) > 1


def _is_compiled(results: Results) -> bool:
    """Whether a step is known to hand over few ops or compiled functions."""
    host = results.optional.host_activity
    if host is None or not host.step_count > 0:
        return False
    return 0 < dispatched(host) < dispatch_threshold(host)


def _finding(
    part: PartRow, account: StepAccount, words: PartWords, stage: str, effect: ExpectedEffect
) -> Finding:
    step, at_most = account.step_time_ms, 1.0
    if effect.change is changes.NARROWED and not part.on_device:
        at_most = _HALVED_AT_MOST
    saving = saving_of(account, part, effect.change, effect.expected, at_most)
    saving = untraced(account, part, saving)
    # Without steps it is unknown what of the rest belongs to the part and would go with it.
    most = max(part.time_ms, saving.expected_ms) if account.is_window else step
    found = Finding(
        rule=RULE.id,
        severity=_severity(part, effect, saving.expected_ms, account),
        saving_ms=saving.expected_ms,
        saving_low_ms=saving.low_ms,
        saving_high_ms=min(saving.high_ms, most),
        assumption=effect.change.assumption,
        confidence=effect.confidence if account.step_count > 1 else min(effect.confidence, 0.6),
        title=words.title,
        message=words.message
        + stage
        + _beside(part, account)
        + _rival(part, account)
        + _made_meanwhile(part, account)
        + _nowhere(part, account)
        + _traced(part, account),
        place=_place_of_others(part, account) or _place(part),
        measured={
            "part_ms": part.time_ms,
            "step_frac": part.step_frac,
            "worth_ms": _worth(part, account) * saving.expected_ms / effect.expected,
            "step_time_ms": step,
            "kind": part.kind,
            "data_type": part.data_type,
            "input_frac": 1.0 if part.kind == "input" else part.input_frac,
            "received_frac": 0.0 if isnan(account.received_frac) else account.received_frac,
            "step_after_ms": step - saving.expected_ms,
        },
        evidence=_evidence(part, words),
        actions=words.actions,
        wrong_when=wrong_when(part),
    )
    if not _is_all_there_is(part, account):
        return found
    return without_saving(found, "nothing but the steps was recorded")


def _place_of_others(part: PartRow, account: StepAccount) -> Place | None:
    """Where another thread is that the part waits for; None where none is known."""
    if waits_for_lock(part):
        return lock_place(account)
    if waits_for_others(part) and (taken := turns(account)) is not None:
        return taken.place
    return makers.place(waited_for(part, account))


def _is_all_there_is(part: PartRow, account: StepAccount) -> bool:
    """Whether the recording has nothing of the steps: what they are made of is unknown."""
    return part.kind == "unrecorded" and part.step_frac >= _ALL_FRAC and not account.busy_ms > 0


def _stage(part: PartRow, results: Results) -> str:
    """Which stage of tf.data a wait for input is for, where that is known."""
    pipelines = results.optional.tf_data_bottleneck_analysis
    if part.kind != "input" or pipelines is None or pipelines.bottleneck is None:
        return ""
    stage = pipelines.bottleneck.long_name
    ops = listed(main_ops(pipelines))
    return f" tf.data stage: {stage}." + (f" It mostly runs {ops}." if ops else "")


def _compiled(part: PartRow, results: Results) -> str:
    """The function that most of the compiling is for; "" where no call of it was recorded."""
    host = results.optional.host_activity
    if part.kind != "compile" or host is None:
        return ""
    built = [one for one in host.calls.records() if one.built > 0]
    return max(built, key=lambda one: one.build_ms).function if built else ""


def _is_once(part: PartRow, account: StepAccount) -> bool:
    """Whether it is compiling that the first of several steps alone has: it may warm up."""
    count = account.step_count
    is_first = part.first_step_frac >= _MOSTLY_FRAC
    return part.kind == "compile" and count > 1 and is_first


def _beside(part: PartRow, account: StepAccount) -> str:
    """How little of a part the step waits for, where that is much less than its time."""
    if isnan(part.alone_ms) or not is_hidden(part):
        return ""
    least = time_words(part.alone_ms)
    if account.has_device or part.most_ms < part.time_ms:
        return (
            f" Without it the step would be only {least} shorter: other work runs at the same time."
        )
    return (
        f" Other work runs at the same time: without it the step would be only {least} shorter, "
        f"and up to {time_words(part.most_ms)} where that work is short of cores."
    )


def _nowhere(part: PartRow, account: StepAccount) -> str:
    """Why no line of the program is named, where none was recorded."""
    if part.file or account.has_python or part.kind not in _HAS_LINE:
        return ""
    return " Which line of the program runs this was not recorded; stepscope record may tell."


def _made_meanwhile(part: PartRow, account: StepAccount) -> str:
    """What other threads make, where the loop waits for it, or may: a library's call may wait."""
    other = None if waits_for_others(part) else makers.maker(account)
    may = part.kind == "library" and other is not None and other.busy_frac >= _BUSY_FRAC
    if not may and part.kind != "input":
        return ""
    return makers.said(other, "the recording" if account.is_window else "the steps")


def _traced(part: PartRow, account: StepAccount) -> str:
    """What recording Python's calls added, where the part is Python's."""
    if part.kind not in (*_LOCKED, "library"):
        return ""
    said = (one.message for one in account.diagnostics if one.slug == TRACED_CALLS)
    return "".join(f" {text}" for text in said)


def _rival(part: PartRow, account: StepAccount) -> str:
    """Who else wants the interpreter's lock, where the part may wait for it."""
    if part.kind not in _LOCKED:
        return ""
    other = next((one for one in account.rivals.records() if one.loop_waits), None)
    if other is None:
        return ""
    at = f"{other.file}:{other.line}" if other.line else other.file
    return (
        f" Meanwhile thread {other.thread} runs Python in {other.function} "
        f"({at}) for {other.busy_frac:.0%} of the steps and holds the "
        "interpreter's lock (GIL): the loop may only wait for it."
    )


def _worth(part: PartRow, account: StepAccount) -> float:
    """The share of a part that it is ranked by."""
    worth = effect_of_kind(part, account).worth
    if part.kind == "op" and part.stretches >= MANY_STRETCHES and part.typical_ms >= 0:
        # An op that every step runs often, and that few steps spend time in, was interrupted.
        worth *= min(part.typical_ms / part.alone_ms, 1.0) if part.alone_ms > 0 else 1.0
    elif part.kind == "framework" and _is_rare(part) and part.typical_ms >= 0:
        # So was a hand-over that is long in few steps, in no rhythm: it ranks as in most steps.
        worth *= min(part.typical_ms / part.time_ms, 1.0)
    if _is_once(part, account):
        worth *= _BESIDE
    # Without steps it is unknown whether the program ran when nothing was recorded.
    return worth * _BESIDE if account.is_window and part.kind == "unrecorded" else worth


def _is_interrupted(part: PartRow) -> bool:
    """Whether every step does it, often, and few steps, in no rhythm, spend most of its time.

    So looks what another program takes the processor from: it hits whatever runs just then. Of
    little Python that only few steps have, in no rhythm, a few samples tell, or one interruption.
    """
    if part.kind in _CODE and _is_rare(part) and part.step_frac < _SOME_FRAC:
        return True
    return (
        part.stretches >= MANY_STRETCHES
        and part.steps_frac < _FEW_STEPS_FRAC
        and 0 < part.typical_ms < _FEW_STEPS_FRAC * part.alone_ms
        and not part.every > 1
    )


def _is_rare(part: PartRow) -> bool:
    """Whether most of its time is in few steps, in no rhythm."""
    return part.every == part.every and not part.every > 1


def _severity(
    part: PartRow, effect: ExpectedEffect, saving: float, account: StepAccount
) -> Severity:
    if not effect.is_alarm or account.is_window or _is_once(part, account):
        return "info"
    if _is_interrupted(part):
        return "info"
    return severity_of(saving, account.step_time_ms)


def _place(part: PartRow) -> Place:
    is_op = part.kind in ("op", "eager", "function", "layer", "line")
    call = part.first if part.first_kind in ("library", "framework") and not is_op else ""
    return Place(
        function=part.function,
        file=part.file,
        line=part.line or 0,
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
    optional=(
        "tf_data_bottleneck_analysis",
        "host_activity",
        "framework_op_stats",
        "overview_page",
    ),
    doc=__doc__ or "",
    title="The largest part of the step",
    threshold="a part with ≥ 10 % of the step",
)
