"""tf.data bottleneck analysis: the iterator that is the bottleneck, and what to change."""

from __future__ import annotations

from math import nan
from typing import Annotated, Literal

import numpy as np

from stepscope.columns.space import I64
from stepscope.errors import UsageError
from stepscope.panels import BarChart, Figure, Headline, OwnChart, TableView, Terms
from stepscope.quantities import share_words, time_words
from stepscope.records import dataclass, replace
from stepscope.registry import Help, Tool
from stepscope.result import Column, Result, Row, Table, us
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.core.thresholds import SHORT_OP_PS
from stepscope.tables.tf_data.calls import Pipeline, pipelines
from stepscope.tables.tf_data.events import iterator_calls, leaf
from stepscope.verdicts.tf_data import (
    PipelineWait,
    holds_up,
    most_waited_for,
    node_facts,
    pipeline_ops,
    settings,
    stage_of,
    waiting,
)
from stepscope.verdicts.tf_data_changes import SAID, Change, changes, stage_kind

PipelineVerdict = Literal["input_bound", "healthy", "no_activity"]


class PipelineRow(Row):
    """One pipeline of one host. A call is slow if it takes longer than 50 µs."""

    host: Annotated[str, Column("Host", kind="name")]
    name: Annotated[str, Column("Input pipeline", kind="name")]
    calls: Annotated[int, Column("Calls", kind="count")]
    min_us: Annotated[float, Column("Min", unit="µs", kind="time")]
    mean_us: Annotated[float, Column("Mean", unit="µs", kind="time")]
    max_us: Annotated[float, Column("Max", unit="µs", kind="time")]
    slow_calls: Annotated[int, Column("Slow calls", kind="count", help="Calls longer than 50 µs.")]
    wait_ms: Annotated[
        float, Column("Waited", unit="ms", kind="time", sort="desc", help="Sum over all calls.")
    ]
    wait_frac: Annotated[
        float,
        Column(
            "Share",
            unit="%",
            kind="ratio",
            help="Mean wait ÷ time between calls; for a single call, ÷ its step or recording.",
        ),
    ]
    wait_of: Annotated[str, Column("Share of", kind="category")]
    incomplete_calls: Annotated[
        int,
        Column(
            "Not judged",
            kind="count",
            help="Calls whose data was in preparation as recording began.",
        ),
    ]
    bottleneck: Annotated[
        str, Column("Longest wait in", kind="name", help="Iterator with the longest wait.")
    ]
    bottleneck_us: Annotated[float, Column("Wait in it", unit="µs", kind="time")]
    holds_up: Annotated[bool, Column("Bottleneck", kind="flag")]


class NodeRow(Row):
    """One iterator of the chosen call (or of the mean call)."""

    node: Annotated[int, Column("Node", kind="number", hidden=True)]
    parent: Annotated[
        int,
        Column(
            "Asked by node",
            kind="number",
            hidden=True,
            help="Number of the node that requests from it; -1 for the root.",
        ),
    ]
    iterator: Annotated[str, Column("Iterator", kind="name")]
    long_name: Annotated[str, Column("Long name", kind="name")]
    start_us: Annotated[
        float,
        Column("Start", unit="µs", kind="time", help="First start, from the start of the call."),
    ]
    total_us: Annotated[
        float, Column("Total duration", unit="µs", kind="time", help="Sum over its calls.")
    ]
    self_us: Annotated[
        float,
        Column("Self time", unit="µs", kind="time", help="Total without overlap with children."),
    ]
    critical_us: Annotated[
        float,
        Column(
            "Waited for",
            unit="µs",
            kind="time",
            sort="desc",
            help="Time that the call waited for it; these sum to the call.",
        ),
    ]
    calls: Annotated[float, Column("Calls", kind="count", help="Mean number of calls.")]
    is_critical: Annotated[bool, Column("On the critical path", kind="flag")]
    is_bottleneck: Annotated[bool, Column("Bottleneck", kind="flag")]
    settings: Annotated[str, Column("Settings", kind="text")]


