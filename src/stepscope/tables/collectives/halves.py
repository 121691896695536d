"""Collectives that run beside other work, of two ops: one that starts them, one that waits.

XLA splits a collective into ``all-reduce-start`` and ``all-reduce-done``. The device arrives where
the first begins and goes on with other work; it waits in the second, if there still is something
to wait for. Both are one collective.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.tables.collectives.identity import CollectiveIdentity
from stepscope.tables.core.profile import Host

_HALF: Final = re.compile(r"(.*)-(start|done)((?:\.\w+)*)")
_OPERAND: Final = re.compile(r"%([\w.\-]+)")
_WHOLE, _START, _DONE = 0, 1, 2


def whole_collectives(
    host: Host, row: I64, device: I64, start_ps: I64, identity: CollectiveIdentity
) -> tuple[I64, I64]:
    """Where each collective begins and where it ends; equal where it is one event.

    A done belongs to the start before it, if no other run of the same op lies between. Of an op
    that has both halves, a half by itself is left out: an edge of the recording cut the other off,
    so that when the device arrived, or left, is not known.

    Args:
        host: The host.
        row: Event row of each collective event.
        device: Of each, a number for where it ran.
        start_ps: Of each.
        identity: Of the same events. What a program says decides which halves belong together;
            without it the done's operand does, or the number at the end of its name.

    Returns:
        Places in ``row`` of first and last events, in order of device, op and time.
    """
    entry = host.space.events.metadata[row].astype(np.int64)
    used, inverse = np.unique(entry, return_inverse=True)
    codes: dict[str, int] = {}
    halves = [_half(host, one) for one in used.tolist()]
    name = np.asarray([codes.setdefault(key, len(codes)) for key, _ in halves] or [0], np.int64)
    role = np.asarray([part for _, part in halves] or [0], np.int64)[inverse]
    compiled = np.asarray([one.is_compiled for one in identity.communicators] or [False])
    op = np.where(compiled[identity.place], identity.op, -1 - name[inverse])

    order = np.lexsort((role, start_ps, op, identity.place, device))
    key = np.stack([device, identity.place, op])[:, order]
    role = role[order]
    begins = np.append(True, (key[:, 1:] != key[:, :-1]).any(axis=0))[: len(order)]
    of_op = np.cumsum(begins) - 1
    ends = np.zeros(len(order), dtype=np.bool_)
    ends[1:] = (role[1:] == _DONE) & (role[:-1] == _START) & ~begins[1:]
    continues = np.append(ends[1:], False)[: len(order)]
    # On GPUs the kernel of a start is all there is of it.
    size = int(of_op[-1]) + 1 if len(of_op) else 0
    has_start, has_done = (
        np.bincount(of_op[role == one], minlength=size) > 0 for one in (_START, _DONE)
    )
    is_split = (has_start & has_done)[of_op]
    alone = (role == _WHOLE) | ~is_split
    first = np.flatnonzero((alone & ~ends) | continues)
    return order[first], order[first + continues[first]]


def _half(host: Host, entry: int) -> tuple[str, int]:
    """The name of the op that starts what an op is of, and which part of it that op is."""
    table = host.space.event_metadata
    text = table.name[entry]
    name = table.display_name[entry] or text.partition(" = ")[0].lstrip("%")
    found = _HALF.fullmatch(name)
    if found is None:
        return name, _WHOLE
    if found[2] == "start":
        return name, _START
    operand = _OPERAND.search(text.partition("-done(")[2])
    return (operand[1] if operand else f"{found[1]}-start{found[3]}"), _DONE
