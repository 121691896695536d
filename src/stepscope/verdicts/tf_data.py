"""Is a tf.data pipeline the bottleneck, and which iterator is the cause?"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import nan
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import event_stats as stats_of_event
from stepscope.columns import sum_by_key
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names as stat_names
from stepscope.tables.core.devices import devices
from stepscope.tables.core.op_name import OpCategory
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.thresholds import FAIR_FRAC, FEW, MANY, SHORT_OP_PS
from stepscope.tables.host.events import is_tf_data_thread, on_host_threads, timed_events
from stepscope.tables.host.ops import host_ops
from stepscope.tables.steps import bottleneck
from stepscope.tables.steps.attribution import steps
from stepscope.tables.tf_data.calls import Pipeline, pipelines, traced_calls
from stepscope.tables.tf_data.events import (
    WRAPPERS,
    Element,
    element,
    is_asynchronous,
    iterator_calls,
    leaf,
)
from stepscope.verdicts.tf_data_changes import Stage, StageKind, stage_kind

F64 = NDArray[np.float64]
_FILE_READERS = frozenset({"ReadFile", "WholeFileReaderV2", "ReaderReadV2"})
_RANDOM = re.compile(r"Random|Shuffle|Multinomial")


PeriodOf = Literal["time between calls", "its step", "the recording"]


@dataclass(frozen=True, eq=False, slots=True)
class PipelineWait:
    """The program's wait for a pipeline.

    Attributes:
        duration_ps: Of each call.
        judged: The calls the judgement is over: not starved, unless all are.
        period_ps: Mean time from call to call; of a single call, of what ``period_of`` says.
        period_of: What waiting is a share of.
        wait_ps: Mean duration of the judged calls.
        wait_frac: Share of the program's time spent in calls.
        felt_frac: The part of it that no device work hides; equal to it without devices.
        critical_ps: Mean critical time per judged call, by node.
        bottleneck: Position in ``Pipeline.nodes`` of the iterator with the most; -1 without any.
    """

    duration_ps: I64
    judged: Bool
    period_ps: float
    period_of: PeriodOf
    wait_ps: float
    wait_frac: float
    felt_frac: float
    critical_ps: F64
    bottleneck: int


def waiting(host: Host, pipeline: Pipeline) -> PipelineWait:
    """Judge a pipeline over all its calls: one odd call decides nothing."""
    calls = iterator_calls(host)
    start = calls.start_ps[pipeline.calls]
    duration = calls.end_ps[pipeline.calls] - start
    judged = ~pipeline.starved if not pipeline.starved.all() else np.ones(len(start), dtype=bool)
    critical = pipeline.critical_ps[judged].mean(axis=0)
    bottleneck = most_waited_for(host, pipeline, critical)
    wait = float(duration[judged].mean())
    period, period_of = _period(host, start, start + duration, judged)
    period = max(period, wait)
    frac = min(wait / period, 1.0) if period > 0 else 1.0
    felt = step_input_frac(host)
    if felt is None or not any(device.has_events for device in devices(host)):
        felt = frac
    return PipelineWait(
        duration, judged, period, period_of, wait, frac, min(frac, felt), critical, bottleneck
    )


def most_waited_for(host: Host, pipeline: Pipeline, critical_ps: F64) -> int:
    """Position of the node with the most critical time; -1 without any.

    Wrappers never count. A prefetch does no work: what it is waited for is the hand-over, mostly
    a thread that wakes up late, so it is named only where no stage at work has a fair share.
    """
    names = iterator_calls(host).long_name
    leaves = [leaf(names[node]) for node in pipeline.nodes.tolist()]
    stage = np.where([one not in WRAPPERS for one in leaves], critical_ps, 0.0)
    at_work = np.where([one != "Prefetch" for one in leaves], stage, 0.0)
    if at_work.max(initial=0.0) >= FAIR_FRAC * critical_ps.sum():
        stage = at_work
    return int(stage.argmax()) if stage.max(initial=0.0) > 0 else -1


def _period(host: Host, start: I64, end: I64, judged: Bool) -> tuple[float, PeriodOf]:
    """Mean time from the start of a judged call to the next, in ps.

    A single call has the step that it falls into; outside of steps, the whole recording.
    """
    gaps = np.diff(start)
    if len(gaps):
        mean = gaps[judged[:-1]].mean() if judged[:-1].any() else gaps.mean()
        return float(mean), "time between calls"
    found = steps(host)
    if found is not None:
        around = found.kept & (found.start_ps < end[0]) & (found.end_ps > start[0])
        if around.any():
            return float(found.duration_ps[around].sum()), "its step"
    return float(_recorded_ps(host)), "the recording"


@derived
def _recorded_ps(host: Host) -> int:
    """From the first to the last moment of the host's threads."""
    events = host.space.events
    on_thread = on_host_threads(host) & timed_events(host)
    if not on_thread.any():
        return 0
    start = events.start_ps[on_thread]
    return int((start + host.space.length_ps[on_thread]).max() - start.min())


