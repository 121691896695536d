"""Tracks that the file lacks, computed from the device's own events as viewers know them.

A run of device events that share something (the framework op, a name scope, the module, the
source line) becomes one event from the first begin to the last end; a new step begins a new run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from stepscope.columns.space import I32, I64
from stepscope.schema import names
from stepscope.tables.core.devices import devices
from stepscope.tables.core.op_name import OpCategory
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats, metadata_texts
from stepscope.tables.device.events import DeviceEvents, device_events
from stepscope.tables.steps.attribution import found_steps
from stepscope.timeline.labels import Names, derived_labels
from stepscope.timeline.model import Track, TrackKind

_MAX_SCOPES: Final = 64
# Texts, the code of each device event in them (-1: none), and how deep it nests.
_Codes = tuple[list[str], I64]


def derived_tracks(host: Host, recorded: list[Track], index: Names) -> list[tuple[int, Track]]:
    """Steps, modules, scopes, ops and source of a host where its file has none, with planes."""
    kinds: dict[int, set[TrackKind]] = {}
    for track in recorded:
        kinds.setdefault(host.space.lines[track.line].plane, set()).add(track.kind)
    busy = [device.plane for device in devices(host) if device.has_events]
    lacking = [plane for plane in busy or _host_plane(host) if "steps" not in kinds.get(plane, ())]
    steps = _steps(host, index) if lacking else []
    found = [(plane, track) for plane in lacking for track in steps]
    work = device_events(host)
    rows = np.flatnonzero(~work.is_container)
    rows = rows[np.lexsort((work.start_ps[rows], work.device[rows]))]
    retold: dict[int, list[Track]] = {plane: [] for plane in busy}
    begin = np.searchsorted(work.device[rows], busy).tolist()
    end = np.searchsorted(work.device[rows], busy, side="right").tolist()
    for kind, label, category, codes in _RETOLD:
        wanted = [at for at, plane in enumerate(busy) if kind not in kinds.get(plane, ())]
        coded = list(codes(host, work, rows)) if wanted else []
        for at in wanted:
            runs = _retold(host, rows, slice(begin[at], end[at]), coded)
            if runs is not None:
                retold[busy[at]].append(_track(kind, label, category, *runs, index))
    return [*found, *((plane, track) for plane in busy for track in retold[plane])]


def _host_plane(host: Host) -> list[int]:
    """The first host plane with events, where no device ran anything."""
    kinds, space = planes(host).plane_kind, host.space
    for row, plane in enumerate(space.planes):
        lines = space.lines[plane.line_begin : plane.line_end]
        if kinds[row] is PlaneKind.HOST and any(line.end > line.begin for line in lines):
            return [row]
    return []


# How steps were found, as the name of their track says it.
_STEP_SOURCES = {
    "markers": "marked",
    "device_steps": "of the device",
    "framework": "from calls",
    "inferred": "inferred",
}


def _steps(host: Host, index: Names) -> list[Track]:
    found = found_steps(host)
    if found is None or not len(found):
        return []
    marks = found.markers
    text = [name or str(num) for name, num in zip(marks.name, marks.num.tolist(), strict=True)]
    code = np.arange(len(text), dtype=np.int64)
    label = f"Steps ({_STEP_SOURCES[found.markers.source]})"
    return [_track("steps", label, "step", text, code, found.start_ps, found.end_ps, index)]


def _retold(
    host: Host, rows: I64, place: slice, coded: list[_Codes]
) -> tuple[list[str], I64, I64, I64] | None:
    """Texts, codes, starts and ends of the runs on one device; None when there are none.

    Args:
        host: Whose events.
        rows: Events of all devices, one device after the other.
        place: Which of them are the device's.
        coded: Texts and codes of all of these events.
    """
    work, mine = device_events(host), rows[place]
    start = work.start_ps[mine]
    end = start + work.duration_ps[mine]
    found = found_steps(host)
    step = np.zeros(len(mine), np.int64)
    if found is not None:
        step = np.searchsorted(found.start_ps, start, side="right")
    texts: list[str] = []
    parts = []
    for text, codes in coded:
        code = codes[place]
        first, last = _runs(code, step)
        if len(first):
            used, dense = np.unique(code[first], return_inverse=True)
            parts.append((dense + len(texts), start[first], _ends(end, first, last)))
            texts += [text[row] for row in used.tolist()]
    if not parts:
        return None
    joined = [np.concatenate([part[i] for part in parts]) for i in range(3)]
    order = np.lexsort((-joined[2], joined[1]))
    return texts, joined[0][order], joined[1][order], joined[2][order]


def _runs(code: I64, step: I64) -> tuple[I64, I64]:
    """First and behind-last index of each run of one code in one step; -1 is in no run."""
    if not len(code):
        return code, code
    opens = (np.diff(code, prepend=code[0] - 1) != 0) | (np.diff(step, prepend=step[0]) != 0)
    first = np.flatnonzero(opens)
    last = np.append(first[1:], len(code))
    kept = code[first] >= 0
    return first[kept], last[kept]


def _ends(end: I64, first: I64, last: I64) -> I64:
    """The latest end in each run."""
    padded = np.append(end, np.iinfo(np.int64).min)
    found: I64 = np.maximum.reduceat(padded, np.stack([first, last], axis=1).ravel())[::2]
    return found


def _framework_ops(host: Host, work: DeviceEvents, mine: I64) -> Iterable[_Codes]:
    known = np.asarray([op.category is not OpCategory.UNKNOWN for op in work.ops] or [False])
    code = work.op[mine].astype(np.int64)
    yield [op.type or op.name for op in work.ops], np.where(known[code], code, -1)


def _name_scopes(host: Host, work: DeviceEvents, mine: I64) -> Iterable[_Codes]:
    """One answer per depth: runs that agree on the first parts of their op's path."""
    paths = [
        op.name.split("/")[:-1] if op.category is not OpCategory.UNKNOWN else [] for op in work.ops
    ]
    op = work.op[mine]
    for depth in range(min(max((len(path) for path in paths), default=0), _MAX_SCOPES)):
        scopes: dict[tuple[str, ...], int] = {}
        code = [
            scopes.setdefault(tuple(path[: depth + 1]), len(scopes)) if len(path) > depth else -1
            for path in paths
        ]
        yield [scope[-1] for scope in scopes], np.asarray(code or [-1], dtype=np.int64)[op]


