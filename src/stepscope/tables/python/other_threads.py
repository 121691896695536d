"""The Python calls of threads beside the loop's."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.columns import distinct
from stepscope.tables.core.profile import Host
from stepscope.tables.python.frames import Frames, linked, python_rows


def other_threads(
    host: Host, calls: Frames, begin_ps: int, end_ps: int
) -> Iterator[tuple[str, Frames]]:
    """Names and calls of the other threads that the same recorder has seen.

    Args:
        host: Whose.
        calls: Of the loop's thread, or of the main one.
        begin_ps: Only those that call something from here
        end_ps: to here.
    """
    space = host.space
    own = int(space.lines_of(calls.rows[:1])[0])
    rows = python_rows(host, begin_ps, end_ps)
    lines = space.lines_of(rows)
    for line in distinct(lines).tolist():
        if line != own and space.lines[line].plane == space.lines[own].plane:
            mine = rows[lines == line]
            yield space.lines[line].label, linked(host, mine, is_sampled=calls.is_sampled)
