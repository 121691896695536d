"""Steps that somebody marked: the program, its framework, or the device."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from stepscope.columns import rows_of
from stepscope.columns.space import I64, Bool
from stepscope.schema import names
from stepscope.schema.numbers import whole_number
from stepscope.tables.core.planes import LineKind, PlaneKind, lines_of, planes
from stepscope.tables.core.presence import (
    Stretch,
    any_event,
    any_stretch,
    entries_starting,
    stat_rows,
)
from stepscope.tables.core.processes import processes
from stepscope.tables.core.profile import Host
from stepscope.tables.core.recording_gaps import crosses_gap
from stepscope.tables.core.stats import event_stats
from stepscope.tables.host.events import host_thread_rows
from stepscope.tables.steps.calls import outermost
from stepscope.tables.steps.found import Markers


def annotated(host: Host) -> Markers | None:
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
    # A hook marks what the program does not; where both did, the program's marks count.
    by_program = rows[~np.isin(rows, stats.texts(names.MARKED_BY).rows)]
    rows = outermost(host, by_program if len(by_program) else rows)
    if len(rows) == 0:
        return None
    labels = _labels(host, rows)
    own, others = _choose_kind(labels)
    apart = np.sort(space.events.start_ps[rows[~own]])
    labels, rows = [label for label, is_own in zip(labels, own, strict=True) if is_own], rows[own]
    nums = number.at(rows, -1)
    texts = nums.astype(str).tolist()
    # PyTorch's marks have their number in their name: ProfilerStep#4.
    bare = [label.removesuffix(f"#{num}") for label, num in zip(labels, texts, strict=True)]
    what = ", ".join(f"{label!r}" for label in dict.fromkeys(bare[:1000]))
    found = _markers(
        host,
        rows,
        nums,
        "markers",
        1.0,
        f"{counted(len(rows))} marked by the program ({what}).{others}",
        [
            label if label != stem else f"{label} {num}"
            for label, stem, num in zip(labels, bare, texts, strict=True)
        ],
    )
    return _told_from_optimizer(host, found) or replace(found, others_ps=apart)


# What Keras calls its steps of each kind. Of several kinds the first is the loop; the others come
# between rounds of it.
_KINDS = ("train", "test", "predict")


def _labels(host: Host, rows: I64) -> list[str]:
    """What each mark is called: by its name, or by its kind where all have one name (TF 2.2)."""
    space, kinds = host.space, event_stats(host).texts(names.GRAPH_TYPE)
    labels = [space.event_metadata.name[m] for m in space.events.metadata[rows]]
    told = dict(zip(kinds.rows.tolist(), (kinds.texts[code] for code in kinds.codes), strict=True))
    return [
        told.get(row, label) if label == names.TRACE_CONTEXT else label
        for row, label in zip(rows.tolist(), labels, strict=True)
    ]


def _choose_kind(labels: list[str]) -> tuple[Bool, str]:
    """Which marks are of the loop, where steps of several kinds are marked; and what was left out.

    A mean over steps of a training and batches of an evaluation is of neither.
    """
    kinds = [kind for kind in _KINDS if kind in labels]
    if len(kinds) < 2 or not set(labels) <= set(_KINDS):
        return np.ones(len(labels), dtype=bool), ""
    own = np.asarray([label == kinds[0] for label in labels])
    left = " and ".join(f"{labels.count(kind):,} of {kind!r}" for kind in kinds[1:])
    return own, f" Those of another kind are not counted: {left}."


def _told_from_optimizer(host: Host, found: Markers) -> Markers | None:
    """The steps, if it was not the program that marked them, but the converter of its trace.

    PyTorch's traces are given steps that last from one end of the optimizer's step to the next.
    The one that the recording began in is added: it has an end like the others.
    """
    rows = _rows_named(host, names.PYTORCH_OPTIMIZER[0])
    ends = host.space.events.start_ps[rows] + host.space.length_ps[rows]
    is_told = np.isin(found.start_ps, ends)
    # A session that begins at a step has no end of the one before.
    is_told[1:] |= crosses_gap(host, found.end_ps[:-1], found.start_ps[1:])
    if not len(rows) or not is_told[1:].all() or not np.isin(found.end_ps, ends).all():
        return None
    line = host.space.lines[found.line]
    begin = int(host.space.events.start_ps[line.begin : line.end].min())
    first = int(found.start_ps[0])
    is_added = begin < first
    start = np.concatenate([[begin], found.start_ps]) if is_added else found.start_ps
    count = len(start)
    turns = round(len(ends) / count)
    told = f"rounds of {turns} optimizer steps recur" if turns > 1 else "the optimizer stepped"
    num = np.arange(count, dtype=np.int64) + int(found.num[0]) - is_added
    return replace(
        found,
        source="framework",
        confidence=0.9,
        explanation=f"{counted(count)} found from the ends of the optimizer's steps; none was "
        "marked by the program.",
        num=num,
        name=[f"step {number}" for number in num.tolist()],
        start_ps=start,
        end_ps=np.concatenate([[first], found.end_ps]) if is_added else found.end_ps,
        mark_end_ps=np.concatenate([[first], found.end_ps]) if is_added else found.end_ps,
        certainty="likely",
        reason=f"{told} {count} times",
        is_first_open=is_added,
    )


def pytorch(host: Host) -> Markers | None:
    """PyTorch's ``ProfilerStep#N`` spans."""
    rows = outermost(host, _rows_named(host, names.PYTORCH_STEP))
    if len(rows) == 0:
        return None
    labels = [host.space.event_metadata.name[m] for m in host.space.events.metadata[rows]]
    nums = np.asarray([_number_in(label) for label in labels], dtype=np.int64)
    why = f"{counted(len(rows))} marked by torch.profiler's step()."
    return _markers(host, rows, nums, "markers", 1.0, why, labels)


