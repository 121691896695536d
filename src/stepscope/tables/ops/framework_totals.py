"""Framework ops in sum: occurrences, total and self time per op, for the host and the devices."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct, sum_by_key, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows, name_codes
from stepscope.tables.core.presence import stat_rows
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.stats import event_stats, metadata_ints
from stepscope.tables.core.time_spans import TimeSpans, mean_ps
from stepscope.tables.device.events import DeviceEvents, device_events, on_own_clock, rows_by_device
from stepscope.tables.host.ops import HostOps, host_ops

F64 = NDArray[np.float64]
Events = TypeVar("Events", HostOps, DeviceEvents)


@dataclass(frozen=True, eq=False, slots=True)
class OpTotals:
    """One row per framework op of one side (host or devices).

    Attributes:
        name, type: The op.
        occurrences: Events that carry the op's name, as XProf counts them: on the host allocator
            events included, on devices the count of the op's most frequent device-level op.
        executions: Times the op ran.
        total_ps, self_ps: Σ duration (children included) and Σ self time.
        eager: Whether every execution was eager.
        flops, bytes_accessed: Σ where recorded, else NaN.
        tensor_core_ps: Part of ``self_ps`` spent on tensor or matrix cores.
        idle_ps: Time the threads or devices ran no op between their first and last.
    """

    name: list[str]
    type: list[str]
    occurrences: I64 | F64
    executions: I64 | F64
    total_ps: I64
    self_ps: I64
    eager: Bool
    flops: F64
    bytes_accessed: F64
    tensor_core_ps: I64
    idle_ps: int

    def __len__(self) -> int:
        return len(self.name)

    @property
    def op_time_ps(self) -> int:
        """Σ self time of all ops."""
        return int(self.self_ps.sum())

    def over(self, steps: int) -> OpTotals:
        """The totals of the mean of so many steps."""
        counts = ("occurrences", "executions", "flops", "bytes_accessed")
        times = ("total_ps", "self_ps", "tensor_core_ps", "idle_ps")
        changed: dict[str, Any] = {name: getattr(self, name) / steps for name in counts}
        changed |= {name: mean_ps(getattr(self, name), steps) for name in times}
        return replace(self, **changed)


@derived
def host_op_totals(host: Host) -> OpTotals:
    """Ops on the host's threads. Idle is summed over threads, as the incumbent does."""
    return _host_totals(host, host_ops(host), None)


def host_ops_within(host: Host, spans: TimeSpans) -> OpTotals:
    """The same of the ops that begin in the spans; idle is in them."""
    return _host_totals(host, host_ops(host), spans)


def _host_totals(host: Host, found: HostOps, spans: TimeSpans | None) -> OpTotals:
    if spans is not None:
        found = _taken(found, spans.hold(host.space.events.start_ps[found.rows]))
    duration = host.space.length_ps[found.rows]
    size = len(found.ops)
    ran = found.is_execution
    not_eager = np.bincount(found.op[ran & ~found.is_eager], minlength=size)
    executions = np.bincount(found.op[ran], minlength=size)
    nothing = np.full(size, np.nan)
    return OpTotals(
        name=[op.name for op in found.ops],
        type=[op.type for op in found.ops],
        occurrences=np.bincount(found.op, minlength=size),
        executions=executions,
        total_ps=sum_by_key(found.op, duration, size),
        self_ps=sum_by_key(found.op, found.self_ps, size),
        eager=(not_eager == 0) & (executions > 0),
        flops=nothing,
        bytes_accessed=nothing,
        tensor_core_ps=np.zeros(size, dtype=np.int64),
        idle_ps=_host_idle_ps(host, found) if spans is None else _idle_within(host, found, spans),
    )


def _host_idle_ps(host: Host, found: HostOps) -> int:
    """Per thread with ops: first begin to last end, minus op time."""
    if len(found.rows) == 0:
        return 0
    events = host.space.events
    start = events.start_ps[found.rows]
    end = start + host.space.length_ps[found.rows]
    cuts = distinct(np.searchsorted(found.rows, host.space.line_begin))
    cuts = cuts[cuts < len(found.rows)]
    span = np.maximum.reduceat(end, cuts) - np.minimum.reduceat(start, cuts)
    busy = np.add.reduceat(found.self_ps, cuts)
    return int(np.maximum(span - busy, 0).sum())


def _idle_within(host: Host, found: HostOps, spans: TimeSpans) -> int:
    """Per thread with ops: the time of the steps in which it runs none."""
    line = np.searchsorted(host.space.line_begin, found.rows, side="right").astype(np.int32)
    return spans.idle(
        line, host.space.events.start_ps[found.rows], host.space.length_ps[found.rows]
    )


