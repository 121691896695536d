"""A recording without steps is judged as a whole: rules then speak about all of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from stepscope.result import Finding

_MS: Final = r"([\d.,e+-]+ (?:µs|ms|s))"
# What rules say of the measured step, and what holds where there is none: numbers of a step are
# those of the recording then. In order: what is longer first, what is left of "the step" last.
_MEASURED: Final = (
    (rf"\b(?:of|in|for) each {_MS} step\b", r"of the \1 recorded"),
    (rf"\bEach {_MS} step\b", r"The recording of \1"),
    (rf"\beach {_MS} step\b", r"the recording of \1"),
    (rf"\bof its {_MS}", r"of the \1 recorded"),
    (rf"\bmake the step {_MS}", r"leave \1"),
    (rf"{_MS} in every step\b", r"\1 in all"),
    (r"\b(times|collections?|ms) a step\b", r"\1 in all"),
    (r"\bper step\b", "in all"),
    (rf"{_MS} of a step\b", r"\1 of the recording"),
    (r"\bof (?:the|each) step\b", "of the recording"),
    (r"\bof the steps\b", "of the recording"),
)
# What else they say of it. In what to do, a step is still the program's.
_SAID: Final = (
    (r"\bA step runs about\b", "The recording holds about"),
    (r"\bNo step waits for its batch\b", "Nothing waits for a batch"),
    (rf"\bthe {_MS} steps compute\b", "the program computes"),
    (r"\brecorded (?:with)?in (?:a|the) step\b", "recorded"),
    (r"\b(?:with)?in (?:the|a|each) step\b(?: that was counted)?", "in what was recorded"),
    (r"\bin (?:the|its) (?:counted|recorded) steps\b", "in what was recorded"),
    (r"\bin every step\b", "throughout"),
    (r"(?<![.\w])(?:The|A|Each|Every) step\b(?!\()", "The program"),
    (r"(?<![.\w])(?:the|each) step\b(?!\()", "the program"),
)


def of_the_recording(finding: Finding) -> Finding:
    """The finding with the recording in place of the step."""
    return replace(
        finding,
        title=said_of_the_recording(finding.title),
        message=said_of_the_recording(finding.message),
        assumption=said_of_the_recording(finding.assumption),
        no_saving=said_of_the_recording(finding.no_saving),
        actions=tuple(_rewritten(action, _MEASURED[:-2]) for action in finding.actions),
    )


def said_of_the_recording(text: str) -> str:
    """A sentence of a rule with the recording, or the program, in place of the step."""
    return _rewritten(text, _MEASURED + _SAID)


def _rewritten(text: str, phrases: tuple[tuple[str, str], ...]) -> str:
    for pattern, words in phrases:
        text = re.sub(pattern, words, text)
    return text