class OpRow(Row):
    """One op that ran inside the functions of the pipelines, on tf.data's threads."""

    host: Annotated[str, Column("Host", kind="name")]
    operation: Annotated[str, Column("Operation", kind="name")]
    type: Annotated[str, Column("Type", kind="category")]
    count: Annotated[int, Column("Count", kind="count")]
    self_time_ms: Annotated[float, Column("Self time", unit="ms", kind="time", sort="desc")]


@dataclass(frozen=True, slots=True)
class Knob:
    """One change to the pipeline that applies, and its predicted gain.

    Attributes:
        knob: prefetch, num_parallel_calls, cache, vectorised_map, interleave, early_shard,
            early_filter, threads, native_function, packed_files, whole_batches or offline.
        gain_us: Predicted decrease of the wait per call; None if it cannot be predicted.
        gain_frac: Predicted decrease as a share of the time between calls.
        change: Code to write.
        note: Assumption of the prediction.
    """

    knob: str
    gain_us: float | None
    gain_frac: float | None
    change: str
    note: str


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The iterator that is the bottleneck.

    Attributes:
        host: Host of the pipeline.
        pipeline: Name of the pipeline.
        iterator: Type of the iterator: the last part of the long name.
        long_name: ``Iterator::<downstream …>::<iterator>``, without instance numbers.
        kind: Work of the iterator: source, map, sequential …
        self_time_us: Mean time per call in which the program waited only for it.
        self_time_frac: Share of the wait.
        max_latency_us: Longest counted call of the pipeline.
        wait_frac: Share of ``wait_of`` that the program waits for the pipeline.
        wait_of: Base of ``wait_frac``.
        wait_us: Mean wait per call.
        parallelism: Maximum number of parallel calls of it.
        cores: Cores that tf.data may use; None if not recorded.
        threads: Threads that tf.data may use; None if not recorded.
        elements: Elements per batch.
        element_us: Mean time per element.
        overhead_frac: Share of its time outside the ops of its functions; None if unknown.
        python_frac: Share of its functions' op time in Python.
        read_frac: Share of its functions' op time in reading files.
        is_random: Whether its functions draw random numbers.
        is_repeated: Whether its elements are made again in every epoch.
        has_cache: Whether its elements are cached downstream.
        datasets: Datasets made per batch, by it or by a neighbouring flat_map or interleave.
        maker: The flat_map or interleave that makes the datasets.
        shape: Shape of the largest component of an element.
        size_bytes: Size of an element.
        kept_frac: Share of the maps' output that a filter keeps, at it or downstream of it.
    """

    host: str
    pipeline: str
    iterator: str
    long_name: str
    kind: str
    self_time_us: float
    self_time_frac: float
    max_latency_us: float
    wait_frac: float
    wait_of: str
    wait_us: float = nan
    parallelism: int = 1
    cores: int | None = None
    threads: int | None = None
    elements: float = nan
    element_us: float = nan
    overhead_frac: float | None = None
    python_frac: float = 0.0
    read_frac: float = 0.0
    is_random: bool = False
    is_repeated: bool = False
    has_cache: bool = False
    datasets: float = 0.0
    maker: str = ""
    shape: str = ""
    size_bytes: float = nan
    kept_frac: float = 1.0


@dataclass(frozen=True, slots=True)
class Graph:
    """The calls of one pipeline as a graph.

    Attributes:
        host: Host of the call.
        pipeline: Pipeline of the call.
        rank: Rank of the call, 0 the slowest; -1 for the mean of all counted calls.
        ranks: Number of calls to choose from.
        start_ms: Start of the call, from the host's origin; None for the mean.
        duration_us: Length of the call.
        is_judged: No if its data was in preparation before the recording began.
        nodes: Iterators of the call, downstream first; ``parent`` gives the edges.
    """

    host: str
    pipeline: str
    rank: int
    ranks: int
    start_ms: float | None
    duration_us: float
    is_judged: bool
    nodes: Table[NodeRow]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of tf_data_bottleneck_analysis."""

    graph_host: Annotated[str, Help("Host of the graph; by default the most input-bound.")] = ""
    pipeline: Annotated[str, Help('Pipeline of the graph, e.g. "Host:0".')] = ""
    rank: Annotated[int, Help("Call of the graph, 0 the slowest; -1 the mean of all calls.")] = -1


