"""The tables people query: one per file, with every column's meaning; ``TABLE`` in each.

Adding one is a file here and a line below.
"""

from __future__ import annotations

from typing import Final

from stepscope.sql.tables import collectives, counters, events, kernels, memory, ops, steps
from stepscope.sql.tables.table import QueryColumn, QueryTable

#: By name, in the order in which they are listed.
TABLES: Final[dict[str, QueryTable]] = {
    module.TABLE.name: module.TABLE
    for module in (events, steps, ops, kernels, memory, counters, collectives)
}

__all__ = ["TABLES", "QueryColumn", "QueryTable"]
