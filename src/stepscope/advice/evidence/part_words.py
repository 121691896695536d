"""The wording about a part of the step: what is unusual, and what would settle it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stepscope.advice.evidence.compiled_words import SPLIT, WHOLE, at_largest, estimate, most_of_it
from stepscope.advice.evidence.kind_words import (
    ACTIONS,
    KINDS,
    SYSTEM_CALLS,
    SYSTEM_WAITS,
)
from stepscope.advice.evidence.layer_words import of_layer, of_line
from stepscope.advice.evidence.replacements import (
    FEWER,
    FOREACH,
    HALVED,
    KEEP_NEEDED,
    KEEP_RESULTS,
    LARGER,
    NEEDED,
    READ_LATER,
    ROWS_ALONE,
    UNTRAINED,
    instead_of,
    instead_of_reads,
    instead_of_rows,
    instead_within,
)
from stepscope.advice.evidence.waits_for_others import waits_for_others
from stepscope.tables.account.op_families import DOUBLE, ELEMENTWISE, PRODUCTS, UNUSUAL
from stepscope.tables.account.updates import is_update
from stepscope.tables.core.system_calls import is_system_call, is_system_wait

if TYPE_CHECKING:
    from stepscope.analysis.step_account import OwnerRow, PartRow, StepAccount

# A call out of a function is named where it has this share of the part.
_NAMED_FRAC = 0.5
# Calls that make tensors of what Python has.
_CONVERTS = re.compile(r"(?:^|\.)(?:constant|convert_to_tensor|(?:as)?array|(?:as_)?tensor)$")
# Calls that give the program a value of the device's, and wait until it is computed.
_READS = re.compile(
    r"(?:^|\.)(?:item|tolist|_?numpy|cpu|device_get|_value|block_until_ready|"
    r"__(?:array|float|int|bool|index)__)$"
)
# A trend, a number of stretches and a share of steps from which they are worth a word.
_GROWS, _SHRINKS, MANY_STRETCHES = 1.4, 0.7, 8
_MOST_STEPS = 0.5


@dataclass(frozen=True, slots=True)
class PartWords:
    """What a finding about a part says.

    Attributes:
        title: The part in a few words.
        message: Its time, its share, where it is and what is unusual about it.
        actions: The experiment that would settle it first.
        find: What to look for in the timeline; "" nothing.
    """

    title: str
    message: str
    actions: tuple[str, ...]
    find: str = ""


def is_unusual(part: PartRow) -> bool:
    """Whether an op's family is seldom what a model is for."""
    return part.name in UNUSUAL or part.data_type in DOUBLE


def words(
    part: PartRow, account: StepAccount, about: str = "", is_compiled: bool = False
) -> PartWords:
    """What to say of a part.

    Args:
        part: It.
        account: It is of.
        about: The function that it is done for, where that is known.
        is_compiled: Whether the step is handed over in few calls already.
    """
    if part.kind == "framework" and is_compiled:
        return _framework(part, account, LARGER)
    tell = _TELLS.get(part.kind)
    told = _of_kind(part, account, about) if tell is None else tell(part, account)
    return replace(told, actions=(KEEP_RESULTS, *told.actions)) if part.climb > 0 else told


def _share(part: PartRow, account: StepAccount) -> str:
    each = "the recording" if account.is_window else f"each {account.step_time_ms:.3g} ms step"
    if account.is_window:
        return f"{part.time_ms:.3g} ms of {each} ({part.step_frac:.0%})"
    return f"{part.time_ms:.3g} of {each} ({part.step_frac:.0%})"


def at(part: PartRow | OwnerRow) -> str:
    """File and line in parentheses; "" where they are not known."""
    if not part.file:
        return ""
    return f" ({part.file}:{part.line})" if part.line else f" ({part.file})"


def _between(part: PartRow) -> str:
    """The named calls around it, as an insertion; "" where they are not known."""
    return f", most of it {part.between}," if part.between else ""


def _unusual(part: PartRow) -> Iterator[str]:
    """What about a part's time over the steps is not as one would expect."""
    if part.every == part.every:
        yield (
            f"It comes in bursts, every {part.every:.0f} steps, {part.burst_ms:.3g} ms each."
            if part.every > 1
            else f"Most of it is in few steps, {part.burst_ms:.3g} ms each."
        )
    if part.growth >= _GROWS:
        yield f"It grows: {part.growth:.1f} times as long in the last third of the steps."
    elif part.climb > 0 and part.climb_steps:
        yield (
            f"Over {part.climb_steps} steps it gets {part.climb:.1f} times as long and falls back, "
            "again and again."
        )
    elif part.climb > 0:
        yield f"Within each step it gets {part.climb:.1f} times as long."
    elif part.growth <= _SHRINKS:
        yield "It gets shorter from step to step: the first steps may be warming up."


