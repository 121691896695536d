"""The wording about ops that take much of the step."""

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
from stepscope.advice.parts.hints.calls import metric
from stepscope.advice.parts.hints.products import over_classes, product_hints
from stepscope.advice.parts.hints.tables import whole_tables
from stepscope.advice.parts.hints.transforms import instead_of_length
from stepscope.advice.parts.line_words import instead_of_permutation, instead_of_routine
from stepscope.advice.parts.part_facts import (
    MANY_STRETCHES,
    PartWords,
    brief_path,
    called_from,
    share,
    unusual,
)
from stepscope.advice.parts.replacements import (
    CHECK_TYPE,
    DIVIDED,
    DONATED,
    FOREACH,
    HALVED,
    KEEP_NEEDED,
    NEEDED,
    NOT_FLOAT32,
    ROWS_ALONE,
    UNTRAINED,
    instead_in_loop,
    instead_of,
    instead_of_columns,
    instead_of_copies,
    instead_of_rows,
    instead_of_slices,
    instead_within,
    is_loop,
)
from stepscope.tables.parts.part_traits import (
    COPIES_ARGUMENT,
    NOT_ONEDNN,
    ON_EACH_DEVICE,
)
from stepscope.tables.traits.op_families import (
    DOUBLE,
    ELEMENTWISE,
    PRODUCTS,
    RANDOM,
    TEXT,
    UNUSUAL,
)
from stepscope.tables.traits.updates import is_update

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount

_UNTRAINED = (
    "The step computes gradients, and none of these: they are of the step's inputs, of a constant, "
    "of something frozen, of a metric, a second forward pass or an update."
)
# An update that is made of these takes all variables at once already.
_TOGETHER = re.compile(r"_foreach_|_fused_|_multi_tensor")


# What a model's layers end in: nothing does the same for less.
_ACTIVATION = re.compile(
    r"(?i)(?:^|[/(_])(relu6?|leaky_?relu|elu|selu|gelu|silu|swish|softplus|sigmoid|hard_?tanh)\b"
)
# From this share on an op stands for the loop of a compiled program that it is in.
_IN_LOOP_FRAC = 0.6


# What people call families whose name is not an op's.
_SAID = {TEXT: "Ops on text", RANDOM: "Random numbers"}
# What JAX puts into the names of a backward pass.
_BACKWARD = "transpose("


def instead_for(part: PartRow, account: StepAccount) -> str:
    """What to run instead of a part's ops; "" where nothing is known to do the same."""
    if part.has(ON_EACH_DEVICE):
        return DIVIDED
    if part.has(COPIES_ARGUMENT):
        return DONATED
    if permuted := instead_of_permutation(part.made_of):
        return permuted
    columns = instead_of_columns(part.op)
    if columns and not any(_BACKWARD in one.name for one in account.owners.records()):
        return columns
    if _ACTIVATION.search(part.op):
        return ""
    if is_loop(part.name) and (slices := instead_of_slices(part.made_of)):
        return slices
    if (inner := _inner(part)) and (instead := instead_in_loop(inner)):
        return instead
    if length := instead_of_length(part):
        return length
    known = instead_of_rows(part.op) or instead_within(part.between) or instead_within(part.op)
    return known or instead_of_copies(part) or instead_of(part.name)


def _inner(part: PartRow) -> str:
    """What a loop of a compiled program mostly runs: "concat"; "" for others."""
    if not is_loop(part.name) or not part.first_frac >= _IN_LOOP_FRAC:
        return ""
    last = re.sub(r"[_.]\d+$", "", part.first.rpartition("/")[2])
    return "" if is_loop(last) else last