def holds_up(found: PipelineWait) -> bool:
    """Whether the pipeline is slow and the program feels it.

    It is slow when calls take longer than 50 µs, as XProf has it; the program feels it when
    waiting takes 5 % of its time. With devices, what counts is the wait that no device work hides.
    """
    is_slow = bool(found.duration_ps[found.judged].max(initial=0) > SHORT_OP_PS)
    return is_slow and found.felt_frac >= bottleneck.INPUT_SOME_FRAC


def step_input_frac(host: Host) -> float | None:
    """Share of the kept steps spent waiting for input; None without steps."""
    found = steps(host)
    if found is None or not found.kept.any():
        return None
    total = int(found.duration_ps[found.kept].sum())
    return int(found.parts_ps["input"][found.kept].sum()) / total if total else None


@dataclass(frozen=True, eq=False, slots=True)
class NodeFacts:
    """Sums per node of a pipeline, over some of its calls, in the order of ``Pipeline.nodes``.

    Attributes:
        calls: How often each ran.
        start_ps: First start, relative to the root call's.
        total_ps, self_ps: Σ duration and Σ self time.
        parent: Position of the node that asks for its elements (-1: the root).
        sample: An event row of each (-1: none).
    """

    calls: I64
    start_ps: I64
    total_ps: I64
    self_ps: I64
    parent: I64
    sample: I64


def node_facts(host: Host, pipeline: Pipeline, roots: I64) -> NodeFacts:
    """Facts of each node over the calls ``roots`` (rows in ``IteratorCalls``)."""
    calls, traced = iterator_calls(host), traced_calls(host)
    size = len(pipeline.nodes)
    place = np.full(max(len(calls.long_name), 1), -1, dtype=np.int64)
    place[pipeline.nodes] = np.arange(size)
    rows = np.flatnonzero((traced.root >= 0) & np.isin(traced.root, roots))
    node = place[calls.node[rows]]
    first = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(first, node, calls.start_ps[rows] - calls.start_ps[traced.root[rows]])
    parent = np.full(size, -1, dtype=np.int64)
    caused = rows[calls.cause[rows] >= 0]
    parent[place[calls.node[caused]]] = place[calls.node[calls.cause[caused]]]
    sample = np.full(size, -1, dtype=np.int64)
    sample[node] = calls.rows[rows]
    return NodeFacts(
        calls=np.bincount(node, minlength=size),
        start_ps=first,
        total_ps=sum_by_key(node, (calls.end_ps - calls.start_ps)[rows], size),
        self_ps=sum_by_key(node, traced.self_ps[rows], size),
        parent=parent,
        sample=sample,
    )


def settings(host: Host, sample: int) -> dict[str, str]:
    """Return an iterator's settings from its event, such as parallelism and batch_size."""
    if sample < 0:
        return {}
    skipped = ("id", "parent_id", stat_names.ELEMENT_SHAPES, stat_names.ELEMENT_TYPES, "group_id")
    return {
        name: str(value)
        for name, value in stats_of_event(host.space, sample)
        if name not in skipped and not name.startswith("_")
    }


