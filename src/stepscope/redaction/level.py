"""How much is taken out of a recording."""

from __future__ import annotations

from typing import Final, Literal

from stepscope.errors import UsageError
from stepscope.records import dataclass

Level = Literal["paths", "names", "all"]
LEVELS: Final[tuple[Level, ...]] = ("paths", "names", "all")

#: The sentence shown with every redacted recording.
SAID: Final[dict[Level, str]] = {
    "paths": "Redacted (paths): paths, hosts, users and the environment are replaced or removed; "
    "names of ops, functions and layers are not. Compiled programs lose their constants and files.",
    "names": "Redacted (names): every name that Stepscope does not know as a framework's or a "
    "library's is replaced by a pseudonym. Compiled programs keep their structure, without names "
    "and constants. Times, counts and shapes are as recorded, and tell about the model.",
    "all": "Redacted (all): names are replaced, shapes, absolute times and compiled programs "
    "are removed, FLOPs and bytes are rounded. Times and counts are as recorded, and tell about "
    "the model.",
}


@dataclass(frozen=True, slots=True)
class Redaction:
    """What to take out, and how pseudonyms are made.

    Attributes:
        level: "paths", "names" (paths, too) or "all" (shapes and absolute times, too).
        key: Equal names get equal pseudonyms under equal keys, up to 64 bytes; None takes a key
            from the recording itself, which who has only the result cannot know.
    """

    level: Level
    key: bytes | None = None

    @property
    def said(self) -> str:
        """What it did, in a sentence."""
        return SAID[self.level]


def level_of(text: str) -> Level:
    """A level by its name; raises ``UsageError`` for another text."""
    if text not in LEVELS:
        raise UsageError(f"redact cannot be {text!r}.", hint=f"One of {', '.join(LEVELS)}.")
    return text
