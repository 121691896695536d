"""What to do about the traits of a part that say how it comes to its work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.replacements import (
    BEFORE_GATHER,
    EACH_APART,
    JACOBIAN,
    LAST_ROW,
    LESS_PADDING,
    PAIRS,
)
from stepscope.tables.parts.part_traits import (
    BROADCAST,
    CHEAPER_ORDER,
    FEW_TAKEN,
    FOR_COPIES,
    GATHERED_ROWS,
    JOINED_ROWS,
    OF_JACOBIAN,
    ONE_ROW_READ,
    PADDED,
)

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow


# For pairs of one list that are compared to be masked.
_SORTED_ONCE: Final = (
    "If the rows of one list are compared with each other (times, ranks, scores) to sum over the "
    "earlier or the later ones: sort the list once and take running sums ([pytorch: torch.cumsum, "
    "torch.logcumsumexp | jax: jnp.cumsum, jax.lax.cumlogsumexp | tensorflow: tf.cumsum, "
    "tf.math.cumulative_logsumexp]) instead of masking all pairs."
)
# Of a product of which little is taken.
_TAKE_FIRST: Final = (
    "Take first, then compute{}: choose the rows, pairs or positions whose results are used, and "
    "compute those alone. The result is the same, and so are the gradients."
)
# Of what was copied first.
_FOR_ONE_COPY: Final = (
    "Compute it once, before the copies are made{}, and repeat or broadcast the result. A solver "
    "takes one matrix with all right-hand sides."
)
# Of a product of a product.
_IN_ORDER: Final = (
    "Multiply in the other order{}: (A B) C equals A (B C), so begin with what is narrow. Only "
    "rounding differs."
)
# As ``tables.traits.broadcasts`` writes it.
_COMPARES_PAIRS: Final = re.compile(r"/(?:ge|gt|le|lt|greater|less)(?:_equal)? makes ")


def trait_hints(part: PartRow) -> Iterator[str]:
    """What to look at first: what it works on is larger, or computed more often, than needed."""
    at = f" ({part.rows_at})" if part.rows_at else ""
    if part.has(BROADCAST):
        if _COMPARES_PAIRS.search(part.made_of):
            yield _SORTED_ONCE
        yield PAIRS
    if part.has(OF_JACOBIAN):
        yield JACOBIAN
    if part.has(PADDED) and part.name != "fft":  # whose padding is how it convolves
        yield LESS_PADDING
    if part.has(FOR_COPIES):
        yield _FOR_ONE_COPY.format(at)
    if part.has(CHEAPER_ORDER):
        yield _IN_ORDER.format(at)
    if part.has(ONE_ROW_READ):
        yield LAST_ROW
    if part.has(FEW_TAKEN):
        yield _TAKE_FIRST.format(f" (they are taken at {part.rows_at})" if part.rows_at else "")
    if part.has(GATHERED_ROWS):
        yield BEFORE_GATHER.format(at)
    if part.has(JOINED_ROWS):
        yield EACH_APART.format(at)
