"""All work of hosts and devices, summed by what a person may ask for: op, kernel, line.

One list of events serves every grouping, so all groupings of a side have the same sum. FLOPs and
bytes are known for runs of device-level ops, whose kernels share them by their time. Memory belongs
to the op, line or module that asked for it, on the host and on devices alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct, sum_by_key
from stepscope.columns.space import I32, I64, Bool
from stepscope.records import dataclass
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.op_name import OpName, parse_op_name
from stepscope.tables.core.op_scopes import alike, layer_of
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.presence import entries_starting
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.core.time_spans import TimeSpans, mean_ps
from stepscope.tables.device.events import device_events
from stepscope.tables.device.kernel_classes import kernel_class
from stepscope.tables.host.ops import host_ops
from stepscope.tables.memory.allocations import alive_at, allocations, peak_event
from stepscope.tables.ops.device_peaks import Peaks, active_peaks
from stepscope.tables.ops.hlo_ops import HloOp, hlo_op_events
from stepscope.tables.ops.hlo_totals import total
from stepscope.tables.ops.layers import has_scopes
from stepscope.tables.ops.module_tree import has_modules, module_calls, module_lines, module_tree
from stepscope.tables.ops.roofline import rates_of
from stepscope.tables.python.frames import own_places_on
from stepscope.tables.steps.time_base import mean_steps, summed_hosts
from stepscope.tables.torch.autograd import numbered_ops
from stepscope.tables.torch.launches import launched
from stepscope.tables.traits.graph_lines import graph_lines
from stepscope.tables.traits.instructions import compiled_from
from stepscope.tables.traits.op_families import family_of

F64 = NDArray[np.float64]
WorkSide = Literal["Device", "Host"]
WorkGroup = Literal["type", "family", "op", "kernel", "layer", "module", "line", "stream", "device"]

#: The name of work whose group was not recorded.
UNNAMED: Final[dict[WorkGroup, str]] = {
    "type": "Unknown",
    "family": "Unknown",
    "op": "no op",
    "kernel": "no kernel",
    "layer": "outside of layers",
    "module": "outside of modules",
    "line": "line not recorded",
    "stream": "no stream",
    "device": "no device",
}
_MOST_DEVICES: Final = 2
#: Groups that no allocator event names.
_WITHOUT_MEMORY: Final = frozenset[WorkGroup]({"kernel", "stream", "device"})


class _Labels(NamedTuple):
    """The group of each event: a code, and the text of each code; "" where none is known."""

    codes: NDArray[Any]
    texts: Sequence[str]


@dataclass(frozen=True, eq=False, slots=True)
class WorkTotals:
    """One row per group of one side.

    Attributes:
        name: What the group is; "" for what has none.
        mostly: Type of op with most of its time.
        devices: Where it ran.
        self_ps, total_ps: Σ without and with nested work.
        runs: Kernels of a GPU, ops of a TPU or a host.
        flops, moved_bytes: Σ where known, else NaN.
        flops_ps, moved_ps: Part of ``self_ps`` whose FLOPs and bytes are known.
        roof_frac: Share of the roofline that the known part reaches; NaN without any.
        peak_bytes: Held at the peaks of memories; NaN where allocations were not recorded.
    """

    name: list[str]
    mostly: list[str]
    devices: list[str]
    self_ps: I64
    total_ps: I64
    runs: I64 | F64
    flops: F64
    moved_bytes: F64
    flops_ps: I64
    moved_ps: I64
    roof_frac: F64
    peak_bytes: F64

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, eq=False, slots=True)
class _Events:
    """The work of one side of a host, one row per event.

    Attributes:
        rows: Event rows.
        start_ps, duration_ps, self_ps: On the clock that its durations are exact on.
        plane: Row in ``Space.planes``.
        op: Index into ``ops``.
        ops: Framework ops.
        hlo: Index of the device-level op in ``hlo_op_events``, -1 for none.
        is_run: Whether the event is a run; False for allocations that only name their op.
    """

    rows: I64
    start_ps: I64
    duration_ps: I64
    self_ps: I64
    plane: I32
    op: I32
    ops: list[OpName]
    hlo: I64
    is_run: Bool


def work_totals(
    profile: Profile, side: WorkSide, by: WorkGroup, within: tuple[WorkGroup, str] | None = None
) -> WorkTotals:
    """Sum the work of one side over all hosts; per step where times are.

    Args:
        profile: The recording.
        side: Whose work.
        by: What a row is.
        within: A group, by its kind and name, to sum only the work of it.
    """
    several = len(profile.hosts) > 1
    peaks = active_peaks(profile).peaks
    names, types, places = (dict[str, int]() for _ in range(3))
    parts: list[list[NDArray[Any]]] = []
    for host, spans in summed_hosts(profile):
        events = _events(host, side)
        keep = np.arange(len(events.rows))
        if spans is not None:
            keep = np.flatnonzero(spans.hold(events.start_ps))
        prefix = f"{host.name}/" if several else ""
        if within is not None:
            keep = keep[_lies_within(host, side, within, events, prefix)[keep]]
        parts.append(
            [
                _coded(names, _labels(host, side, by, events, prefix), keep),
                _coded(types, _types(host, events), keep),
                _coded(places, _planes(host, events, prefix), keep),
                *(each[keep] for each in (events.self_ps, events.duration_ps, events.is_run)),
                *(each[keep] for each in _costs(host, side, events, spans, peaks)),
            ]
        )
    if not parts:
        parts = [[np.zeros(0, np.int64) for _ in range(9)]]
    key, type_, place, self_ps, total_ps, is_run, flops, moved, roof = (
        np.concatenate(each) for each in zip(*parts, strict=True)
    )
    size, mean = len(names), mean_steps(profile)
    steps = 1 if mean is None else mean.count

    def summed(values: NDArray[Any]) -> I64:
        return mean_ps(sum_by_key(key, values.astype(np.int64), size), steps)

    def known(rate: F64) -> tuple[F64, I64]:
        has = ~np.isnan(rate)
        sums = np.bincount(key[has], weights=(rate * self_ps)[has], minlength=size)
        spent = summed(np.where(has, self_ps, 0))
        return np.where(spent > 0, sums / steps, np.nan), spent

    (flop_sum, flops_ps), (byte_sum, moved_ps), (roof_ps, known_ps) = map(
        known, (flops, moved, roof)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        roof_frac = np.where(known_ps > 0, roof_ps / known_ps, np.nan)
    runs = sum_by_key(key, is_run.astype(np.int64), size)
    return WorkTotals(
        name=list(names),
        mostly=_mostly(key, type_, self_ps, size, list(types)),
        devices=_devices(key, place, size, list(places)),
        self_ps=summed(self_ps),
        total_ps=summed(total_ps),
        runs=runs if mean is None else runs / steps,
        flops=flop_sum,
        moved_bytes=byte_sum,
        flops_ps=flops_ps,
        moved_ps=moved_ps,
        roof_frac=roof_frac,
        peak_bytes=_peak_bytes(profile, by, within, names),
    )


def work_runs(
    profile: Profile, side: WorkSide, within: tuple[WorkGroup, str]
) -> Iterator[tuple[I64, I64, I64]]:
    """Yield rows, starts and self times of the runs of one group, host by host, over all time."""
    several = len(profile.hosts) > 1
    for host in profile.hosts:
        events = _events(host, side)
        own = _lies_within(host, side, within, events, f"{host.name}/" if several else "")
        at = np.flatnonzero(own & events.is_run & (events.self_ps > 0))
        rows = events.rows[at]
        yield rows, host.space.events.start_ps[rows], events.self_ps[at]


def _lies_within(
    host: Host, side: WorkSide, within: tuple[WorkGroup, str], events: _Events, prefix: str
) -> Bool:
    """Whether each event belongs to the group."""
    kind, name = within
    labels = _labels(host, side, kind, events, prefix)
    wanted = [text == name or (not text and name == UNNAMED[kind]) for text in labels.texts]
    # Code -1, of what has no label, is the last.
    wanted.append(name == UNNAMED[kind])
    found: Bool = np.asarray(wanted)[labels.codes]
    return found


def _peak_bytes(
    profile: Profile, by: WorkGroup, within: tuple[WorkGroup, str] | None, names: Mapping[str, int]
) -> F64:
    """Bytes that each group holds at the peaks of all memories; NaN if nothing says so."""
    groups = {by} if within is None else {by, within[0]}
    held = dict[str, int]()
    for host in () if groups & _WITHOUT_MEMORY else profile.hosts:
        at_peaks = _at_peaks(host)
        if at_peaks is None:
            continue
        events, size = at_peaks
        labels = _labels(host, "Host", by, events, "")
        keep = np.arange(len(size))
        if within is not None:
            keep = np.flatnonzero(_lies_within(host, "Host", within, events, ""))
        for code, one in zip(labels.codes[keep].tolist(), size[keep].tolist(), strict=True):
            text = labels.texts[code] if code >= 0 else ""
            held[text] = held.get(text, 0) + one
    if not (held.keys() & names.keys()) - {"", UNNAMED[by]}:
        return np.full(len(names), np.nan)
    return np.asarray([held.get(name, 0) for name in names], np.float64)


def _at_peaks(host: Host) -> tuple[_Events, I64] | None:
    """The allocations whose blocks are live at the peak of their memory, and their bytes."""
    found = allocations(host)
    if found is None:
        return None
    memories = range(len(found.memories))
    alive = np.concatenate(
        [alive_at(found, memory, peak_event(found, memory)) for memory in memories]
    )
    none = np.zeros(len(alive), np.int64)
    # Allocator events name an op without its type.
    known = {op.name: op for op in (*host_ops(host).ops, *device_events(host).ops)}
    ops = [parse_op_name(text) for text in found.op.texts]
    events = _Events(
        rows=found.rows[alive],
        start_ps=found.time_ps[alive],
        duration_ps=none,
        self_ps=none,
        plane=none.astype(np.int32),
        op=found.op.codes[alive],
        ops=[known.get(op.name, op) for op in ops],
        hlo=none - 1,
        is_run=none.astype(bool),
    )
    return events, np.maximum(found.allocated_bytes[alive], 0)


def _coded(index: dict[str, int], labels: _Labels, keep: I64) -> I64:
    """The kept events' codes of texts, over all hosts."""
    codes = labels.codes[keep]
    lut = np.zeros(len(labels.texts) + 1, np.int64)
    for code in distinct(codes).tolist():
        lut[code] = index.setdefault(labels.texts[code] if code >= 0 else "", len(index))
    coded: I64 = lut[codes]
    return coded