@dataclass(frozen=True, kw_only=True)
class TfDataBottleneckAnalysis(Result):
    """Which tf.data stage is the bottleneck, and what changing it gains.

    Attributes:
        verdict: Whether a pipeline is the bottleneck; "no_activity" if no tf.data ran.
        summary: The verdict in words.
        bottleneck: Iterator to change; None without one.
        knobs: Possible changes, largest predicted gain first.
        pipelines: One row per pipeline and host.
        graph: Iterators of one call, or of the mean call; None without pipelines.
        function_ops: Ops in the functions of the pipelines.
    """

    tool = "tf_data_bottleneck_analysis"
    verdict: PipelineVerdict
    summary: tuple[str, ...]
    bottleneck: Bottleneck | None
    knobs: tuple[Knob, ...]
    pipelines: Table[PipelineRow]
    graph: Graph | None
    function_ops: Table[OpRow]


@dataclass(frozen=True, slots=True)
class _Found:
    """A pipeline and the judgement on it."""

    host: Host
    pipeline: Pipeline
    waiting: PipelineWait
    holds_up: bool

    @property
    def wait_ps(self) -> int:
        """Σ of the judged calls."""
        return int(self.waiting.duration_ps[self.waiting.judged].sum())


def tf_data_bottleneck_analysis(
    profile: Profile, options: Options = Options()
) -> TfDataBottleneckAnalysis:
    """Judge every pipeline; explain the one that costs the program most."""
    found = []
    for host in profile.hosts:
        for pipeline in pipelines(host):
            judged = waiting(host, pipeline)
            found.append(_Found(host, pipeline, judged, holds_up(judged)))
    # Device pipelines only wait for host pipelines: they are the answer where nothing else is.
    found.sort(key=lambda one: (not one.holds_up, one.pipeline.is_device, -one.wait_ps))
    worst = found[0] if found and found[0].holds_up else None
    bottleneck, knobs = _explain(worst)
    return TfDataBottleneckAnalysis(
        verdict="no_activity" if not found else "input_bound" if bottleneck else "healthy",
        summary=_summary(found, bottleneck),
        bottleneck=bottleneck,
        knobs=knobs,
        pipelines=_pipeline_table(found),
        graph=_graph(found, options),
        function_ops=_function_ops(profile),
    )


def _explain(worst: _Found | None) -> tuple[Bottleneck | None, tuple[Knob, ...]]:
    if worst is None or worst.waiting.bottleneck < 0:
        return None, ()
    judged, pipeline = worst.waiting, worst.pipeline
    long_name = iterator_calls(worst.host).long_name[int(pipeline.nodes[judged.bottleneck])]
    spent = float(judged.critical_ps[judged.bottleneck])
    bottleneck = Bottleneck(
        host=worst.host.name,
        pipeline=pipeline.name,
        iterator=leaf(long_name),
        long_name=long_name,
        kind=stage_kind(long_name).value,
        self_time_us=us(spent),
        self_time_frac=spent / judged.wait_ps,
        max_latency_us=us(int(judged.duration_ps[judged.judged].max())),
        wait_frac=judged.wait_frac,
        wait_of=judged.period_of,
    )
    stage = stage_of(worst.host, pipeline, judged)
    found: tuple[Change, ...] = ()
    if stage is not None:
        found = changes(stage)
        bottleneck = replace(
            bottleneck,
            wait_us=us(stage.wait),
            element_us=us(stage.own_frac * stage.produce * stage.parallelism / stage.elements),
            **{name: getattr(stage, name) for name in SAID},
        )
    period = judged.period_ps
    return bottleneck, tuple(
        Knob(
            knob=one.knob,
            gain_us=None if one.gain is None else us(one.gain),
            gain_frac=None if one.gain is None or not period else one.gain / period,
            change=one.change,
            note=one.note,
        )
        for one in found
    )


