"""What to do about a function, or a line, that mostly sorts, decomposes or solves."""

from __future__ import annotations

import re
from typing import Final

from stepscope.advice.parts.replacements import ROUTINES, instead_of
from stepscope.tables.parts.made_of import shares_of

# What such a part is made of for this per cent is what it is for.
_MOSTLY: Final = 40
_WORD: Final = re.compile(r"\w+")


def instead_of_routine(made_of: str) -> str:
    """What to do about such a part, by what it is made of; "" of others."""
    spent = dict.fromkeys(ROUTINES, 0)
    for name, share in shares_of(made_of):
        known = {instead_of(word) for word in _WORD.findall(name)}
        for text in ROUTINES:
            spent[text] += share * (text in known)
    most = max(spent, key=lambda text: spent[text])
    return most if spent[most] >= _MOSTLY else ""
