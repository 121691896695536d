"""What to do about tables whose rows a batch looks up, where the step works on all rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stepscope.tables.traits.op_families import ELEMENTWISE
from stepscope.tables.traits.updates import is_update

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount

# TensorFlow makes a gradient of rows dense where it adds it to one of all rows.
_MADE_DENSE: Final = re.compile(r"(?:^|/)AddN(?:_\d+)?/inputs_\d+$")
_SUMS: Final = "UnsortedSegmentSum"
# A penalty: what it is made of, and what its gradient is. With less of the step it is on biases.
_PENALTY: Final = frozenset(("Square", "L2Loss", "Abs", "Sum", "Mul", "AddN", "Tile", _SUMS))
_LEAST_FRAC: Final = 0.02
_WHOLE_TABLES: Final = (
    "A gradient of the rows that a batch looked up is added to one of its whole table (AddN of an "
    "UnsortedSegmentSum): something works on all rows, as an embeddings_regularizer does, or a "
    "penalty over the variables (Square, Sum). It reads the table, makes a gradient as large, and "
    "has all rows updated. Penalise the rows that were looked up (add_loss in call)."
)


def whole_tables(part: PartRow, account: StepAccount) -> str:
    """What to do where a penalty makes a table's gradient dense; "" in other steps, and parts."""
    is_of_penalty = part.name == ELEMENTWISE or part.name in _PENALTY or is_update(part.name)
    made_dense = sum(
        one.step_frac
        for one in account.owners.records()
        if one.kind == "op" and one.family == _SUMS and _MADE_DENSE.search(one.name)
    )
    return _WHOLE_TABLES if is_of_penalty and made_dense >= _LEAST_FRAC else ""
