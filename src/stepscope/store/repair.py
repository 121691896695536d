"""A recording left in pieces (chunks, child processes, a torn end) as one whole file."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from stepscope.columns.merge import merged
from stepscope.errors import StoreError
from stepscope.formats import FORMATS
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from stepscope.records import dataclass
from stepscope.store.atomic import write_atomic
from stepscope.store.discover import find
from stepscope.store.identify import XSPACE
from stepscope.store.read import read


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair came to.

    Attributes:
        path: The file written.
        bytes: Its size.
        events: Events in it.
        planes_before, planes_after: Planes in the pieces and in the file.
        damage: What was broken, whose rest is left out; "" when all was whole.
    """

    path: str
    bytes: int
    events: int
    planes_before: int
    planes_after: int
    damage: str = ""


def repair(path: str, also: Sequence[str] = (), output: str | None = None) -> Repaired:
    """Rewrite a recording: each plane once, without what is torn.

    Args:
        path: The recording's file.
        also: Files of the same recording's child processes, to be made part of it. They are
            removed when they are.
        output: Where to write; over ``path`` by default.

    Raises:
        StoreError: A file cannot be read, or is not a recording: what it holds would be lost.
        DecodeError: Nothing in it is readable.
    """
    target = Path(output or path)
    files = (path, *also)
    for one in files:
        if Path(one).is_file():  # what is none says so when it is read
            _expect_xspace(one)
    with contextlib.ExitStack() as opened:
        pieces = [opened.enter_context(read(one)) for one in files]
        # The pieces of one XSpace, one after the other, are that XSpace; none may be torn but the
        # last, or what follows the tear would be lost with it: each is decoded by itself first.
        spaces = [
            decode(piece.buffer, file=name) for piece, name in zip(pieces, files, strict=True)
        ]
        reasons = [space.damage.reason for space in spaces if space.damage is not None]
        whole = spaces[0]
        if also:
            whole = decode(b"".join(encode(space) for space in spaces), file=path)
        result = merged(whole)
        data = encode(result)
        before = len(whole.planes)
        events = len(result.events)
        write_atomic(target, data)
    for child in also:
        Path(child).unlink()
    return Repaired(str(target), len(data), events, before, len(result.planes), " ".join(reasons))


def _expect_xspace(path: str) -> None:
    """Refuse a recording of another format, of which next to nothing would be left."""
    for run in find(path).runs:
        for source in run.sources:
            if source.format != XSPACE:
                raise StoreError(
                    "Only an XSpace can be repaired.",
                    where=path,
                    why=f"The file is of another format: {FORMATS[source.format].title}.",
                    hint="Open it as it is; stepscope doctor FILE lists its content.",
                    slug="not-an-xspace",
                )