def _mostly(key: I64, type_: I64, time_ps: I64, size: int, texts: list[str]) -> list[str]:
    first, pair = distinct_rows((key, type_))
    spent = sum_by_key(pair, time_ps, len(first))
    found = [""] * size
    for at in np.argsort(spent, kind="stable").tolist():
        found[int(key[first[at]])] = texts[int(type_[first[at]])]
    return found


def _devices(key: I64, place: I64, size: int, texts: list[str]) -> list[str]:
    first, _pair = distinct_rows((key, place))
    found: list[list[str]] = [[] for _ in range(size)]
    for at in first.tolist():
        found[int(key[at])].append(texts[int(place[at])])
    return [
        ", ".join(sorted(each)) if len(each) <= _MOST_DEVICES else f"{len(each)} devices"
        for each in found
    ]


def _events(host: Host, side: WorkSide) -> _Events:
    level, space = hlo_op_events(host), host.space
    if side == "Device":
        work = device_events(host)
        return _Events(
            rows=work.rows,
            start_ps=work.start_ps,
            duration_ps=work.duration_ps,
            self_ps=work.self_ps,
            plane=work.device,
            op=work.op,
            ops=work.ops,
            hlo=level.op.astype(np.int64) if len(work) else np.zeros(0, np.int64),
            is_run=np.ones(len(work), bool),
        )
    ops = host_ops(host)
    hlo = np.full(len(ops.rows), -1, np.int64)
    if not level.on_device:
        hlo[ops.is_execution] = level.op
    of_line = np.asarray([line.plane for line in space.lines] or [0], np.int32)
    return _Events(
        rows=ops.rows,
        start_ps=space.events.start_ps[ops.rows],
        duration_ps=space.length_ps[ops.rows],
        self_ps=ops.self_ps,
        plane=of_line[space.lines_of(ops.rows)],
        op=ops.op,
        ops=ops.ops,
        hlo=hlo,
        is_run=ops.is_execution,
    )


