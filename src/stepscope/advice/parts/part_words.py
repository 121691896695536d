"""The wording about a part of the step: what is unusual, and what would settle it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stepscope.advice.parts.compiled_words import (
    SMALLER,
    SPLIT,
    WHOLE,
    at_largest,
    estimate,
    most_of_it,
)
from stepscope.advice.parts.framework_words import framework_words
from stepscope.advice.parts.hints.calls import of_call
from stepscope.advice.parts.hints.products import product_hints
from stepscope.advice.parts.kind_words import (
    ACTIONS,
    KINDS,
    POOL,
    POOL_WAITS,
    SYSTEM_WAITS,
    WITHIN,
    WITHIN_ACTIONS,
    is_pool_wait,
    is_within,
)
from stepscope.advice.parts.layer_words import layer_words
from stepscope.advice.parts.line_words import ONE_HOT, instead_of_line, instead_of_routine
from stepscope.advice.parts.lock_words import lock_words, waits_for_lock
from stepscope.advice.parts.op_words import op_words
from stepscope.advice.parts.part_facts import (
    PartWords,
    at,
    between,
    called_from,
    grows,
    one_of_several,
    share,
    unusual,
)
from stepscope.advice.parts.replacements import (
    BOUNDED,
    KEEP_NEEDED,
    LARGER,
    SUMMARIES,
    percent,
)
from stepscope.advice.parts.waits_for_others import waits_for_others, words_for_others
from stepscope.tables.core.waits import is_system_wait
from stepscope.tables.traits.op_families import DOUBLE, UNUSUAL

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount

# What has this share of a part is the part.
_ALL_FRAC = 0.9
# A call out of a function is named where it has this share of the part.
_NAMED_FRAC = 0.5


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
        return framework_words(part, account, LARGER)
    tell = _TELLS.get(part.kind)
    return _of_kind(part, account, about) if tell is None else tell(part, account)


def _code(part: PartRow, account: StepAccount) -> PartWords:
    """A function of the program, or a library's function it calls."""
    name = part.function or part.name
    if waits_for_lock(part):
        return lock_words(part, account)
    if waits_for_others(part):
        return words_for_others(part, account)
    call = part.first if part.first_kind == "library" and part.first != name else ""
    mostly = ""
    if call and part.first_frac >= _NAMED_FRAC:
        mostly = f", {part.first_frac:.0%} of it in {call}"
    elif part.made_of.count(",") and part.first != name:
        mostly = f": {part.made_of}"
    called = called_from(part) if part.function else ""
    facts = " ".join(filter(None, (one_of_several(part, account), *unusual(part))))
    message = f"{name}{at(part)}{called} takes {share(part, account)}{mostly}. {facts}".strip()
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
        f"{what}{at(part)} takes {part.step_frac:.0%} of the step",
        message,
        (
            *((BOUNDED,) if grows(part) else ()),
            *of_call(call, is_most=part.first_frac >= _NAMED_FRAC),
            settle,
            "If it is needed: do it every n-th step, on another thread or process, or once before "
            "the loop; look up in a dict, made once, what a loop searches for; vectorise what is a "
            "loop over numbers.",
        ),
        f"{part.file}:{part.line}" if part.file and part.line else name,
    )


# TensorFlow's ops that write a summary; a histogram is made of a dozen others.
_SUMMARY = re.compile(r"\bWrite\w*Summary\b")


