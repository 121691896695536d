"""What sentences with numbers have in common."""

from __future__ import annotations

import re
from typing import Final

_SCIENTIFIC: Final = re.compile(r"\b\d(?:\.\d+)?e\+\d\d\b")


def written_out(text: str) -> str:
    """A sentence whose large numbers are written out: "1.51e+04 ms" is 15,100 ms."""
    return _SCIENTIFIC.sub(lambda found: f"{float(found[0]):,.0f}", text)
