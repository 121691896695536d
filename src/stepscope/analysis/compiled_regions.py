"""Compiled regions: what torch.compile made, what Triton runs, and how CUDA graphs replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import nan
from typing import Annotated, Any, Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.records import dataclass, replace
from stepscope.registry import Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, columns_of, ms, us
from stepscope.schema.names import OUTSIDE_OPS
from stepscope.schema.numbers import as_integer
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import python_lines
from stepscope.tables.ops.gpu_models import model_peaks
from stepscope.tables.torch.graph_replays import (
    Replays,
    replayed_events,
    replays,
)
from stepscope.tables.torch.launches import from_graphs, launched
from stepscope.tables.torch.op_calls import op_calls
from stepscope.tables.torch.regions import CompiledCode, compiled
from stepscope.tables.torch.triton_kernels import triton_kernels

NOT_SEEN: Final = "no eager run identifies them"


class RegionRow(Row):
    """One compiled region: a frame, or the part of one up to a graph break, in one variant."""

    region: Annotated[
        str,
        Column(
            "Region", kind="name", help="Frame/variant: 0/1 is frame 0, compiled a second time."
        ),
    ]
    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    calls: Annotated[int, Column("Calls", kind="count")]
    host_ms: Annotated[
        float, Column("Host", unit="ms", kind="time", help="Time of its calls on the host.")
    ]
    self_ms: Annotated[
        float,
        Column("Host, self", unit="ms", kind="time", help="Host time without nested regions."),
    ]
    device_ms: Annotated[
        float,
        Column(
            "Device",
            unit="ms",
            kind="time",
            sort="desc",
            help="Time of the device work that it launched.",
        ),
    ]
    device_frac: Annotated[
        float, Column("Share", unit="%", kind="ratio", help="Share of the time of all devices.")
    ]
    kernels: Annotated[int, Column("Kernels", kind="count")]
    compiles: Annotated[
        int, Column("Compiled", kind="count", help="Compilations within the recording.")
    ]
    compile_ms: Annotated[float, Column("Compiling", unit="ms", kind="time")]


class BreakRow(Row):
    """One graph break: a line behind which a function could not be compiled on."""

    function: Annotated[str, Column("Function", kind="name")]
    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    file: Annotated[str, Column("File", kind="name")]
    line: Annotated[
        int, Column("Line", kind="number", help="Line at which the code after the break begins.")
    ]
    calls: Annotated[
        int, Column("Calls", kind="count", sort="desc", help="Calls of the code after the break.")
    ]
    host_ms: Annotated[
        float, Column("Host", unit="ms", kind="time", help="Host time of the code after the break.")
    ]


class TritonRow(Row):
    """One kernel of Triton's with tensors of one shape."""

    kernel: Annotated[str, Column("Kernel", kind="name")]
    kind: Annotated[str, Column("Kind", kind="category")]
    fused: Annotated[str, Column("Fused", kind="text", help="Ops that its name lists.")]
    shapes: Annotated[str, Column("Tensors", kind="text")]
    calls: Annotated[int, Column("Calls", kind="count")]
    device_time_us: Annotated[float, Column("Device time", unit="µs", kind="time", sort="desc")]
    avg_time_us: Annotated[float, Column("Per call", unit="µs", kind="time")]
    moved_bytes: Annotated[
        float,
        Column(
            "Moved", unit="B", kind="bytes", help="Lower bound: each tensor read or written once."
        ),
    ]
    memory_gbps: Annotated[float, Column("Memory", unit="GB/s", kind="rate")]
    memory_frac: Annotated[
        float,
        Column(
            "Of peak memory",
            unit="%",
            kind="ratio",
            help="Share of the peak bandwidth of this device model.",
        ),
    ]
    arguments: Annotated[str, Column("Arguments", kind="text", help="Blocks, warps and stages.")]
    source: Annotated[str, Column("Source", kind="text", help="File in Inductor's cache.")]


