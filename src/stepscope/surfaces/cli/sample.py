"""The recording that ``stepscope demo`` opens."""

from __future__ import annotations

from pathlib import Path

from stepscope.errors import StoreError


def find_sample() -> Path:
    """The sample recording of a source checkout; raises ``StoreError`` saying how to get one."""
    folder = Path(__file__).resolve().parents[4] / "examples" / "sample"
    if folder.is_dir() and any(folder.rglob("*.xplane.pb*")):
        return folder
    raise StoreError(
        "The sample recording is not here.",
        where=str(folder),
        why="It comes with the source checkout, not with the installed package.",
        hint="Run `python3 dev.py demo` in a clone, or record a run of your own and "
        "`stepscope show overview_page LOGDIR`.",
        slug="no-sample",
    )
