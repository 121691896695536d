"""Which run, and which of its hosts, a name stands for.

Without a name it is the newest run that holds more than its recorder's own beginning and end: a
profiler that is started again when the loop is over, or around code that no longer runs, leaves a
file beside the one with the steps, and a younger one. Who opens the folder means the other.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from stepscope.columns import rows_of, union_spans
from stepscope.errors import StepscopeError, UsageError
from stepscope.result import Diagnostic
from stepscope.schema import names
from stepscope.session.decoded_run import DecodedRun
from stepscope.store import Found, Run
from stepscope.tables.core.presence import entries_named, entries_starting
from stepscope.tables.core.profile import Host
from stepscope.tables.host.events import host_names
from stepscope.tables.steps.recorder_work import is_recorder_frame, is_recorder_work

# Files of all hosts together: what is larger holds something, and is not read to find that out.
_MOST_BYTES = 64 * 1024
# So many of the newest runs are looked into.
_MOST_RUNS = 8
# What PyTorch's profiler says of a window itself: its reach, and the steps reported to it.
_OF_WINDOW = (names.PYTORCH_STEP, "PyTorch Profiler (", "Record Window End", "Iteration Start: ")


def pick_run(found: Found, name: str | None) -> Run:
    """The run of this id, or the newest with events.

    Raises:
        UsageError: There is none of this id; the message names those there are.
    """
    if name is None:
        return newest_with_events(found)
    for run in found.runs:
        if run.id == name:
            return run
    ends = [run for run in found.runs if run.id.rsplit("/", 1)[-1] == name]
    if len(ends) == 1:
        return ends[0]
    known = ", ".join(run.id for run in found.runs[:10])
    more = f" and {len(found.runs) - 10} more" if len(found.runs) > 10 else ""
    raise UsageError(
        f"There is no run {name!r}.",
        where=found.root,
        hint=f"Runs here: {known}{more}.",
        slug="no-such-run",
    )


def pick_hosts(found: Found, run: Run, host: str | None) -> tuple[str, ...]:
    """The hosts of a run that ``host`` names; raises ``UsageError`` naming the ones there are."""
    known = run.hosts
    if host is None:
        return known
    chosen = (host,) if host in known else tuple(dict.fromkeys(host.split(",")))
    if strange := [one for one in chosen if one not in known]:
        more = f" and {len(known) - 10:,} more" if len(known) > 10 else ""
        raise UsageError(
            f"There is no host {strange[0]!r} in run {run.id!r}.",
            where=found.root,
            hint=f"Hosts: {', '.join(known[:10])}{more}.",
            slug="no-such-host",
        )
    return chosen


def newest_with_events(found: Found) -> Run:
    """The newest run that holds more than its recorder; the newest where none does.

    An empty run is smaller than the one that it is taken for, so others are not looked into.
    """
    for at, run in enumerate(found.runs[:_MOST_RUNS]):
        is_small = at > 0 or any(
            run.size_bytes < older.size_bytes for older in found.runs[at + 1 :]
        )
        if not (is_small and is_empty(run)):
            return run
    return found.runs[0]


@lru_cache(maxsize=64)
def is_empty(run: Run) -> bool:
    """Whether all files of a run open, and hold nothing but what their recorder does itself."""
    if not 0 < run.size_bytes <= _MOST_BYTES:
        return False
    recording = DecodedRun(run)
    try:
        hosts = recording.hosts(run.hosts)
        return not recording.diagnostics(run.hosts) and all(map(_is_empty, hosts))
    except StepscopeError:
        return False
    finally:
        recording.close()


def passed_over(found: Found, chosen: Run) -> tuple[Diagnostic, ...]:
    """What to say where empty runs are younger than the one that was opened without being named."""
    younger = found.runs[: found.runs.index(chosen)] if chosen in found.runs else ()
    if not younger:
        return ()
    names = ", ".join(run.id for run in younger)
    are = "is younger and holds" if len(younger) == 1 else "are younger and hold"
    text = (
        f"{names} {are} nothing but the recorder's own beginning and end, so the newest run with "
        "events is shown; name the run to see it anyway."
    )
    return (Diagnostic("empty-run", "info", text),)


def _is_empty(host: Host) -> bool:
    """Whether no event begins outside of what the recorder does.

    PyTorch's schedule begins a window again when the loop is about to end: it holds the mark of a
    step that never was, calls that were open all along, and at most the fetch of a batch.
    """
    space = host.space
    idle = entries_named(host, lambda name: is_recorder_work(name) or is_recorder_frame(name))
    idle[: len(host_names(host).is_input)] |= host_names(host).is_input
    rows = rows_of(space.events.metadata, idle)
    begin = space.events.start_ps[rows]
    begins, ends = union_spans(begin, begin + space.length_ps[rows])
    starts = space.events.start_ps
    at = np.searchsorted(begins, starts, side="right") - 1
    nothing = (at >= 0) & (starts <= np.append(ends, 0)[at])
    of_window = entries_starting(host, *_OF_WINDOW)
    nothing |= of_window[space.events.metadata]
    if len(begins):
        until = starts + space.length_ps
        nothing |= (starts <= begins[0]) & (until >= ends[-1])
    return bool(nothing.all())