def _taken(found: Events, keep: Bool) -> Events:
    """Some of the events, with the same distinct ops."""
    rows: dict[str, Any] = {
        f.name: value[keep]
        for f in fields(found)
        if isinstance(value := getattr(found, f.name), np.ndarray) and len(value) == len(keep)
    }
    return replace(found, **rows)


@derived
def device_op_totals(host: Host) -> OpTotals:
    """Ops on the host's devices. Idle is, per device, its span minus the union of its events."""
    return _device_totals(host, device_events(host), None)


def device_ops_within(host: Host, spans: TimeSpans) -> OpTotals:
    """The same of what begins in the spans; idle is in them."""
    return _device_totals(host, device_events(host), spans)


def _device_totals(host: Host, found: DeviceEvents, spans: TimeSpans | None) -> OpTotals:
    every = found
    keep = np.ones(len(found), dtype=bool) if spans is None else spans.hold(found.start_ps)
    found = found if spans is None else _taken(found, keep)
    size = len(found.ops)
    occurrences, executions = _device_counts(host, found, size)
    flops, accessed = _costs(host, found, size, keep)
    return OpTotals(
        name=[op.name for op in found.ops],
        type=[op.type for op in found.ops],
        occurrences=occurrences,
        executions=executions,
        total_ps=sum_by_key(found.op, found.duration_ps, size),
        self_ps=sum_by_key(found.op, found.self_ps, size),
        eager=_all_eager(host, found, size),
        flops=flops,
        bytes_accessed=accessed,
        tensor_core_ps=sum_by_key(found.op, np.where(found.tensor_core, found.self_ps, 0), size),
        idle_ps=sum(span - busy for span, busy in device_busy(host).values())
        if spans is None
        else _device_idle_within(every, spans),
    )


def _device_idle_within(found: DeviceEvents, spans: TimeSpans) -> int:
    own = ~found.is_container
    return spans.idle(found.device[own], found.start_ps[own], found.duration_ps[own])


def _device_counts(host: Host, found: DeviceEvents, size: int) -> tuple[I64, I64]:
    """Occurrences and executions per framework op.

    A device-level op (one HLO op of one program) runs as often as its most frequent kernel; a
    framework op of a program as often as its most frequent device-level op. The incumbent takes
    the largest of these over programs as occurrences; executions are their sum.
    """
    occurrences, executions = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    if len(found) == 0:
        return occurrences, executions
    kernel = name_codes(host)[host.space.events.metadata[found.rows]].astype(np.int64)
    keys = (found.op.astype(np.int64), found.program, found.unit, kernel)
    first, code = distinct_rows(keys)
    counts = np.bincount(code)
    one, pair = distinct_rows((found.op[first], found.program[first]))
    per_program = np.zeros(len(one), dtype=np.int64)
    np.maximum.at(per_program, pair, counts)
    op = found.op[first[one]]
    np.maximum.at(occurrences, op, per_program)
    np.add.at(executions, op, per_program)
    return occurrences, executions


def _costs(host: Host, found: DeviceEvents, size: int, keep: Bool) -> tuple[F64, F64]:
    """Σ flops and bytes per op, from per-event or per-metadata stats; NaN where not recorded.

    ``found`` are those of ``device_events`` that ``keep`` says.
    """
    space, stats = host.space, event_stats(host)
    sums: list[F64] = []
    for name in (names.FLOPS, names.BYTES_ACCESSED):
        per_name = np.full(max(len(space.event_metadata), 1), -1, dtype=np.int64)
        for row, value in metadata_ints(host, name).items():
            per_name[row] = value
        cost = stats.ints(name).at(found.rows, -1)
        cost = np.where(cost >= 0, cost, per_name[space.events.metadata[found.rows]])
        known = cost >= 0
        sums.append(_known_sum(found.op[known], cost[known], size))
    for total, shaped in zip(sums, _shaped_costs(host, found, size, keep), strict=True):
        np.copyto(total, shaped, where=np.isnan(total))
    return sums[0], sums[1]


