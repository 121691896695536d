"""``timeline/path``: the critical path of a range: its pieces, and their sums by name."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.errors import UsageError
from stepscope.surfaces.http.timeline_query import Query
from stepscope.timeline import Timeline
from stepscope.timeline.critical_path import REASONS, CriticalPath, critical_path

_MOST_PIECES: Final = 20_000
_MOST_NAMES: Final = 200
_LABEL_LENGTH: Final = 600


def path_answer(line: Timeline, query: Query) -> dict[str, Any]:
    """The path through ``start_ps:end_ps`` on a host; ``event`` asks for that event's slack."""
    begin, end = query.view(line)
    host = query.number("host_number", 0)
    if not 0 <= host < len(line.profile.hosts):
        raise UsageError(
            f"timeline: there is no host {host}.", hint=f"0 to {len(line.profile.hosts) - 1}."
        )
    path = critical_path(line, begin, end, host, query.check)
    shown = slice(max(len(path) - _MOST_PIECES, 0), None)  # what is near the end explains it
    names, kinds = _names_and_categories(line, path)
    length = path.stop_ps - path.start_ps
    wanted = query.number("event", -1)
    return {
        "begin_ps": begin,
        "end_ps": end,
        "path_end_ps": int(path.stop_ps[-1]) if len(path) else begin,
        "work_ps": int(length.sum()),
        "gap_ps": int(path.gap_ps.sum()),
        "left_out": len(path) - len(path.event[shown]),
        "reasons": list(REASONS),
        "pieces": {
            "event": path.event[shown].tolist(),
            "track": path.track[shown].tolist(),
            "lane": _lanes(line, path)[shown].tolist(),
            "begin_ps": path.start_ps[shown].tolist(),
            "end_ps": path.stop_ps[shown].tolist(),
            "reason": path.reason[shown].tolist(),
            "gap_ps": path.gap_ps[shown].tolist(),
        },
        "names": _name_times(line, path, names, length),
        "categories": [
            {"category": category, "time_ps": int(length[kinds == category].sum())}
            for category in np.unique(kinds).tolist()
        ],
        "slack_ps": path.slack_of(wanted) if wanted >= 0 else None,
    }


def _names_and_categories(line: Timeline, path: CriticalPath) -> tuple[I64, I64]:
    name, kind = np.zeros(len(path), np.int64), np.zeros(len(path), np.int64)
    for track in np.unique(path.track).tolist():
        here, one = path.track == track, line.tracks[track]
        code = one.code[path.event[here] - one.first_event]
        name[here], kind[here] = one.labels.name[code], one.labels.category[code]
    return name, kind


def _lanes(line: Timeline, path: CriticalPath) -> I64:
    """The lane each event of the path is drawn on."""
    lanes = np.zeros(len(path), np.int64)
    for track in np.unique(path.track).tolist():
        here, one = path.track == track, line.tracks[track]
        pyramid = line.pyramid(one)
        lane_of = np.zeros(len(one.start_ps), np.int32)
        positions = np.arange(len(pyramid), dtype=np.int64)
        lane_of[pyramid.events(positions)] = np.repeat(
            np.arange(pyramid.lanes, dtype=np.int32), np.diff(pyramid.lane_begin)
        )
        lanes[here] = lane_of[path.event[here] - one.first_event]
    return lanes


def _name_times(line: Timeline, path: CriticalPath, name: I64, length: I64) -> list[dict[str, Any]]:
    """Time on the path by name, the largest first; with the gaps before its pieces."""
    used, which = np.unique(name, return_inverse=True)
    time, gap = np.zeros(len(used), np.int64), np.zeros(len(used), np.int64)
    np.add.at(time, which, length)
    np.add.at(gap, which, path.gap_ps)
    longest = np.zeros(len(used), np.int64)
    longest[which[np.argsort(length, kind="stable")]] = np.argsort(length, kind="stable")
    ranked = np.argsort(-time, kind="stable")[:_MOST_NAMES]
    count = np.bincount(which, minlength=len(used))
    return [
        {
            "name": line.names[int(used[i])][:_LABEL_LENGTH],
            "pieces": int(count[i]),
            "time_ps": int(time[i]),
            "gap_ps": int(gap[i]),
            "longest": int(path.event[longest[i]]),
        }
        for i in ranked.tolist()
    ]
