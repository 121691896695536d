"""What a recording missed while it wrote its chunks: said in the file, on a track of its own.

A framework hands its events over by ending its session; until the next one has begun, what the
program does is not recorded. Our own recorders are done in a moment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from stepscope.capture.recorder import Severity
from stepscope.formats.xspace.plane_writer import PlaneWriter
from stepscope.schema import names

# (recorder, begin, end), ns since 1970.
Gap = tuple[str, int, int]

_LINE: Final = "not recorded"
# A tenth of the time missed changes what averages say.
_MUCH: Final = 0.1


def gaps_plane(gaps: Sequence[Gap]) -> bytes:
    """An XSpace with an event for each gap."""
    plane = PlaneWriter(names.RECORDING_PLANE)
    begin = np.asarray([begin for _, begin, _ in gaps], np.int64)
    end = np.asarray([end for _, _, end in gaps], np.int64)
    plane.line(
        1,
        _LINE,
        metadata=plane.names(f"{name}: a chunk is written" for name, _, _ in gaps),
        start_ns=begin,
        duration_ns=end - begin,
    )
    return plane.xspace()


def gaps_note(gaps: Sequence[Gap], recorded_ns: int) -> tuple[str, Severity, str]:
    """Slug, severity and text of what a person should know of them.

    Args:
        gaps: All of the recording.
        recorded_ns: How long was recorded, gaps included.
    """
    missed: dict[str, int] = defaultdict(int)
    for name, begin, end in gaps:
        missed[name] += end - begin
    name, most = max(missed.items(), key=lambda item: item[1])
    share = most / max(recorded_ns, 1)
    text = (
        f"{name} was not recorded for {most / 1e9:.2f} s of {recorded_ns / 1e9:.1f} s "
        f"({share:.0%}), while chunks were written. Steps are missing there; a lower "
        "host_tracer_level or a larger chunk_seconds makes it less."
    )
    return "gaps", "warning" if share > _MUCH else "info", text
