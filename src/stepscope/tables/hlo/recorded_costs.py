"""What recorders on TPUs write beside each op: its FLOPs, and the bytes it moves by memory."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import metadata_stats_by_name, pivot
from stepscope.columns.space import Bool
from stepscope.schema import names
from stepscope.tables.core.planes import OP_LINE_PLANES, planes
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import metadata_ints, metadata_texts
from stepscope.wire.read import values

F64 = NDArray[np.float64]
# An asynchronous op's bytes are counted where the program waits for it, not where it starts it.
ASYNC_START = "-start"
# Memory spaces and directions of a memory breakdown.
_READ, _HBM = 1, 1


def entries_of_op_lines(host: Host) -> Bool:
    """Rows of ``Space.event_metadata`` that are ops of a TPU: they say everything of the op."""
    kinds = planes(host).plane_kind
    found = [kinds[plane] in OP_LINE_PLANES for plane in host.space.event_metadata.plane.tolist()]
    return np.asarray(found, dtype=bool)


def recorded_flops(host: Host) -> F64:
    """FLOPs of one run by row of ``Space.event_metadata``; NaN where it does not say them."""
    found = np.full(len(host.space.event_metadata), math.nan)
    for row, flops in metadata_ints(host, names.FLOPS).items():
        found[row] = flops
    for row, kind in metadata_texts(host, names.HLO_CATEGORY).items():
        if kind.endswith(ASYNC_START):
            found[row] = 0.0
    return found


def recorded_breakdowns(host: Host) -> dict[int, tuple[float, float, float]]:
    """(HBM bytes, on-chip bytes read, on-chip bytes written) by metadata row."""
    column = metadata_stats_by_name(host.space, (names.MEMORY_BREAKDOWN,))[names.MEMORY_BREAKDOWN]
    return {
        entry: _breakdown(pivot.read_bytes(host.space, bits))
        for entry, bits in zip(column.rows.tolist(), column.bits.tolist(), strict=True)
    }


def _breakdown(data: bytes) -> tuple[float, float, float]:
    hbm = read = written = 0.0
    for _number, value in values(data):
        found = dict(values(value)) if isinstance(value, bytes) else {}
        amount = found.get(3, 0)
        if not isinstance(amount, int):
            continue
        if found.get(2, 0) == _HBM:
            hbm += amount
        elif found.get(1, 0) == _READ:
            read += amount
        else:
            written += amount
    return hbm, read, written
