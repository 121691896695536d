"""The calls of PyTorch's ops that launched something on a device.

A device event belongs to the innermost op around the call that launched it. What one op launched
in one call belongs together: a product of matrices may be several kernels and a memset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepscope.columns import innermost
from stepscope.columns.space import I64
from stepscope.records import dataclass, replace
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.presence import entries_called, stat_rows
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.time_spans import union_by_group
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import host_names, timed_rows
from stepscope.tables.torch.launches import launched

if TYPE_CHECKING:
    from stepscope.tables.torch.signature import Signature


@dataclass(frozen=True, eq=False, slots=True)
class OpCalls:
    """One row per call of an op that launched something.

    Attributes:
        rows: Event rows of the calls, ascending.
        signature: Index into ``signatures``.
        signatures: The distinct ways in which ops were called.
        of_event: Of each event of ``device_events`` the call, -1 for none.
        device_ps: Time in which anything of what each call launched ran.
        first_ps: When the first of it began.
    """

    rows: I64
    signature: I64
    signatures: tuple[Signature, ...]
    of_event: I64
    device_ps: I64
    first_ps: I64

    def __len__(self) -> int:
        return len(self.rows)


@derived
def op_calls(host: Host) -> OpCalls:
    """The calls of a host; none where no op of PyTorch's was recorded."""
    events = device_events(host)
    op_of = _op_of_each(host)
    rows, of_event = np.unique(op_of[op_of >= 0], return_inverse=True)
    call = np.full(len(op_of), -1, np.int64)
    call[op_of >= 0] = of_event
    has = np.flatnonzero(call >= 0)
    kernel = host.space.events.metadata[events.rows[has]]
    signature, signatures = _signatures(host, rows, call[has], kernel.astype(np.int64))
    first = np.full(len(rows), np.iinfo(np.int64).max)
    np.minimum.at(first, call[has], events.start_ps[has])
    device_ps = union_by_group(call[has], events.start_ps[has], events.end_ps[has], len(rows))
    return OpCalls(rows, signature, signatures, call, device_ps, first)


def _op_of_each(host: Host) -> I64:
    """The event row of the innermost op around each device event's launch, -1 for none."""
    launches, space = launched(host), host.space
    found = np.full(len(launches.call), -1, np.int64)
    if names.ARGUMENTS not in stat_rows(host):
        return found  # no recording of PyTorch's
    for number in np.unique(launches.thread[launches.thread >= 0]).tolist():
        mine, own = np.flatnonzero(launches.thread == number), _ops_of_thread(host, number)
        start = space.events.start_ps[own]
        at = innermost(start, start + space.length_ps[own], launches.start_ps[mine])
        found[mine] = np.append(own, -1)[at]
    return found


def _ops_of_thread(host: Host, thread: int) -> I64:
    """Event rows of PyTorch's ops on a thread, ascending."""
    ops = op_rows(host)
    lines = [one for one in host.space.lines if one.id == thread]
    spans = [np.searchsorted(ops, (one.begin, one.end)).tolist() for one in lines]
    found = [ops[begin:end] for begin, end in spans if end > begin]
    return found[0] if len(found) == 1 else np.concatenate([ops[:0], *found])


@derived
def op_rows(host: Host) -> I64:
    """Event rows of PyTorch's ops, ascending."""
    is_op = (host_names(host).op >= 0) & ~entries_called(host, names.MEMORY_EVENTS)
    return timed_rows(host, is_op)


def _signatures(
    host: Host, rows: I64, launcher: I64, launched_name: I64
) -> tuple[I64, tuple[Signature, ...]]:
    """How each call was made; texts that say the same are read once.

    Device events tell the size of an element in lists: of each, ``launcher`` is the call that
    launched it, ``launched_name`` a row of the metadata.
    """
    from stepscope.tables.torch.costs import list_element_bytes
    from stepscope.tables.torch.signature import parse_signature

    space, stats = host.space, event_stats(host)
    shapes, said = stats.texts(names.SHAPE), stats.texts(names.ARGUMENTS)
    metadata = space.event_metadata
    shape = shapes.at(rows)
    has_list = np.asarray([*("[[" in text[1:] for text in shapes.texts), False])[shape]
    element = np.zeros(len(rows), np.int64)
    of_list = np.flatnonzero(has_list[launcher])
    used, which = np.unique(launched_name[of_list], return_inverse=True)
    known = [list_element_bytes(metadata.name[entry]) for entry in used.tolist()]
    np.maximum.at(element, launcher[of_list], np.asarray(known or [0], np.int64)[which])
    keys = (space.events.metadata[rows].astype(np.int64), shape, said.at(rows), element)
    first, code = distinct_rows(keys)
    index: dict[Signature, int] = {}
    lut = []
    for entry, dims, text, size in np.stack(keys)[:, first].T.tolist():
        one = parse_signature(
            metadata.display_name[entry] or metadata.name[entry],
            shapes.texts[dims] if dims >= 0 else "",
            said.texts[text] if text >= 0 else "",
        )
        one = replace(one, list_element_bytes=size) if size else one
        lut.append(index.setdefault(one, len(index)))
    of_call = np.asarray(lut or [0], np.int64)[code] if len(rows) else np.zeros(0, np.int64)
    return of_call, tuple(index)
