"""Calls in which the host itself copies: the driver stages pageable memory before it returns.

Recorders number them as launches of what they copy; a launch takes microseconds, and such a call
as long as its bytes. It is the copy that the step waits for, and no launch. One that first waits
for what the device has to do before is neither.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.columns import look_up
from stepscope.columns.space import I64, U8
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.processes import launch_ids
from stepscope.tables.core.profile import Host
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import Work

_COPIES: Final = re.compile(r"^(?:cu|cuda|hip)Memcpy\w*Async")
# A longer call than any launch.
_LEAST_PS: Final = 50_000_000
# What the device begins to copy later in the call than this share of it waited before.
_LATE_FRAC: Final = 0.5
_WAYS: Final = (Work.HOST_TO_DEVICE, Work.DEVICE_TO_HOST)


def staged_copies(host: Host, launches: I64) -> tuple[I64, U8]:
    """Of calls that launch something those that copy for long, and the work of each: which way."""
    space = host.space
    named = entries_shaped(host, lambda name: _COPIES.match(name) is not None)
    rows = launches[named[space.events.metadata[launches]]]
    rows = rows[space.length_ps[rows] >= _LEAST_PS]
    if len(rows) == 0:
        return rows, np.empty(0, dtype=np.uint8)
    found, calls = device_events(host), launch_ids(host)
    number = look_up(calls.rows, calls.values, rows, -1)
    copied = np.flatnonzero(np.isin(found.work, _WAYS) & (found.correlation >= 0))
    order = copied[np.argsort(found.correlation[copied], kind="stable")]
    at = look_up(found.correlation[order], order, number, -1)
    rows, at = rows[at >= 0], at[at >= 0]
    late = found.start_ps[at] - space.events.start_ps[rows]
    prompt = late <= _LATE_FRAC * space.length_ps[rows]
    return rows[prompt], found.work[at[prompt]].astype(np.uint8)
