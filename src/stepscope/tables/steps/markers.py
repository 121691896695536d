"""Finding steps: one finder per source, tried in order of trust.

A finder looks at one host and returns step spans, or None. What is found says how it was found
and how sure that is; "none" is an answer too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stepscope.columns import rows_of
from stepscope.columns.space import I64
from stepscope.schema import names
from stepscope.tables.core.planes import LineKind, PlaneKind, planes
from stepscope.tables.core.presence import Stretch, any_event, any_stretch, entries_named, stat_rows
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.device.events import device_entries, device_rows
from stepscope.tables.host.events import Work, host_names, host_thread_rows, is_tf_data_thread


@dataclass(frozen=True, slots=True)
class Markers:
    """Step spans of one host, ascending and disjoint.

    Attributes:
        source: "markers", "device_steps", "framework" or "inferred".
        confidence: 0–1.
        explanation: What the steps are, for a person.
        num: Step numbers as recorded, or the order.
        name: Name of each step.
        start_ps, end_ps: Half-open spans.
        line: Row of the line the markers are on (-1: a device).
    """

    source: str
    confidence: float
    explanation: str
    num: I64
    name: list[str]
    start_ps: I64
    end_ps: I64
    line: int

    def __len__(self) -> int:
        return len(self.num)


@derived
def step_markers(host: Host) -> Markers | None:
    """The host's steps from the most trustworthy source that has any."""
    for find in _FINDERS:
        found = find(host)
        if found is not None:
            return found
    return None


def has_steps(host: Host) -> bool:
    """Whether ``step_markers`` finds steps.

    Marks and the steps of devices are seen in the first of their events. Only what is told from
    the spacing of calls and kernels takes all of them.
    """
    threads = host_thread_rows(host).tolist()
    if any(find(host, threads) for find in (_has_annotated, _has_pytorch, _has_device_steps)):
        return True
    return step_markers(host) is not None


def _has_annotated(host: Host, threads: list[int]) -> bool:
    if not {names.STEP_NUM, names.ROOT_LEVEL} <= stat_rows(host).keys():
        return False

    def is_marked(stretch: Stretch) -> bool:
        numbered = stretch.has(names.STEP_NUM)
        return bool(numbered.any() and (stretch.ints(names.ROOT_LEVEL, 0)[numbered] > 0).any())

    return any_stretch(host, threads, is_marked)


def _has_pytorch(host: Host, threads: list[int]) -> bool:
    entries = entries_named(host, lambda name: name.startswith(names.PYTORCH_STEP))
    return any_event(host, threads, entries=entries, timed=False)


def _has_device_steps(host: Host, _threads: list[int]) -> bool:
    lines = (host.space.lines[row] for row in _lines(host, LineKind.STEPS))
    return any(line.end > line.begin for line in lines)


def _annotated(host: Host) -> Markers | None:
    """Events that the program marked as steps: ``_r`` roots with a ``step_num``."""
    space, stats = host.space, event_stats(host)
    number, level = stats.ints(names.STEP_NUM), stats.ints(names.ROOT_LEVEL)
    rows = number.rows[level.at(number.rows, 0) > 0]
    if len(rows) == 0:
        text = space.event_metadata.name
        named = [
            text[m].startswith(names.STEP_MARKER_NAMES) for m in space.events.metadata[number.rows]
        ]
        rows = number.rows[np.asarray(named, dtype=bool)] if named else rows
    rows = rows[np.isin(space.lines_of(rows), host_thread_rows(host))]
    rows = _outermost(host, rows)
    if len(rows) == 0:
        return None
    nums = number.at(rows, -1)
    labels = [space.event_metadata.name[m] for m in space.events.metadata[rows]]
    what = ", ".join(f"{label!r}" for label in dict.fromkeys(labels[:1000]))
    return _markers(
        host, rows, nums, "markers", 1.0,
        f"{_count(len(rows))} marked by the program ({what} with step_num).",
        [f"{label} {num}" for label, num in zip(labels, nums.tolist(), strict=True)],
    )  # fmt: skip


def _pytorch(host: Host) -> Markers | None:
    """PyTorch's ``ProfilerStep#N`` spans."""
    rows = _rows_named(host, lambda name: name.startswith(names.PYTORCH_STEP))
    rows = _outermost(host, rows)
    if len(rows) == 0:
        return None
    labels = [host.space.event_metadata.name[m] for m in host.space.events.metadata[rows]]
    nums = np.asarray([_number_in(label) for label in labels], dtype=np.int64)
    return _markers(
        host,
        rows,
        nums,
        "markers",
        1.0,
        f"{_count(len(rows))} marked by torch.profiler's step().",
        labels,
    )


