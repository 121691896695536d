"""Every exchange of data between devices: of which group, how large, how long, and who came last.

A collective ends on all of its devices together, so the device that spends the least time in it
came last, and that time is the transfer; what the others spend beyond it is waiting. That needs no
common clock. The parts of one collective are found by their order within the process group, where
all devices did the same in the same order; where they did not, who waited for whom is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from stepscope.columns import distinct, median, rows_by_key, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.limits import json_value
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.time_spans import covered
from stepscope.tables.device.events import device_events, rows_of_device
from stepscope.tables.host.events import Work

_COPIES: Final = (Work.HOST_TO_DEVICE, Work.DEVICE_TO_HOST, Work.DEVICE_TO_DEVICE)
_KERNEL: Final = re.compile(
    r"(?:nccl|rccl)\w*?(?:Dev)?Kernel_?(\w*?)(?:_[A-Z]|\(|$)|([\w-]+)", re.I
)
# How many more exchanges one device may have recorded than another.
_MOST_EXTRA: Final = 1000
_PS_PER_NS: Final = 1000
_FAR_NS: Final = 10**15  # more than a week, and no overflow in ps
# Distances that differ by less are one.
_TICK_PS: Final = 10_000_000
_BYTES: Final = (
    (re.compile(r"64|double|long", re.I), 8),
    (re.compile(r"bf|bfloat16|half|16|short", re.I), 2),
    (re.compile(r"8|byte|char|bool", re.I), 1),
    (re.compile(r"32|float|int", re.I), 4),
)


class ExchangeKind(NamedTuple):
    """What makes two exchanges the same row.

    Attributes:
        group: Name of the process group; "" where the recording has none.
        description: What the group is for, as the program says.
        ranks: How many take part; 0 if unknown.
        collective: "allreduce", "allgather" …
        message_bytes: Of one exchange; 0 if unknown.
    """

    group: str
    description: str
    ranks: int
    collective: str
    message_bytes: int


@dataclass(frozen=True, eq=False, slots=True)
class Exchanges:
    """One row per exchange on a device.

    Attributes:
        worker: Index into ``workers``.
        kind: Index into ``kinds``.
        duration_ps: How long it was on the device.
        exposed_ps: Of that, with nothing computing on the device; -1 where no device's recording
            has anything but exchanges.
        transfer_ps: Time of the device that came last; -1 where its partners are not known.
        is_last: Whether this device came last.
        caused_ps: What the others waited for this device.
        workers: (host, device) of each device.
        kinds: Distinct kinds.
    """

    worker: I64
    kind: I64
    duration_ps: I64
    exposed_ps: I64
    transfer_ps: I64
    is_last: Bool
    caused_ps: I64
    workers: tuple[tuple[str, str], ...]
    kinds: tuple[ExchangeKind, ...]

    def __len__(self) -> int:
        return len(self.worker)


@derived
def exchanges(profile: Profile) -> Exchanges:
    """The exchanges of all devices."""
    workers: dict[tuple[str, str], int] = {}
    kinds: dict[ExchangeKind, int] = {}
    parts = [_host_exchanges(host, workers, kinds) for host in profile.hosts]
    worker, kind, start, duration, exposed = (
        np.concatenate([np.zeros(0, np.int64), *(part[at] for part in parts)]) for at in range(5)
    )
    if not any(map(_computes, profile.hosts)):
        exposed = np.full(len(worker), -1, np.int64)
    shift = np.concatenate([np.zeros(0, np.int64), *map(_shift, profile.hosts, parts)])
    apart = np.clip(shift - (shift[0] if len(shift) else 0), -_FAR_NS, _FAR_NS)
    start = start + apart * _PS_PER_NS
    transfer, is_last, caused = _matched(worker, kind, start, duration, tuple(kinds))
    return Exchanges(
        worker, kind, duration, exposed, transfer, is_last, caused, tuple(workers), tuple(kinds)
    )


def _shift(host: Host, part: tuple[I64, ...]) -> I64:
    """What a host's times count from, for each of its exchanges."""
    return np.full(len(part[0]), host.space.origin_ns, np.int64)


def _computes(host: Host) -> bool:
    """Whether anything but exchanges was recorded of the host's devices."""
    found = device_events(host)
    return bool(((found.work != Work.COLLECTIVE) & ~found.is_container).any())


def _host_exchanges(
    host: Host, workers: dict[tuple[str, str], int], kinds: dict[ExchangeKind, int]
) -> tuple[I64, I64, I64, I64, I64]:
    """Worker, kind, start, duration and exposed time of a host's exchanges."""
    found = device_events(host)
    chosen = np.flatnonzero((found.work == Work.COLLECTIVE) & ~found.is_container)
    kind = _kinds(host, found.rows[chosen], kinds)
    worker = np.zeros(len(chosen), np.int64)
    exposed = np.zeros(len(chosen), np.int64)
    computes = ~np.isin(found.work, (*_COPIES, Work.COLLECTIVE)) & ~found.is_container
    for plane, mine in rows_by_key(found.device[chosen]).items():
        label = host.space.planes[plane].name.removeprefix("/device:")
        worker[mine] = workers.setdefault((host.name, label), len(workers))
        own = rows_of_device(host, plane)
        own = own[computes[own]]
        busy = union_spans(found.start_ps[own], found.end_ps[own])
        rows = chosen[mine]
        hidden = covered(*busy, found.start_ps[rows], found.end_ps[rows])
        exposed[mine] = found.duration_ps[rows] - hidden
    return worker, kind, found.start_ps[chosen], found.duration_ps[chosen], exposed