def _code(part: PartRow, account: StepAccount) -> PartWords:
    """A function of the program, or a library's function it calls."""
    name = part.function or part.name
    if waits_for_others(part):
        return _for_others(part, account)
    call = part.first if part.first_kind == "library" and part.first != name else ""
    mostly = ""
    if call and part.first_frac >= _NAMED_FRAC:
        mostly = f", {part.first_frac:.0%} of it in {call}"
    elif part.made_of.count(",") and part.first != name:
        mostly = f": {part.made_of}"
    called = f", called from {part.caller}" if part.caller and part.function else ""
    facts = " ".join(_unusual(part))
    message = f"{name}{at(part)}{called} takes {_share(part, account)}{mostly}. {facts}".strip()
    what = f"{call} in {name}" if call and part.first_frac >= _NAMED_FRAC else name
    # Played again without it; a small part was not.
    alone = part.alone_ms if part.alone_ms >= 0 else part.time_ms
    after = account.step_time_ms - alone
    settle = (
        f"Leave {what} out for some steps and time the loop"
        + ("" if account.is_window else f": a step should then take about {after:.3g} ms")
        + "."
    )
    return PartWords(
        f"{what} takes {part.step_frac:.0%} of the step",
        message,
        (
            settle,
            "If it is needed: do it every n-th step, on another thread or process, or once before "
            "the loop; vectorise what is a loop in Python.",
        ),
        f"{part.file}:{part.line}" if part.file and part.line else name,
    )


def _for_others(part: PartRow, account: StepAccount) -> PartWords:
    """What waits cannot be left out: what it waits for is to be quicker."""
    name, call = part.function or part.name, part.first
    called = f", called from {part.caller}" if part.caller and part.function else ""
    other = max(account.rivals.records(), key=lambda one: one.busy_frac, default=None)
    beside = "What other threads do meanwhile was not recorded."
    if other is not None:
        where = f"{other.file}:{other.line}" if other.line else other.file
        beside = f"Beside it thread {other.thread} is in {other.function} ({where})."
    facts = " ".join(_unusual(part))
    message = (
        f"{name}{at(part)}{called} waits in {call} for another thread or process: "
        f"{_share(part, account)}. {beside} {facts}"
    ).strip()
    return PartWords(
        f"Waiting in {call} takes {part.step_frac:.0%} of the step",
        message,
        (
            "Look at what makes what it waits for: more threads or processes of it, larger "
            "portions at once, more of them ahead, or less to do for each.",
            "A server that nobody asks waits, too: that time is free.",
        ),
        f"{part.file}:{part.line}" if part.file and part.line else name,
    )


_UNTRAINED = (
    "The step computes gradients, and none of these: they are of a constant, of something frozen, "
    "of a metric, a second forward pass or an update."
)
# An update that is made of these takes all variables at once already.
_TOGETHER = re.compile(r"_foreach_|_fused_|_multi_tensor")


def _ops(part: PartRow, account: StepAccount) -> PartWords:
    why = UNUSUAL.get(part.name, "")
    what = f"{part.name} ops" + (f" ({why})" if why else "")
    typed = f" in {part.data_type}" if part.data_type in DOUBLE else ""
    # A device's work falls into as many pieces as the host's thread moves on: no count of runs.
    many = part.stretches >= MANY_STRETCHES and not part.launched
    stretches = f" in {part.stretches:.0f} stretches" if many else ""
    largest = f"; most in {part.made_of}" if part.made_of and part.made_of != part.name else ""
    largest += f"; its longest run works on {part.shapes}" if part.shapes else ""
    source = ""
    called = f", called from {part.caller}" if part.caller else ""
    if part.file and part.line:
        source = (
            f" The op comes from {part.file}:{part.line}{called}."
            if part.is_source
            else f" Meanwhile the loop's thread is mostly at {part.file}:{part.line}."
        )
    if part.launched:
        source = f" The program launches it at {part.launched}."
    if part.is_program:
        what, largest = f"Runs of the compiled function {part.first}", ""
        is_said = f"{part.file.rpartition('/')[2]}:{part.line}" in part.estimated
        source = f"{'' if is_said else source} {WHOLE}{estimate(part)}"
    if part.between and not source:
        source = f" Most of it runs {part.between}."
    facts = " ".join([*([_UNTRAINED] if part.is_apart else []), *_unusual(part)])
    message = (
        f"{what}{typed} take {_share(part, account)}{stretches}{largest}.{source} {facts}".strip()
    )
    then = "See in roofline_model whether it runs well; a fused or library variant may do."
    if part.is_program:
        first = at_largest(part) or SPLIT
    elif part.data_type in DOUBLE:
        first = (
            "Compute in float32: cast the inputs, and look for float64 constants and NumPy arrays."
        )
    elif is_update(part.name):
        first = FOREACH if _TOGETHER.search(part.made_of) else ROWS_ALONE
    elif instead := (
        instead_of_rows(part.op) or instead_within(part.between) or instead_of(part.name)
    ):
        first = instead
    elif why:
        first = f"Look for what needs {why} in every step: do it once, on less data, or otherwise."
    elif part.is_apart:
        first, then = UNTRAINED, KEEP_NEEDED
    elif part.name in PRODUCTS:
        first, then = NEEDED, f"{HALVED} {then}"
    else:
        first = (
            "Look at what needs it: leave it out, or give it half the data, for some steps, and "
            "time the loop."
        )
    return PartWords(
        f"{_ops_take(part)} {part.step_frac:.0%} of the step",
        message,
        (first, then),
        part.op,
    )