def _costs(
    host: Host, side: WorkSide, events: _Events, spans: TimeSpans | None, peaks: Peaks
) -> tuple[F64, F64, F64]:
    """FLOPs and bytes per ps of each event, and the share of its roof; NaN where unknown."""
    level = hlo_op_events(host)
    if level.on_device != (side == "Device") or not level.ops:
        nothing = np.full(len(events.rows), np.nan)
        return nothing, nothing, nothing
    select = np.ones(len(level), bool) if spans is None else spans.hold(level.start_ps)
    sums = total(level, select)
    # An op that only encloses others repeats their costs.
    own = np.where(sums.is_innermost & (sums.self_ps > 0), sums.self_ps, np.nan)
    per_ps = sums.model_flops / own, sums.bytes / own
    reached = np.where(np.isnan(own), np.nan, rates_of(sums, peaks).efficiency_frac)
    flops, moved, roof = (np.append(each, np.nan)[events.hlo] for each in (*per_ps, reached))
    return flops, moved, roof


def _labels(host: Host, side: WorkSide, by: WorkGroup, events: _Events, prefix: str) -> _Labels:
    if by == "op":
        return _Labels(events.op, [op.name for op in events.ops])
    if by in ("type", "family"):
        types = _types(host, events)
        return (
            types if by == "type" else _Labels(types.codes, [family_of(one) for one in types.texts])
        )
    if by == "kernel":
        return _kernels(host, events)
    if by == "device":
        return _planes(host, events, prefix)
    if by == "stream":
        return _streams(host, events, prefix)
    if by == "line":
        return _lines(host, side, events)
    modules = _modules(host, side, events)
    return modules if by == "module" else _Labels(modules.codes, alike(modules.texts))


