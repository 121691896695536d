"""The version of answers that browsers may keep forever."""

from __future__ import annotations

from stepscope import __version__
from stepscope.surfaces.tiles import tile_format
from stepscope.timeline import Timeline


def version_of(line: Timeline) -> str:
    """The recording and who answers: after an upgrade no browser mixes old tiles with new pages."""
    return f"{line.fingerprint}-{__version__}-{tile_format.VERSION}"