def _kinds(host: Host, rows: I64, kinds: dict[ExchangeKind, int]) -> I64:
    """The kind of each exchange; it is found out once for each name and set of arguments."""
    said = event_stats(host).texts(names.ARGUMENTS)
    pairs = np.stack([host.space.events.metadata[rows].astype(np.int64), said.at(rows)])
    used, inverse = np.unique(pairs, axis=1, return_inverse=True)
    codes = []
    for entry, text in used.T.tolist():
        arguments = _arguments(said.texts[text]) if text >= 0 else {}
        one = _kind(host.space.event_metadata.name[entry], arguments)
        codes.append(kinds.setdefault(one, len(kinds)))
    return np.asarray(codes or [0], np.int64)[inverse.ravel()]


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = json_value(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _kind(name: str, said: dict[str, Any]) -> ExchangeKind:
    collective = str(said.get("Collective name", "")).lstrip("_") or _kernel_operation(name)
    ranks = _count(said.get("Group size"))
    size = _count(said.get("In msg nelems")), _count(said.get("Out msg nelems"))
    # Of what all give to all the larger side is the message, as nccl-tests count it.
    elements = max(size) if re.search("gather|scatter", collective) else size[0] or size[1]
    return ExchangeKind(
        group=str(said.get("Process Group Name", "")),
        description=str(said.get("Process Group Description", "")),
        ranks=ranks,
        collective=collective,
        message_bytes=elements * _element_bytes(str(said.get("dtype", ""))),
    )


def _kernel_operation(name: str) -> str:
    found = _KERNEL.match(name)
    word = (found[1] or found[2] or "") if found else ""
    return word.lower() if word.lower() not in ("", "generic") else name[:60]


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _element_bytes(dtype: str) -> int:
    if not dtype:
        return 0
    return next((size for pattern, size in _BYTES if pattern.search(dtype)), 0)


def _matched(
    worker: I64, kind: I64, start: I64, duration: I64, kinds: tuple[ExchangeKind, ...]
) -> tuple[I64, Bool, I64]:
    """Transfer time of each exchange, whether its device came last, and what that cost others."""
    transfer = np.full(len(worker), -1, np.int64)
    is_last = np.zeros(len(worker), np.bool_)
    caused = np.zeros(len(worker), np.int64)
    groups: dict[tuple[str, str, int], list[int]] = {}
    for code, one in enumerate(kinds):
        groups.setdefault((one.group, one.description, one.ranks), []).append(code)
    for codes in groups.values():
        rows = np.flatnonzero(np.isin(kind, codes))
        # Sizes may differ from device to device; what is exchanged in which order does not.
        called = np.asarray([hash(kinds[code].collective) for code in kind[rows].tolist()])
        grid = _order_rows(worker[rows], start[rows], start[rows] + duration[rows], called)
        if grid is None:
            continue
        times = duration[rows[grid]]
        least = times.min(axis=0)
        transfer[rows[grid]] = least
        last = times.argmin(axis=0)
        who = rows[grid[last, np.arange(grid.shape[1])]]
        is_last[who] = True
        caused[who] = (times - least).sum(axis=0)
    return transfer, is_last, caused


def _order_rows(worker: I64, start: I64, end: I64, called: I64) -> I64 | None:
    """Rows by (device, order), where all devices did the same in the same order; None if not.

    A device whose recording is longer has more of them: the shortest says which.
    """
    used = distinct(worker).tolist()
    if len(used) < 2:
        return None
    lists = [rows[np.argsort(start[rows], kind="stable")] for rows in map(_rows_of(worker), used)]
    shortest = min(lists, key=len)
    found = [_aligned(rows, shortest, end, called) for rows in lists]
    return None if any(rows is None for rows in found) else np.stack(found)  # type: ignore[arg-type]  # none is None


def _rows_of(worker: I64) -> Callable[[int], I64]:
    return lambda one: np.flatnonzero(worker == one)


def _aligned(rows: I64, shortest: I64, end: I64, called: I64) -> I64 | None:
    """The stretch of one device's exchanges that are those of another; None if none is.

    Of several that do the same, it is that whose ends keep one distance: a collective ends
    everywhere at once, whatever the clocks show. Where several do, clocks differ little.
    """
    size = len(shortest)
    best, closest, spread = None, (np.inf, np.inf), np.inf
    for first in range(min(len(rows) - size, _MOST_EXTRA) + 1):
        some = rows[first : first + size]
        if (called[some] != called[shortest]).any():
            continue
        distance = end[some] - end[shortest]
        middle = median(distance)
        around = median(np.abs(distance - middle))
        key = (around // _TICK_PS, abs(middle))
        if key < closest:
            best, closest, spread = some, key, around
    if best is None or len(rows) == size:
        return best
    usual = median(np.diff(np.sort(end[shortest]))) if size > 1 else 0.0
    return best if spread < usual / 2 else None
