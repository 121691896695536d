"""The share of random cases that tests try: a fifth where the kernels are plain Python.

Continuous integration compiles the kernels and tries all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from stepscope.kernels.core import compiled

_SHARE: Final = 1 if compiled() else 5
_FEWEST: Final = 10
Case = TypeVar("Case")


def examples(number: int) -> int:
    """Return how many random examples to try: all of them, or a fifth."""
    return max(number // _SHARE, min(number, _FEWEST))


def thinned(cases: Sequence[Case]) -> Sequence[Case]:
    """Return the cases to try: all of them, or each fifth."""
    return cases[::_SHARE]
