"""Calls of collectives by rank and order, from dumps of the flight recorder.

The n-th collective of a process group is the n-th on each of its ranks. It hangs where a rank does
not call it, or calls it as something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.columns import stats_by_name
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.presence import Stretch
from stepscope.tables.core.profile import Host, Profile, derived

_RANK: Final = re.compile(r"rank[-_]?(\d{1,7})$")
_RUNS: Final = re.compile(r"(\d{1,7})(?:-(\d{1,7}))?")
_MOST_MEMBERS: Final = 1 << 20
_DONE: Final = "completed"
# Of these every rank gives as much as every other.
_EVEN: Final = re.compile(
    r"all_?reduce|broadcast|_(all_?gather|reduce_scatter)_base|barrier|(?<!\w)reduce(?!_)", re.I
)


@dataclass(frozen=True, slots=True)
class CallGroup:
    """A process group: its name, what it is for, and the ranks in it (none: unknown)."""

    name: str
    description: str
    ranks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Called:
    """What a rank called: the collective, the shapes and types that went in, and its line."""

    collective: str
    sizes: str
    types: str
    line: str

    def differs(self, other: Called) -> bool:
        """Whether the two cannot be one collective."""
        if self.collective != other.collective:
            return True
        is_even = bool(_EVEN.search(self.collective))
        return is_even and (self.sizes, self.types) != (other.sizes, other.types)


@dataclass(frozen=True, slots=True)
class GroupCalls:
    """One row per call, in no order.

    Attributes:
        worker: Index into ``workers``.
        group: Index into ``groups``.
        number: The how-manieth collective of its group.
        said: Index into ``called``.
        is_done: Whether the GPU had finished it when the dump was written.
        created_ns: When the program called, on its host's clock.
        workers: Name of each rank's host.
        ranks: Number of each rank, -1 unknown.
        groups: The process groups.
        called: Distinct calls.
        messages: Calls from one rank to another, which have no order in common and no rows.
    """

    worker: I64
    group: I64
    number: I64
    said: I64
    is_done: Bool
    created_ns: I64
    workers: tuple[str, ...]
    ranks: tuple[int, ...]
    groups: tuple[CallGroup, ...]
    called: tuple[Called, ...]
    messages: int

    def __len__(self) -> int:
        return len(self.worker)

    def label(self, worker: int) -> str:
        """What a person calls a rank."""
        rank = self.ranks[worker]
        return f"rank {rank}" if rank >= 0 else self.workers[worker]


@derived
def calls(profile: Profile) -> GroupCalls:
    """The calls of all ranks."""
    hosts = [
        host
        for host in profile.hosts
        if any(plane.name == names.FLIGHT_PLANE for plane in host.space.planes)
    ]
    groups: dict[CallGroup, int] = {}
    called: dict[Called, int] = {}
    parts = [_host_calls(host, number, groups, called) for number, host in enumerate(hosts)]
    none = np.zeros(0, np.int64)
    columns = [np.concatenate([none, *(part[at] for part in parts)]) for at in range(7)]
    worker, group, number, said, done, created, is_message = columns
    kept = is_message == 0
    found = [_RANK.search(host.name) for host in hosts]
    return GroupCalls(
        worker[kept],
        group[kept],
        number[kept],
        said[kept],
        done[kept] > 0,
        created[kept],
        tuple(host.name for host in hosts),
        tuple(int(one[1]) if one else -1 for one in found),
        tuple(groups),
        tuple(called),
        int((~kept).sum()),
    )


def _host_calls(
    host: Host, worker: int, groups: dict[CallGroup, int], called: dict[Called, int]
) -> tuple[I64, ...]:
    """Columns of a host's calls: worker, group, number, what, done, when, whether a message."""
    parts = [
        _line_calls(host, worker, line.begin, line.end, groups, called)
        for line in host.space.lines
        if host.space.planes[line.plane].name == names.FLIGHT_PLANE and line.end > line.begin
    ]
    return tuple(
        np.concatenate([np.zeros(0, np.int64), *(part[at] for part in parts)]) for at in range(7)
    )


