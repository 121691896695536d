"""Tracks that the file lacks, computed from the events it has."""

from __future__ import annotations

from stepscope.tables.profile import Host
from stepscope.tables.timeline.labels import Names
from stepscope.tables.timeline.model import Track


def derived_tracks(host: Host, recorded: list[Track], index: Names) -> list[tuple[int, Track]]:
    """Steps, ops and scopes of devices whose file has only raw events, each with its plane."""
    return []