def _summary(found: list[_Found], bottleneck: Bottleneck | None) -> tuple[str, ...]:
    if not found:
        return ("No tf.data activity was recorded.",)
    count = f"{len(found)} input pipeline{'s' if len(found) > 1 else ''}"
    slowest = max(found, key=lambda one: int(one.waiting.duration_ps.max()))
    latency = us(int(slowest.waiting.duration_ps.max()))
    if bottleneck is not None:
        felt = found[0].waiting.felt_frac
        part = f" Device work hides part of it: input costs {share_words(felt)} of each step."
        hidden = part if felt < bottleneck.wait_frac else ""
        return (
            f"Input-bound: the program spends {share_words(bottleneck.wait_frac)} of its time "
            "waiting for "
            f"pipeline {bottleneck.pipeline} of host {bottleneck.host}.{hidden}",
            f"The bottleneck is {bottleneck.iterator} ({bottleneck.long_name}): "
            f"{time_words(bottleneck.self_time_us / 1e3)} of each call, "
            f"{share_words(bottleneck.self_time_frac)} of the wait.",
        )
    if latency <= us(SHORT_OP_PS):
        return (
            f"Healthy: no call of {count} took longer than {us(SHORT_OP_PS):.0f} µs. If training "
            "is input-bound nevertheless, look at the other workers.",
        )
    up_to, share = time_words(latency / 1e3), share_words(slowest.waiting.wait_frac, 1)
    return (
        f"Healthy: there are slow calls in {count} (up to {up_to}), but waiting takes only {share} "
        "of the program's time or is hidden behind the devices' work.",
    )


def _pipeline_table(found: list[_Found]) -> Table[PipelineRow]:
    rows = [_pipeline_row(one) for one in found]
    rows.sort(key=lambda row: -float(str(row["wait_ms"])))
    fields = Table.empty(PipelineRow).columns
    return Table(PipelineRow, {name: [row[name] for row in rows] for name in fields})


def _pipeline_row(one: _Found) -> dict[str, object]:
    judged, names = one.waiting, iterator_calls(one.host).long_name
    time, has = judged.duration_ps, judged.bottleneck >= 0
    return {
        "host": one.host.name,
        "name": one.pipeline.name,
        "calls": len(time),
        "min_us": us(int(time.min())),
        "mean_us": us(float(time.mean())),
        "max_us": us(int(time.max())),
        "slow_calls": int((time > SHORT_OP_PS).sum()),
        "wait_ms": int(time.sum()) / 1e9,
        "wait_frac": judged.wait_frac,
        "wait_of": judged.period_of,
        "incomplete_calls": int(one.pipeline.starved.sum()),
        "bottleneck": names[int(one.pipeline.nodes[judged.bottleneck])] if has else "",
        "bottleneck_us": us(float(judged.critical_ps[judged.bottleneck])) if has else 0.0,
        "holds_up": one.holds_up,
    }


def _graph(found: list[_Found], options: Options) -> Graph | None:
    """The graph of the chosen pipeline and call."""
    chosen = [
        one
        for one in found
        if options.graph_host in ("", one.host.name) and options.pipeline in ("", one.pipeline.name)
    ]
    if not found:
        return None
    if not chosen:
        known = ", ".join(f"{one.host.name} {one.pipeline.name}" for one in found)
        pipeline = f"pipeline {options.pipeline!r}" if options.pipeline else "pipeline"
        where = f" on host {options.graph_host!r}" if options.graph_host else ""
        raise UsageError(
            f"There is no {pipeline}{where}.",
            hint=f"Known: {known}.",
        )
    one = chosen[0]
    duration = one.waiting.duration_ps
    if not -1 <= options.rank < len(duration):
        raise UsageError(
            f"There is no call of rank {options.rank}.",
            hint=f"Ranks go from 0 (slowest) to {len(duration) - 1}; -1 is the mean.",
        )
    if options.rank < 0:
        picked, start = np.flatnonzero(one.waiting.judged), None
    else:
        picked = np.argsort(-duration, kind="stable")[options.rank : options.rank + 1]
        start = float(iterator_calls(one.host).start_ps[one.pipeline.calls[picked[0]]]) / 1e9
    return Graph(
        host=one.host.name,
        pipeline=one.pipeline.name,
        rank=options.rank,
        ranks=len(duration),
        start_ms=start,
        duration_us=us(float(duration[picked].mean())),
        is_judged=bool(one.waiting.judged[picked].all()),
        nodes=_nodes(one, picked),
    )