def _line_calls(
    host: Host,
    worker: int,
    begin: int,
    end: int,
    groups: dict[CallGroup, int],
    called: dict[Called, int],
) -> tuple[I64, ...]:
    stretch = Stretch(host, begin, end)
    group = _codes(stretch, (names.PROCESS_GROUP, names.GROUP_DESCRIPTION, names.GROUP_RANKS))
    what = _codes(stretch, (names.MESSAGE_SIZES, names.MESSAGE_TYPES, names.TF_OP))
    state = stats_by_name(host.space, (names.CALL_STATE,), begin, end)[names.CALL_STATE].texts
    done = np.zeros(end - begin, np.int64)
    done[state.rows - begin] = np.asarray([text == _DONE for text in state.values] or [False])[
        state.codes
    ]
    entry = stretch.entry.astype(np.int64)
    pairs, inverse = np.unique(np.stack([entry, what.code]), axis=1, return_inverse=True)
    labels = [
        Called(host.space.event_metadata.name[entry].removeprefix("nccl:"), *what.texts[code])
        for entry, code in pairs.T.tolist()
    ]
    said = np.asarray([called.setdefault(one, len(called)) for one in labels], np.int64)
    named = [CallGroup(name, purpose, members(ranks)) for name, purpose, ranks in group.texts]
    of_group = np.asarray([groups.setdefault(one, len(groups)) for one in named], np.int64)
    return (
        np.full(end - begin, worker),
        of_group[group.code],
        stretch.ints(names.COLLECTIVE_NUMBER, -1),
        said[inverse.ravel()],
        done,
        host.space.origin_ns + stretch.start_ps // 1000,
        stretch.has(names.IS_P2P).astype(np.int64),
    )


@dataclass(frozen=True, slots=True)
class _Coded:
    """Several texts of each event as one code, and what the codes mean."""

    code: I64
    texts: list[tuple[str, ...]]


def _codes(stretch: Stretch, stats: tuple[str, ...]) -> _Coded:
    known: dict[tuple[str, ...], int] = {}
    rows = zip(*(stretch.texts(name) for name in stats), strict=True)
    code = np.asarray([known.setdefault(row, len(known)) for row in rows], np.int64)
    return _Coded(code, list(known))


def members(text: str) -> frozenset[int]:
    """The ranks in "0-3,8"."""
    found: set[int] = set()
    for run in _RUNS.finditer(text):
        first, last = int(run[1]), int(run[2] or run[1])
        if len(found) + last - first < _MOST_MEMBERS:
            found.update(range(first, last + 1))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Stuck:
    """A collective that had not finished, or that its ranks called differently.

    Attributes:
        group: Index into ``GroupCalls.groups``.
        number: Of the collective in its group.
        created_ns: When the first rank called it.
        joined: Workers that called it, in the order of time.
        missing: Workers of the group that did not, though they should have.
        absent: Ranks of the group without a dump.
        said: What each of ``joined`` called, as indices into ``GroupCalls.called``.
        is_done: Whether it had finished anyway.
        behind: Later collectives of the group that had not finished either.
        spread_ns: From the first call to the last.
    """

    group: int
    number: int
    created_ns: int
    joined: tuple[int, ...]
    missing: tuple[int, ...]
    absent: tuple[int, ...]
    said: tuple[int, ...]
    is_done: bool
    behind: int
    spread_ns: int

    def odd(self, found: GroupCalls) -> tuple[int, ...]:
        """Positions in ``joined`` of those that called something else than most."""
        counts: dict[int, int] = {}
        for code in self.said:
            counts[code] = counts.get(code, 0) + 1
        most = found.called[max(counts, key=lambda code: counts[code])]
        return tuple(at for at, code in enumerate(self.said) if found.called[code].differs(most))


@derived
def stuck(profile: Profile) -> list[Stuck]:
    """The first unfinished collective of each group, and all that ranks called differently."""
    found = calls(profile)
    rows = _first_of_each(found)
    result: list[Stuck] = []
    for code in range(len(found.groups)):
        mine = rows[found.group[rows] == code]
        if len(mine):
            result += _stuck_in_group(found, code, mine)
    return sorted(result, key=lambda one: (one.created_ns, one.group, one.number))


