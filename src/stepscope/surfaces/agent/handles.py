"""Handles: short names of findings, steps, ops and events, stable for a recording.

``op:12@3fa9`` is the twelfth op of the recording whose fingerprint begins with 3fa9. The part
behind ``@`` may be left out; where it stands and is another recording's, the question is refused.
"""

from __future__ import annotations

import re
from typing import Final

from stepscope.errors import UsageError
from stepscope.records import dataclass
from stepscope.session import Session
from stepscope.timeline import timeline

KINDS: Final = ("finding", "step", "op", "kernel", "event")
_HANDLE = re.compile(r"([a-z]+):(\d{1,15})(?:@([0-9a-f]{4}))?")
_MARK_LENGTH: Final = 4


@dataclass(frozen=True, slots=True)
class Handle:
    """What is meant: the kind of thing, and which one."""

    kind: str
    number: int


def mark_of(session: Session) -> str:
    """The part of a handle that tells recordings apart."""
    return timeline(session.profile).fingerprint[:_MARK_LENGTH]


def handle_text(session: Session, kind: str, number: int) -> str:
    """A handle as answers print it."""
    return f"{kind}:{number}@{mark_of(session)}"


def parse_handle(session: Session, text: str) -> Handle:
    """What a handle means in this recording.

    Raises:
        UsageError: It is not a handle, or one of another recording.
    """
    match = _HANDLE.fullmatch(text.strip())
    if match is None or match[1] not in KINDS:
        raise UsageError(
            "This is not a handle.",
            why=f"It is {len(text)} characters long and not like op:12.",
            hint=f"Handles are {', '.join(f'{kind}:N' for kind in KINDS)}; answers print them.",
            slug="handle",
        )
    mark = mark_of(session)
    if match[3] and match[3] != mark:
        raise UsageError(
            "This handle is of another recording.",
            why=f"It ends in @{match[3]}; handles of this recording end in @{mark}.",
            hint="Ask this recording for its own handles first.",
            slug="handle",
        )
    return Handle(match[1], int(match[2]))