def op_words(part: PartRow, account: StepAccount) -> PartWords:
    """What to say of ops."""
    why = UNUSUAL.get(part.name, "")
    what = _SAID.get(part.name, f"{part.name} ops")
    what += f" ({why})" if why and part.name != RANDOM else ""
    typed = f" in {part.data_type}" if part.data_type in DOUBLE else ""
    # A device's work falls into as many pieces as the host's thread moves on: no count of runs.
    many = part.stretches >= MANY_STRETCHES and not part.launched
    stretches = f" in {part.stretches:,.0f} stretches" if many else ""
    largest = f"; most in {part.made_of}" if part.made_of and part.made_of != part.name else ""
    largest += f"; its longest run works on {part.shapes}" if part.shapes else ""
    source = _source(part)
    if part.is_program:
        what, largest = f"Runs of the compiled function {part.first}", ""
        is_said = f"{part.file.rpartition('/')[2]}:{part.line}" in part.estimated
        source = f"{'' if is_said else source} {WHOLE}{estimate(part)}"
    if part.between and not source:
        source = f" Most of it runs {part.between}."
    if part.through:
        source += f" It runs within {part.through}, which the program calls there."
    facts = " ".join([*([_UNTRAINED] if _is_untrained(part) else []), *unusual(part)])
    message = (
        f"{what}{typed} take {share(part, account)}{stretches}{largest}.{source} {facts}".strip()
    )
    then, hints = _RUNS_WELL if part.on_device else "", tuple[str, ...]()
    if part.is_program:
        first, then = at_largest(part) or SPLIT, SMALLER
    elif part.data_type in DOUBLE:
        first = (
            "Compute in float32: cast the inputs, and look for float64 constants and NumPy arrays."
        )
    elif is_update(part.name):
        first = FOREACH if _TOGETHER.search(part.made_of) else ROWS_ALONE
    elif instead := instead_for(part, account):
        first = instead
    elif why:
        first = f"Look for what needs {why} in every step: do it once, on less data, or otherwise."
    elif _is_untrained(part):
        first, then = UNTRAINED, KEEP_NEEDED
    elif part.name in PRODUCTS:
        first, then = NEEDED, f"{HALVED} {then}".strip()
        hints = (instead_of_routine(part.made_of), *product_hints(part, account))
    else:
        hints = tuple(filter(None, (over_classes(part, account),)))
        first = (
            "Look at what needs it: leave it out, or give it half the data, for some steps, and "
            "time the loop."
        )
    before = _not_float32(part), metric(part.through), whole_tables(part, account)
    return PartWords(
        f"{_ops_take(part)} {part.step_frac:.0%} of the step{_beyond(part)}",
        message,
        tuple(filter(None, (*before, *hints, first, then, _untyped(part)))),
        part.op,
    )


# Products with less of the step are not worth a look at their type.
_TYPED_FRAC = 0.3


def _untyped(part: PartRow) -> str:
    """What to check of products with much of the step whose data type was not recorded."""
    is_large = part.name in PRODUCTS and part.step_frac >= _TYPED_FRAC
    is_known = part.data_type or part.shapes or part.on_device or part.is_program
    return CHECK_TYPE if is_large and not is_known and not _not_float32(part) else ""


def _not_float32(part: PartRow) -> str:
    """What to check of products that run in no kernel for float32."""
    is_large = part.has(NOT_ONEDNN) and part.step_frac >= _TYPED_FRAC
    return NOT_FLOAT32 if is_large and not part.data_type else ""


def _beyond(part: PartRow) -> str:
    """The end of a title: what its time is for, in what, or which line has most of it."""
    return ", in float64 or without oneDNN" if _not_float32(part) else most_of_it(part)


# Of what ran on a host no peak is known, and the tool has nothing of it.
_RUNS_WELL = (
    "See in roofline_model how near it comes to the device's peak: if it is near, only less of it "
    "helps; if not, look for a fused op or a library that does the same."
)


def _is_untrained(part: PartRow) -> bool:
    """Whether that no gradient goes through it is what is to be asked about it."""
    return part.is_apart


def _source(part: PartRow) -> str:
    """Where the ops come from, or where the loop's thread is meanwhile."""
    if part.launched:
        return f" The program launches it at {part.launched}."
    if not part.file or not part.line:
        return ""
    place = f"{brief_path(part.file)}:{part.line}"
    if not part.is_source:
        return f" Meanwhile the loop's thread is mostly at {place}."
    if part.is_program:
        return f" It is called at {place}."
    # Where callers are listed with their shares, the largest is among them.
    called = "" if "; called from " in part.made_of else called_from(part)
    return "" if "; at " in part.made_of else f" It comes from {place}{called}."


def _ops_take(part: PartRow) -> str:
    if part.name == ELEMENTWISE:
        return "Elementwise ops take"
    if part.name in _SAID:
        return f"{_SAID[part.name]} take"
    if inner := _inner(part):
        return f"{inner} in a loop of the compiled program takes"
    if is_loop(part.name):
        return f"A loop of the compiled program ({part.name}) takes"
    name = people_say(part.name)
    if part.through:
        return f"{name} within {part.through} takes"
    return f"{name} without gradients takes" if _is_untrained(part) else f"{name} takes"


# What a framework calls an op within itself: another op's gradient, the inside of a public one.
_GRADIENT_OF = re.compile(r"^(?:native_)?(\w+?)_backward(?:_data)?$")
_INSIDE = re.compile(r"^native_|_interface$|_impl$")
_PUBLIC = {"clamp_min": "clamp_min (as in relu)"}


def people_say(family: str) -> str:
    """A family of ops by the name that programs call it by: "layer_norm" of native_layer_norm."""
    if found := _GRADIENT_OF.match(family):
        inside = found[1]
        return f"{_INSIDE.sub('', inside)}'s gradient ({family})"
    plain = _INSIDE.sub("", family)
    return _PUBLIC.get(family, plain if plain == family else f"{plain} ({family})")