class GraphRow(Row):
    """One CUDA or HIP graph: all replays that run the same kernels in the same order."""

    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    graph: Annotated[int, Column("Graph", kind="number", help="Number, by first replay, from 1.")]
    replays: Annotated[int, Column("Replays", kind="count")]
    kernels_per_replay: Annotated[
        int, Column("Kernels", kind="count", help="Kernels of one replay, copies included.")
    ]
    first_kernel: Annotated[str, Column("First kernel", kind="name")]
    launch_us: Annotated[
        float, Column("Launch", unit="µs", kind="time", help="Mean time of a launch on the host.")
    ]
    device_ms: Annotated[
        float,
        Column("Device", unit="ms", kind="time", sort="desc", help="Busy time of all replays."),
    ]
    device_frac: Annotated[
        float, Column("Share", unit="%", kind="ratio", help="Share of the time of all devices.")
    ]
    replay_us: Annotated[
        float,
        Column(
            "Replay",
            unit="µs",
            kind="time",
            help="Mean length of a replay, from first begin to last end.",
        ),
    ]
    inside_gap_us: Annotated[
        float,
        Column(
            "Gaps inside",
            unit="µs",
            kind="time",
            help="Mean time in a replay in which nothing ran.",
        ),
    ]
    gap_before_us: Annotated[
        float,
        Column(
            "Gap before",
            unit="µs",
            kind="time",
            help="Mean idle time of the device before a replay.",
        ),
    ]
    longest_gap_us: Annotated[float, Column("Longest gap before", unit="µs", kind="time")]
    ops_from: Annotated[
        str,
        Column(
            "Ops from",
            kind="text",
            help="Source of the ops of its kernels, or the reason for having none.",
        ),
    ]


class GraphOpRow(Row):
    """An op that kernels of a CUDA or HIP graph come from."""

    host: Annotated[str, Column("Host", kind="name", hidden=True)]
    graph: Annotated[int, Column("Graph", kind="number")]
    op: Annotated[str, Column("Op", kind="name")]
    kernels_per_replay: Annotated[
        int, Column("Kernels", kind="count", help="Kernels in one replay.")
    ]
    replay_us: Annotated[
        float,
        Column(
            "Per replay",
            unit="µs",
            kind="time",
            sort="desc",
            help="Kernel time in the first replay.",
        ),
    ]
    replay_frac: Annotated[
        float,
        Column("Share", unit="%", kind="ratio", help="Share of the kernel time of the replay."),
    ]


@dataclass(frozen=True, slots=True)
class Options:
    """The page has no options."""


@dataclass(frozen=True, kw_only=True)
class CompiledRegions(Result):
    """Regions of torch.compile, graph breaks, Triton kernels, and replays of CUDA graphs.

    Attributes:
        compiles: Number of compilations in the recording.
        compile_ms: Time spent compiling.
        guard_ms: Time spent choosing the variant that fits.
        outside_ms: Device time launched outside of regions and graphs.
        regions: The compiled regions.
        breaks: Graph breaks, if stacks were recorded.
        triton: Triton kernels.
        graphs: CUDA and HIP graphs.
        graph_ops: Ops of the graphs, if their kernels also ran without one.
    """

    tool = "compiled_regions"
    compiles: int
    compile_ms: float
    guard_ms: float
    outside_ms: float
    regions: Table[RegionRow]
    breaks: Table[BreakRow]
    triton: Table[TritonRow]
    graphs: Table[GraphRow]
    graph_ops: Table[GraphOpRow]


def compiled_regions(profile: Profile, options: Options = Options()) -> CompiledRegions:
    """What was compiled on all hosts."""
    found = {host.name: compiled(host) for host in profile.hosts}
    whole = sum(int(device_events(host).duration_ps.sum()) for host in profile.hosts)
    told = {
        (host.name, graph): _ops_of_graph(host, graph, _recordings(profile))
        for host in profile.hosts
        for graph in np.unique(replays(host).graph).tolist()
    }
    graphs = [row for host in profile.hosts for row in _graph_rows(host, whole, told)]
    outside = ms(sum(one.outside_ps for one in found.values()))
    compiles = sum(one.compiles for one in found.values())
    result = CompiledRegions(
        compiles=compiles,
        compile_ms=ms(sum(one.compile_ps for one in found.values())),
        guard_ms=ms(sum(one.lookup_ps for one in found.values())),
        outside_ms=max(outside - sum(row["device_ms"] for row in graphs), 0.0),
        regions=_table(
            RegionRow, [row for one in found.items() for row in _region_rows(*one, whole)]
        ),
        breaks=_table(
            BreakRow,
            [
                {
                    "host": name,
                    "function": one.function,
                    "file": one.file,
                    "line": one.line,
                    "calls": one.calls,
                    "host_ms": ms(one.host_ps),
                }
                for name, host in found.items()
                for one in sorted(host.breaks, key=lambda one: -one.calls)
            ],
        ),
        triton=_table(TritonRow, [row for host in profile.hosts for row in _triton_rows(host)]),
        graphs=_table(GraphRow, graphs),
        graph_ops=_table(
            GraphOpRow, [row for host in profile.hosts for row in _graph_op_rows(host, told)]
        ),
    )
    return replace(result, diagnostics=(*_compiling(compiles), *_why_empty(profile, result)))


def _recordings(profile: Profile) -> Iterator[Host]:
    """Those of the profile, and those beside it, which are opened only if these do not do."""
    yield from profile.hosts
    yield from profile.beside()


