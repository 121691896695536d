"""What can go wrong at the edge, in a form a person can act on.

Inside the package builtin exceptions are used; these classes are raised where a user's
input, file or environment is at fault. Every error says *what* happened, *where*, *why*
and *what to do*, and carries a ``slug`` that is an anchor in ``docs/errors.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from stepscope.utf8 import shown

# Errors quote a stranger's file and the libraries that read it: no text of theirs fills a terminal.
_MAX_PART_CHARS: Final = 4000
_MAX_REASON_CHARS: Final = 300


class StepscopeError(Exception):
    """Base of everything Stepscope raises on purpose.

    Args:
        what: One sentence, what happened.
        where: File, host, address or option concerned.
        why: The cause, as far as it is known.
        hint: What the person can do about it.
        slug: Overrides the class's anchor in ``docs/errors.md`` for a narrower one.
    """

    slug: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 4

    def __init__(
        self, what: str, *, where: str = "", why: str = "", hint: str = "", slug: str = ""
    ) -> None:
        # Paths in them may hold bytes that no answer could be encoded with.
        parts = (cut(shown(part), _MAX_PART_CHARS) for part in (what, where, why, hint))
        self.what, self.where, self.why, self.hint = parts
        super().__init__(self.what)
        self.anchor = slug or type(self).slug

    def __str__(self) -> str:
        parts = [self.what]
        if self.where:
            parts.append(f"  where: {self.where}")
        if self.why:
            parts.append(f"  why:   {self.why}")
        if self.hint:
            parts.append(f"  hint:  {self.hint}")
        return "\n".join(parts)

    def to_dict(self) -> dict[str, str]:
        """The error as plain strings, for JSON surfaces."""
        return {
            "error": self.anchor,
            "what": self.what,
            "where": self.where,
            "why": self.why,
            "hint": self.hint,
        }


class SlowKernelsWarning(UserWarning):
    """A recording took long to open because the kernels are not compiled."""


def cut(text: str, most_chars: int) -> str:
    """Return a text, or its begin and its length if it is too long for a message."""
    return text if len(text) <= most_chars else f"{text[:most_chars]}… ({len(text):,} characters)"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that a misspelt one most likely means; "" if none is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, 1)), "")


def _one_line(reason: str) -> str:
    """Return a reason as one line: a file that is quoted in it must not write lines of its own."""
    return cut(" ".join(reason.split()), _MAX_REASON_CHARS)


class DecodeError(StepscopeError):
    """Bytes that are not the XSpace they should be.

    Args:
        reason: What is wrong with the bytes at that place.
        offset_bytes: Byte offset in the (uncompressed) file where decoding stopped.
        path: Message path there, e.g. ``XSpace.planes[2].lines[0].events[17]``.
        file: File the bytes came from, if any.
        hint: What the person can do.
        kind: What the file should have been.
    """

    slug: ClassVar[str] = "malformed-xspace"

    def __init__(
        self,
        reason: str,
        *,
        offset_bytes: int,
        path: str,
        file: str = "",
        hint: str = "",
        kind: str = "XSpace",
    ) -> None:
        self.reason = reason = _one_line(reason)
        self.offset_bytes = offset_bytes
        self.path = path
        self.file = file
        place = f"byte {offset_bytes} ({path})"
        super().__init__(
            f"This file is not a readable {kind}.",
            where=f"{file}, {place}" if file else place,
            why=reason,
            hint=hint
            or "Copy the file again in binary mode, or record again; a text copy or a cut "
            "download does this.",
        )


class FormatError(StepscopeError):
    """A recording of another tool that cannot be read.

    Args:
        title: What kind of file it is.
        reason: What is wrong with it.
        file: Which file.
        hint: What the person can do.
    """

    slug: ClassVar[str] = "unreadable-recording"

    def __init__(self, title: str, reason: str, *, file: str = "", hint: str = "") -> None:
        super().__init__(
            f"This file does not open: {title}.",
            where=file,
            why=_one_line(reason),
            hint=hint or "Export or copy the file again; a cut copy does this.",
        )


class StoreError(StepscopeError):
    """A path that holds no profile that can be opened."""

    slug: ClassVar[str] = "unreadable-path"


class NothingToShow(StepscopeError):
    """The profile opens but holds nothing a tool could show; the reason is in ``why``."""

    slug: ClassVar[str] = "nothing-to-show"
    exit_code: ClassVar[int] = 3


class UsageError(StepscopeError):
    """A tool, option or query that does not exist or has a wrong value."""

    slug: ClassVar[str] = "usage"
    exit_code: ClassVar[int] = 2


class CaptureError(StepscopeError):
    """A recording that could not start, finish or be written."""

    slug: ClassVar[str] = "capture"
