"""What to do about the traits of a part that say how it comes to its work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.replacements import (
    BEFORE_GATHER,
    EACH_APART,
    FOR_ONE_COPY,
    IN_ORDER,
    JACOBIAN,
    LAST_ROW,
    LESS_PADDING,
    PAIRS,
    SORTED_ONCE,
)
from stepscope.tables.parts.part_traits import (
    BROADCAST,
    CHEAPER_ORDER,
    FOR_COPIES,
    GATHERED_ROWS,
    JOINED_ROWS,
    OF_JACOBIAN,
    ONE_ROW_READ,
    PADDED,
)

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow


# As ``tables.traits.broadcasts`` writes it.
_COMPARES_PAIRS: Final = re.compile(r"/(?:ge|gt|le|lt|greater|less)(?:_equal)? makes ")


def trait_hints(part: PartRow) -> Iterator[str]:
    """What to look at first: what it works on is larger, or computed more often, than needed."""
    at = f" ({part.rows_at})" if part.rows_at else ""
    if part.has(BROADCAST):
        if _COMPARES_PAIRS.search(part.made_of):
            yield SORTED_ONCE
        yield PAIRS
    if part.has(OF_JACOBIAN):
        yield JACOBIAN
    if part.has(PADDED) and part.name != "fft":  # whose padding is how it convolves
        yield LESS_PADDING
    if part.has(FOR_COPIES):
        yield FOR_ONE_COPY.format(at)
    if part.has(CHEAPER_ORDER):
        yield IN_ORDER.format(at)
    if part.has(ONE_ROW_READ):
        yield LAST_ROW
    if part.has(GATHERED_ROWS):
        yield BEFORE_GATHER.format(at)
    if part.has(JOINED_ROWS):
        yield EACH_APART.format(at)
