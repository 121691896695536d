"""Steps of engines that serve language models: which requests each put together, and its time.

vLLM and SGLang mark each step of their loop with what is in its batch. A step lasts until the next
begins; what its thread launches until then belongs to it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns import sum_by_key
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.schema.serving_marks import SGLANG_STEP, VLLM_STEP
from stepscope.tables.core.presence import any_event, entries_named
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.time_spans import union_by_group
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import host_thread_rows
from stepscope.tables.torch.launches import from_graphs, launched
from stepscope.tables.torch.regions import spans

PREFILL, DECODE, MIXED, OTHER = "prefill", "decode", "mixed", "other"
_SGLANG_KINDS: Final = {"DECODE": DECODE, "EXTEND": PREFILL, "MIXED": MIXED, "PREFILL": PREFILL}


@dataclass(frozen=True, slots=True)
class Batch:
    """The batch of a step.

    Attributes:
        kind: "prefill", "decode", "mixed" or "other".
        requests: How many; -1 where the mark does not say it.
        tokens: Tokens that it computed; -1 where the mark does not say it.
    """

    kind: str
    requests: int
    tokens: int


@dataclass(frozen=True, eq=False, slots=True)
class EngineSteps:
    """One row per step, in order of begin.

    Attributes:
        batch: Index into ``batches``.
        batches: The batches.
        start_ps: Begin of the mark on the host.
        host_ps: Length of the mark.
        device_ps: Time in which anything of what the step launched ran.
        graph_ps: Device time, added up, of what a graph launched.
        kernels: What it launched.
        span_ps: From the begin of that on the device to its end; 0 where it launched nothing.
        gap_ps: Of the device before it: from the end of the work of the steps before; -1 where
            there is none.
    """

    batch: I64
    batches: tuple[Batch, ...]
    start_ps: I64
    host_ps: I64
    device_ps: I64
    graph_ps: I64
    kernels: I64
    span_ps: I64
    gap_ps: I64

    def __len__(self) -> int:
        return len(self.batch)


def batch_of(name: str) -> Batch | None:
    """The batch that an engine's mark tells of; None for other names."""
    found = VLLM_STEP.match(name)
    if found:
        prefills, prefilled, decodes, decoded = (int(one[:15] or 0) for one in found.groups())
        kind = MIXED if prefills and decodes else PREFILL if prefills else DECODE
        return Batch(kind, prefills + decodes, prefilled + decoded)
    found = SGLANG_STEP.match(name)
    if found:
        kind, size, tokens = found.groups()
        kind = _SGLANG_KINDS.get(kind.upper(), OTHER)
        requests = int(size[:15]) if size else -1
        # A decoding step computes one token of each request.
        computed = int(tokens[:15]) if tokens else requests if kind == DECODE else -1
        return Batch(kind, requests, computed)
    return None


def has_serving_steps(host: Host) -> bool:
    """Whether an engine marked a step."""
    entries = entries_named(host, lambda name: batch_of(name) is not None)
    return any_event(host, host_thread_rows(host).tolist(), entries=entries)


@derived
def serving_steps(host: Host) -> EngineSteps:
    """The steps of a host."""
    # Engines mark one step several times, one mark inside of the other.
    marks = spans(host, lambda text: None if batch_of(text) is None else text)
    rows = np.flatnonzero(marks.is_outer)
    rows = rows[np.argsort(marks.start_ps[rows], kind="stable")]
    batches = tuple(filter(None, map(batch_of, marks.names)))
    start, thread = marks.start_ps[rows], marks.thread[rows]
    return _with_devices(host, batches, marks.name[rows], start, marks.end_ps[rows] - start, thread)


def _with_devices(
    host: Host, batches: tuple[Batch, ...], batch: I64, start: I64, length: I64, thread: I64
) -> EngineSteps:
    """The steps with what ran for them on the devices."""
    events, launches = device_events(host), launched(host)
    size = len(start)
    step = np.full(len(events), -1, np.int64)
    for number in np.unique(thread).tolist():
        own = np.flatnonzero(thread == number)
        mine = np.flatnonzero(launches.thread == number)
        at = np.searchsorted(start[own], launches.start_ps[mine], side="right") - 1
        step[mine] = np.where(at >= 0, own[np.maximum(at, 0)], -1)
    has = np.flatnonzero(step >= 0)
    begin, end = events.start_ps[has], events.end_ps[has]
    first = np.full(size, np.iinfo(np.int64).max)
    last = np.zeros(size, np.int64)
    np.minimum.at(first, step[has], begin)
    np.maximum.at(last, step[has], end)
    kernels = np.bincount(step[has], minlength=size).astype(np.int64)
    of_graph = has[from_graphs(host)[has]]
    until = np.maximum.accumulate(last) if size else last
    before = np.append(0, until[:-1])[:size]
    known = (kernels > 0) & (np.append(0, np.cumsum(kernels)[:-1])[:size] > 0)
    return EngineSteps(
        batch=batch,
        batches=batches,
        start_ps=start,
        host_ps=length,
        device_ps=union_by_group(step[has], begin, end, size),
        graph_ps=sum_by_key(step[of_graph], events.duration_ps[of_graph], size),
        kernels=kernels,
        span_ps=np.where(kernels > 0, last - first, 0),
        gap_ps=np.where(known, np.maximum(first - before, 0), -1),
    )