def _ops_take(part: PartRow) -> str:
    if part.name == ELEMENTWISE:
        return "Elementwise ops take"
    return f"{part.name} without gradients takes" if part.is_apart else f"{part.name} takes"


def _eager(part: PartRow, account: StepAccount) -> PartWords:
    """Ops that the program runs one by one in a loop of its own."""
    name = part.function
    called = f", called from {part.caller}" if part.caller and name else ""
    where = f"{name}{at(part)}{called}" if name else "The program"
    facts = " ".join(_unusual(part))
    runs = "runs the same ops in eager mode, one by one, again and again. They take"
    if part.through:
        runs = f"calls {part.through}, whose ops run one by one and take"
    message = f"{where} {runs} {_share(part, account)}: {part.made_of}. {facts}".strip()
    what = f"{name}{at(part)}" if name else "that loop"
    title = f"{part.through} in {name}" if part.through else name
    return PartWords(
        f"{title or 'A loop around ops'} takes {part.step_frac:.0%} of the step",
        message,
        (
            f"Leave out what {what} does for some steps, and time the loop."
            if name
            else "Look for the loop that calls these ops; leave it out for some steps.",
            "If it is needed: one op over all samples or variables instead of one each, the whole "
            "of it in a compiled function, or every n-th step only.",
        ),
        part.op,
    )


# Methods by which the frameworks call a model or a layer: what they do is what the program is for.
_MODEL_CALLS = ("forward", "call", "__call__")
_SMALLER = (
    "Give it a smaller input (batch, length, resolution) and time the loop; look at how much of "
    "the input is padding, or finer than needed."
)


def calls_model(function: str) -> bool:
    """Whether a function is by its name a model's work, or that of a package's layer."""
    return function.rpartition(".")[2] in _MODEL_CALLS or function.endswith("_forward")


def _function(part: PartRow, account: StepAccount) -> PartWords:
    """The ops of several families that one function of the program runs."""
    called = f", called from {part.caller}" if part.caller else ""
    message = (
        f"The ops that {part.function}{at(part)}{called} runs, with their gradients, if any, take "
        f"{_share(part, account)}: {part.made_of}. {' '.join(_unusual(part))}"
    ).strip()
    return PartWords(
        f"{part.function} takes {part.step_frac:.0%} of the step",
        message,
        (
            _SMALLER
            if calls_model(part.function)
            else f"Leave {part.function} out for some steps, or give it a smaller input, and time "
            "the loop.",
            "If it is needed: do it every n-th step, once before the loop for what does not "
            "change, without gradients where none are used, or with fewer and larger ops.",
        ),
        part.op,
    )


def _line(part: PartRow, account: StepAccount) -> PartWords:
    """The ops of several families that compiled programs have from one line."""
    where = at(part) + (f", called from {part.caller}" if part.caller else "")
    facts = " ".join(_unusual(part))
    return PartWords(*of_line(part, where, _share(part, account), facts), part.op)


def _layer(part: PartRow, account: StepAccount) -> PartWords:
    return PartWords(*of_layer(part, _share(part, account), " ".join(_unusual(part))), part.op)


def _program(part: PartRow, account: StepAccount) -> PartWords:
    """Compiled functions of whose ops none was recorded."""
    what = "functions" if ", " in part.name else "function"
    return PartWords(
        f"{part.name} takes {part.step_frac:.0%} of the step{most_of_it(part)}",
        f"Runs of the compiled {what} {part.name} take {_share(part, account)}. {WHOLE}"
        f"{estimate(part)}",
        (
            at_largest(part) or SPLIT,
            "Give it half the batch, or a smaller model, and time it: the steps of what it "
            "computes shorten accordingly, what it does once does not.",
        ),
        part.first,
    )


