"""Tensors of an XLA program that live in the host's memory, for the rules about copies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.analysis.hlo_stats import HloStats

# XLA's memory space 5 is the host's.
_HOST_MEMORY = re.compile(r"S\(5\)")


def host_memory_ops(hlo: HloStats | None) -> tuple[float, tuple[str, ...]]:
    """The share of copying ops' time that involves host memory, and the longest such ops.

    Args:
        hlo: The result of hlo_stats, or None.
    """
    if hlo is None:
        return 0.0, ()
    copies = [row for row in hlo.ops.records() if row.category.startswith(("copy", "async"))]
    whole = sum(row.self_time_us for row in copies)
    own = [row for row in copies if _HOST_MEMORY.search(row.expression)]
    share = sum(row.self_time_us for row in own) / whole if whole else 0.0
    return share, tuple(row.hlo_op for row in own[:4])
