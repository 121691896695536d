"""What to do about a line of the program, or a function, by what its ops are called."""

from __future__ import annotations

import re
from typing import Final

from stepscope.advice.parts.replacements import DRAWN, ROUTINES, instead_of, percent
from stepscope.tables.parts.made_of import shares_of

_ONE_LINE: Final = (
    "Leave the line out for some steps, or give it half the data, and time the loop. Look at what "
    "it makes on the way: an array much larger than what comes in and out is what costs."
)
_ONE_HOT_LINE: Final = (
    "Leave the one-hot matrix out: look rows up by index ([tensorflow: tf.gather | jax: jnp.take | "
    "pytorch: torch.index_select]), and sum rows by index ([tensorflow: tf.math.segment_sum | "
    "jax: jax.ops.segment_sum | pytorch: torch.index_add]), in place of a product with it."
)


# Functions of random numbers, as the account says what a line is made of, and the least per cent
# of it from which it is about them.
_DRAWS: Final = re.compile(r"\b(?:uniform|normal|bernoulli|gumbel|randint|categorical)\b")
_MOSTLY_DRAWS: Final = 40


# A matrix for each row, which is then multiplied by it.
_GATHERS: Final = re.compile(r"\bgather\b|\btake\b")
_MULTIPLIES: Final = re.compile(r"\bdot_general\b|\beinsum\b|\bmatmul\b", re.IGNORECASE)
_MOSTLY_GATHERS: Final = 30
_GATHERED_LINE: Final = (
    "Where a weight is gathered for each row (by its kind, its edge, its expert) and then "
    "multiplied, that makes an array of all rows' weights, and its gradient scatters as much. "
    "Multiply first: apply each weight to all that it may meet, and gather rows of the result; or "
    "sort the rows by kind, with one product for each kind."
)


#: As JAX and PyTorch call what makes one-hot rows.
ONE_HOT: Final = "one_hot"


#: For what puts everything in random order to take a few of it.
PERMUTED: Final = (
    "Drawing without replacement (choice with replace=False, permutation, shuffle) puts all there "
    "is in random order. Where few of it are taken, draw indices with replacement, which costs "
    "what it returns ([tensorflow: tf.random.uniform(…, dtype=tf.int32) | "
    "jax: jax.random.randint | pytorch: torch.randint]), or permute once for many batches."
)
# As JAX, PyTorch and TensorFlow call that.
_PERMUTES: Final = re.compile(r"\b_?(?:shuffle|permutation)\b|randperm|[Rr]andom_?[Ss]huffle")
_MOSTLY_PERMUTES: Final = 40


def instead_of_permutation(made_of: str) -> str:
    """What to do about random numbers that are mostly for an order; "" of others."""
    return PERMUTED if percent(made_of, _PERMUTES) >= _MOSTLY_PERMUTES else ""


def instead_of_line(made_of: str) -> str:
    """What to do about a line, by what its ops are called."""
    if re.search(r"one_?hot", made_of, re.IGNORECASE):
        return _ONE_HOT_LINE
    if permuted := instead_of_permutation(made_of):
        return permuted
    if percent(made_of, _GATHERS) >= _MOSTLY_GATHERS and percent(made_of, _MULTIPLIES):
        return _GATHERED_LINE
    return DRAWN if percent(made_of, _DRAWS) >= _MOSTLY_DRAWS else _ONE_LINE


# What such a part is made of for this per cent is what it is for.
_MOSTLY_ROUTINE: Final = 40
_WORD: Final = re.compile(r"\w+")


def instead_of_routine(made_of: str) -> str:
    """What to do about a part that mostly sorts, decomposes or solves; "" of others."""
    spent = dict.fromkeys(ROUTINES, 0)
    for name, share in shares_of(made_of):
        known = {instead_of(word) for word in _WORD.findall(name)}
        for text in ROUTINES:
            spent[text] += share * (text in known)
    most = max(spent, key=lambda text: spent[text])
    return most if spent[most] >= _MOSTLY_ROUTINE else ""