def stage_of(host: Host, pipeline: Pipeline, found: PipelineWait) -> Stage | None:
    """The bottleneck as the model of gains needs it; None without one."""
    if found.bottleneck < 0 or found.wait_ps <= 0:
        return None
    calls, names = iterator_calls(host), iterator_calls(host).long_name
    facts = node_facts(host, pipeline, pipeline.calls[found.judged])
    path = names[pipeline.nodes[found.bottleneck]]
    own = settings(host, int(facts.sample[found.bottleneck]))
    root = settings(host, int(calls.rows[pipeline.calls[0]]))
    upstream = [
        share
        for node, share in zip(pipeline.nodes.tolist(), found.critical_ps.tolist(), strict=True)
        if names[node].startswith(f"{path}::")
    ]
    downstream = path.split("::")[1:-1]
    ops = pipeline_ops(host)
    share = float(found.critical_ps[found.bottleneck]) / found.wait_ps
    count = max(int(found.judged.sum()), 1)
    cores = _number(root.get("cpu_budget"))
    parallelism = _number(own.get("parallelism"))
    if parallelism is None:  # not recorded yet, or the stage has no such setting
        parallelism = (cores or 1) if "Parallel" in leaf(path) + own.get("name", "") else 1
    parallelism = max(parallelism, 1)
    long_names = [names[node] for node in pipeline.nodes.tolist()]
    size = _element(host, int(facts.sample[found.bottleneck]))
    datasets, maker = _datasets(path, long_names, facts)
    return Stage(
        long_name=path,
        wait=found.wait_ps,
        compute=max(found.period_ps - found.wait_ps, 0.0),
        own_frac=share,
        upstream_frac=sum(upstream) / found.wait_ps,
        parallelism=parallelism,
        cores=cores,
        elements=_elements(own, int(facts.calls[found.bottleneck]) / count),
        overhead_frac=_overhead(ops, int(facts.self_ps[found.bottleneck]) * parallelism),
        threads=_number(root.get("threadpool_size")),
        python_frac=_time_frac(ops, stat_names.PYTHON_OPS.__contains__),
        read_frac=_time_frac(ops, _FILE_READERS.__contains__),
        is_random=any(_RANDOM.search(op.type) for op in ops) and not _maps_after(path),
        is_repeated=any("Repeat" in part for part in downstream)
        or _is_passed_again(host, pipeline),
        shards=_shards(host, facts, path, names, pipeline),
        runs_ahead=any(is_asynchronous(part) for part in path.split("::")[1:]),
        has_cache=any("Cache" in part for part in downstream),
        batches=leaf(path).startswith("MapAndBatch") or _are_batched(downstream),
        datasets=datasets / count,
        maker=maker,
        shape="" if size is None else size.largest,
        size_bytes=nan if size is None else float(size.size),
        kept_frac=_kept(path, long_names, facts),
    )


# What hands elements on as they are, in whatever order.
_HANDS_ON = ("Shuffle", "Repeat", "Prefetch", "Take", "Skip", "Shard")


def _are_batched(downstream: list[str]) -> bool:
    """Whether what a stage makes is put into batches next, but for stages that hand it on."""
    after = (part for part in reversed(downstream) if not part.startswith(_HANDS_ON))
    return "Batch" in next(after, "")


def _maps_after(path: str) -> bool:
    """Whether a later stage has a function, too: random numbers are drawn last, as a rule."""
    parts = path.split("::")
    around = ("::".join(parts[:depth]) for depth in range(2, len(parts)))
    return any(stage_kind(one) is StageKind.MAP for one in around)


def _is_passed_again(host: Host, pipeline: Pipeline) -> bool:
    """Whether an iterator of the same stages is through when this one begins, or begins after it.

    So loops over epochs ask, Keras' among them. One that has its batches ready, made before the
    recording, is only seen to hand them over.
    """
    found = iterator_calls(host)

    def seen(one: Pipeline) -> tuple[set[int], int, int]:
        begin, last = found.start_ps[one.calls[[0, -1]]].tolist()
        return set(one.nodes.tolist()), begin, last

    nodes, begin, last = seen(pipeline)
    for one in pipelines(host):
        others, first, end = seen(one)
        same = nodes & others
        is_apart = end < begin or first > last
        is_pass = min(len(one.calls), len(pipeline.calls)) > 1
        if is_apart and is_pass and len(same) >= FEW and same in (nodes, others):
            return True
    return False


