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
CUSTOM_CALL = "custom-call"
# Categories of ops that move data and compute nothing: where no FLOPs are noted there are none.
_MOVES = frozenset(
    {
        "broadcast",
        "concatenate",
        "copy",
        "copy-done",
        "data formatting",
        "dynamic-slice",
        "dynamic-update-slice",
        "gather",
        "pad",
        "slice",
    }
)
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
    tf_ops = metadata_texts(host, names.TF_OP)
    for row, kind in metadata_texts(host, names.HLO_CATEGORY).items():
        if kind.endswith(ASYNC_START) or (kind in _MOVES and math.isnan(found[row])):
            found[row] = 0.0
        elif kind == CUSTOM_CALL:
            text = host.space.event_metadata.name[row]
            found[row] = larger(found[row], _flops_by_shapes(text, tf_ops.get(row, "")))
    return found


def larger(*values: float) -> float:
    """The largest of the known values; NaN without any."""
    return max((float(one) for one in values if not math.isnan(one)), default=math.nan)


def _flops_by_shapes(text: str, framework_op: str) -> float:
    """FLOPs of a custom call: its compiler does not see into it and notes a part, or nothing."""
    from stepscope.tables.hlo.library_calls import shape_flops
    from stepscope.tables.hlo.shape import shapes_of_text

    name = text.partition(" = ")[0]
    operands, result = shapes_of_text(text)
    return shape_flops(f"{name} {framework_op}", operands, result)


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
