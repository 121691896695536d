"""Ranges that had not ended when their recording did, found without reading the rest."""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import Final

from stepscope.formats.kineto.reading.texts import lenient_json

_UNFINISHED: Final = b'"finished": false'
_ADDRESS: Final = b'"Addr": '
_PHASE: Final = b'"ph": "'
_RANGE: Final = b'"ph": "X"'
_NAMED: Final = re.compile(rb'"name": ("(?:[^"\\]|\\.)*")')
_NAMES: Final = 5


def unfinished(path: Path) -> tuple[str, ...]:
    """Names of ranges that had not ended when the recording did, each once; at most some.

    Looks for the mark alone, a second for ten million events.
    """
    found: dict[str, None] = {}
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        at = text.find(_UNFINISHED)
        while at >= 0 and len(found) < _NAMES:
            # Allocations, which have no end, say it as well; there are many.
            if text.rfind(_ADDRESS, at - len(_ADDRESS) - 24, at) < 0:
                begin = text.rfind(_PHASE, 0, at)
                if text[begin : begin + len(_RANGE)] == _RANGE:
                    name = _NAMED.search(text, begin, at)
                    found[lenient_json(name[1]) if name else "an op"] = None
            at = text.find(_UNFINISHED, at + 1)
    return tuple(found)