def _datasets(path: str, long_names: list[str], facts: NodeFacts) -> tuple[float, str]:
    """How many datasets a flat_map or interleave made, and which: that at, around or below a stage.

    Around ``path`` it is the innermost, else the nearest that hands its elements on to it. It asks
    one iterator for what it makes a dataset of, and those datasets for their elements, so that
    neither is asked less often than there are datasets; 0 where only one of them is seen.
    """
    makers = [
        place for place, name in enumerate(long_names) if stage_kind(name) is StageKind.INTERLEAVE
    ]
    around = [place for place in makers if f"{path}::".startswith(f"{long_names[place]}::")]
    below = [place for place in makers if long_names[place].startswith(f"{path}::")]
    if not around and not below:
        return 0.0, ""
    chosen = (
        max(around, key=lambda place: len(long_names[place]))
        if around
        else min(below, key=lambda place: len(long_names[place]))
    )
    asked = facts.calls[facts.parent == chosen]
    return (float(asked.min()) if len(asked) > 1 else 0.0), long_names[chosen]


def _kept(path: str, long_names: list[str], facts: NodeFacts) -> float:
    """The least share of what it asks for that a filter at ``path``, or downstream of it, keeps.

    What no map has made yet costs nothing to throw away.
    """
    kept = [1.0]
    for place, name in enumerate(long_names):
        if leaf(name) != "Filter" or not f"{path}::".startswith(f"{name}::"):
            continue
        inside = [one for one in long_names if one.startswith(f"{name}::")]
        asked = int(facts.calls[facts.parent == place].max(initial=0))
        if asked >= MANY and any(stage_kind(one) is StageKind.MAP for one in inside):
            kept.append(min(int(facts.calls[place]) / asked, 1.0))
    return min(kept)


def _elements(own: dict[str, str], calls: float) -> float:
    """Elements the stage handles per batch: of a fused map and batch, the batch."""
    return float(_number(own.get("batch_size")) or calls)


def _time_frac(ops: tuple[PipelineOp, ...], is_one: Callable[[str], bool]) -> float:
    """Share of the ops' time in those of some types."""
    whole = sum(op.self_ps for op in ops)
    return sum(op.self_ps for op in ops if is_one(op.type)) / whole if whole else 0.0


def _shards(
    host: Host, facts: NodeFacts, path: str, long_names: list[str], pipeline: Pipeline
) -> int:
    """Into how many parts the elements of ``path`` are divided downstream of it."""
    for node, sample in zip(pipeline.nodes.tolist(), facts.sample.tolist(), strict=True):
        name = long_names[node]
        if leaf(name).startswith("Shard") and path.startswith(f"{name}::"):
            return max(_number(settings(host, sample).get("num_shards")) or 1, 1)
    return 1


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


@dataclass(frozen=True, slots=True)
class PipelineOp:
    """An op that ran on tf.data's threads: what the functions of its stages consist of."""

    name: str
    type: str
    count: int
    self_ps: int


@derived
def pipeline_ops(host: Host) -> tuple[PipelineOp, ...]:
    """Ops on tf.data's threads, without the iterators themselves, by self time."""
    found, lines = host_ops(host), host.space.lines
    is_pipeline = np.asarray([is_tf_data_thread(line.name) for line in lines] or [False])
    is_iterator = np.asarray([op.category is OpCategory.TF_DATA for op in found.ops] or [False])
    keep = is_pipeline[host.space.lines_of(found.rows)] & found.is_execution
    keep &= ~is_iterator[found.op]
    size = len(found.ops)
    time = sum_by_key(found.op[keep], found.self_ps[keep], size)
    count = np.bincount(found.op[keep], minlength=size)
    order = np.argsort(-time, kind="stable")
    return tuple(
        PipelineOp(found.ops[row].name, found.ops[row].type, int(count[row]), int(time[row]))
        for row in order.tolist()
        if count[row]
    )


def _overhead(ops: tuple[PipelineOp, ...], stage_ps: int) -> float | None:
    """Share of a stage's time outside the ops of its function; None where no op was recorded."""
    inside = sum(op.self_ps for op in ops)
    if not inside or not stage_ps:
        return None
    return max(1 - inside / stage_ps, 0.0)


def _element(host: Host, row: int) -> Element | None:
    if row < 0:
        return None
    said = dict(stats_of_event(host.space, row))
    return element(
        str(said.get(stat_names.ELEMENT_SHAPES, "")), str(said.get(stat_names.ELEMENT_TYPES, ""))
    )
