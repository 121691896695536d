"""A recording without steps is judged as a whole: rules then speak about all of it."""

from __future__ import annotations

import re
from dataclasses import replace

from stepscope.result import Finding

# What rules say of a step, and what holds where there is none. Numbers of a step are those of the
# recording then; in what to do, a step is still the program's.
_SAID = (
    (re.compile(r"\b(of|in|for) each ([\d.,e+-]+ ms) step\b"), r"of the \2 recorded"),
    (re.compile(r"(?<!\w)Each ([\d.,e+-]+ ms) step\b"), r"The recording of \1"),
    (re.compile(r"(?<!\w)each ([\d.,e+-]+ ms) step\b"), r"the recording of \1"),
    (re.compile(r"(?<!\w)of (?:the|each) step\b"), "of the recording"),
    (re.compile(r"(?<!\w)A step runs\b"), "The recording holds"),
    (re.compile(r"(?<!\w)within the step\b"), "in what was recorded"),
    (re.compile(r"(?<!\w)per step\b"), "in all"),
)


def of_the_recording(finding: Finding) -> Finding:
    """The finding with the recording in place of the step."""
    return replace(finding, title=_said(finding.title), message=_said(finding.message))


def _said(text: str) -> str:
    for pattern, words in _SAID:
        text = pattern.sub(words, text)
    return text
