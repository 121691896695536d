"""What the names of ranges say: a framework's op, the values of an annotation, a step's number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import numpy as np

from stepscope.formats.kineto.names import op_name
from stepscope.formats.launched.recorded import I64, NONE, Bool
from stepscope.formats.xspace.plane_writer import Value
from stepscope.records import dataclass
from stepscope.schema import names

# "XlaModule:#hlo_module=jit_f,program_id=3#", as TensorFlow, JAX and we write annotations.
_VALUES: Final = re.compile(r"(.*?):?#([^#=,]+=[^#]*)#", re.DOTALL)
# "aten::view", "autograd::engine::evaluate_function: AddmmBackward0"
_OP: Final = re.compile(r"\w[\w.]*(::\w[\w.]*)+|\w*Backward\d*")
_STEP: Final = re.compile(
    r"(?P<family>(?:.*[^A-Za-z])?(?:step|iter|iteration|batch))[ _:#=./-]*"
    r"\[?(?P<number>\d{1,15})\]?",
    re.IGNORECASE,
)
_ROUND: Final = re.compile(
    r"(.*[^A-Za-z])?(step|iter|iteration|batch|epoch)s?[ _:#=./-]*\[?\d+\]?", re.I
)
_WHOLE: Final = re.compile(r"[+-]?\d{1,18}")


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """What names say, by code of the name.

    Attributes:
        labels: What an event is called: an op in the grammar of ops, else the name without values.
        shown: What a person sees instead; "" for the label.
        values: The values in a name.
        is_op: Whether it names an op.
        counts: Whether it is part of what an op in it is called: rounds of a loop are not.
        step: Number of the step it marks, ``NONE`` for none.
    """

    labels: list[str]
    shown: list[str]
    values: list[dict[str, Value]]
    is_op: Bool
    counts: Bool
    step: I64

    def has(self, key: str) -> Bool:
        """Which names hold a value of this name."""
        return np.asarray([key in values for values in self.values] or [False], bool)[
            : len(self.values)
        ]


def ranges_of(texts: list[str], used: Iterable[int], covered_ns: dict[int, int]) -> Ranges:
    """What the texts say as names of ranges.

    Args:
        texts: All texts of the recording.
        used: Codes of those that are names of ranges; only they are looked at.
        covered_ns: How long the ranges of each name last together: of several families of names
            with numbers ("step 3", "batch 3") the one that covers most marks the steps.
    """
    count = len(texts)
    found = Ranges(
        list(texts),
        [""] * count,
        [{} for _ in texts],
        np.zeros(count, bool),
        np.ones(count, bool),
        np.full(count, NONE, np.int64),
    )
    families: dict[str, dict[int, int]] = {}
    for code in used:
        text = texts[code]
        _look_at(found, code, text)
        step = _STEP.fullmatch(text)
        if step is not None:
            families.setdefault(step["family"].lower(), {})[code] = int(step["number"])
        if names.STEP_NUM in found.values[code]:
            number = found.values[code][names.STEP_NUM]
            families.setdefault("#", {})[code] = number if isinstance(number, int) else 0
    if families:
        chosen = families.get("#") or max(
            families.values(), key=lambda one: sum(covered_ns.get(code, 0) for code in one)
        )
        for code, number in chosen.items():
            found.step[code] = number
    return found


def _look_at(found: Ranges, code: int, text: str) -> None:
    valued = _VALUES.fullmatch(text)
    if valued is not None:
        found.labels[code] = valued[1] or text
        pairs = (pair.partition("=")[::2] for pair in valued[2].split(","))
        found.values[code] = {key: _value(value) for key, value in pairs if key}
        found.counts[code] = False
    elif _OP.fullmatch(text):
        found.is_op[code] = True
        found.labels[code], found.shown[code] = op_name(text), text
    elif _ROUND.fullmatch(text):
        found.counts[code] = False


def _value(text: str) -> Value:
    return int(text) if _WHOLE.fullmatch(text) else text
