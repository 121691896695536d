"""What a change to a part of the step does, by what the part is: how much goes, how likely it is.

The classes of changes say what goes with a part (``changes``); here is what is expected of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stepscope.advice.parts import changes, framework_words, layer_words, part_words
from stepscope.advice.parts.hand_over import hands_over
from stepscope.advice.parts.hints.transforms import awkward_length
from stepscope.advice.parts.lock_words import turns
from stepscope.advice.parts.op_words import instead_for
from stepscope.advice.parts.replacements import is_loop
from stepscope.advice.parts.waits_for_others import waits_for_others
from stepscope.registry import ChangeClass
from stepscope.tables.parts.part_traits import (
    COPIES_ARGUMENT,
    ON_EACH_DEVICE,
)
from stepscope.tables.traits.op_families import DOUBLE, PRODUCTS
from stepscope.tables.traits.updates import is_update

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount


@dataclass(frozen=True, slots=True)
class ExpectedEffect:
    """What a change to a part does.

    Attributes:
        change: Its class.
        expected: The share of the part that is expected to go.
        worth: The share it is ranked by: small where a part is likely to be needed.
        confidence: How sure it is that the part is worth a change.
        is_alarm: Whether the part alone is reason enough to change the program.
    """

    change: ChangeClass
    expected: float
    worth: float
    confidence: float
    is_alarm: bool


EXPECTED_EFFECTS = {
    "python": ExpectedEffect(changes.REMOVED, 0.95, 0.9, 0.85, True),
    "library": ExpectedEffect(changes.REMOVED, 0.95, 0.9, 0.85, True),
    "compile": ExpectedEffect(changes.ONCE, 0.95, 0.95, 0.85, True),
    "input": ExpectedEffect(changes.SUPPLIED, 0.8, 0.8, 0.7, True),
    "copy": ExpectedEffect(changes.OVERLAPPED, 0.7, 0.6, 0.6, True),
    "launch": ExpectedEffect(changes.BATCHED, 0.7, 0.5, 0.6, True),
    "allocation": ExpectedEffect(changes.ONCE, 0.8, 0.8, 0.6, True),
    "wait": ExpectedEffect(changes.READ_LATER, 0.6, 0.5, 0.5, False),
    "collective": ExpectedEffect(changes.OVERLAPPED, 0.6, 0.5, 0.5, False),
    "framework": ExpectedEffect(changes.BATCHED, 0.8, 0.35, 0.6, False),
    "unrecorded": ExpectedEffect(changes.UNSEEN, 0.8, 0.6, 0.5, False),
    "region": ExpectedEffect(changes.UNSEEN, 0.8, 0.6, 0.6, False),
    "eager": ExpectedEffect(changes.VECTORISED, 0.85, 0.75, 0.7, False),
    "op": ExpectedEffect(changes.SHRUNK, 0.7, 0.2, 0.5, False),
    "program": ExpectedEffect(changes.SHRUNK, 0.7, 0.2, 0.5, False),
    "function": ExpectedEffect(changes.TRIMMED, 0.7, 0.5, 0.5, False),
    "layer": ExpectedEffect(changes.TRIMMED, 0.7, 0.3, 0.5, False),
    "line": ExpectedEffect(changes.REPLACED, 0.85, 0.6, 0.6, False),
}
# Ops that seldom are what a model is for can go for the most part.
_UNUSUAL = ExpectedEffect(changes.REPLACED, 0.85, 0.75, 0.7, False)
# A loop of a compiled program goes on in fewer turns, or becomes one op that has work, too.
_LOOP = replace(_UNUSUAL, change=changes.LOOPED, expected=0.75)
# Transforms of another length have to be made, too.
_SHORTER = ExpectedEffect(changes.RESIZED, 0.7, 0.7, 0.7, False)
# Of others it is known what does the same; whether they are worth a change is not.
_REPLACEABLE = replace(EXPECTED_EFFECTS["op"], change=changes.REPLACED)
# What a model is made of is reported after what else can be changed.
_PRODUCT = ExpectedEffect(changes.SHRUNK, 0.7, 0.15, 0.5, False)
# A model's products have gradients; others are often known, or needed less often.
_APART = ExpectedEffect(changes.SHRUNK, 0.85, 0.45, 0.6, False)
# An update has to be made; it ranks by its size, as what it updates does.
_UPDATE = ExpectedEffect(changes.SHRUNK, 0.7, 0.2, 0.5, False)
# The first read of a step waits for its work, whatever else is read later.
_READING = replace(EXPECTED_EFFECTS["framework"], change=changes.READ_LATER, expected=0.6)
# Data can be arrays already: what converts numbers one by one goes, but for a copy.
_CONVERTING = ExpectedEffect(changes.REMOVED, 0.9, 0.8, 0.7, True)
# What few steps hand over goes with the pass that these steps run.
_WITH_PASS = replace(EXPECTED_EFFECTS["framework"], worth=0.1)
# Most programs have longer epochs than a recording of some steps.
_FREEING = ExpectedEffect(changes.SHRUNK, 0.5, 0.1, 0.5, False)
# Of what a layer makes for all rows of a table few are read: what surrounds it goes with it.
_FOR_ROWS = ExpectedEffect(changes.REPLACED, 0.85, 0.6, 0.6, False)
# Of two devices one half of it goes, of more the most.
_ON_EACH = ExpectedEffect(changes.SHRUNK, 0.7, 0.6, 0.7, True)
# What no gradient goes through is often known; what surrounds it goes as with any layer.
_CONSTANT = ExpectedEffect(changes.TRIMMED, 0.85, 0.45, 0.6, False)
# What another thread or process makes is ready where that is quicker.
_FOR_OTHERS = ExpectedEffect(changes.SOONER, 0.8, 0.8, 0.7, True)
# That they take turns was seen: all of them but one wait.
_TURNS = ExpectedEffect(changes.UNLOCKED, 0.8, 0.8, 0.85, True)
_DOUBLE = ExpectedEffect(changes.NARROWED, 0.5, 0.5, 0.85, True)


def is_mostly_runtime(part: PartRow, more: float) -> bool:
    """Whether the runtime takes longer around ops than they do; unknown of ops not recorded."""
    return part.kind == "op" and more > 1 and not part.is_program


def effect_of(part: PartRow, more: float, account: StepAccount) -> ExpectedEffect:
    """What a change does to a part, where the runtime takes so much more than the ops do."""
    effect = effect_of_kind(part, account)
    is_number = is_mostly_runtime(part, more) and effect.change is changes.SHRUNK
    return replace(effect, change=changes.FEWER) if is_number else effect


def effect_of_kind(part: PartRow, account: StepAccount) -> ExpectedEffect:
    """The same, whatever the runtime takes around the ops."""
    if part.kind == "python" and hands_over(account, part.function, part.time_ms):
        return EXPECTED_EFFECTS["framework"]
    if framework_words.is_freeing(part):
        return _FREEING
    if framework_words.is_reading(part):
        return _READING
    if framework_words.is_converting(part):
        return _CONVERTING
    if part.kind == "framework" and part.every > 0 and layer_words.has_pass_in_bursts(account):
        return _WITH_PASS
    if part.kind == "op" and part.data_type in DOUBLE:
        return _DOUBLE
    if waits_for_others(part):
        return _FOR_OTHERS if turns(account) is None else _TURNS
    if part.kind == "op" and awkward_length(part) is not None:
        return _SHORTER
    if part.kind == "op" and is_loop(part.name):
        return _LOOP
    if part.kind == "op" and part_words.is_unusual(part):
        return _UNUSUAL
    if part.kind == "op" and is_update(part.name):
        return _UPDATE
    if part.kind == "op" and part.has(ON_EACH_DEVICE):
        return _ON_EACH
    if part.kind == "op" and part.has(COPIES_ARGUMENT):
        return _UNUSUAL
    if part.kind == "op" and part.name in PRODUCTS:
        return _APART if part.is_apart else _PRODUCT
    if part.kind == "op" and instead_for(part, account):
        return _REPLACEABLE
    if layer_words.reads_rows(part, account):
        return _FOR_ROWS
    if layer_words.is_constant(part, account):
        return _CONSTANT
    if part.kind == "function" and part_words.calls_model(part):
        return EXPECTED_EFFECTS["op"]
    return EXPECTED_EFFECTS.get(part.kind, EXPECTED_EFFECTS["op"])
