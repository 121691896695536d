"""What a memory holds at one moment, attributed over the whole recording.

The incumbent looks at one step only, so what earlier steps left behind becomes "unused
preallocated device memory" (reference §12.14). Here everything allocated since the recording
began is attributed to its op, and what was there before is reported as such.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.columns import sum_by_key
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.memory.allocations import UNKNOWN, Allocations, alive_at, freed_later

# Where bytes come from, and how they are called where there is no op to name.
RECORDED: Final = "recorded"
BEFORE: Final = "before recording"
STACK: Final = "stack"
KEPT_LABEL: Final = "allocated before the recording, never freed in it"
FREED_LABEL: Final = "allocated before the recording, freed later in it"
STACK_LABEL: Final = "stack"


@dataclass(frozen=True, slots=True)
class Holding:
    """Blocks of one memory that are alike: same op, region, type and shape.

    Attributes:
        context: What enclosed the allocations on their thread, where they name no op.
        origin: ``RECORDED``, ``BEFORE`` or ``STACK``.
        blocks: How many; None where only their sum is known.
        allocated_bytes: Sum with rounding.
        requested_bytes: Sum as asked for; None where not known of each block.
        kept_bytes: Of the allocated bytes, those not freed before the recording ended; None
            where not known.
        first_ps: When the oldest was allocated; None before the recording.
        freed_ps: When the last was freed; None where one never is, or not known.
    """

    op: str
    region: str
    data_type: str
    shape: str
    context: str
    origin: str
    blocks: int | None
    allocated_bytes: int
    requested_bytes: int | None
    kept_bytes: int | None
    first_ps: int | None
    freed_ps: int | None = None


def last_freed(found: Allocations, alive: I64, group: I64, count: int) -> list[int | None]:
    """Return when the last block of each group is freed, None where one never is."""
    after = found.next_here[alive]
    freed = np.where(after == UNKNOWN, np.iinfo(np.int64).max, found.time_ps[after])
    last = np.zeros(count, np.int64)
    np.maximum.at(last, group, freed)
    return [None if time == np.iinfo(np.int64).max else time for time in last.tolist()]


def holdings(found: Allocations, memory: int, event: int) -> list[Holding]:
    """What a memory holds right after an event of it, largest first.

    The allocated bytes sum to the bytes in use, unless the recorded allocations exceed them
    (events of several threads in the wrong order); then they sum to more.
    """
    rows = _recorded(found, alive_at(found, memory, event))
    before = int(found.heap_bytes[event]) - sum(row.allocated_bytes for row in rows)
    freed = freed_later(found, memory, event)
    known = found.allocated_bytes[freed]
    known_sum = int(known[known > 0].sum())
    if 0 < known_sum <= before:
        rows.append(_before(FREED_LABEL, len(freed), known_sum, kept=0))
        before -= known_sum
    if before > 0:
        rows.append(_before(KEPT_LABEL, None, before, kept=before))
    stack = int(found.stack_bytes[event])
    if stack > 0:
        rows.append(Holding(STACK_LABEL, "stack", "", "", "", STACK, 1, stack, stack, None, None))
    rows.sort(key=lambda row: (-row.allocated_bytes, row.op, row.context, row.shape, row.region))
    return rows


def _before(label: str, blocks: int | None, size: int, kept: int) -> Holding:
    return Holding(label, "persist/dynamic", "", "", "", BEFORE, blocks, size, None, kept, None)


def _recorded(found: Allocations, alive: I64) -> list[Holding]:
    if len(alive) == 0:
        return []
    labels = (found.op, found.region, found.data_type, found.shape, found.context)
    keys = [label.codes[alive] for label in labels]
    first, group = distinct_rows(keys)
    count = len(first)
    kept = found.next_here[alive] == UNKNOWN
    blocks = np.bincount(group, minlength=count)
    allocated = sum_by_key(group, np.maximum(found.allocated_bytes[alive], 0), count)
    requested = sum_by_key(group, np.maximum(found.requested_bytes[alive], 0), count)
    unsaid = np.bincount(group, found.requested_bytes[alive] < 0, minlength=count) > 0
    kept_bytes = sum_by_key(
        group, np.where(kept, np.maximum(found.allocated_bytes[alive], 0), 0), count
    )
    # `alive` is in time order, so the first of each group is its oldest.
    oldest = found.time_ps[alive][first]
    freed = last_freed(found, alive, group, count)
    return [
        Holding(
            op=found.op.texts[codes[0]],
            region=found.region.texts[codes[1]],
            data_type=found.data_type.texts[codes[2]],
            shape=found.shape.texts[codes[3]],
            context=found.context.texts[codes[4]],
            origin=RECORDED,
            blocks=int(blocks[i]),
            allocated_bytes=int(allocated[i]),
            requested_bytes=None if unsaid[i] else int(requested[i]),
            kept_bytes=int(kept_bytes[i]),
            first_ps=int(oldest[i]),
            freed_ps=freed[i],
        )
        for i, codes in enumerate(np.stack(keys)[:, first].T.tolist())
    ]


def holding_columns(held: list[Holding], in_use_bytes: int) -> dict[str, list[Any]]:
    """One row per holding, with its share of all in use."""
    return {
        "op_name": [one.op for one in held],
        "allocation_bytes": [one.allocated_bytes for one in held],
        "requested_bytes": [one.requested_bytes for one in held],
        "occurrences": [one.blocks for one in held],
        "region_type": [one.region for one in held],
        "data_type": [one.data_type for one in held],
        "shape": [one.shape for one in held],
        "allocated_in": [one.context for one in held],
        "share_frac": [one.allocated_bytes / in_use_bytes if in_use_bytes else 0.0 for one in held],
        "origin": [one.origin for one in held],
        "kept_bytes": [one.kept_bytes for one in held],
        "first_ms": [None if one.first_ps is None else one.first_ps / 1e9 for one in held],
        "freed_ms": [None if one.freed_ps is None else one.freed_ps / 1e9 for one in held],
    }
