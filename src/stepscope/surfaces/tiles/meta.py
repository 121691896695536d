"""The contents of a timeline: sections, tracks, steps and the axis. Times are integers in ps."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from stepscope.surfaces.tiles.versions import version_of
from stepscope.tables.steps.attribution import found_steps
from stepscope.timeline import CATEGORIES, Timeline, Track
from stepscope.timeline.flames import groupings
from stepscope.timeline.flows import KINDS

NAMES_PER_PAGE: Final = 1024
# A kernel of Eigen or CUTLASS says what it computes after a few hundred characters.
LABEL_LENGTH: Final = 600


def timeline_meta(line: Timeline) -> dict[str, Any]:
    """Sections, tracks, steps and the axis: what a page needs before its first tile."""
    begin, end = line.span()
    return {
        "version": 1,
        "fingerprint": version_of(line),
        "begin_ps": begin,
        "end_ps": end + 1,
        "origin_ns": str(line.axis.origin_ns),
        "aligned_by": line.axis.aligned_by,
        "diagnostics": [asdict(one) for one in line.profile.diagnostics],
        "hosts": [
            {"name": host.name, "shift_ps": shift}
            for host, shift in zip(line.profile.hosts, line.axis.shift_ps, strict=True)
        ],
        "categories": list(CATEGORIES),
        "flow_kinds": list(KINDS),
        "groupings": [{"by": ",".join(one.by), "label": one.label} for one in groupings(line)],
        "events": line.events,
        "names": {"count": len(line.names), "per_page": NAMES_PER_PAGE},
        "sections": [
            {**asdict(section), "label": section.label, "tracks": list(section.tracks)}
            for section in line.sections
        ],
        "tracks": [_track(line, track) for track in line.tracks],
        "steps": _steps(line),
    }


def _track(line: Timeline, track: Track) -> dict[str, Any]:
    begin, end = line.span_of(track)
    counter = track.counter
    return {
        "id": track.id,
        "section": track.section,
        "kind": track.kind,
        "name": track.name,
        "derived": track.derived and counter is None,
        "lanes": 1 if counter else line.pyramid(track).lanes,
        "events": len(track),
        "begin_ps": begin,
        "end_ps": end,
        "unit": counter.unit if counter else "",
        "least": float(counter.value.min()) if counter and len(counter.value) else None,
        "most": float(counter.value.max()) if counter and len(counter.value) else None,
    }


def _steps(line: Timeline) -> list[dict[str, Any]]:
    """The steps of each host that has any, as columns."""
    found = []
    for number, host in enumerate(line.profile.hosts):
        one = found_steps(host)
        if one is not None:
            shift = line.axis.shift_ps[number]
            found.append(
                {
                    "host": number,
                    "source": one.markers.source,
                    "num": one.markers.num.tolist(),
                    "name": list(one.markers.name),
                    "begin_ps": (one.start_ps + shift).tolist(),
                    "end_ps": (one.end_ps + shift).tolist(),
                }
            )
    return found