def _types(host: Host, events: _Events) -> _Labels:
    """The type of each event's op: its category in the program, or its kernel's class, if none."""
    level = hlo_op_events(host).ops
    first, pair = distinct_rows((events.op, events.hlo))
    text = host.space.event_metadata.name
    entries = host.space.events.metadata[events.rows[first]].tolist()
    chosen = zip(events.op[first].tolist(), events.hlo[first].tolist(), entries, strict=True)
    return _Labels(
        pair,
        [
            _type(events.ops[op], level[hlo] if hlo >= 0 else None, text[entry])
            for op, hlo, entry in chosen
        ],
    )


def _type(op: OpName, level: HloOp | None, event: str) -> str:
    if op.type not in ("", "Unknown"):
        return op.type
    if level is not None and level.is_hlo and level.category != "unknown":
        return level.category
    return kernel_class(event, op.name)


def _kernels(host: Host, events: _Events) -> _Labels:
    """Kernels as recorded, ops of TPUs by their names in the program."""
    entries = host.space.event_metadata
    texts = [short or name for short, name in zip(entries.display_name, entries.name, strict=True)]
    return _Labels(host.space.events.metadata[events.rows], texts)


def _planes(host: Host, events: _Events, prefix: str) -> _Labels:
    named = [
        plane.name.removeprefix("/device:").removeprefix("/host:") for plane in host.space.planes
    ]
    return _Labels(events.plane, [prefix + name for name in named])


def _streams(host: Host, events: _Events, prefix: str) -> _Labels:
    lines, planes_ = host.space.lines, _planes(host, events, prefix).texts
    return _Labels(
        host.space.lines_of(events.rows),
        [f"{planes_[line.plane]} · {line.label}" for line in lines],
    )


def _begun(host: Host, side: WorkSide, events: _Events) -> tuple[I64, I64]:
    """The thread that began each event, as ``Line.id``, and when: -1 unknown."""
    if side == "Device":
        launches = launched(host)
        return launches.thread, launches.start_ps
    of_line = np.asarray([one.id for one in host.space.lines] or [0], np.int64)
    return of_line[host.space.lines_of(events.rows)], events.start_ps