def keras(host: Host) -> Markers | None:
    """Keras' TensorBoard callback: ``Profiled batch`` spans around each batch."""
    rows = outermost(host, _rows_named(host, names.KERAS_BATCH))
    if len(rows) == 0:
        return None
    # Keras numbers them through all epochs; older versions wrote no number.
    numbers = event_stats(host).ints(names.STEP_NUM)
    nums = numbers.at(rows, -1)
    nums = nums if (nums >= 0).all() else np.arange(len(rows), dtype=np.int64)
    what = "1 batch" if len(rows) == 1 else f"{len(rows)} batches"
    found = _markers(
        host,
        rows,
        nums,
        "framework",
        0.95,
        f"{what} marked by Keras.",
        [f"batch {num}" for num in nums.tolist()],
    )
    # Between its callback's end of a batch and its begin of the next, fit calls other callbacks.
    return replace(found, between="between the batches that Keras marks, where callbacks run")


def device_steps(host: Host) -> Markers | None:
    """The ``Steps`` lines of devices (native on TPUs; derived by a viewer on GPUs).

    Devices run the same steps side by side; a step is as long as on the device where it takes
    longest (reference §2.4). Spans of different devices are not joined: replicas may also run one
    after the other.
    """
    space = host.space
    lines = [space.lines[row] for row in lines_of(host, LineKind.STEPS)]
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
        explanation=f"{counted(len(distinct))} from the Steps line of {where}.",
        num=distinct[order],
        name=[str(num) for num in distinct[order].tolist()],
        start_ps=start,
        end_ps=end,
        line=-1,
        mark_end_ps=end,
        certainty="certain",
        reason="the devices' own line of steps says so",
    )


def has_annotated(host: Host) -> bool:
    """Whether ``annotated`` finds any, from the first event that says so."""
    if not {names.STEP_NUM, names.ROOT_LEVEL} <= stat_rows(host).keys():
        return False

    def is_marked(stretch: Stretch) -> bool:
        numbered = stretch.has(names.STEP_NUM)
        return bool(numbered.any() and (stretch.ints(names.ROOT_LEVEL, 0)[numbered] > 0).any())

    return any_stretch(host, host_thread_rows(host).tolist(), is_marked)


def has_pytorch(host: Host) -> bool:
    """Whether ``pytorch`` finds any."""
    entries = entries_starting(host, names.PYTORCH_STEP)
    return any_event(host, host_thread_rows(host).tolist(), entries=entries, timed=False)


def has_device_steps(host: Host) -> bool:
    """Whether ``device_steps`` finds any."""
    lines = (host.space.lines[row] for row in lines_of(host, LineKind.STEPS))
    return any(line.end > line.begin for line in lines)


def _markers(
    host: Host, rows: I64, nums: I64, source: str, confidence: float, why: str, labels: list[str]
) -> Markers:
    events = host.space.events
    own = _choose_process(host, rows)
    rows, nums = rows[own], nums[own]
    labels = [labels[index] for index in np.flatnonzero(own).tolist()]
    order = np.argsort(events.start_ps[rows], kind="stable")
    rows = rows[order]
    start = events.start_ps[rows]
    end = start + host.space.length_ps[rows]
    # Markers of several threads may overlap: a step ends where the next begins.
    end[:-1] = np.minimum(end[:-1], np.maximum(start[1:], start[:-1]))
    return Markers(
        source=source,
        confidence=confidence,
        explanation=why,
        num=nums[order],
        name=[labels[i] for i in order],
        start_ps=start,
        end_ps=end,
        line=_line_with_most(host, rows),
        mark_end_ps=end,
        certainty="certain",
        reason="each step is marked in the recording",
    )


def _line_with_most(host: Host, rows: I64) -> int:
    """The line of the thread that most of the marked time is on."""
    lines = host.space.lines_of(rows)
    return int(np.bincount(lines, weights=host.space.length_ps[rows]).argmax())


def _choose_process(host: Host, rows: I64) -> Bool:
    """Which rows are of one process: the recorded one, else the child that marks most.

    Processes run in parallel, so their steps do not follow one another.
    """
    process = processes(host).of_rows(host, rows)
    counts = np.bincount(process)
    own: Bool = process == (0 if counts[0] else counts.argmax())
    return own


def _rows_named(host: Host, prefix: str) -> I64:
    """Rows of host events whose name begins so."""
    space, kinds = host.space, planes(host).plane_kind
    metadata = space.event_metadata
    is_host = np.asarray([kind is PlaneKind.HOST for kind in kinds], dtype=bool)
    return rows_of(space.events.metadata, entries_starting(host, prefix) & is_host[metadata.plane])


def _number_in(label: str) -> int:
    found = re.search(r"\d+", label)
    number = whole_number(found.group()) if found else None
    return -1 if number is None else number


def counted(steps: int) -> str:
    """A number of steps in words, such as "1,000 steps"."""
    return "1 step" if steps == 1 else f"{steps:,} steps"