def _runs_by_stat(stat: str) -> Callable[[Host, DeviceEvents, I64], Iterable[_Codes]]:
    """Runs that agree on a text stat of the event, or of its kind where the event has none."""

    def codes(host: Host, work: DeviceEvents, mine: I64) -> Iterable[_Codes]:
        texts = event_stats(host).texts(stat)
        rows = work.rows[mine]
        code = texts.at(rows)
        common = metadata_texts(host, stat)
        found = [*texts.texts, *common.values()]
        of_kind: I64 = np.full(max(len(host.space.event_metadata), 1), -1, dtype=np.int64)
        of_kind[list(common)] = np.arange(len(texts.texts), len(found))
        yield found, np.where(code < 0, of_kind[host.space.events.metadata[rows]], code)

    return codes


_RETOLD: Final[
    tuple[tuple[TrackKind, str, str, Callable[[Host, DeviceEvents, I64], Iterable[_Codes]]], ...]
] = (
    ("modules", "XLA Modules", "module", _runs_by_stat(names.HLO_MODULE)),
    ("name_scope", "Framework Name Scope", "scope", _name_scopes),
    ("framework_ops", "Framework Ops", "op", _framework_ops),
    ("ops", "XLA Ops", "op", _runs_by_stat(names.HLO_OP)),
    ("source", "Source code", "source", _runs_by_stat(names.SOURCE)),
)


def _track(
    kind: TrackKind,
    name: str,
    category: str,
    texts: list[str],
    code: I64,
    start_ps: I64,
    end_ps: I64,
    index: Names,
) -> Track:
    """A derived track; the session fills in its place and its ids."""
    used, own = np.unique(code, return_inverse=True)
    dense: I32 = own.ravel().astype(np.int32)
    return Track(
        id=-1,
        section=-1,
        host=-1,
        kind=kind,
        name=name,
        line=-1,
        first_event=0,
        start_ps=start_ps,
        duration_ps=end_ps - start_ps,
        code=dense,
        labels=derived_labels([texts[i] for i in used.tolist()], category, index),
    )
