"""A recording whose every screen is full: threads of short events, back to back without a gap.

python -m bench.grid TARGET
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import numpy as np

from stepscope.columns import Events, Line, Plane, Space, Stats
from stepscope.columns.space import DATA_OFFSET, EventMetadata, StatMetadata
from stepscope.formats.xspace.encode import encode

THREADS: Final = 41  # as many as a window of 1080 px shows
#: From the begin of an event to the next on its thread; it lasts three quarters of that.
PERIOD_PS: Final = 1_500_000
EVENTS: Final = 1 << 15  # of each thread
NAMES: Final = 64


def grid() -> bytes:
    """The bytes of the XSpace."""
    rows = np.arange(THREADS * EVENTS)
    nth = rows % EVENTS
    lines = tuple(
        Line(0, i, f"thread {i}", 0, "", 0, 0, i * EVENTS, (i + 1) * EVENTS, 0)
        for i in range(THREADS)
    )
    metadata = EventMetadata(
        plane=np.zeros(NAMES, np.int32),
        id=np.arange(1, NAMES + 1),
        name=[f"op_{i:02d}" for i in range(NAMES)],
        display_name=[""] * NAMES,
        stat_begin=np.zeros(NAMES + 1, np.int64),
        metadata={},
        child_id={},
        present=np.ones(NAMES, dtype=bool),
    )
    none = np.empty(0, np.int32)
    no_stats = Stats(none, np.empty(0, np.uint8), np.empty(0, np.uint64))
    return encode(
        Space(
            buffer=memoryview(b""),
            planes=(Plane(0, "/host:CPU", 0, THREADS, 0, 0),),
            lines=lines,
            events=Events(
                metadata=((nth * 7 + rows // EVENTS) % NAMES).astype(np.int32),
                # Threads are not in step: their edges do not lie on one another.
                start_ps=nth * PERIOD_PS + rows // EVENTS * (PERIOD_PS // THREADS),
                duration_ps=np.full(len(rows), 3 * PERIOD_PS // 4),
                data=np.full(len(rows), DATA_OFFSET, np.uint8),
                stat_begin=np.zeros(len(rows) + 1, np.int64),
            ),
            event_stats=no_stats,
            plane_stats=no_stats,
            event_metadata=metadata,
            metadata_stats=no_stats,
            stat_metadata=StatMetadata(none, np.empty(0, np.int64), [], [], none.astype(bool)),
            errors=(),
            warnings=(),
            hostnames=(),
            origin_ns=0,
        )
    )


def main() -> None:
    """Write the recording."""
    Path(sys.argv[1]).write_bytes(grid())


if __name__ == "__main__":
    main()
