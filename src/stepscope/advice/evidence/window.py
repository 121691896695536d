"""A recording without steps is judged as a whole: rules then speak about all of it."""

from __future__ import annotations

import re
from dataclasses import replace

from stepscope.result import Finding

_EACH = re.compile(r"\b(?:of|in|for) each ([\d.e+-]+ ms) step\b")
_SHARE = re.compile(r"\bof the step\b")


def of_the_recording(finding: Finding) -> Finding:
    """The finding with the recording in place of the step."""
    return replace(
        finding,
        title=_said(finding.title),
        message=_said(finding.message),
        actions=tuple(map(_said, finding.actions)),
    )


def _said(text: str) -> str:
    return _SHARE.sub("of the recording", _EACH.sub(r"of the \1 recorded", text))
