"""The wording about layers, and about passes of models, that stand for their ops."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.hints.products import graph_hints
from stepscope.advice.parts.part_facts import PartWords, brief_path, called_from, share, unusual
from stepscope.advice.parts.replacements import (
    ATTENTION,
    COUNTS,
    KEEP_NEEDED,
    UNTRAINED,
    of_attention,
    percent,
)
from stepscope.tables.parts.grouping import OUTSIDE
from stepscope.tables.parts.part_traits import MANY_OPS
from stepscope.tables.traits.apart_functions import A_PASS
from stepscope.tables.traits.gradients import APART

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount

_NO_LINE = "Which line of the program runs this was not recorded."


_SMALLER_LAYER: Final = (
    "Look for {}, and at its settings: widths that multiply (units per head, filters times "
    "channels), a resolution or length that nothing needs. Halve one of them and time the loop."
)
# What no layer of a model's is: it reduces many numbers to few.
_REDUCES: Final = re.compile(r"^aten/(?:logsumexp|logcumsumexp|norm|cdist|pdist|std|var|mean|nll)")
_SMALLER_OP: Final = (
    "Look at the shape of what it reduces: pairs, classes or positions, few of which may count. "
    "Give it half of them and time the loop."
)


def layer_words(part: PartRow, account: StepAccount) -> PartWords:
    """What is named after one layer, loss or metric, or is a pass of its own."""
    if part.name == APART:
        return _pass_apart(part, account)
    if part.name == OUTSIDE:
        return _outside(part, account)
    which = "that" if part.name.startswith(_ATEN) else "named after"
    runs = " runs" if part.name.startswith(_ATEN) else ""
    message = (
        f"The ops {which} {part.name}{runs}, with their gradients, if any, take "
        f"{share(part, account)}: {part.made_of}. {_line(part)} {' '.join(unusual(part))}"
    ).strip()
    return PartWords(
        f"{part.name} takes {part.step_frac:.0%} of the step",
        message,
        (
            *_of_layer(part, account),
            _SMALLER_OP if _REDUCES.search(part.name) else _SMALLER_LAYER.format(_what(part)),
            "If it is not the model's own work: every n-th step, on less data, or otherwise.",
        ),
        part.op,
    )


# Ops that compare, and the least per cent of a part from which it is about them.
_COMPARES = re.compile(r"\b(?:Greater|Less|Equal|NotEqual|GreaterEqual|LessEqual)\b")
_SOME_COMPARE = 5


def _outside(part: PartRow, account: StepAccount) -> PartWords:
    """What a loss computes beside the model's layers."""
    return PartWords(
        f"Ops outside of the model's layers take {part.step_frac:.0%} of the step",
        f"Ops that are in no layer, with their gradients, take {share(part, account)}: "
        f"{part.made_of}. {_line(part)} {' '.join(unusual(part))}".strip(),
        (
            *((COUNTS,) if percent(part.made_of, _COMPARES) >= _SOME_COMPARE else ()),
            "Look at what the loss adds to the model: a regulariser or a penalty goes over all "
            "rows of a table, of which a batch reads few, and makes its gradient dense. Use the "
            "rows of the batch, or the optimizer's weight decay.",
            "Look at the loss itself, and at metrics: subtracting an (n, 1) tensor from an (n,) "
            "tensor broadcasts to n × n.",
        ),
        part.op,
    )


# Before the names of PyTorch's ops.
_ATEN = "aten/"


def _what(part: PartRow) -> str:
    if part.name.startswith(_ATEN):
        return f"what calls {part.name.removeprefix(_ATEN)}"
    return "the layer, loss or metric of that name"


def _line(part: PartRow) -> str:
    """Where the loop's thread is meanwhile: it hands over all ops of a graph at one line."""
    if not (part.file and part.line):
        return _NO_LINE
    return f"Meanwhile the loop's thread is at {brief_path(part.file)}:{part.line}."