def _keras(host: Host) -> Markers | None:
    """Keras 3's TensorBoard callback: ``Profiled batch`` spans around each batch."""
    rows = _outermost(host, _rows_named(host, lambda name: name.startswith(names.KERAS_BATCH)))
    if len(rows) < 2:
        return None
    nums = np.arange(len(rows), dtype=np.int64)
    return _markers(
        host, rows, nums, "framework", 0.95, f"{len(rows)} batches marked by Keras.",
        [f"batch {num}" for num in nums.tolist()],
    )  # fmt: skip


def _device_steps(host: Host) -> Markers | None:
    """The ``Steps`` lines of devices (native on TPUs; derived by a viewer on GPUs).

    Devices run the same steps side by side; a step is as long as on the device where it takes
    longest (reference §2.4). Spans of different devices are not joined: replicas may also run one
    after the other.
    """
    space = host.space
    lines = [space.lines[row] for row in _lines(host, LineKind.STEPS)]
    rows = np.concatenate([np.arange(one.begin, one.end) for one in lines] or [np.zeros(0, int)])
    if len(rows) == 0:
        return None
    in_order = np.concatenate([np.arange(one.end - one.begin) for one in lines])
    text = [space.event_metadata.name[meta] for meta in space.events.metadata[rows]]
    nums = np.asarray([_number_in(label) for label in text], dtype=np.int64)
    nums = np.where(nums >= 0, nums, in_order)
    longest = np.lexsort((-space.length_ps[rows], nums))
    distinct, first = np.unique(nums[longest], return_index=True)
    chosen = rows[longest[first]]
    start = space.events.start_ps[chosen]
    order = np.argsort(start, kind="stable")
    start = start[order]
    end = start + space.length_ps[chosen[order]]
    end[:-1] = np.minimum(end[:-1], start[1:])
    seen = [space.planes[one.plane].name for one in lines if one.end > one.begin]
    where = ", ".join([*dict.fromkeys(seen)][:4])
    return Markers(
        source="device_steps",
        confidence=0.9,
        explanation=f"{_count(len(distinct))} from the Steps line of {where}.",
        num=distinct[order],
        name=[str(num) for num in distinct[order].tolist()],
        start_ps=start,
        end_ps=end,
        line=-1,
    )


def _modules(host: Host) -> Markers | None:
    """TPU programs: the XLA module with the most device time, run by run."""
    space = host.space
    for row in _lines(host, LineKind.MODULES):
        line = space.lines[row]
        rows = np.arange(line.begin, line.end, dtype=np.int64)
        picked = _dominant(host, rows)
        if picked is None:
            continue
        rows, name = picked
        return _calls(host, rows, f"runs of the XLA module {name}", 0.8)
    return None


def _root_calls(host: Host) -> Markers | None:
    """The compiled function that the main thread calls over and over: each call begins a step."""
    space, stats = host.space, event_stats(host)
    is_func = stats.ints(names.IS_FUNC)
    compiled = is_func.rows[is_func.values > 0]
    pjit = _rows_named(host, lambda name: name.startswith(names.PJIT_FUNCTION))
    for rows, what in ((pjit, "jit calls"), (compiled, "tf.function calls")):
        rows = rows[np.isin(space.lines_of(rows), host_thread_rows(host))]
        picked = _dominant(host, _outermost(host, rows))
        if picked is not None:
            rows, name = picked
            return _calls(host, rows, f"{what} of {name}" if what == "jit calls" else what, 0.7)
    return None


def _input_calls(host: Host) -> Markers | None:
    """An eager loop: each fetch of a batch on the main thread begins a step."""
    space, work = host.space, host_names(host)
    rows = rows_of(space.events.metadata, work.is_input)
    keep = [
        r for r in host_thread_rows(host).tolist() if not is_tf_data_thread(space.lines[r].name)
    ]
    rows = _outermost(host, rows[np.isin(space.lines_of(rows), np.asarray(keep, dtype=np.int32))])
    if len(rows) < 3:
        return None
    return _calls(host, rows, "fetches of an input batch", 0.6)


def _periodic(host: Host) -> Markers | None:
    """Kernels that repeat: the launch sequence's period gives the step.

    The anchor is the kernel whose occurrences are the most evenly spaced among those that occur
    a handful of times or more; unevenness lowers the confidence, and too much of it is no step.
    """
    events, rows = host.space.events, device_rows(host)
    if len(rows) < 6:
        return None
    computes = device_entries(host, lambda work: work >= Work.COMPUTE_32)
    kernels = rows[computes[events.metadata[rows]]]
    if len(kernels) == 0:
        return None
    plane = np.asarray([line.plane for line in host.space.lines], dtype=np.int64)
    device = plane[host.space.lines_of(kernels)]
    kernels = kernels[device == np.bincount(device).argmax()]
    kernels = kernels[np.lexsort((events.start_ps[kernels], events.metadata[kernels]))]
    cuts = np.flatnonzero(np.diff(events.metadata[kernels])) + 1
    best: tuple[float, I64] | None = None
    for own in np.split(events.start_ps[kernels], cuts):
        if len(own) < 4:
            continue
        gaps = np.diff(own).astype(np.float64)
        spread = float(gaps.std() / gaps.mean()) if gaps.mean() > 0 else np.inf
        if spread < 0.25 and (best is None or (spread, -len(own)) < (best[0], -len(best[1]))):
            best = (spread, own)
    if best is None:
        return None
    spread, start = best
    return Markers(
        source="inferred",
        confidence=round(max(0.3, 0.7 - 1.5 * spread), 2),
        explanation=f"{len(start) - 1} steps inferred from a kernel that repeats evenly "
        f"(spacing varies by {spread:.0%}); no step was marked.",
        num=np.arange(len(start) - 1, dtype=np.int64),
        name=[f"inferred {i}" for i in range(len(start) - 1)],
        start_ps=start[:-1],
        end_ps=start[1:],
        line=-1,
    )