def _framework(part: PartRow, account: StepAccount, actions: tuple[str, ...] = FEWER) -> PartWords:
    place = f" below {part.function}{at(part)}" if part.function else _between(part)
    called = f", called from {part.caller}" if part.caller and part.function else ""
    message = (
        f"The framework's own work on the loop's thread{place}{called} takes "
        f"{_share(part, account)}: {part.made_of}. {' '.join(_unusual(part))}"
    ).strip()
    if is_system_call(part.first) and part.first_frac >= _NAMED_FRAC:
        return _of_system(part, account, place + called)
    if _READS.search(part.first) and part.first_frac >= _NAMED_FRAC:
        return PartWords(
            f"Reading values with {part.first} takes {part.step_frac * part.first_frac:.0%} "
            "of the step",
            message,
            READ_LATER,
            part.first,
        )
    if _CONVERTS.search(part.first) and part.first_frac >= _NAMED_FRAC:
        return PartWords(
            f"{part.first} takes {part.step_frac * part.first_frac:.0%} of the step",
            message,
            (
                "Convert what does not change once, before the loop.",
                "Hand over NumPy arrays of the type that the model computes in: lists and other "
                "types are converted number by number.",
            ),
            part.first,
        )
    if reads := instead_of_reads(part.made_of):
        actions = (reads, *actions[1:])
    return PartWords(
        f"Handing work over to the runtime takes {part.step_frac:.0%} of the step",
        message,
        actions,
        part.first,
    )


def _of_system(part: PartRow, account: StepAccount, where: str) -> PartWords:
    return PartWords(
        f"Calls of the operating system take {part.step_frac:.0%} of the step",
        f"Calls of the operating system on the loop's thread{where} take {_share(part, account)}: "
        f"{part.made_of}.",
        SYSTEM_CALLS,
        part.first,
    )


def _unrecorded(part: PartRow, account: StepAccount) -> PartWords:
    much = "most" if part.first_frac >= _NAMED_FRAC else f"{part.first_frac:.0%}"
    after = f", {much} of it {part.first}" if part.first and part.first != "unrecorded" else ""
    after = _between(part).rstrip(",") or after
    message = (
        f"For {_share(part, account)} nothing was recorded on the loop's thread{after}: Python, or "
        "a library between the framework's calls."
    )
    if not account.has_events and not account.has_python:
        message = (
            f"For {_share(part, account)} no device ran anything, and nothing of the host was "
            "recorded, so the reason is unknown."
        )
    actions = ["Record with stepscope record to see function and line of what runs there."]
    if account.has_python:
        actions = ["Look in the timeline at what other threads do meanwhile."]
    elif account.has_events and not account.has_ops:
        message = (
            f"For {_share(part, account)} nothing was recorded{after}, and of the program nothing "
            "but its calls of the device's runtime: no op, no range, no Python."
        )
        actions = [*_RECORD_HOST, *actions]
    return PartWords(
        f"Nothing was recorded for {part.step_frac:.0%} of the step",
        message,
        (*actions, "Leave out what the loop does besides the model for some steps, and time it."),
    )


_RECORD_HOST = (
    "Record what the program calls beside what the device runs: ops, or ranges around the parts of "
    "the step.",
    "[pytorch: With torch.profiler, both activities: profile(activities=(ProfilerActivity.CPU, "
    "ProfilerActivity.CUDA), with_stack=True).]",
)


def _region(part: PartRow, account: StepAccount) -> PartWords:
    """A range that the program marks, with nothing of a framework in it."""
    record = "Record with stepscope record to see function and line of what runs there."
    message = (
        f"{part.name}, a range that the program marks, takes {_share(part, account)}, and nothing "
        f"else was recorded in it. {' '.join(_unusual(part))}"
    ).strip()
    return PartWords(
        f"{part.name} takes {part.step_frac:.0%} of the step",
        message,
        (f"Leave {part.name} out for some steps, and time the loop.", record),
        part.name,
    )


_LOOK = ("Look at it in the timeline.",)


def _of_kind(part: PartRow, account: StepAccount, about: str) -> PartWords:
    what = f"{KINDS.get(part.kind, part.kind)} {about}".strip()
    name = f" ({part.name})" if part.name and part.name != part.kind else ""
    place = f" below {part.function}{at(part)}" if part.function else _between(part)
    facts = " ".join(_unusual(part))
    idle = (
        "Nothing recorded ran on a device meanwhile: look in the timeline at what the host's other "
        "threads do."
        if part.kind == "wait" and account.has_device
        else ""
    )
    message = f"{what}{name}{place} takes {_share(part, account)}. {idle} {facts}".strip()
    return PartWords(
        f"{what} takes {part.step_frac:.0%} of the step",
        message,
        SYSTEM_WAITS if is_system_wait(part.first) else ACTIONS.get(part.kind, _LOOK),
        part.first,
    )


_TELLS = {
    "python": _code,
    "library": _code,
    "op": _ops,
    "eager": _eager,
    "function": _function,
    "layer": _layer,
    "line": _line,
    "program": _program,
    "framework": _framework,
    "unrecorded": _unrecorded,
    "region": _region,
}
