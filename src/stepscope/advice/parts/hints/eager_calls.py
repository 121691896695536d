"""What to do about the call that a function of the program hands most ops over for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.replacements import SUMMARIES, percent
from stepscope.result import Place

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount


@dataclass(frozen=True, slots=True)
class EagerCall:
    """What is known of such a call.

    Attributes:
        actions: What to do first; () of one that is not known.
        sentence: That names it, to go on with; "" where none stands out.
        code: How to do it, by framework; empty where compiling its function will do.
    """

    actions: tuple[str, ...] = ()
    sentence: str = ""
    code: dict[str, str] = field(default_factory=dict)


NO_CALL: Final = EagerCall()
# A call with this share of what its function hands over is what that is for.
_CALL_FRAC: Final = 0.3
# tf.summary's functions, which run a dozen ops each.
_SUMMARY: Final = re.compile(
    r"^(?:tensorflow|tensorboard)\.(?:\w+\.)*(?:histogram|scalar|image|audio|text)$"
)
# Keras's, which copy all weights of a model or a layer.
_WEIGHTS: Final = re.compile(r"keras\.(?:\w+\.)*[gs]et_weights\b")
_BLEND: Final = (
    "get_weights and set_weights copy every weight to NumPy and back: read and write the variables "
    "themselves, all of them in one tf.function."
)
_BLEND_CODE: Final = (
    "@tf.function\n"
    "def follow(target, online, rate):\n"
    "    for mine, other in zip(target, online):  # model.variables\n"
    "        mine.assign_add(rate * (other - mine))"
)


def eager_call(account: StepAccount | None, place: Place | None) -> EagerCall:
    """The call that most is handed over for at a place."""
    listed = () if account is None or place is None else account.parts.records()
    for part in listed:
        is_here = place is not None and (part.file, part.function) == (place.file, place.function)
        if is_here and part.kind == "framework":
            return _of_part(part)
    return NO_CALL


def _of_part(part: PartRow) -> EagerCall:
    copies = percent(part.made_of, _WEIGHTS)
    if copies >= 100 * _CALL_FRAC:
        sentence = f" {copies:.0f}% of that is for get_weights and set_weights."
        return EagerCall((_BLEND,), sentence, {"tensorflow": _BLEND_CODE})
    if "." not in part.first or part.first_frac < _CALL_FRAC or part.first == part.function:
        return NO_CALL
    actions = (SUMMARIES,) if _SUMMARY.match(part.first) else ()
    return EagerCall(actions, f" Most of that is for {part.first}.")