def _first_of_each(found: GroupCalls) -> I64:
    """Rows in order of group, number, time; of a worker's calls under one number the first."""
    order = np.lexsort((found.created_ns, found.worker, found.number, found.group))
    key = np.stack([found.group, found.number, found.worker])[:, order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    return order[is_first]


def _stuck_in_group(found: GroupCalls, code: int, rows: I64) -> Iterator[Stuck]:
    group, number = found.groups[code], found.number[rows]
    begins = np.flatnonzero(np.diff(number, prepend=number[0] - 1))
    is_open = np.logical_or.reduceat(~found.is_done[rows], begins)
    least, most = (
        one.reduceat(_comparable(found)[found.said[rows]], begins)
        for one in (np.minimum, np.maximum)
    )
    first_open = int(is_open.argmax()) if is_open.any() else -1
    expected, absent = _expected(found, group, rows)
    last = np.full(len(found.workers), -1)
    np.maximum.at(last, found.worker[rows], number)
    ends = np.append(begins[1:], len(rows))
    for at in np.flatnonzero((least != most) | (np.arange(len(begins)) == first_open)).tolist():
        mine = rows[begins[at] : ends[at]]
        mine = mine[np.argsort(found.created_ns[mine], kind="stable")]
        here = int(found.number[mine[0]])
        created = found.created_ns[mine]
        yield Stuck(
            code,
            here,
            int(created[0]),
            tuple(found.worker[mine].tolist()),
            tuple(one for one in expected if last[one] < here) if is_open[at] else (),
            absent,
            tuple(found.said[mine].tolist()),
            not is_open[at],
            int(is_open[at + 1 :].sum()) if at == first_open else 0,
            int(created[-1] - created[0]),
        )


def _comparable(found: GroupCalls) -> I64:
    """A number for each distinct call; those that can be one collective have the same."""
    known: dict[tuple[str, ...], int] = {}
    codes = []
    for one in found.called:
        is_even = bool(_EVEN.search(one.collective))
        key = (one.collective, *((one.sizes, one.types) if is_even else ()))
        codes.append(known.setdefault(key, len(known)))
    return np.asarray(codes, np.int64)


def _expected(
    found: GroupCalls, group: CallGroup, rows: I64
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The workers of a group, and its ranks without a dump."""
    of_rank = {rank: worker for worker, rank in enumerate(found.ranks) if rank >= 0}
    if not group.ranks or len(of_rank) < len(found.workers):
        return tuple(np.unique(found.worker[rows]).tolist()), ()
    here = sorted(of_rank[rank] for rank in group.ranks if rank in of_rank)
    return tuple(here), tuple(sorted(rank for rank in group.ranks if rank not in of_rank))


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late each worker called what all of its group called, by its host's clock.

    Attributes:
        compared: Collectives that all ranks of their group called.
        last: Of those, how often each worker was the last.
        late_ns: By how much it then came after the middle one, in total.
    """

    compared: int
    last: I64
    late_ns: I64


@derived
def lateness(profile: Profile) -> Lateness:
    """Who called last, over all collectives that every rank of their group called."""
    found = calls(profile)
    count = len(found.workers)
    last, late = np.zeros(count, np.int64), np.zeros(count, np.int64)
    rows = _first_of_each(found)
    compared = 0
    for code in range(len(found.groups)):
        mine = rows[found.group[rows] == code]
        expected, absent = _expected(found, found.groups[code], mine)
        if len(expected) < 2 or absent or not len(mine):
            continue
        begins = np.flatnonzero(np.diff(found.number[mine], prepend=found.number[mine][0] - 1))
        is_whole = np.diff(np.append(begins, len(mine))) == len(expected)
        places = begins[is_whole][:, None] + np.arange(len(expected))
        grid = mine[places]
        created = found.created_ns[grid]
        if not len(grid):
            continue
        compared += len(grid)
        at = created.argmax(axis=1)
        who = found.worker[grid[np.arange(len(grid)), at]]
        middle = np.sort(created, axis=1)[:, (len(expected) - 1) // 2]
        np.add.at(last, who, 1)
        np.add.at(late, who, created.max(axis=1) - middle)
    return Lateness(compared, last, late)
