"""Collectives of a session: who came late, and how long the transfer itself took.

A collective begins on a device when the device arrives at it and ends on all devices together.
So the time a device spends in it is *waiting* until the last one arrives, then *transfer*. Which
parts are one collective say the communicator and its number where they are recorded; then durations
tell who waited, whatever the clocks show. Else parts are found by name and order within the step,
and must overlap. Of a collective that is started and waited for in two ops, the device arrives
where the first begins; the second is its part. Hosts' clocks differ; because a collective ends
everywhere at once, its ends tell by how much.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns import distinct, median
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.tables.collectives.halves import whole_collectives
from stepscope.tables.collectives.identity import (
    SYMMETRIC,
    CollectiveIdentity,
    Communicator,
    identities,
)
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import Work
from stepscope.tables.steps.session import aligned_steps


@dataclass(frozen=True, eq=False, slots=True)
class CollectiveEvents:
    """Collective events of all devices, and the groups they form.

    One row per event:

    Attributes:
        host: Index into ``Profile.hosts``.
        device: Row in the host's ``Space.planes``.
        event: Row in the host's ``DeviceEvents``.
        group: Which collective (-1: matched with no other device's, or only its start).
        arrival_ps: When the device arrived: where the part begins or, if it only waits for what
            another op started, where that one does.
        start_ps, end_ps: On the first host's clock; of parts that end together, at one end.
        wait_ps: Until the last device of the group arrived; 0 where not matched.
        names: Names by group.
        step: Aligned step by group (-1: outside of steps).
        shift_ps: What was added to each host's times to bring them to the first host's clock.
        mismatched: Groups given up because their members did not run at the same time, or one
            has the same number twice.
    """

    host: I64
    device: I64
    event: I64
    group: I64
    arrival_ps: I64
    start_ps: I64
    end_ps: I64
    wait_ps: I64
    names: list[str]
    step: I64
    shift_ps: I64
    mismatched: int

    def __len__(self) -> int:
        return len(self.host)


@derived
def collectives(profile: Profile) -> CollectiveEvents:
    """Find, match and time the collectives of all hosts."""
    parts = [_host_columns(profile, index) for index in range(len(profile.hosts))]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else []
    if not parts or len(columns[0]) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        shift = np.zeros(len(profile.hosts), dtype=np.int64)
        return CollectiveEvents(*(nothing,) * 8, [], nothing, shift, 0)
    host, device, event, start, end, arrival, meets, step, name, known, number, compiled = columns
    whole = np.flatnonzero(meets)
    texts = _names(profile)
    worker = _codes(host, device)[whole]
    # Of a name there are as many collectives as replica groups, where a program says them.
    what = np.where(known > 0, -known, name + compiled * len(texts))
    step = step[whole]
    group = _groups(worker, step, what[whole], number[whole], arrival[whole])
    shift = _clock_shifts(len(profile.hosts), host[whole], group, end[whole])
    start, end, arrival = (times + shift[host] for times in (start, end, arrival))
    together = known[whole] > 0
    together &= _ends_together(profile)[known[whole]]
    met = _simultaneous(group, worker, arrival[whole], end[whole])
    valid = np.where(together, _once(group, worker), met)
    common = np.where(together & valid, _last_of(group, end[whole]), end[whole])
    later = np.zeros(len(end), dtype=np.int64)
    later[whole] = common - end[whole]
    start, end, arrival = start + later, end + later, arrival + later
    kept = distinct(group[valid])
    place, wait = np.full(len(end), -1), np.zeros(len(end), dtype=np.int64)
    place[whole] = np.where(valid, np.searchsorted(kept, group), -1)
    wait[whole] = np.where(valid, _last_of(group, arrival[whole]) - start[whole], 0)
    first = np.unique(group, return_index=True)[1]
    mismatched = int((np.bincount(group) > 1).sum()) - len(kept)
    return CollectiveEvents(
        host=host,
        device=device,
        event=event,
        group=place,
        arrival_ps=arrival,
        start_ps=start,
        end_ps=end,
        wait_ps=np.clip(wait, 0, end - start),
        names=[texts[code] for code in name[whole][first[kept]].tolist()],
        step=step[first[kept]],
        shift_ps=shift,
        mismatched=mismatched,
    )


def _host_columns(profile: Profile, index: int) -> tuple[I64, ...]:
    """The columns of one host's collectives.

    Host, device, event, start, end, arrival, whether a meeting ends with it, step of the arrival,
    code of the name, code of the communicator (0: none recorded), number (-1: none recorded) and
    code of the replica group (0: none known).
    """
    host = profile.hosts[index]
    found = device_events(host)
    event = np.flatnonzero((found.work == Work.COLLECTIVE) & ~found.is_container)
    start = found.start_ps[event]
    codes = {text: code for code, text in enumerate(_names(profile))}
    texts = _labels(host)
    meta = host.space.events.metadata[found.rows[event]]
    used = distinct(meta)
    lut = np.asarray([codes[texts[row]] for row in used.tolist()], dtype=np.int64)
    known, number, compiled = _recorded(profile, index)
    device = found.device[event].astype(np.int64)
    rows = found.rows[event].astype(np.int64)
    first, last = whole_collectives(host, rows, device, start, _identities(host))
    arrival, meets = start.copy(), np.zeros(len(event), dtype=np.int64)
    arrival[last], meets[last], number[last] = start[first], 1, number[first]
    return (
        np.full(len(event), index, dtype=np.int64),
        device,
        event,
        start,
        found.end_ps[event],
        arrival,
        meets,
        _step_of(profile, index, arrival),
        lut[np.searchsorted(used, meta)] if len(used) else meta.astype(np.int64),
        known,
        number,
        compiled,
    )


def _recorded(profile: Profile, index: int) -> tuple[I64, I64, I64]:
    """By collective of a host, codes of its communicator, number and replica group.

    0, -1 and 0 where not recorded.
    """
    found = _identities(profile.hosts[index])
    place, number = found.place, found.number
    code, compiled = (
        np.asarray([codes.get(one.key, 0) for one in found.communicators] or [0], dtype=np.int64)
        for codes in (
            {one.key: at for at, one in enumerate(all_of(profile), start=1)}
            for all_of in (_all_communicators, _all_replica_groups)
        )
    )
    # A communicator of which the recorder numbered only some is not numbered.
    some = np.zeros(len(found.communicators) + 1, dtype=np.bool_)
    some[place[number < 0]] = True
    number = np.where(some[place] | (code[place] == 0), -1, number)
    return code[place], number, compiled[place]


@derived
def _identities(host: Host) -> CollectiveIdentity:
    found = device_events(host)
    chosen = (found.work == Work.COLLECTIVE) & ~found.is_container
    return identities(host, found.rows[chosen].astype(np.int64))


def _told(profile: Profile, *, is_compiled: bool) -> list[Communicator]:
    """The communicators that recordings, or programs, name, of all hosts."""
    parts = [_identities(host).communicators for host in profile.hosts]
    told = (one for part in parts for one in part if not one.is_guess)
    return list({one.key: one for one in told if one.is_compiled == is_compiled}.values())


@derived
def _all_communicators(profile: Profile) -> list[Communicator]:
    return _told(profile, is_compiled=False)


@derived
def _all_replica_groups(profile: Profile) -> list[Communicator]:
    return _told(profile, is_compiled=True)


def _ends_together(profile: Profile) -> Bool:
    """By code of the communicator, whether what it does ends on all of its members at once."""
    kinds = [one.kind in SYMMETRIC for one in _all_communicators(profile)]
    return np.asarray([False, *kinds])


def _labels(host: Host) -> list[str]:
    """Short names by row of event metadata: a TPU op's whole HLO text may differ by device."""
    table = host.space.event_metadata
    return [short or name for short, name in zip(table.display_name, table.name, strict=True)]


@derived
def _names(profile: Profile) -> list[str]:
    """Distinct names of the collectives of all hosts."""
    found: dict[str, None] = {}
    for host in profile.hosts:
        events, texts = device_events(host), _labels(host)
        rows = events.rows[events.work == Work.COLLECTIVE]
        for row in distinct(host.space.events.metadata[rows]).tolist():
            found.setdefault(texts[row])
    return list(found)


def _step_of(profile: Profile, index: int, at: I64) -> I64:
    """The aligned step in which each time lies; -1 outside."""
    for one in aligned_steps(profile):
        if one.host != index:
            continue
        start, end = one.steps.start_ps, one.steps.end_ps
        row = np.maximum(np.searchsorted(start, at, side="right") - 1, 0)
        inside = (at >= start[row]) & (at < end[row])
        aligned = np.full(len(start), -1, dtype=np.int64)
        aligned[one.rows] = np.arange(len(one.rows))
        found: I64 = np.where(inside, aligned[row], -1)
        return found
    return np.full(len(at), -1, dtype=np.int64)


def _codes(*keys: I64) -> I64:
    """Dense codes of the distinct combinations of keys, in their order."""
    code = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        # One integer per pair sorts several times faster than rows of several integers.
        values, dense = np.unique(key, return_inverse=True)
        code = np.unique(code * len(values) + dense, return_inverse=True)[1].astype(np.int64)
    return code


def _count_within(code: I64) -> I64:
    """Of rows whose equal codes lie together: the how-manieth of its code each is."""
    begins = np.flatnonzero(np.diff(code, prepend=-1))
    lengths = np.diff(np.concatenate([begins, [len(code)]]))
    rank: I64 = np.arange(len(code)) - np.repeat(begins, lengths)
    return rank


def _last_of(group: I64, value: I64) -> I64:
    """The largest value of each row's group."""
    last = np.full(int(group.max()) + 1, np.iinfo(np.int64).min)
    np.maximum.at(last, group, value)
    found: I64 = last[group]
    return found


def _groups(worker: I64, step: I64, what: I64, number: I64, start: I64) -> I64:
    """Which collective each part is of.

    The n-th on this device that does the same in this step is the n-th on every other device;
    numbers of recorders are good for all steps.
    """
    order = np.lexsort((start, what, step, worker))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = _count_within(_codes(worker, step, what)[order])
    numbered = number >= 0
    return _codes(np.where(numbered, -2, step), what, np.where(numbered, number, rank))


def _once(group: I64, worker: I64) -> Bool:
    """Rows of groups that have several devices, each once."""
    parts = np.bincount(group)
    twice = np.zeros(len(parts), dtype=np.bool_)
    code = _codes(group, worker)
    twice[group[np.bincount(code)[code] > 1]] = True
    found: Bool = (parts[group] > 1) & ~twice[group]
    return found


def _simultaneous(group: I64, worker: I64, start: I64, end: I64) -> Bool:
    """Rows of groups with several devices whose events all overlap: these really met.

    Groups of other process groups that happen to share name and order do not.
    """
    first_end = -_last_of(group, -end)
    workers = np.bincount(group)[group] if len(worker) else group
    met: Bool = (workers > 1) & (_last_of(group, start) < first_end)
    return met


def _clock_shifts(hosts: int, host: I64, group: I64, end: I64) -> I64:
    """Per host, what brings its clock to the first host's: median of the differences of ends."""
    shift = np.zeros(hosts, dtype=np.int64)
    present = distinct(host)
    reference = present[0]
    for other in present[1:].tolist():
        ours, theirs = (
            _latest_by_group(group[host == one], end[host == one]) for one in (reference, other)
        )
        shared, at, there = np.intersect1d(ours[0], theirs[0], return_indices=True)
        if len(shared):
            shift[other] = int(median(ours[1][at] - theirs[1][there]))
    return shift


def _latest_by_group(group: I64, end: I64) -> tuple[I64, I64]:
    groups, code = np.unique(group, return_inverse=True)
    last = np.full(len(groups), np.iinfo(np.int64).min)
    np.maximum.at(last, code, end)
    return groups, last