def _pass_apart(part: PartRow, account: StepAccount) -> PartWords:
    """What a step computes of models without gradients."""
    called, is_named, _ = part.between.removeprefix("within ").partition(A_PASS)
    function = called if is_named else ""
    title = f"{function}, a pass without gradients," if function else "A pass without gradients"
    where = f"in {function} " if function else ""
    at = f"{brief_path(part.file)}:{part.line}" if part.file and part.line else ""
    place = f"It runs at {at}{called_from(part)}." if at else _NO_LINE
    return PartWords(
        f"{title} takes {part.step_frac:.0%} of the step",
        f"Without gradients the step runs ops {where}for {share(part, account)}: {part.made_of}. "
        + " ".join([*unusual(part), place]),
        (
            "Ask what each such pass is for. Of data that stays the same, keep the results of a "
            "frozen model; an evaluation, or statistics of an averaged model, do every n-th step "
            "or once at the end; what the forward pass has computed already, take from there.",
            KEEP_NEEDED,
        ),
        part.op,
    )


def has_pass_in_bursts(account: StepAccount) -> bool:
    """Whether few steps run a pass without gradients: they evaluate, or show what they have."""
    return any(one.name == APART and one.every > 0 for one in account.parts.records())


# TensorFlow's gradient of rows that were read from what a layer made.
_ADDS_ROWS = "UnsortedSegmentSum"


def reads_rows(part: PartRow, account: StepAccount) -> bool:
    """Whether of what a layer makes rows are read by index, and gradients added to them."""
    return part.kind == "layer" and any(
        one.family == _ADDS_ROWS and f"/{part.name}/" in f"/{one.name}"
        for one in account.owners.records()
    )


# The scope in which TensorFlow computes gradients.
_TAPE = "gradient_tape/"


def is_constant(part: PartRow, account: StepAccount) -> bool:
    """Whether a step computes gradients, and none of what bears this name."""
    if part.kind != "layer" or part.name == APART:
        return part.name == APART
    gradients = [one.name for one in account.owners.records() if _TAPE in one.name]
    within = _within(part.name)
    return bool(gradients) and not any(within.search(name) for name in gradients)


# What several layers of a kind are called together, without the numbers that tell them apart.
_OF_A_KIND = re.compile(r" \(\d+ layers\)$")


def _within(layer: str) -> re.Pattern[str]:
    """What the names of a layer's ops have in them."""
    kind = _OF_A_KIND.sub("", layer)
    numbers = "" if kind == layer else r"(?:_\d+)*"
    return re.compile("".join(f"/{re.escape(scope)}{numbers}" for scope in kind.split("/")) + "/")


# Between a model's scope and an op lie a layer's, and one within that.
_LAYERS = 2


def _is_model(part: PartRow) -> bool:
    """Whether a scope at the top is made of layers: an encoder beside its decoder."""
    inner = part.op.partition(f"{part.name}/")[2]
    return "/" not in part.name and inner.count("/") >= _LAYERS


def _has_gradients(account: StepAccount) -> bool:
    return any(_TAPE in one.name for one in account.owners.records())


def _of_layer(part: PartRow, account: StepAccount) -> Iterator[str]:
    """What to look at first, where the recording tells how a layer's ops come to their time."""
    if is_constant(part, account):
        yield f"The step computes gradients, and none of these. {UNTRAINED}"
    if _is_model(part) and not _has_gradients(account):
        yield (
            f"{part.name} is a model of its own beside others. Ask whether its input changes from "
            "call to call: if not, run it once, before the loop, and keep what it gives."
        )
    if of_attention(f"{part.name} {part.made_of}"):
        yield ATTENTION
    yield from graph_hints(part, account)
    if part.has(MANY_OPS):
        yield (
            "It is many ops: look in it for a loop over columns, heads or pairs, and compute all "
            "at once: stack them, one product or one op, then take what is needed of it."
        )
    if reads_rows(part, account):
        yield (
            "Rows of what it makes are read by index: read the rows first, and compute it for "
            "these alone."
        )