def _eager(part: PartRow, account: StepAccount) -> PartWords:
    """Ops that the program runs one by one in a loop of its own."""
    name = part.function
    called = called_from(part) if name else ""
    where = f"{name}{at(part)}{called}" if name else "The program"
    facts = " ".join(unusual(part))
    is_summary = _SUMMARY.search(part.made_of) is not None
    if is_summary:
        facts = f"They make summaries for TensorBoard (tf.summary). {facts}".strip()
    runs = "runs the same ops in eager mode, one by one, again and again. They take"
    if part.through:
        runs = f"calls {part.through}, whose ops run one by one and take"
    message = f"{where} {runs} {share(part, account)}: {part.made_of}. {facts}".strip()
    what = f"{name}{at(part)}" if name else "that loop"
    title = (f"{part.through} in {name}" if part.through else name) + at(part) * bool(name)
    return PartWords(
        f"{title or 'A loop around ops'} takes {part.step_frac:.0%} of the step",
        message,
        (
            *((SUMMARIES,) if is_summary else ()),
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


# Of trainers that call the model, and hardly anything else, in the same function.
_TRAINING_CALLS = ("training_step", "train_step", "train_batch", "validation_step", "compute_loss")
_OF_MODELS = re.compile(
    r"convolution|matmul|(?:batch|layer|group)_norm|max_pool|attention|lstm|(?<![a-z])gru"
)
_MOSTLY_MODEL = 60


def is_models(function: str) -> bool:
    """Whether a function is by its name a model's work, or that of a package's layer."""
    return function.rpartition(".")[2] in _MODEL_CALLS or function.endswith("_forward")


def calls_model(part: PartRow) -> bool:
    """Whether a function is a model's work, by its name, or by its name and what it runs."""
    if is_models(part.name):
        return True
    if part.name.rpartition(".")[2] not in _TRAINING_CALLS:
        return False
    return percent(part.made_of, _OF_MODELS) >= _MOSTLY_MODEL


def _function(part: PartRow, account: StepAccount) -> PartWords:
    """The ops of several families that one function of the program runs."""
    called = called_from(part)
    message = (
        f"The ops that {part.function}{at(part)}{called} runs, with their gradients, if any, take "
        f"{share(part, account)}: {part.made_of}. {' '.join(unusual(part))}"
    ).strip()
    return PartWords(
        f"{part.function}{at(part)} takes {part.step_frac:.0%} of the step",
        message,
        (
            *(() if ONE_HOT not in part.made_of else (instead_of_line(part.made_of),)),
            *filter(None, (instead_of_routine(part.made_of),)),
            *product_hints(part, account),
            _SMALLER
            if calls_model(part)
            else f"Leave {part.function} out for some steps, or give it a smaller input, and time "
            "the loop.",
            "If it is needed: do it every n-th step, once before the loop for what does not "
            "change, without gradients where none are used, or with fewer and larger ops.",
        ),
        part.op,
    )


def _line(part: PartRow, account: StepAccount) -> PartWords:
    """The ops of several families that compiled programs have from one line."""
    called = called_from(part)
    message = (
        f"What is compiled from one line of {part.function}{at(part)}{called} takes "
        f"{share(part, account)}: {part.made_of}. {' '.join(unusual(part))}"
    ).strip()
    return PartWords(
        f"One line of {part.function}{at(part)} takes {part.step_frac:.0%} of the step",
        message,
        (
            *filter(None, (instead_of_routine(part.made_of),)),
            instead_of_line(part.made_of),
            KEEP_NEEDED,
        ),
        part.op,
    )


def _program(part: PartRow, account: StepAccount) -> PartWords:
    """Compiled functions of whose ops none was recorded."""
    what = "functions" if ", " in part.name else "function"
    return PartWords(
        f"{part.name} takes {part.step_frac:.0%} of the step{most_of_it(part)}",
        f"Runs of the compiled {what} {part.name} take {share(part, account)}. {WHOLE}"
        f"{estimate(part)}",
        (
            at_largest(part) or SPLIT,
            SMALLER,
        ),
        part.first,
    )


def _unrecorded(part: PartRow, account: StepAccount) -> PartWords:
    much = "most" if part.first_frac >= _NAMED_FRAC else f"{part.first_frac:.0%}"
    after = f", {much} of it {part.first}" if part.first and part.first != "unrecorded" else ""
    after = between(part).rstrip(",") or after
    message = (
        f"For {share(part, account)} nothing was recorded on the loop's thread{after}: Python, or "
        "a library between the framework's calls."
    )
    if not account.has_events and not account.has_python:
        message = (
            f"For {share(part, account)} no device ran anything, and nothing of the host was "
            "recorded, so the reason is unknown."
        )
    actions = ["Record with stepscope record to see function and line of what runs there."]
    if account.has_python:
        actions = ["Look in the timeline at what other threads do meanwhile."]
    elif account.has_events and not account.has_ops:
        message = (
            f"For {share(part, account)} nothing was recorded{after}, and of the program nothing "
            "but its calls of the device's runtime or the system: no op, no range, no Python."
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


# Ranges by these names are what training is made of: nobody leaves them out.
_PHASES = re.compile(r"\b(?:forward|backward|optimizer|train|zero_grad|step)\b", re.IGNORECASE)
_OTHER_THREADS = (
    "Record the ops of all threads: a backward pass runs on the framework's own, and nothing of "
    "them was recorded meanwhile."
)


def _region(part: PartRow, account: StepAccount) -> PartWords:
    """A range that the program marks, with nothing of a framework in it."""
    record = "Record with stepscope record to see function and line of what runs there."
    leave = f"Leave {part.name} out for some steps, and time the loop."
    message = (
        f"{part.name}, a range that the program marks, takes {share(part, account)}, and nothing "
        f"else was recorded in it. {' '.join(unusual(part))}"
    ).strip()
    return PartWords(
        f"{part.name} takes {part.step_frac:.0%} of the step",
        message,
        (_OTHER_THREADS if _PHASES.search(part.name) else leave, record),
        part.name,
    )


_LOOK = ("Look at it in the timeline.",)


def _of_kind(part: PartRow, account: StepAccount, about: str) -> PartWords:
    within = is_within(part.kind, part.first)
    what = WITHIN if within else f"{KINDS.get(part.kind, part.kind)} {about}".strip()
    actions = WITHIN_ACTIONS if within else ACTIONS.get(part.kind, _LOOK)
    if is_pool_wait(part.kind, part.first):
        what, actions = POOL, POOL_WAITS
    name = f" ({part.name})" if part.name and part.name != part.kind else ""
    place = f" below {part.function}{at(part)}" if part.function else between(part)
    facts = " ".join(unusual(part))
    idle = (
        "Nothing recorded ran on a device meanwhile: look in the timeline at what the host's other "
        "threads do."
        if part.kind == "wait" and account.has_device
        else ""
    )
    is_said = part.first in (part.name, part.kind) and part.first_frac >= _ALL_FRAC
    mostly = f": {part.made_of}" if part.made_of and not is_said else ""
    message = f"{what}{name}{place} takes {share(part, account)}{mostly}. {idle} {facts}".strip()
    return PartWords(
        f"{what} takes {part.step_frac:.0%} of the step",
        message,
        SYSTEM_WAITS if is_system_wait(part.first) else actions,
        part.first,
    )


_TELLS = {
    "python": _code,
    "library": _code,
    "op": op_words,
    "eager": _eager,
    "function": _function,
    "layer": layer_words,
    "line": _line,
    "program": _program,
    "framework": framework_words,
    "unrecorded": _unrecorded,
    "region": _region,
}
