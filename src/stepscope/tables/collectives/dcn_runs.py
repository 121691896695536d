"""Runs of collectives between TPU slices: from each send to the recv-done that ends it.

What a run costs is measured as the incumbent does (openxla/xprof, docs/megascale_stats.md). All
TPUs of all hosts count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from stepscope.columns import distinct
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.collectives.dcn_ops import (
    DcnCollective,
    DcnRole,
    dcn_ops,
    entry_mask,
    tpu_op_lines,
    transfer_entries,
)
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.device.events import on_own_clock
from stepscope.tables.host.events import timed_rows
from stepscope.tables.steps.bottleneck import is_marked
from stepscope.tables.steps.session import aligned_steps, session_steps


@dataclass(frozen=True, eq=False, slots=True)
class DcnRuns:
    """Every run of every collective on every TPU: from a send to the next recv-done.

    Attributes:
        collectives: The distinct collectives of the session.
        send_op, recv_op: Names of the first send and recv-done of each; "" where none ran.
        collective: Index into ``collectives`` of each run.
        host: Index into ``Profile.hosts``.
        device: Row in that host's ``Space.planes``.
        start_ps: Start of the send, on the clock of the host's steps.
        slack_ps: From the start of the send to that of the recv-done, without the time of the
            send, recv and done ops between them: what the network has before the TPU waits.
        observed_ps: From the start of the send to the end of the recv-done.
        role_ps: Durations of the four ops, ``[role, run]``; -1 where the run has none.
        lone_collective, lone_host, lone_device: Of each send without a recv-done after it, and of
            each recv-done without a send before it: no run.
        lone_is_cut: Whether the other half lies beyond an edge of the recording; else it is
            missing between others.
    """

    collectives: list[DcnCollective]
    send_op: list[str]
    recv_op: list[str]
    collective: I64
    host: I64
    device: I64
    start_ps: I64
    slack_ps: I64
    observed_ps: I64
    role_ps: I64
    lone_collective: I64
    lone_host: I64
    lone_device: I64
    lone_is_cut: Bool

    def __len__(self) -> int:
        return len(self.collective)

    @property
    def stall_ps(self) -> I64:
        """Time of each run in which the TPU waits in one of the four ops."""
        stall: I64 = np.maximum(self.role_ps, 0).sum(axis=0)
        return stall


@derived
def dcn_runs(profile: Profile) -> DcnRuns:
    """The runs of all collectives between slices, on every TPU of every host."""
    ops = [op for host in profile.hosts for _entry, op in sorted(dcn_ops(host).items())]
    collectives = list(dict.fromkeys(op.collective for op in ops))
    code = {one: place for place, one in enumerate(collectives)}
    first: dict[tuple[DcnCollective, DcnRole], str] = {}
    for op in ops:
        first.setdefault((op.collective, op.role), op.name)
    events = _joined([_transfers(host, at, code) for at, host in enumerate(profile.hosts)])
    # In the order in which each TPU ran them; what each had spent in any of them before.
    events = events.at(np.lexsort((events.own_start_ps, events.device, events.host)))
    spent = np.cumsum(events.duration_ps) - events.duration_ps
    is_dcn = np.flatnonzero(events.collective >= 0)
    events, spent = events.at(is_dcn), spent[is_dcn]
    order = np.lexsort((events.collective, events.device, events.host))
    events, spent = events.at(order), spent[order]
    found = _pairs(events)
    send, done = found.send, found.recv_done
    apart = events.own_start_ps[done] - events.own_start_ps[send]
    role_ps = np.full((len(DcnRole), len(send)), -1, dtype=np.int64)
    places = (send, found.send_done, found.recv, done)
    for role, place in zip(DcnRole, places, strict=True):
        role_ps[role] = np.where(place >= 0, events.duration_ps[place], -1)
    return DcnRuns(
        collectives,
        [first.get((one, DcnRole.SEND), "") for one in collectives],
        [first.get((one, DcnRole.RECV_DONE), "") for one in collectives],
        collective=events.collective[send],
        host=events.host[send],
        device=events.device[send],
        start_ps=events.start_ps[send],
        slack_ps=np.maximum(apart - (spent[done] - spent[send]), 0),
        observed_ps=apart + events.duration_ps[done],
        role_ps=role_ps,
        lone_collective=events.collective[found.lone],
        lone_host=events.host[found.lone],
        lone_device=events.device[found.lone],
        lone_is_cut=found.lone_is_cut,
    )


@dataclass(frozen=True, eq=False, slots=True)
class RunsInSteps:
    """The runs that begin within a counted step.

    Attributes:
        step_ps: The mean counted step.
        stall_in_step_ps: Stall of each run that begins in one; 0 for the others.
        tpu_steps: Counted steps, once for each TPU that takes part.
    """

    step_ps: float
    stall_in_step_ps: I64
    tpu_steps: int

    def stall_ps(self, runs: Bool) -> float:
        """Stall of these runs in a counted step of the mean TPU."""
        return float(self.stall_in_step_ps[runs].sum()) / self.tpu_steps


def runs_in_steps(profile: Profile) -> RunsInSteps | None:
    """The stalls within steps; None without counted steps on a host that has any.

    Steps that are only inferred do not count: what repeats evenly may be the collective itself.
    """
    found, session = dcn_runs(profile), session_steps(profile)
    if session is None or not session.kept.any() or not is_marked(session.confidence):
        return None
    stall, tpu_steps = np.zeros(len(found), dtype=np.int64), 0
    for one in aligned_steps(profile):
        own = np.flatnonzero(found.host == one.host)
        rows = one.rows[session.kept]
        at = np.searchsorted(one.steps.start_ps[rows], found.start_ps[own], side="right") - 1
        inside = own[(at >= 0) & (found.start_ps[own] < one.steps.end_ps[rows][at])]
        stall[inside] = found.stall_ps[inside]
        tpu_steps += len(distinct(found.device[own])) * len(rows)
    if not tpu_steps:
        return None
    return RunsInSteps(float(session.duration_ps[session.kept].mean()), stall, tpu_steps)


@dataclass(frozen=True, eq=False, slots=True)
class _Transfers:
    """One row per event of a TPU that exchanges a buffer with its host.

    Attributes:
        collective: Index of its collective; -1 where the buffer stays with the host.
        role: Which of the four ops.
        host, device: Index into ``Profile.hosts``, row in ``Space.planes``.
        start_ps, own_start_ps: On the clock of the steps; on the TPU's own, as ``duration_ps``.
    """

    collective: I64
    role: I64
    host: I64
    device: I64
    start_ps: I64
    own_start_ps: I64
    duration_ps: I64

    def at(self, rows: I64) -> _Transfers:
        """Some of the rows, in that order."""
        return _Transfers(*(getattr(self, one.name)[rows] for one in fields(self)))


def _transfers(host: Host, index: int, code: Mapping[DcnCollective, int]) -> _Transfers:
    space = host.space
    collective, role = np.full((2, max(len(space.event_metadata), 1)), -1, dtype=np.int64)
    for row, op in dcn_ops(host).items():
        collective[row], role[row] = code[op.collective], op.role
    rows = timed_rows(host, entry_mask(host, transfer_entries(host)))
    lines = space.lines_of(rows)
    is_op = np.isin(lines, tpu_op_lines(host))
    rows, lines = rows[is_op], lines[is_op]
    entry = space.events.metadata[rows]
    start, duration = space.events.start_ps[rows], space.length_ps[rows]
    own = event_stats(host).ints(names.DEVICE_DURATION_PS).at(rows, -1)
    plane_of = np.asarray([line.plane for line in space.lines] or [0], dtype=np.int64)
    return _Transfers(
        collective=collective[entry],
        role=role[entry],
        host=np.full(len(rows), index, dtype=np.int64),
        device=plane_of[lines],
        start_ps=start,
        own_start_ps=on_own_clock(host, rows, start),
        duration_ps=np.where(own >= 0, own, duration),
    )


def _joined(parts: list[_Transfers]) -> _Transfers:
    nothing = np.zeros(0, dtype=np.int64)
    return _Transfers(
        *(
            np.concatenate([nothing, *(getattr(part, one.name) for part in parts)])
            for one in fields(_Transfers)
        )
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Pairs:
    """The ops of each run, by row; ``send_done`` and ``recv`` are -1 where a run has none."""

    send: I64
    send_done: I64
    recv: I64
    recv_done: I64
    lone: I64
    lone_is_cut: Bool


def _pairs(events: _Transfers) -> _Pairs:
    """Pair each send with the recv-done that follows it, before any other send.

    Args:
        events: By TPU and collective, each in the order in which they ran.
    """
    key = np.stack([events.host, events.device, events.collective])
    group = np.cumsum(np.any(np.diff(key, axis=1, prepend=key[:, :1]) != 0, axis=0))
    role = events.role
    halves = np.flatnonzero((role == DcnRole.SEND) | (role == DcnRole.RECV_DONE))
    half_role, half_group = role[halves], group[halves]
    starts_run = np.zeros(len(halves), dtype=bool)
    starts_run[:-1] = (
        (half_role[:-1] == DcnRole.SEND)
        & (half_role[1:] == DcnRole.RECV_DONE)
        & (half_group[:-1] == half_group[1:])
    )
    is_paired = starts_run.copy()
    is_paired[1:] |= starts_run[:-1]
    send, done = halves[starts_run], halves[1:][starts_run[:-1]]
    lone = np.flatnonzero(~is_paired)
    edge = np.flatnonzero(np.diff(half_group, prepend=-1, append=-1))
    # A recv-done before all sends, a send after all recv-dones: an edge lies between the halves.
    is_first, is_last = np.isin(lone, edge[:-1]), np.isin(lone, edge[1:] - 1)
    is_done = half_role[lone] == DcnRole.RECV_DONE
    return _Pairs(
        send=send,
        send_done=_next_of(
            np.flatnonzero(role == DcnRole.SEND_DONE), send, role, group, DcnRole.SEND
        ),
        recv=_last_of(np.flatnonzero(role == DcnRole.RECV), done, role, group, DcnRole.RECV_DONE),
        recv_done=done,
        lone=halves[lone],
        lone_is_cut=np.where(is_done, is_first, is_last),
    )


def _next_of(wanted: I64, after: I64, role: I64, group: I64, until: DcnRole) -> I64:
    """The first of ``wanted`` after each row and before the next of role ``until``; else -1."""
    ends = np.append(np.flatnonzero(role == until), len(role))
    end = ends[np.searchsorted(ends, after, side="right")]
    place = np.searchsorted(wanted, after)
    found = np.append(wanted, len(role))[place]
    same = group[np.minimum(found, len(role) - 1)] == group[after]
    picked: I64 = np.where((found < end) & same, found, -1)
    return picked


def _last_of(wanted: I64, before: I64, role: I64, group: I64, since: DcnRole) -> I64:
    """The last of ``wanted`` before each row and after the previous of role ``since``; else -1."""
    begins = np.insert(np.flatnonzero(role == since), 0, -1)
    begin = begins[np.searchsorted(begins, before) - 1]
    place = np.searchsorted(wanted, before)
    found = np.insert(wanted, 0, -1)[place]
    same = group[np.maximum(found, 0)] == group[before]
    picked: I64 = np.where((found > begin) & same, found, -1)
    return picked
