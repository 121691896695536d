"""Where the program launches what devices run, whatever the loop's thread is at meanwhile.

A device runs behind the host, so the line that the loop has come to says nothing about its ops.
Each is located by the call that launched it: at the line where the thread was then, and a gradient
at the line that ran the op it is of.
"""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np

from stepscope.columns import distinct_keys, sum_by_key
from stepscope.columns.space import F64, I64
from stepscope.records import dataclass
from stepscope.tables.account.account import COMPUTED, Account
from stepscope.tables.account.owners import Owner, site_of
from stepscope.tables.core.profile import Host
from stepscope.tables.core.time_spans import span_at
from stepscope.tables.device.events import device_events
from stepscope.tables.python.frames import Frames
from stepscope.tables.torch.autograd import numbered_ops
from stepscope.tables.torch.launches import Launched, launched
from stepscope.tables.traits.instructions import compiled_from


@dataclass(frozen=True, eq=False, slots=True)
class _Sites:
    """Where each thing that devices ran was launched.

    Attributes:
        thing: Index into the things of ``Compute``, from 1.
        place: Row of ``Frames``: the line, else the function; -1 unknown.
        under: Row of ``Frames`` of the function that stands for it; -1 none.
        share: float64[sites, kept steps]: of the thing's time in a step.
    """

    thing: I64
    place: I64
    under: I64
    share: F64


def at_launches(host: Host, found: Account, listed: list[Owner]) -> list[Owner]:
    """The owners with those that devices ran parted by where they were launched.

    What no recorded call launched keeps the place where the loop's thread is meanwhile, as does
    what XLA compiled: its instructions have lines of their own.
    """
    calls, work = found.frames, found.compute
    if calls is None or not work.has_device or len(calls.rows) == 0:
        return listed
    things = [
        at
        for at, one in enumerate(work.things, 1)
        if one.on_device and one.kind == "op" and not compiled_from(host, one.row).opcode
    ]
    sites = _sites(host, found, calls, things)
    if sites is None:
        return listed
    of_thing: dict[int, list[Owner]] = {}
    for one in listed:
        row = one.rows[0]
        if found.kind[row] == COMPUTED:
            of_thing.setdefault(int(found.item[row]), []).append(one)
    placed: list[Owner] = []
    gone: set[int] = set()
    for at in np.unique(sites.thing).tolist():
        group = of_thing.get(at, [])
        gone |= set(map(id, group))
        placed += _parted(calls, sites, np.flatnonzero(sites.thing == at), group)
    kept = [one for one in listed if id(one) not in gone]
    return sorted(kept + placed, key=lambda one: -one.total_ps)


def _sites(host: Host, found: Account, calls: Frames, things: list[int]) -> _Sites | None:
    """Things and places of the device events in the kept steps; None where no place is known."""
    events, work = device_events(host), found.compute
    mine = np.flatnonzero(np.isin(work.label, things))
    start, end = found.found.kept_spans
    step = span_at(start, end, work.start_ps[mine])
    mine, step = mine[step >= 0], step[step >= 0]
    if len(mine) == 0:
        return None
    at = np.searchsorted(events.rows, work.row[mine])
    place = _places(host, found, calls, launched(host), at)
    if not (place >= 0).any():
        return None
    length = work.end_ps[mine] - work.start_ps[mine]
    width = len(calls.rows) + 1
    first, site = distinct_keys(work.label[mine].astype(np.int64) * width + place + 1)
    time = sum_by_key(site * len(start) + step, length, len(first) * len(start))
    time = time.reshape(len(first), len(start)).astype(np.float64)
    thing, own = work.label[mine][first].astype(np.int64), place[first]
    whole = np.zeros((int(thing.max()) + 1, len(start)))
    np.add.at(whole, thing, time)
    mean = time.sum(axis=1) / np.maximum(whole.sum(axis=1)[thing], 1)
    some = whole[thing] > 0
    share = np.where(some, time / np.where(some, whole[thing], 1), mean[:, None])
    spent = time.sum(axis=1).astype(np.int64)
    from stepscope.tables.python.functions import standing_for

    under = standing_for(calls, found.found, own, spent, on_device=True)
    return _Sites(thing, own, under, share)


def _places(host: Host, found: Account, calls: Frames, launches: Launched, at: I64) -> I64:
    """Rows of the program's lines that launched these device events; -1 unknown."""
    when, thread = launches.start_ps[at], launches.thread[at]
    loop = host.space.lines[found.line].id if found.line >= 0 else -1
    call = np.full(len(at), -1, np.int64)
    for one in np.unique(thread[thread >= 0]).tolist():
        here = np.flatnonzero(thread == one)
        # A gradient is computed for the line that ran the op it is of.
        start, end = numbered_ops(host).forward_of(one, when[here])
        call[here] = np.where(start >= 0, calls.running(start, end), -1)
        direct = here[(call[here] < 0) & (one == loop)]
        call[direct] = calls.moments.at(when[direct])
    place = calls.place_of(np.maximum(call, 0))
    return np.where((call >= 0) & (place >= 0), calls.first_of_name()[place], -1)


def _parted(calls: Frames, sites: _Sites, rows: I64, group: list[Owner]) -> list[Owner]:
    """The owners of one thing, parted by its sites; what is left stays where it was.

    The parts of each step sum to what the owners had in it.
    """
    known = rows[sites.place[rows] >= 0]
    if len(known) == 0 or not group:
        return group
    reach = np.cumsum(sites.share[known], axis=0)  # up to and with each site, in each step
    all_known = len(known) == len(rows)
    moved = [
        one.time_ps if all_known else np.floor(one.time_ps * reach[-1]).astype(np.int64)
        for one in group
    ]
    left = [
        replace(one, time_ps=one.time_ps - gone, share=1.0 - float(reach[-1].mean()))
        for one, gone in zip(group, moved, strict=True)
    ]
    upto = np.rint(reach / np.where(reach[-1] > 0, reach[-1], 1.0) * np.sum(moved, axis=0))
    times = np.diff(upto.astype(np.int64), axis=0, prepend=0)
    stretches = sum(one.stretches for one in group)
    made = list(left)
    for row, time in zip(known.tolist(), times, strict=True):
        share, under = float(sites.share[row].mean()), int(sites.under[row])
        site = site_of(calls, int(sites.place[row]))
        made.append(
            replace(
                group[0],
                **asdict(site),
                under=site_of(calls, under) if under >= 0 else None,
                time_ps=time,
                stretches=max(round(stretches * share), 1),
                rows=tuple(at for one in group for at in one.rows),
                share=share,
                is_launched=True,
            )
        )
    return [one for one in made if one.time_ps.any()]
