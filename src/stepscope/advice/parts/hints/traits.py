"""What to do about the traits of a part that say how it comes to its work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.replacements import (
    LESS_PADDING,
    PAIRS,
)
from stepscope.tables.parts.part_traits import (
    BROADCAST,
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
# As ``tables.traits.shapes`` writes it.
_COMPARES_PAIRS: Final = re.compile(r"/(?:ge|gt|le|lt|greater|less)(?:_equal)? makes ")


def trait_hints(part: PartRow) -> Iterator[str]:
    """What to look at first: what it works on is larger, or computed more often, than needed."""
    if part.has(BROADCAST):
        if _COMPARES_PAIRS.search(part.made_of):
            yield _SORTED_ONCE
        yield PAIRS
    if part.has(PADDED) and part.name != "fft":  # whose padding is how it convolves
        yield LESS_PADDING