def _table(schema: Any, rows: list[dict[str, Any]]) -> Table[Any]:
    sort = next((name for name, (_, one) in columns_of(schema).items() if one.sort), "")
    rows = sorted(rows, key=lambda row: -row[sort]) if sort else rows
    return Table.from_rows(schema, rows)


def _region_rows(host: str, found: CompiledCode, whole_ps: int) -> list[dict[str, Any]]:
    return [
        {
            "host": host,
            "region": one.name,
            "calls": one.calls,
            "host_ms": ms(one.host_ps),
            "self_ms": ms(one.self_ps),
            "device_ms": ms(one.device_ps),
            "device_frac": one.device_ps / whole_ps if whole_ps else 0.0,
            "kernels": one.kernels,
            "compiles": one.compiles,
            "compile_ms": ms(one.compile_ps),
        }
        for one in found.regions
    ]


def _triton_rows(host: Host) -> list[dict[str, Any]]:
    rows = []
    for one in triton_kernels(host):
        rate = one.bytes * one.calls / (one.device_ps / 1e12) if one.device_ps else nan
        peak = _memory_peak(host)
        rows.append(
            {
                "kernel": one.name,
                "kind": one.kind,
                "fused": one.fused,
                "shapes": one.shapes,
                "calls": one.calls,
                "device_time_us": us(one.device_ps),
                "avg_time_us": us(one.device_ps) / max(one.calls, 1),
                "moved_bytes": one.bytes,
                "memory_gbps": rate / 1e9,
                "memory_frac": rate / peak if rate <= peak else nan,
                "arguments": one.arguments,
                "source": one.file or one.hash,
            }
        )
    return rows


def _memory_peak(host: Host) -> float:
    """Bytes/s of the memory of the host's devices; unknown where they differ."""
    active = [one for one in devices(host) if one.has_events]
    peaks = {
        None if found is None else found.hbm_bytes
        for one in active
        for found in [model_peaks(one.type, as_integer(one.capabilities.get("core_count")))]
    }
    only = peaks.pop() if len(peaks) == 1 else None
    return nan if only is None else only


_Told = Mapping[tuple[str, int], tuple[Sequence[str], str]]


def _graph_op_rows(host: Host, told: _Told) -> list[dict[str, Any]]:
    rows = []
    for graph in np.unique(replays(host).graph).tolist():
        ops = told[host.name, graph][0]
        time = device_events(host).duration_ps[replayed_events(host, graph)]
        for op, kernels, op_ps in _op_counts(ops, time) if ops else ():
            rows.append(
                {
                    "host": host.name,
                    "graph": graph + 1,
                    "op": op or OUTSIDE_OPS,
                    "kernels_per_replay": kernels,
                    "replay_us": us(op_ps),
                    "replay_frac": op_ps / max(int(time.sum()), 1),
                }
            )
    return rows


def _graph_rows(host: Host, whole_ps: int, told: _Told) -> list[dict[str, Any]]:
    found: Replays = replays(host)
    rows = []
    for graph in np.unique(found.graph).tolist():
        mine = found.graph == graph
        gaps = found.gap_ps[mine & (found.gap_ps >= 0)]
        spans = (found.end_ps - found.start_ps)[mine]
        busy = int(found.busy_ps[mine].sum())
        first = int(found.first_kernel[mine][0])
        rows.append(
            {
                "host": host.name,
                "graph": graph + 1,
                "replays": int(mine.sum()),
                "kernels_per_replay": int(found.kernels[mine][0]),
                "first_kernel": host.space.event_metadata.name[first],
                "launch_us": us(float(found.launch_ps[mine].mean())),
                "device_ms": ms(busy),
                "device_frac": busy / whole_ps if whole_ps else 0.0,
                "replay_us": us(float(spans.mean())),
                "inside_gap_us": us(float((spans - found.busy_ps[mine]).mean())),
                "gap_before_us": us(float(gaps.mean())) if len(gaps) else nan,
                "longest_gap_us": us(int(gaps.max())) if len(gaps) else nan,
                "ops_from": told[host.name, graph][1],
            }
        )
    return rows


def _compiling(compiles: int) -> Iterator[Diagnostic]:
    if compiles:
        text = (
            f"{compiles} frames were compiled within the recording. Why, only PyTorch's log tells: "
            "run with TORCH_LOGS=recompiles, or TORCH_TRACE=FOLDER and tlparse."
        )
        yield Diagnostic("compiled-within", "warning", text)


