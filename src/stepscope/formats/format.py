"""What a file format says of itself, so that files of it are found and opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stepscope.columns.space import Space


@dataclass(frozen=True, slots=True)
class Format:
    """A file format that is read piece by piece.

    Attributes:
        id: Its name in ``Source.format``.
        head_bytes: How many first bytes of a file tell whether it is one.
        promises: Whether a file of this name may be one; its bytes tell.
        starts: Whether these first bytes (inflated) are the start of one.
        open: (pieces of the inflated bytes, file name for reports) → the columns; raises
            ``DecodeError``.
    """

    id: str
    head_bytes: int
    promises: Callable[[str], bool]
    starts: Callable[[bytes], bool]
    open: Callable[[Iterable[bytes], str], Space]
