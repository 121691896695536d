"""What PyTorch's copies on a device are for: the op around them that wanted another type or layout.

``aten::copy_`` says nothing of that. Within ``aten::_to_copy`` it changes a type, as autocast does
at the border of each op; within ``aten::contiguous`` or ``aten::clone`` it changes a layout.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.columns import nest
from stepscope.columns.space import Bool
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.thresholds import MANY
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import Work
from stepscope.tables.torch.op_calls import OpCalls, op_calls, op_rows

_COPY: Final = re.compile(r"aten(?:/|::)copy_(?::|$)")
# Ops that are only ways to copy.
_WAYS: Final = re.compile(
    r"aten(?:/|::)(?:copy_|_to_copy|to|type|type_as|contiguous|clone|reshape|flatten|_reshape_copy|"
    r"unsafe_chunk|repeat)(?::|$)"
)
_CASTS: Final = re.compile(r"aten(?:/|::)_to_copy(?::|$)")
_ENGINE: Final = re.compile(r"(?:torch/)?autograd(?:/|::)engine(?:/|::)evaluate_function: ")


def is_copy(op: str) -> bool:
    """Whether an op of this name copies, whatever for."""
    return _COPY.match(op) is not None


@derived
def copy_purposes(host: Host) -> dict[tuple[bool, str], int]:
    """Return device time of such copies, in ps, by whether types change, and for which op."""
    space, calls, ops = host.space, op_calls(host), op_rows(host)
    copies, ways, casts = (_named(host, one) for one in (_COPY, _WAYS, _CASTS))
    crosses = _crosses(host, calls)
    found: dict[tuple[bool, str], int] = {}
    for line in space.lines:
        own = ops[slice(*np.searchsorted(ops, (line.begin, line.end)).tolist())]
        mine = slice(*np.searchsorted(calls.rows, (line.begin, line.end)).tolist())
        called, time = calls.rows[mine], calls.device_ps[mine]
        is_copy = copies[space.events.metadata[called]] & ~crosses[mine]
        if not is_copy.any():
            continue
        start, length = space.events.start_ps[own], space.length_ps[own]
        parent = nest(start, length, np.asarray([0, len(own)], dtype=np.int64)).parent
        code = space.events.metadata[own]
        at = np.searchsorted(own, called[is_copy]).astype(np.int64)
        is_cast, outer = np.zeros(len(at), dtype=bool), at
        for _level in range(MANY):
            is_cast |= (at >= 0) & casts[code[at]]
            up = (at >= 0) & ways[code[at]]
            outer = np.where(up, at, outer)  # what the program calls, where nothing is around
            at = np.where(up, parent[at], at)
        key = 2 * code[np.where(at >= 0, at, outer)].astype(np.int64) + is_cast
        for one in np.unique(key).tolist():
            what = bool(one % 2), _op(host, one // 2)
            found[what] = found.get(what, 0) + int(time[is_copy][key == one].sum())
    return found


def _crosses(host: Host, calls: OpCalls) -> Bool:
    """Which calls copy from or to the host: what they are for is known, and no device's time."""
    events = device_events(host)
    between = np.isin(events.work, (Work.HOST_TO_DEVICE, Work.DEVICE_TO_HOST))
    found = np.zeros(len(calls), dtype=bool)
    found[calls.of_event[between & (calls.of_event >= 0)]] = True
    return found


def _named(host: Host, pattern: re.Pattern[str]) -> Bool:
    """Mask over names of events."""
    listed = host.space.event_metadata.name
    return np.asarray([pattern.match(one) is not None for one in listed] or [False], dtype=bool)


def _op(host: Host, entry: int) -> str:
    op = _ENGINE.sub("", host.space.event_metadata.name[entry]).partition(":")[0]
    return op.rpartition("/")[2] if "autograd" in op else op