def _shaped_costs(host: Host, found: DeviceEvents, size: int, keep: Bool) -> tuple[F64, F64]:
    """Σ flops and bytes per op of PyTorch's, from the shapes of its calls; NaN where unknown.

    An op one of whose calls is not known has none: a rate over all of its time would be too low.
    """
    if names.ARGUMENTS not in stat_rows(host):
        return np.full(size, np.nan), np.full(size, np.nan)
    # What reads PyTorch's calls is 3 ms of imports that no other recording needs.
    from stepscope.tables.torch.costs import cost_of
    from stepscope.tables.torch.op_calls import op_calls

    calls = op_calls(host)
    costs = [cost_of(one) for one in calls.signatures]
    of_event = calls.of_event[keep] if len(calls.of_event) == len(keep) else calls.of_event
    ran = distinct(of_event[of_event >= 0])
    op = np.zeros(len(calls), dtype=np.int64)
    op[of_event[of_event >= 0]] = found.op[of_event >= 0]
    op = op[ran]
    sums = []
    for each in ([one.flops for one in costs], [one.moved_bytes for one in costs]):
        value = np.asarray(each or [0.0])[calls.signature[ran]]
        total = np.bincount(op, weights=value, minlength=size).astype(np.float64)
        total[np.bincount(op, minlength=size) == 0] = np.nan
        sums.append(total)
    return sums[0], sums[1]


def _all_eager(host: Host, found: DeviceEvents, size: int) -> Bool:
    eager = event_stats(host).ints(names.IS_EAGER).at(found.rows, 0) > 0
    any_not = np.bincount(found.op[~eager], minlength=size) > 0
    seen = np.bincount(found.op, minlength=size) > 0
    all_eager: Bool = seen & ~any_not
    return all_eager


@derived
def device_busy(host: Host) -> dict[int, tuple[int, int]]:
    """``{device plane row: (span, busy)}`` in ps: first begin to last end, union of events."""
    found = device_events(host)
    begin = on_own_clock(host, found.rows, found.start_ps)
    result: dict[int, tuple[int, int]] = {}
    for device, rows in rows_by_device(host).items():
        own = rows[~found.is_container[rows]]
        start, end = union_spans(begin[own], begin[own] + found.duration_ps[own])
        if len(start) == 0:
            continue
        result[device] = (int(end[-1] - start[0]), int((end - start).sum()))
    return result


def _known_sum(key: np.ndarray, value: np.ndarray, size: int) -> F64:
    """Σ per key as float; NaN for keys without any value ("not recorded" is not 0)."""
    total = np.bincount(key, weights=value, minlength=size).astype(np.float64)
    total[np.bincount(key, minlength=size) == 0] = np.nan
    return total


def merge_totals(parts: list[OpTotals]) -> OpTotals:
    """Totals of several hosts (or of several ops given one name) as one, by op name."""
    if len(parts) == 1 and len(set(parts[0].name)) == len(parts[0]):
        return parts[0]
    index: dict[str, int] = {}
    types: list[str] = []
    for part in parts:
        for name, type_ in zip(part.name, part.type, strict=True):
            if name not in index:
                index[name] = len(index)
                types.append(type_)
    size = len(index)
    key = np.asarray([index[name] for part in parts for name in part.name], dtype=np.int64)

    def column(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts] or [np.zeros(0)])

    def known_sum(name: str) -> F64:
        values = column(name)
        has = ~np.isnan(values)
        return _known_sum(key[has], values[has], size)

    whole = ("occurrences", "executions", "total_ps", "self_ps", "tensor_core_ps")
    sums = {name: sum_by_key(key, column(name).astype(np.int64), size) for name in whole}
    not_eager = np.bincount(key[~column("eager").astype(bool)], minlength=size)
    return OpTotals(
        name=list(index),
        type=types,
        eager=not_eager == 0,
        flops=known_sum("flops"),
        bytes_accessed=known_sum("bytes_accessed"),
        idle_ps=sum(part.idle_ps for part in parts),
        **sums,
    )


class Shares(NamedTuple):
    """By occurrence, and of op time; None where there is nothing to share.

    Attributes:
        host_frac, device_frac: Of all runs of ops, those on the host and on devices.
        host_eager_frac, device_eager_frac: Of each side's op time, that of eager ops.
    """

    host_frac: float | None
    device_frac: float | None
    host_eager_frac: float | None
    device_eager_frac: float | None


def op_shares(profile: Profile) -> Shares:
    """How much of a program's ops runs on devices, and how much eagerly, over all hosts."""
    host = merge_totals([host_op_totals(one) for one in profile.hosts])
    device = merge_totals([device_op_totals(one) for one in profile.hosts])
    counts = int(host.executions.sum()), int(device.executions.sum())
    total = sum(counts)
    return Shares(
        counts[0] / total if total else None,
        counts[1] / total if total else None,
        _eager_frac(host),
        _eager_frac(device),
    )


def _eager_frac(totals: OpTotals) -> float | None:
    whole = totals.op_time_ps
    return int(totals.self_ps[totals.eager].sum()) / whole if whole else None
