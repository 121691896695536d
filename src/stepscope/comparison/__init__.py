"""Two or more profiles side by side: where the difference of the step lies, and if it is real."""

from stepscope.comparison.compare import Side, compare, side_of
from stepscope.comparison.comparison import Comparison
from stepscope.comparison.starts import compare_starts

__all__ = ["Comparison", "Side", "compare", "compare_starts", "side_of"]
