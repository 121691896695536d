"""The thread that runs a program's loop: what it does and waits for is the step's."""

from __future__ import annotations

import numpy as np

from stepscope.columns import rows_of
from stepscope.schema import names
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats
from stepscope.tables.device.driver_calls import is_wait_for_device
from stepscope.tables.host.events import host_thread_rows, is_pool_thread, is_tf_data_thread


def loop_thread(host: Host, marked: int) -> int:
    """Row of the thread's line, -1 where no thread of the program was recorded.

    Args:
        host: Whose.
        marked: Row of the line the steps are marked on, -1 without one. Where it is a device's,
            the thread that calls functions, launches kernels and waits for devices is looked for.
    """
    if marked >= 0:
        return marked
    space = host.space
    own = [
        row
        for row in host_thread_rows(host).tolist()
        if space.lines[row].end > space.lines[row].begin
        and not is_tf_data_thread(space.lines[row].name)
        and not is_pool_thread(space.lines[row].name)
    ]
    if not own:
        return -1
    stats = event_stats(host)
    calls = entries_named(
        host, lambda name: name.startswith(names.PJIT_FUNCTION) or is_wait_for_device(name)
    )
    for rows in (
        np.union1d(stats.rows(names.TF_FUNCTION_CALL), rows_of(space.events.metadata, calls)),
        stats.rows(names.CORRELATION_ID),
    ):
        lines = space.lines_of(rows)
        counts = np.bincount(lines[np.isin(lines, own)], minlength=len(space.lines))
        if counts.max(initial=0) > 0:
            return int(counts.argmax())
    longest: int = max(own, key=lambda row: _time(host, row))
    return longest


def _time(host: Host, row: int) -> int:
    """From the first to the last moment of a line; the program's thread is there throughout."""
    line, events = host.space.lines[row], host.space.events
    start = events.start_ps[line.begin : line.end]
    end = start + host.space.length_ps[line.begin : line.end]
    return int(end.max() - start.min())
