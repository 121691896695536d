"""What files are and who wrote them, in words, without opening them as recordings."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from stepscope.errors import StepscopeError
from stepscope.formats import FORMATS
from stepscope.store.found import Source
from stepscope.urls import is_url

_XSPACE: Final = "XSpace"
_AT_ONCE: Final = 32


def described(source: Source) -> str:
    """The format of a file, and who wrote it where a quick look at its bytes tells.

    Nothing is fetched or unpacked whole for it; where the parts that are looked at do not tell,
    the format alone is named.
    """
    from stepscope.formats.xspace.recorded_by import writer_of
    from stepscope.store.look import look_at

    known = FORMATS.get(source.format)
    title = known.title if known else _XSPACE
    writer = ""
    # A file that breaks, or a store that does not answer, says so when it is opened.
    with contextlib.suppress(StepscopeError, OSError), look_at(source) as file:
        writer = known.writer(file) if known else writer_of(file)
    return f"{title} · {writer}" if writer else title


def described_all(sources: Sequence[Source]) -> list[str]:
    """The same of many files; those behind URLs are looked at side by side."""
    if not any(is_url(one.path) for one in sources):
        return list(map(described, sources))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_ONCE, "stepscope-look") as pool:
        return list(pool.map(described, sources))