def _nodes(one: _Found, picked: I64) -> Table[NodeRow]:
    """The iterators that ran in the picked calls (means over them), downstream first."""
    pipeline, names = one.pipeline, iterator_calls(one.host).long_name
    facts = node_facts(one.host, pipeline, pipeline.calls[picked])
    critical = pipeline.critical_ps[picked].mean(axis=0)
    keep = np.flatnonzero(facts.calls > 0)
    count = len(picked)
    bottleneck = most_waited_for(one.host, pipeline, critical)
    kept_names = [names[node] for node in pipeline.nodes[keep].tolist()]
    return Table(
        NodeRow,
        {
            "node": keep,
            "parent": facts.parent[keep],
            "iterator": [leaf(name) for name in kept_names],
            "long_name": kept_names,
            "start_us": facts.start_ps[keep] / 1e6,
            "total_us": facts.total_ps[keep] / 1e6 / count,
            "self_us": facts.self_ps[keep] / 1e6 / count,
            "critical_us": critical[keep] / 1e6,
            "calls": facts.calls[keep] / count,
            "is_critical": critical[keep] > 0,
            "is_bottleneck": keep == bottleneck,
            "settings": [
                ", ".join(f"{key}={value}" for key, value in settings(one.host, row).items())
                for row in facts.sample[keep].tolist()
            ],
        },
    )


def _function_ops(profile: Profile) -> Table[OpRow]:
    rows = [(host.name, op) for host in profile.hosts for op in pipeline_ops(host)]
    rows.sort(key=lambda row: -row[1].self_ps)
    return Table(
        OpRow,
        {
            "host": [host for host, _op in rows],
            "operation": [op.name for _host, op in rows],
            "type": [op.type for _host, op in rows],
            "count": [op.count for _host, op in rows],
            "self_time_ms": [op.self_ps / 1e9 for _host, op in rows],
        },
    )


TOOL = Tool(
    id="tf_data_bottleneck_analysis",
    short="tf_data",
    title="tf.data Bottleneck",
    tab="Input",
    run=tf_data_bottleneck_analysis,
    options=Options,
    result=TfDataBottleneckAnalysis,
    times_of=("recording",),
    page=(
        Headline(
            "{summary.0}",
            note="[{summary.1}][ {summary.2}][ {summary.3}]",
            tone="{verdict=input_bound?}input | {verdict=healthy?}device | other",
        ),
        Figure(
            "Bottleneck",
            "{bottleneck.iterator} | none",
            "of {bottleneck.pipeline} on {bottleneck.host} | no stage limits the program",
        ),
        Figure(
            "Waiting for it",
            "{bottleneck.self_time_us}",
            "per call[, {bottleneck.self_time_frac} of the wait]",
        ),
        Figure("Slowest call", "{bottleneck.max_latency_us}", "of the pipeline"),
        Figure("Waiting", "{bottleneck.wait_frac}", "of {bottleneck.wait_of}"),
        BarChart(
            "knobs",
            title="What to change",
            note="predicted gain of each change by itself: per call, and as a share of the time"
            " between calls",
            label="{knob}",
            value="gain_us",
            text="{gain_us}[, {gain_frac} of the time]",
        ),
        Terms(
            "knobs",
            title="Changes",
            name="{knob}",
            meaning="{gain_us} per call: | Gain not known:",
            text="{change}[. {note}]",
        ),
        BarChart(
            "pipelines",
            title="Slowest call of each pipeline",
            label="{name} on {host}",
            value="max_us",
            text="mean {mean_us}, most {max_us}",
            several=True,
        ),
        TableView(
            "pipelines",
            title="All input pipelines",
            note="Host pipelines run the program's tf.data stages; device pipelines get batches"
            " from a host pipeline and copy them. Slow calls are longer than 50 µs.",
            noun=("pipeline", "pipelines"),
            first=("host", "name"),
            main=True,
        ),
        OwnChart("pipeline_graph"),
        TableView(
            "function_ops",
            title="Ops inside pipeline functions",
            note="Ops that map, filter and similar stages ran on tf.data's threads.",
            noun=("op", "ops"),
            none="No ops were recorded inside pipeline functions: there are none, or they are"
            " Python.",
        ),
    ),
)
