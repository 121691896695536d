"""From the decoded recording of one host to its summary."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.columns import distinct, union_spans
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.summary.op_totals import op_totals
from stepscope.summary.summary import (
    COMMUNICATORS,
    MEETINGS,
    STEPS,
    Columns,
    Summary,
    Who,
    columns_of,
)
from stepscope.tables.collectives.dcn_ops import DcnCollective, DcnRole, has_dcn_collectives
from stepscope.tables.collectives.dcn_runs import dcn_runs
from stepscope.tables.collectives.halves import whole_collectives
from stepscope.tables.collectives.identity import Communicator, identities, kind_of
from stepscope.tables.core.devices import devices
from stepscope.tables.core.op_name import is_host_collective
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.core.time_spans import covered
from stepscope.tables.device.events import device_events, rows_of_device
from stepscope.tables.host.events import Work, host_thread_rows, timed_events
from stepscope.tables.steps.attribution import PARTS
from stepscope.tables.steps.session import aligned_steps
from stepscope.tables.workers.steps import TRANSFER, WAIT, WorkerSteps, worker_steps

_RANK: Final = re.compile(r"rank(\d{1,7})")
# What the ops of exchanges between slices count as in a step: they hand buffers to the host.
_OF_SLICES: Final = ("input_ps", "device_to_device_ps")
_COPIES: Final = (Work.HOST_TO_DEVICE, Work.DEVICE_TO_HOST, Work.DEVICE_TO_DEVICE)

_TRANSFER_KINDS: Final = {"ONE_TO_ONE": "send_recv", "RAGGED_ALL_TO_ALL": "all_to_all"}


def summarise(
    host: Host, notes: tuple[str, ...] = (), machine: str = "", *, profile: Profile | None = None
) -> Summary:
    """The summary of one host.

    Args:
        host: Its decoded recording.
        notes: What is known of its file, such as damage.
        machine: The computer it ran on, where that is known.
        profile: One of this host only, whose tables may be there already.
    """
    profile = profile or Profile(host.name, (host,))
    worked = worker_steps(profile)
    planes = _devices(host, worked)
    steps = _steps(profile, worked)
    across = _slice_meetings(profile, planes)
    meetings, met = _meetings(host, planes, steps, across)
    end = across.start_ps + across.duration_ps
    for device in np.unique(across.device).tolist():
        mine = across.device == device
        begin = (end - across.exposed_ps)[mine]
        steps = _told_apart(steps, device, begin, end[mine], _OF_SLICES)
    rank = _RANK.fullmatch(host.name)
    found = aligned_steps(profile) if worked is not None else []
    known = {device.plane: device for device in devices(host)}
    who = Who(
        host=host.name,
        machine=machine or host.name,
        rank=int(rank[1]) if rank else -1,
        world_size=0,
        origin_ns=host.space.origin_ns,
        devices=tuple(_name(host, plane) for plane in planes),
        kinds=tuple(known[plane].type if plane in known else "CPU" for plane in planes),
        confidence=str(found[0].steps.markers.certainty) if found else "",
        notes=notes,
    )
    return Summary(who, steps, meetings, met, op_totals(host, planes))


def _name(host: Host, plane: int) -> str:
    return "CPU" if plane < 0 else host.space.planes[plane].name.removeprefix("/device:")


def _devices(host: Host, worked: WorkerSteps | None) -> list[int]:
    """Rows in ``Space.planes`` of what ran; −1 is the host itself."""
    if worked is not None:
        return [worker.device for worker in worked.workers]
    found = device_events(host)
    return sorted(set(found.device[~found.is_container].tolist())) or [-1]


def _steps(profile: Profile, worked: WorkerSteps | None) -> Columns:
    if worked is None:
        return columns_of(STEPS)
    aligned = aligned_steps(profile)[0]
    begin = aligned.steps.start_ps[aligned.rows]
    size, count = len(worked.workers), len(worked.num)
    parts = dict(worked.parts_ps)
    parts["collectives"] = parts.pop(WAIT) + parts.pop(TRANSFER)
    return columns_of(
        STEPS,
        {
            "device": np.repeat(np.arange(size), count),
            "step": np.tile(worked.num, size),
            "begin_ps": np.tile(begin, size),
            "duration_ps": worked.duration_ps.ravel(),
            "counts": np.tile(aligned.steps.timed[aligned.rows], size),
            **{f"{part}_ps": parts[part].ravel() for part in PARTS},
        },
    )


def _told_apart(
    steps: Columns, device: int, start_ps: I64, end_ps: I64, parts: tuple[str, ...]
) -> Columns:
    """Steps of a device whose waiting in collectives was counted as other parts of them."""
    begin = steps["begin_ps"]
    left = covered(*union_spans(start_ps, end_ps), begin, begin + steps["duration_ps"])
    left = np.where(steps["device"] == device, left, 0)
    columns = dict(steps)
    for part in parts:
        moved = np.minimum(left, columns[part])
        columns["collectives_ps"] = columns["collectives_ps"] + moved
        columns[part] = columns[part] - moved
        left = left - moved
    return columns


def _meetings(
    host: Host, planes: list[int], steps: Columns, across: _SliceMeetings
) -> tuple[Columns, Columns]:
    """Collectives in time order, device by device, and their communicators."""
    row, device, start, duration, exposed = _collectives(host, planes)
    identity = identities(host, row)
    first, last = whole_collectives(host, row, device, start, identity)
    # The device waits in the last event; what the first takes beside it is to hand over the work.
    duration, exposed = (start + duration)[last] - start[first], exposed[last]
    device, start = device[first], start[first]
    found, place, number = identity.communicators, identity.place[first], identity.number[first]
    op, ops = identity.op[first], identity.ops[first]
    if len(across.device):
        none = np.zeros_like(across.device)
        where = across.communicator + len(found)
        more = across.device, across.start_ps, across.duration_ps, across.exposed_ps, where
        columns = device, start, duration, exposed, place, number, op, ops
        device, start, duration, exposed, place, number, op, ops = map(
            np.concatenate, zip(columns, (*more, none - 1, none, none + 1), strict=True)
        )
        found = [*found, *across.communicators]
    step = _step_of(steps, device, start)
    # A communicator of which the recorder numbered only some is not numbered.
    some = np.zeros(len(found) + 1, dtype=np.bool_)
    some[place[number < 0]] = True
    numbered = ~some[place]
    # Where no recorder numbered them: the n-th of its communicator, and of its op, in its step.
    nth = _nth(device, place, op, step, start)
    number = np.where(numbered, number, nth * ops + op)
    kept = numbered | (step >= 0) | (len(steps["step"]) == 0)
    order = np.lexsort((start, device))
    order = order[kept[order]]
    meetings = columns_of(
        MEETINGS,
        {
            "device": device[order],
            "communicator": place[order],
            "number": number[order],
            "step": step[order],
            "start_ps": start[order],
            "duration_ps": duration[order],
            "exposed_ps": exposed[order],
        },
    )
    names = columns_of(
        COMMUNICATORS,
        {
            "key": [one.key for one in found],
            "label": [one.label for one in found],
            "kind": [one.kind for one in found],
            "size": [one.size for one in found],
            "ranks": [list(one.ranks) for one in found],
            "is_guess": [one.is_guess for one in found],
            "numbered": [bool(numbered[place == at].any()) for at in range(len(found))],
        },
    )
    return meetings, names


def _collectives(host: Host, planes: list[int]) -> tuple[I64, I64, I64, I64, I64]:
    """Event row, device, start, duration and exposed time of the collectives."""
    if planes == [-1]:
        return _host_arrays(host)
    found = device_events(host)
    met = (found.work == Work.COLLECTIVE) & ~found.is_container
    computes = ~np.isin(found.work, (*_COPIES, Work.COLLECTIVE)) & ~found.is_container
    parts = []
    for place, plane in enumerate(planes):
        rows = rows_of_device(host, plane)
        mine, own = rows[met[rows]], rows[computes[rows]]
        busy = union_spans(found.start_ps[own], found.end_ps[own])
        hidden = covered(*busy, found.start_ps[mine], found.end_ps[mine])
        duration = found.duration_ps[mine]
        where = np.full(len(mine), place, dtype=np.int64)
        events = found.rows[mine].astype(np.int64)
        parts.append((events, where, found.start_ps[mine], duration, duration - hidden))
    row, device, start, duration, exposed = (
        np.concatenate([np.zeros(0, np.int64), *column]) for column in zip(*parts, strict=True)
    )
    return row, device, start, duration, exposed


def _host_arrays(host: Host) -> tuple[I64, I64, I64, I64, I64]:
    space = host.space
    entries = entries_named(host, is_host_collective)
    if not entries.any():
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing, nothing, nothing
    chosen = entries[space.events.metadata] & timed_events(host)
    row = np.flatnonzero(chosen & space.on_lines(host_thread_rows(host).tolist()))
    duration = space.length_ps[row]
    device = np.zeros(len(row), dtype=np.int64)
    return row, device, space.events.start_ps[row], duration, duration


def _step_of(steps: Columns, device: I64, start: I64) -> I64:
    """The step in which each collective begins; −1 before the first, or where there are none."""
    found = np.full(len(device), -1, dtype=np.int64)
    order = np.lexsort((steps["begin_ps"], steps["device"]))
    for one in distinct(steps["device"]).tolist():
        mine, rows = device == one, order[steps["device"][order] == one]
        place = np.searchsorted(steps["begin_ps"][rows], start[mine], side="right") - 1
        found[mine] = np.append(steps["step"][rows], -1)[place]
    return found


def _nth(device: I64, communicator: I64, op: I64, step: I64, start: I64) -> I64:
    """The how-manieth of its communicator, op and step each is on its device, from 0."""
    order = np.lexsort((start, step, op, communicator, device))
    keys = np.stack([device, communicator, op, step])[:, order]
    is_first = np.append(True, (np.diff(keys, axis=1) != 0).any(axis=0))[: len(order)]
    begin = np.flatnonzero(is_first)
    found = np.empty(len(order), dtype=np.int64)
    within = np.arange(len(order)) - np.repeat(begin, np.diff(np.append(begin, len(order))))
    found[order] = within
    return found


@dataclass(frozen=True, eq=False, slots=True)
class _SliceMeetings:
    """One row per exchange of a TPU.

    Attributes:
        device: Place among the planes that were asked for.
        communicator: Place in ``communicators``.
        start_ps, duration_ps: From the begin of the send to the end of the receipt.
        exposed_ps: Of that, how long the TPU waits for what it receives.
        communicators: Who meets.
    """

    device: I64
    communicator: I64
    start_ps: I64
    duration_ps: I64
    exposed_ps: I64
    communicators: list[Communicator]


def _slice_meetings(profile: Profile, planes: list[int]) -> _SliceMeetings:
    """What TPUs of several slices exchange over the data-centre network, on a profile's only host.

    A TPU arrives where it sends and leaves when it has received; it stands still while an op waits
    for what it receives. The rendezvous says what belongs together. Which slices exchange is not
    recorded with the ops, but TPUs do it with those at their own place in other slices: all at one
    place of their hosts are taken to be one communicator, and ``is_guess`` says so.

    Args:
        profile: The host alone.
        planes: Rows in ``Space.planes`` of its devices.
    """
    if planes == [-1] or not has_dcn_collectives(profile):
        nothing = np.zeros(0, dtype=np.int64)
        return _SliceMeetings(nothing, nothing, nothing, nothing, nothing, [])
    (host,) = profile.hosts
    runs = dcn_runs(profile)
    kept = np.flatnonzero(np.isin(runs.device, planes))
    both = np.stack([runs.collective[kept], runs.device[kept]])
    used, communicator = np.unique(both, axis=1, return_inverse=True)
    communicators = [
        _communicator(runs.collectives[one], host.space.planes[plane].name)
        for one, plane in used.T.tolist()
    ]
    place = {plane: at for at, plane in enumerate(planes)}
    device = np.asarray([place[one] for one in runs.device[kept].tolist()], dtype=np.int64)
    waited = np.maximum(runs.role_ps[DcnRole.RECV_DONE, kept], 0)
    return _SliceMeetings(
        device=device,
        communicator=communicator.ravel().astype(np.int64),
        start_ps=runs.start_ps[kept],
        duration_ps=runs.observed_ps[kept],
        exposed_ps=np.minimum(waited, runs.observed_ps[kept]),
        communicators=communicators,
    )


def _communicator(one: DcnCollective, plane: str) -> Communicator:
    said = one.transfer_type
    kind = _TRANSFER_KINDS.get(said, said.lower()) or kind_of(one.rendezvous)
    key = f"dcn/{one.program}/{one.rendezvous}/{kind}/{plane}"
    return Communicator(key, one.rendezvous, kind, 0, (), is_guess=True)
