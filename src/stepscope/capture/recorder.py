"""The interface of a recorder: one source of events in the running process.

A recorder is one file in ``capture/recorders/`` and one line in its list. The session starts all
that can record here, ends them together, and writes what they give into one file.

Time: absolute nanoseconds of ``time.time_ns()``. A recorder of ours gives lines whose
``timestamp_ns`` is absolute, events whose ``offset_ps`` counts from it. A framework's XSpace may
stay relative to the ``profile_start_time`` of its own ``Task Environment`` plane: the session
brings both to one origin.

Planes: host threads are lines of ``/host:CPU``; anything that is neither a host thread nor a device
has a plane of its recorder. Planes with the same name are merged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from stepscope.capture.options import ProfilerOptions
from stepscope.records import dataclass

NoteSeverity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Note:
    """A message to a person about a recording.

    Attributes:
        slug: Anchor in docs/capture.md.
        severity: "info", "warning" or "error".
        message: One or two sentences: what, why, what to do.
    """

    slug: str
    severity: NoteSeverity
    message: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """The events of one recorder for one chunk.

    Attributes:
        xspace: A serialised XSpace; ``b""`` when there is nothing.
        events: Events in it.
        notes: Messages for a person.
        seconds: Processor time that another process took to make it.
        omitted: Events that the framework handed over besides, and that were not asked for.
    """

    xspace: bytes = b""
    events: int = 0
    notes: tuple[Note, ...] = ()
    seconds: float = 0.0
    omitted: int = 0


#: What ``collect`` gives: the recording, or what makes it of what was taken. The latter is called
#: once the recorder has begun again, so that long conversions leave no gap.
Collected = Recorded | Callable[[], Recorded]


class Recorder(Protocol):
    """One source of events. Calls come from one thread at a time, not always the same one.

    The order is ``unavailable``, then any number of ``start`` … ``collect`` (a chunk each), or
    ``start`` … ``drop``. After ``collect`` the recorder may be started again at once.

    A recorder may have ``event_ns``, what recording one event takes from the program,
    ``event_bytes``, the heap that a buffered event needs, and five more methods:
    ``annotation()`` gives what annotations are handed to while it records (``tracing.Emitter``);
    ``is_stale()`` tells that what it records with cannot
    see devices that have come since it was started: it is then collected and started again;
    ``cut()`` is called instead of ``collect`` when it is to be started again at once, and gives
    None where that cannot be now: it goes on, and the chunk has nothing of it; ``forked()`` is
    called in a child process that was forked meanwhile, where none of its threads is: what it has
    changed of the interpreter is put back there; ``close()`` is called once the recording is over.
    """

    name: str

    def unavailable(self) -> str | None:
        """Why it cannot record in this process, as one sentence; None when it can.

        Never imports a framework that is not loaded already (``sys.modules``).
        """
        ...

    def start(self, options: ProfilerOptions) -> None:
        """Begin. May raise any ``Exception``: the session notes it and goes on without."""
        ...

    def collect(self) -> Collected:
        """End the recording (or the chunk) and hand it over; it may have no events."""
        ...

    def drop(self) -> None:
        """End the recording and forget it, as cheaply as can be."""
        ...
