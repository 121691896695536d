"""The wording about what a framework itself does on the loop's thread."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stepscope.advice.parts.kind_words import SYSTEM_CALLS
from stepscope.advice.parts.part_facts import (
    PartWords,
    at,
    between,
    called_from,
    share,
    unusual,
)
from stepscope.advice.parts.replacements import (
    FEWER,
    FREE_SELDOM,
    LARGER,
    READ_LATER,
    RECORD_GRAPH,
    instead_of_reads,
    percent,
)
from stepscope.tables.core.waits import is_system_call
from stepscope.tables.python.library_files import COMPILED_CALL

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount

# A call is named where it has this share of the part.
_NAMED_FRAC = 0.5
# Calls of a library's functions by Python, outside of what is compiled.
_OF_PYTHON = re.compile(r"^jax\.(?:numpy|lax|Array)\b")
_OUTSIDE = (
    "{} and its like are called outside of the compiled function, each by itself: move them into "
    "it, or make what they make once, before the loop."
)
# Calls that make tensors of what Python has.
_CONVERTS = re.compile(r"(?:^|\.)(?:constant|convert_to_tensor|(?:as)?array|(?:as_)?tensor)$")
# Calls that give the program a value of the device's, and wait until it is computed.
_READS = re.compile(
    r"(?:^|\.)(?:item|tolist|_?numpy|cpu|device_get|_value|block_until_ready|"
    r"__(?:array|float|int|bool|index)__|asarray\(jax\.Array\))$"
)


def _reads(part: PartRow) -> float:
    """The share of a part in which values of the device's are read, by whichever calls."""
    found = percent(part.made_of, _READS) / 100
    return max(found, part.first_frac if _READS.search(part.first) else 0.0)


def is_reading(part: PartRow) -> bool:
    """Whether most of what a framework does is to read values for the program."""
    is_read = part.kind == "framework" and _READS.search(part.first) is not None
    return is_read and _reads(part) >= _NAMED_FRAC


# TensorFlow frees what Python has let go of.
_FREES = "TFE_DeleteTensorHandle"
_FREED = (
    " With the last reference to an iterator go its threads and all that it has ready: so ends "
    "each epoch of Keras' fit."
)


def is_freeing(part: PartRow) -> bool:
    """Whether most of what a framework does is to free what Python has let go of."""
    return part.kind == "framework" and part.first == _FREES and part.first_frac >= _NAMED_FRAC


def is_converting(part: PartRow) -> bool:
    """Whether most of what a framework does is to make tensors of what Python has."""
    is_of_framework = part.kind == "framework" and part.first_frac >= _NAMED_FRAC
    return is_of_framework and _CONVERTS.search(part.first) is not None


def framework_words(
    part: PartRow, account: StepAccount, actions: tuple[str, ...] = FEWER
) -> PartWords:
    """What to say of the framework's own work.

    Args:
        part: It.
        account: It is of.
        actions: What to do where nothing more is known of it.
    """
    place = f" below {part.function}{at(part)}" if part.function else between(part)
    called = called_from(part) if part.function else ""
    message = (
        f"The framework's own work on the loop's thread{place}{called} takes "
        f"{share(part, account)}: {part.made_of}. {' '.join(unusual(part))}"
    ).strip()
    if is_system_call(part.first) and part.first_frac >= _NAMED_FRAC:
        return _of_system(part, account, place + called)
    if is_freeing(part):
        return PartWords(
            f"Freeing tensors and iterators takes {part.step_frac * part.first_frac:.0%} "
            "of the step",
            message + _FREED,
            FREE_SELDOM,
            part.first,
        )
    if is_reading(part):
        return PartWords(
            f"Reading values with {part.first} takes {part.step_frac * _reads(part):.0%} "
            "of the step",
            message,
            (*READ_LATER, LARGER[0]) if part.step_frac >= _NAMED_FRAC else READ_LATER,
            part.first,
        )
    if is_converting(part):
        where = f" in {part.function}{at(part)}" if part.function and part.file else ""
        return PartWords(
            f"{part.first}{where} takes {part.step_frac * part.first_frac:.0%} of the step",
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
    elif part.first == COMPILED_CALL and part.first_frac >= _NAMED_FRAC:
        actions = RECORD_GRAPH
    elif actions is LARGER and _OF_PYTHON.search(part.first):
        actions = (_OUTSIDE.format(part.first),)
    return PartWords(
        f"Handing work over to the runtime takes {part.step_frac:.0%} of the step",
        message,
        actions,
        part.first,
    )


def _of_system(part: PartRow, account: StepAccount, where: str) -> PartWords:
    return PartWords(
        f"Calls of the operating system take {part.step_frac:.0%} of the step",
        f"Calls of the operating system on the loop's thread{where} take {share(part, account)}: "
        f"{part.made_of}.",
        SYSTEM_CALLS,
        part.first,
    )
