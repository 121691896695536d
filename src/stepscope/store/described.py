"""What a file is and who wrote it, in words, without opening it as a recording."""

from __future__ import annotations

import contextlib

from stepscope.errors import StepscopeError
from stepscope.formats import FORMATS
from stepscope.store.found import Source
from stepscope.store.read import read_pieces
from stepscope.urls import is_url

_XSPACE = "XSpace"


def described(source: Source) -> str:
    """The format of a file, and who wrote it where a quick look at its bytes tells.

    Files behind URLs and compressed databases would have to be fetched or unpacked first: only
    their format is named.
    """
    known = FORMATS.get(source.format)
    if known is None:
        return _XSPACE
    writer = ""
    if not is_url(source.path) and not source.path.endswith(".gz"):
        # A file that breaks says so when it is opened.
        with contextlib.suppress(StepscopeError, OSError):
            writer = known.writer(read_pieces(source.path))
    return f"{known.title} · {writer}" if writer else known.title