def _modules(host: Host, side: WorkSide, events: _Events) -> _Labels:
    """PyTorch's innermost modules; without any, the scopes in the names of ops."""
    if not has_modules(host):
        named = [op.name for op in events.ops]
        scoped = has_scopes(named)
        return _Labels(events.op, ["/".join(layer_of(name)) if scoped else "" for name in named])
    calls = module_calls(host)
    if side == "Device":
        owner = module_tree(host).owner
    else:
        threads = {number: one.around for number, one in calls.threads.items()}
        owner = _called(host, *_begun(host, side, events), threads)
    return _Labels(owner, _paths(calls.names, calls.parent.tolist()))


def _paths(names: list[str], parent: list[int]) -> list[str]:
    """Modules from the outermost on, as the tree of modules names them."""
    paths: list[str] = []
    for name, above in zip(names, parent, strict=True):
        paths.append(f"{paths[above]}/{name}" if above >= 0 else name)
    return paths


def _lines(host: Host, side: WorkSide, events: _Events) -> _Labels:
    """Lines of the program: where an op was made, else what Python ran when it was launched."""
    first, pair = distinct_rows((events.op, events.hlo))
    sites = _sites(host, events, first)
    index: dict[str, int] = {}
    code = np.asarray([index.setdefault(site, len(index)) for site in sites], np.int64)[pair]
    texts = list(index)
    calls = _python_lines(host)
    if calls:
        entries: dict[str, int] = {}
        around = {
            thread: own_places_on(
                host, rows, entries, lambda name: _place(name.file, name.line, name.function)
            )
            for thread, rows in calls.items()
        }
        open_ = np.asarray([not text for text in texts], bool)[code]
        thread, when = _begun(host, side, events)
        found = _called(host, thread, when, around)
        code = np.where(open_ & (found >= 0), found + len(texts), code)
        texts += entries
    return _Labels(code, texts)


def _sites(host: Host, events: _Events, first: I64) -> list[str]:
    """Where the op of each of these events was made; "" unknown."""
    level, graph = hlo_op_events(host).ops, graph_lines(host)
    found = []
    for at in first.tolist():
        hlo = level[int(events.hlo[at])] if events.hlo[at] >= 0 else None
        file, line, function = "", 0, ""
        if hlo is not None and hlo.is_hlo:
            site = compiled_from(host, int(events.rows[at]))
            file, line, function = site.file, site.line, site.function
            if not line:
                file, _, number = hlo.source.rpartition(":")
                line = int(number) if number.isdecimal() else 0
        elif graph is not None and (stack := graph.of(events.ops[int(events.op[at])].name)):
            file, line, function = stack[0].file, stack[0].line, stack[0].function
        found.append(_place(file, line, function))
    return found


def _place(file: str, line: int, function: str) -> str:
    base = re.split(r"[/\\]", file)[-1]
    return f"{base}:{line} {function}".strip() if line else ""


def _python_lines(host: Host) -> dict[int, list[int]]:
    """Lines with Python's calls, by the id of their thread."""
    rows = module_lines(host)
    if not rows:
        calls = entries_starting(host, "$")
        kinds, space = planes(host).plane_kind, host.space
        rows = [
            row
            for row, line in enumerate(space.lines)
            if kinds[line.plane] is PlaneKind.HOST
            and calls[space.events.metadata[line.begin : line.end]].any()
        ]
    found: dict[int, list[int]] = {}
    for row in rows:
        found.setdefault(host.space.lines[row].id, []).append(row)
    return found


def _called(host: Host, thread: I64, when: I64, around: Mapping[int, Callable[[I64], I64]]) -> I64:
    """What is around each moment of its thread; of a gradient, around the op that it is of."""
    found = np.full(len(when), -1, np.int64)
    for one in distinct(thread[thread >= 0]).tolist():
        here = np.flatnonzero(thread == one)
        begin, end = numbered_ops(host).forward_of(one, when[here])
        is_gradient = begin >= 0
        direct = here[~is_gradient]
        if one in around:
            found[direct] = around[one](when[direct])
        later, middle = here[is_gradient], ((begin + end) // 2)[is_gradient]
        for calls in around.values() if len(later) else ():
            code = calls(middle)
            found[later] = np.where(found[later] >= 0, found[later], code)
    return found
