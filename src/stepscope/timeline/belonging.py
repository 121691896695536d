"""What events belong to beside their track and name: a step, a module, a framework op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from stepscope.columns import innermost
from stepscope.columns.space import I64
from stepscope.schema import names
from stepscope.tables.core.op_name import OpCategory
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats, metadata_texts
from stepscope.tables.device.events import device_events
from stepscope.tables.ops.module_tree import has_modules, module_calls, module_tree
from stepscope.tables.steps.attribution import found_steps
from stepscope.timeline.model import Timeline, Track

#: Texts, and for each event the code of its own; -1: it belongs to none.
Members = tuple[list[str], I64]

#: What events without a step, a module or an op are called, by group.
OUTSIDE: Final = {"step": "outside of steps", "module": "no module", "op": "no framework op"}


def members(group: str, timeline: Timeline, track: Track, events: I64) -> Members:
    """What events of a track belong to.

    Args:
        group: "step": the one it begins in; "module": PyTorch's, which launched it, or XLA's;
            "op": the framework op that it runs for on a device.
        timeline: The session.
        track: The track.
        events: Which of its events.
    """
    host = timeline.profile.hosts[track.host]
    return _GROUPS[group](host, track, events)


def recorded_groups(timeline: Timeline) -> frozenset[str]:
    """The groups to which any event of the session belongs."""
    hosts = timeline.profile.hosts
    modules = any(track.kind == "modules" for track in timeline.tracks)
    found = {
        "step": any(len(found_steps(host) or ()) for host in hosts),
        "module": modules or any(map(has_modules, hosts)),
        "op": any(track.kind == "framework_ops" for track in timeline.tracks),
    }
    return frozenset(group for group, known in found.items() if known)


def _steps(host: Host, track: Track, events: I64) -> Members:
    found = found_steps(host)
    if found is None or not len(found):
        return [], np.full(len(events), -1, np.int64)
    marks = found.markers
    texts = [
        name or f"step {num}" for name, num in zip(marks.name, marks.num.tolist(), strict=True)
    ]
    begin = track.start_ps[events]
    at = np.searchsorted(found.start_ps, begin, side="right") - 1
    inside = (at >= 0) & (begin < np.append(found.end_ps, 0)[at])
    return texts, np.where(inside, at, -1)


def _modules(host: Host, track: Track, events: I64) -> Members:
    if track.derived:
        return [], np.full(len(events), -1, np.int64)
    if has_modules(host):
        return _torch_modules(host, track, events)
    rows = host.space.lines[track.line].begin + events
    texts = event_stats(host).texts(names.HLO_MODULE)
    common = metadata_texts(host, names.HLO_MODULE)
    found = [*texts.texts, *common.values()]
    of_kind = np.full(max(len(host.space.event_metadata), 1), -1, np.int64)
    of_kind[list(common)] = np.arange(len(texts.texts), len(found))
    code = texts.at(rows)
    code = np.where(code < 0, of_kind[host.space.events.metadata[rows]], code)
    if (code >= 0).any():
        return found, code
    return _around_modules(host, track, events)


def _torch_modules(host: Host, track: Track, events: I64) -> Members:
    """The module that launched what runs on a device; on the host, the module around it."""
    tree = module_tree(host)
    code = _track_values(host, track, device_events(host).rows, tree.owner)[events]
    calls = module_calls(host).threads.get(host.space.lines[track.line].id)
    if calls is not None and not (code >= 0).any():
        code = calls.around(track.start_ps[events])
    return tree.names, code


def _around_modules(host: Host, track: Track, events: I64) -> Members:
    """The event of the device's line of modules that is around each."""
    space = host.space
    plane = space.lines[track.line].plane
    lines = [
        line
        for line in space.lines[space.planes[plane].line_begin : space.planes[plane].line_end]
        if line.name.startswith(names.XLA_MODULES_LINES)
    ]
    rows = np.concatenate([np.arange(0), *(np.arange(line.begin, line.end) for line in lines)])
    if not len(rows):
        return [], np.full(len(events), -1, np.int64)
    start = space.events.start_ps[rows]
    at = innermost(start, start + space.events.duration_ps[rows], track.start_ps[events])
    entry = np.append(space.events.metadata[rows].astype(np.int64), -1)[at]
    used, code = np.unique(entry, return_inverse=True)
    first = 1 if len(used) and used[0] < 0 else 0
    return [space.event_metadata.name[one] for one in used[first:].tolist()], code.ravel() - first


def _ops(host: Host, track: Track, events: I64) -> Members:
    if track.derived:
        return [], np.full(len(events), -1, np.int64)
    work = device_events(host)
    known = np.asarray([op.category is not OpCategory.UNKNOWN for op in work.ops] or [False])
    op = work.op.astype(np.int64)
    code = _track_values(host, track, work.rows, np.where(known[op], op, -1))
    return [op.type or op.name for op in work.ops], code[events]


def _track_values(host: Host, track: Track, rows: I64, values: I64) -> I64:
    """Values of rows of the recording by event of a track; -1 where none is of its row."""
    line = host.space.lines[track.line]
    mine = np.flatnonzero((rows >= line.begin) & (rows < line.end))
    found = np.full(line.end - line.begin, -1, np.int64)
    found[rows[mine] - line.begin] = values[mine]
    return found


_GROUPS: Final[dict[str, Callable[[Host, Track, I64], Members]]] = {
    "step": _steps,
    "module": _modules,
    "op": _ops,
}