def _why_empty(profile: Profile, found: CompiledRegions) -> Iterator[Diagnostic]:
    """Of each table without rows: whether there is nothing of it, or it was not recorded."""
    no_graph = "No CUDA or HIP graph was replayed in this recording."
    if not len(found.regions):
        yield _empty("regions", _no_regions(found))
    if not len(found.breaks):
        yield _no_breaks(profile, found)
    if not len(found.triton):
        yield _empty("triton", "No kernel of Triton's ran in this recording.")
    if not len(found.graphs):
        yield _empty("graphs", no_graph)
    if not len(found.graph_ops):
        untold = (
            "A replay does not say which ops its kernels come from, and no run of the same kernels "
            "outside of it was recorded: record the warm-up before the capture, too, in this file "
            "or in one beside it."
        )
        yield _empty("graph_ops", untold if len(found.graphs) else no_graph)


def _empty(table: str, message: str) -> Diagnostic:
    return Diagnostic(f"empty-{table}", "info", message)


def _no_regions(found: CompiledRegions) -> str:
    none = "No compiled region was called in this recording."
    if len(found.graphs):
        return f"{none} What is replayed from a graph calls none, even if it was compiled."
    return (
        f"{none} Older versions of PyTorch do not record the calls." if len(found.triton) else none
    )


def _no_breaks(profile: Profile, found: CompiledRegions) -> Diagnostic:
    if not len(found.regions):
        return _empty("breaks", "No compiled region was called, so none broke.")
    if any(python_lines(host) for host in profile.hosts):
        return _empty("breaks", "No function broke: none resumed in the recorded calls of Python.")
    text = (
        "Where functions break is known from Python's calls only, which were not recorded: "
        "torch.profiler.profile(with_stack=True)."
    )
    if len(found.regions) > 1:
        text += " Without, several regions may be breaks of one function or functions of their own."
    return _empty("breaks", text)


def _ops_of_graph(host: Host, graph: int, others: Iterable[Host]) -> tuple[Sequence[str], str]:
    """The ops of one of a host's graphs, by kernel, from the first recording that knows them.

    A replay says nothing of its kernels. PyTorch wants what a graph captures to be run once before,
    to warm up: its ops count if it ran the same kernels in a row, and nothing else did for other
    ops.

    Returns:
        They and where they are from; () and why not, where none ran the kernels, or several did.
    """
    metadata = host.space.events.metadata
    rows = device_events(host).rows[replayed_events(host, graph)]
    kernels = [host.space.event_metadata.name[entry] for entry in metadata[rows].tolist()]
    for one in chain((host,), (other for other in others if other is not host)):
        found = {ops for each in _runs(one) for ops in _ops_where_run(kernels, *each)}
        if len(found) == 1:
            where = "" if one is host else f" in {one.name}"
            return found.pop(), f"a run outside of graphs{where}"
    return (), NOT_SEEN


def _ops_where_run(
    wanted: Sequence[str], kernels: Sequence[str], ops: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """The ops of each place at which the wanted kernels ran in a row."""
    ran = np.asarray(kernels, object)
    at = np.arange(max(len(ran) - len(wanted) + 1, 0))
    for number, name in enumerate(wanted):
        at = at[ran[at + number] == name]
    yield from (ops[begin : begin + len(wanted)] for begin in at.tolist())


@derived
def _runs(host: Host) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """The kernels that ran outside of graphs, and the op of each ("" none), thread by thread."""
    calls, events, how = op_calls(host), device_events(host), launched(host)
    metadata, entries = host.space.event_metadata, host.space.events.metadata
    # As PyTorch writes ops.
    shown = [
        metadata.display_name[entry] or metadata.name[entry]
        for entry in entries[calls.rows].tolist()
    ]
    alone = np.flatnonzero((how.call >= 0) & ~from_graphs(host))
    found = []
    for thread in np.unique(how.thread[alone]).tolist():
        mine = alone[how.thread[alone] == thread]
        mine = mine[np.lexsort((events.start_ps[mine], how.start_ps[mine]))]
        ops = [shown[at] if at >= 0 else "" for at in calls.of_event[mine].tolist()]
        kernels = [metadata.name[entry] for entry in entries[events.rows[mine]].tolist()]
        found += [(tuple(kernels), tuple(ops))] if any(ops) else []
    return tuple(found)


def _op_counts(ops: Sequence[str], device_ps: I64) -> Iterator[tuple[str, int, int]]:
    """Each op of a graph with its kernels and their time, the longest first."""
    kernels: dict[str, list[int]] = {}
    for op, time in zip(ops, device_ps.tolist(), strict=True):
        kernels.setdefault(op, []).append(time)
    for op, times in sorted(kernels.items(), key=lambda one: (-sum(one[1]), one[0])):
        yield op, len(times), sum(times)


TOOL = Tool(
    id="compiled_regions",
    short="compiled",
    title="Compiled Regions",
    tab="Table",
    run=compiled_regions,
    options=Options,
    result=CompiledRegions,
    times_of=("recording",),
)