_CALLS_FLOOR = 0.35

_FINDERS: tuple[Callable[[Host], Markers | None], ...] = (
    _annotated,
    _pytorch,
    _keras,
    _device_steps,
    _modules,
    _root_calls,
    _input_calls,
    _periodic,
)


def _markers(
    host: Host, rows: I64, nums: I64, source: str, confidence: float, why: str, labels: list[str]
) -> Markers:
    events = host.space.events
    order = np.argsort(events.start_ps[rows], kind="stable")
    rows = rows[order]
    start = events.start_ps[rows]
    end = start + host.space.length_ps[rows]
    # Markers of several threads may overlap: a step ends where the next begins.
    end[:-1] = np.minimum(end[:-1], np.maximum(start[1:], start[:-1]))
    line = int(host.space.lines_of(rows[:1])[0])
    return Markers(
        source, confidence, why, nums[order], [labels[i] for i in order], start, end, line
    )


def _calls(host: Host, rows: I64, what: str, confidence: float) -> Markers | None:
    """Steps from the start of one call to the start of the next (the last has no end).

    Uneven spacing lowers the confidence: a loop calls its step evenly, a set-up phase calls
    helpers as it goes. Below a floor there are no steps rather than wrong ones.
    """
    start = np.sort(host.space.events.start_ps[rows])
    if len(start) < 3:
        return None
    low, middle, high = np.percentile(np.diff(start), (25, 50, 75))
    confidence = confidence / (1 + (high - low) / max(middle, 1))
    if confidence < _CALLS_FLOOR:
        return None
    return Markers(
        source="framework",
        confidence=round(float(confidence), 2),
        explanation=f"{len(start) - 1} steps taken from {what}, start to start; none was marked.",
        num=np.arange(len(start) - 1, dtype=np.int64),
        name=[f"call {i}" for i in range(len(start) - 1)],
        start_ps=start[:-1],
        end_ps=start[1:],
        line=int(host.space.lines_of(rows[:1])[0]),
    )


def _rows_named(host: Host, wanted: Callable[[str], bool]) -> I64:
    """Rows of host events whose name is wanted."""
    space, kinds = host.space, planes(host).plane_kind
    metadata = space.event_metadata
    is_wanted = np.asarray(
        [
            wanted(name) and kinds[plane] is PlaneKind.HOST
            for name, plane in zip(metadata.name, metadata.plane.tolist(), strict=True)
        ]
        or [False]
    )
    return rows_of(space.events.metadata, is_wanted)


def _outermost(host: Host, rows: I64) -> I64:
    """Rows that no other of these rows encloses on the same line."""
    if len(rows) < 2:
        return rows
    events, line = host.space.events, host.space.lines_of(rows)
    start = events.start_ps[rows]
    end = start + host.space.length_ps[rows]
    order = np.lexsort((-end, start, line))
    line_, end_ = line[order], end[order]
    first = np.diff(line_, prepend=-1) != 0
    reach = end_.copy()
    for begin, stop in pairwise([*np.flatnonzero(first).tolist(), len(end_)]):
        np.maximum.accumulate(end_[begin:stop], out=reach[begin:stop])
    before = np.concatenate([[np.iinfo(np.int64).min], reach[:-1]])
    keep = first | (end_ > before)
    return np.sort(rows[order[keep]])


def _dominant(host: Host, rows: I64) -> tuple[I64, str] | None:
    """The rows of the name with the most time among those that occur three times or more."""
    if len(rows) == 0:
        return None
    space = host.space
    meta = space.events.metadata[rows]
    time = np.bincount(meta, weights=space.length_ps[rows].astype(np.float64))
    count = np.bincount(meta)
    time[count < 3] = -1
    best = int(time.argmax())
    if time[best] < 0:
        return None
    return rows[meta == best], space.event_metadata.name[best]


def _lines(host: Host, kind: LineKind) -> list[int]:
    return [row for row, one in enumerate(planes(host).line_kind) if one is kind]


def _number_in(label: str) -> int:
    found = re.search(r"\d+", label)
    return int(found.group()) if found else -1


def _count(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps:,} steps"
