"""``stepscope export``: a recording, or a range of it, for other viewers."""

from __future__ import annotations

import sys
from pathlib import Path

from stepscope.analysis.trace_viewer import range_of
from stepscope.surfaces.export.recording import RECORDING_FORMATS


def export_recording(
    path: str,
    format: str,
    *,
    begin: str,
    end: str,
    run: str | None,
    host: str | None,
    output: str | None,
) -> None:
    """Write a recording to ``output``, or to a file named after the run in this folder."""
    from stepscope.session import open
    from stepscope.store import write_atomic
    from stepscope.surfaces.cli.progress import Waiting
    from stepscope.timeline import timeline

    chosen = RECORDING_FORMATS[format]
    with Waiting() as waiting, open(path, run=run, host=host, progress=waiting.update) as session:
        line = timeline(session.profile)
        view = range_of(line, begin, end)
        name = session.name.rsplit("/", 1)[-1] if host is None else host
        target = Path(output).expanduser() if output else Path(name + chosen.suffix)
        waiting.stop()
        write_atomic(target, chosen.write(line, *view))
    print(f"wrote {target}", file=sys.stderr)
