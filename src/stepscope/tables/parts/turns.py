"""Ops that come many times in a row within a step: the turns of a loop that no line tells of.

Experts, heads, chunks of a batch, samples of a draw, a model that runs again: where Python was not
recorded, the sequence of PyTorch's ops, with the sizes they work on, shows that a loop runs them.
The layers of a model may be its turns as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.columns import distinct, rows_of, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.schema import names
from stepscope.tables.account.owners import CallSite, site_of
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.regions import region_name
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.thresholds import (
    COMPARED,
    DOZENS,
    FEW,
    GROWN,
    HALF_FRAC,
    LARGE_FRAC,
    LAYERS,
    OPS,
    REPEATS,
    SEVERAL,
)
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import host_names
from stepscope.tables.parts.gradients import place_of
from stepscope.tables.python.frames import Frames, frames
from stepscope.tables.steps.attribution import steps
from stepscope.tables.torch.autograd import NumberedOps, numbered_ops
from stepscope.tables.torch.launches import launched
from stepscope.tables.torch.op_calls import op_rows
from stepscope.tables.traits.updates import marked_updates

# Ops that make another view of what there is, or read one number: they come and go with versions
# of PyTorch, and tell nothing of a loop.
_VIEWED: Final = """
    _local_scalar_dense _unsafe_view alias as_strided chunk detach detach_ empty empty_like expand
    expand_as flatten item narrow permute reshape resolve_conj resolve_neg select slice split
    squeeze t to transpose unbind unflatten unsqueeze view view_as
"""
_VIEWS: Final = frozenset(_VIEWED.split())
# What a model's layers are made of, and experts, heads and chunks of a loop mostly are not.
_LAYERS: Final = re.compile(
    r"(?:layer|batch|group|instance|rms)_?norm|attention|multi_head|encoder_layer|conv\dd|lstm|gru"
)
# What a layer does with its weights, whatever is beside it; and what computes its gradient.
_PRODUCTS: Final = re.compile(
    r"(?:\b|_)(?:linear|addmm|matmul|b?mm|baddbmm|einsum)(?::|\b)|(?:Addmm|B?mm|Mm)Backward"
)
_OF_GRADIENTS: Final = "Backward"
# Ends the gradients of a parameter: once in a step, however often it is used.
_OF_PARAMETER: Final = "AccumulateGrad"


@dataclass(frozen=True, slots=True)
class Turns:
    """Ops of a step that come several times in a row.

    Attributes:
        ops: The ops of one turn that take longest, in the order in which they run, and how many of
            each it has.
        op_count: How many ops a turn has, views aside.
        times: How many turns come in a row; a mean, where they come at several places.
        places: At how many places of the step they do.
        after: Op that runs before the first iteration, at the first place; "" at the begin of the
            step.
        before: Op that runs after the last iteration, at the first place; "" at the end of the
            step.
        within: The range of the program's around all of it; "" where it marks none.
        is_same_size: Whether each turn works on the same sizes.
        is_layers: Whether they may be the layers of a model, or passes of one.
        is_training: Whether gradients go through them, whose time is in the share.
        step_frac: Share of the step that they take, with what lies between them: on the host or, if
            longer, on devices.
        ops_frac: Share of the time from the first to the last on the host that ops take.
        function: Function that calls most of the first iteration; "" if not recorded.
        file: File of that call; "" if not recorded.
        line: Line of that call; None if not recorded.
    """

    ops: str
    op_count: int
    times: float
    places: int
    after: str
    before: str
    within: str
    is_same_size: bool
    is_layers: bool
    is_training: bool
    step_frac: float
    ops_frac: float
    function: str = ""
    file: str = ""
    line: int | None = None


@derived
def turns(host: Host) -> Turns | None:
    """Those of a typical step whose loop takes most; None where no loop is a large part of it."""
    step = _typical_step(host)
    if step is None:
        return None
    called = _called(host, step)
    rows = _without_views(host, called)
    if len(rows) < FEW:
        return None
    meta = host.space.events.metadata[rows].astype(np.int64)
    sizes = event_stats(host).texts(names.SHAPE).at(rows)
    alike = None
    if (sizes >= 0).any():
        alike = _largest(host, step, called, rows, distinct_rows([meta, sizes])[1], FEW)
    of_any_size = _largest(host, step, called, rows, distinct_rows([meta])[1], SEVERAL)
    if of_any_size is None or (alike is not None and of_any_size.worth < GROWN * alike.worth):
        return None if alike is None else _told(host, step, rows, alike, is_same_size=True)
    return _told(host, step, rows, of_any_size, is_same_size=False)


@dataclass(frozen=True, slots=True)
class _Step:
    """A step to look at.

    Attributes:
        line: Row of the line of the loop's thread.
        begin_ps, end_ps: Of it.
    """

    line: int
    begin_ps: int
    end_ps: int


def _kept_steps(host: Host) -> list[_Step]:
    """The kept steps; empty where no thread is known to run the loop."""
    found = steps(host)
    if found is None or found.markers.thread < 0:
        return []
    times = zip(found.start_ps[found.kept].tolist(), found.end_ps[found.kept].tolist(), strict=True)
    return [_Step(found.markers.thread, begin, end) for begin, end in times]


def _typical_step(host: Host) -> _Step | None:
    """The kept step of median length."""
    listed = sorted(_kept_steps(host), key=lambda one: one.end_ps - one.begin_ps)
    return listed[len(listed) // 2] if listed else None


def _called(host: Host, step: _Step) -> I64:
    """Event rows of the ops that a step calls one after the other.

    Those of an optimizer's update are left out: it goes over parameters, and has a rule of its own.
    """
    space, line = host.space, host.space.lines[step.line]
    rows = np.arange(line.begin, line.end)
    start = space.events.start_ps[rows]
    rows = rows[(start >= step.begin_ps) & (start < step.end_ps)]
    rows = rows[np.argsort(space.events.start_ps[rows], kind="stable")]
    rows = rows[(marked_updates(host, rows)[0] < 0) & np.isin(rows, op_rows(host))]
    start = space.events.start_ps[rows]
    end = start + space.length_ps[rows]
    order = np.lexsort((-end, start))
    rows, start, last = rows[order], start[order], np.maximum.accumulate(end[order])
    called: I64 = rows[np.append(True, start[1:] >= last[:-1])[: len(rows)]]
    return called


def _without_views(host: Host, called: I64) -> I64:
    space = host.space
    is_view = np.asarray([_plain(one) in _VIEWS for one in space.event_metadata.name] or [False])
    rows: I64 = called[~is_view[space.events.metadata[called]]][:OPS]
    return rows


def _plain(name: str) -> str:
    """An op's name as programs write it: "linear" of "aten/linear:linear"."""
    return name.partition(":")[0].rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class _Loop:
    """Stretches of the same turns; what they take of the step, and ops of that on the host."""

    stretches: tuple[InARow, ...]
    step_frac: float
    ops_frac: float
    is_training: bool

    @property
    def times(self) -> float:
        return sum(one.times for one in self.stretches) / len(self.stretches)

    @property
    def worth(self) -> float:
        """The share of all but one of the turns."""
        return self.step_frac * (1 - 1 / self.times)


def _largest(
    host: Host, step: _Step, called: I64, rows: I64, kind: I64, least: int
) -> _Loop | None:
    """The loop with most of a step, of ops of the same kinds in the same order."""
    loops: dict[tuple[int, ...], list[InARow]] = {}
    for one in in_a_row(kind, least):
        body = sorted(kind[one.begin : one.begin + one.period].tolist())
        loops.setdefault(tuple(body), []).append(one)
    told = [_loop(host, step, called, rows, stretches) for stretches in loops.values()]
    return max(told, key=lambda one: one.worth, default=None)


def _loop(host: Host, step: _Step, called: I64, rows: I64, stretches: list[InARow]) -> _Loop:
    space, numbered = host.space, numbered_ops(host)
    first = rows[[one.begin for one in stretches]]
    last = rows[[one.end - 1 for one in stretches]]
    begin = space.events.start_ps[first]
    end = space.events.start_ps[last] + space.length_ps[last]
    begin, end = union_spans(begin, end)
    at = np.searchsorted(begin, space.events.start_ps[called], side="right") - 1
    inside = (at >= 0) & (space.events.start_ps[called] < end[np.maximum(at, 0)])
    ops = int(space.length_ps[called[inside]].sum())
    ops_frac = min(ops / max(_length(begin, end), 1), 1.0)
    thread = space.lines[step.line].id
    gradients = _gradients(numbered, thread, step, begin, end)
    spans = {thread: (begin, end)}
    for one in distinct(numbered.thread[gradients]).tolist():
        mine = gradients & (numbered.thread == one)
        known = spans.get(one, (begin[:0], end[:0]))
        spans[one] = union_spans(
            np.concatenate([known[0], numbered.start_ps[mine]]),
            np.concatenate([known[1], numbered.end_ps[mine]]),
        )
    on_host = union_spans(*(np.concatenate(edges) for edges in zip(*spans.values(), strict=True)))
    taken = max(_length(*on_host), _length(*_launched_in(host, step, spans)))
    whole = step.end_ps - step.begin_ps
    return _Loop(tuple(stretches), min(taken / whole, 1.0), ops_frac, bool(gradients.any()))


def _length(begin: I64, end: I64) -> int:
    return int((end - begin).sum())


def _gradients(numbered: NumberedOps, thread: int, step: _Step, begin: I64, end: I64) -> Bool:
    """Which numbered ops of a step compute gradients of what a thread runs in disjoint spans."""
    called = numbered.differentiated()
    start = numbered.start_ps[called]
    mine = (numbered.thread[called] == thread) & (start >= step.begin_ps) & (start < step.end_ps)
    called = called[mine]
    called = called[np.argsort(numbered.number[called], kind="stable")]
    # What an op calls has the numbers from its own to the next one's.
    place = np.searchsorted(numbered.number[called], numbered.number, side="right") - 1
    found: Bool = numbered.backward & (place >= 0)
    found &= (numbered.start_ps >= step.begin_ps) & (numbered.end_ps <= step.end_ps)
    if len(called):
        at = np.searchsorted(begin, numbered.start_ps[called], side="right") - 1
        inside = (at >= 0) & (numbered.start_ps[called] < end[np.maximum(at, 0)])
        found &= inside[np.maximum(place, 0)]
    return found


def _launched_in(host: Host, step: _Step, spans: dict[int, tuple[I64, I64]]) -> tuple[I64, I64]:
    """When devices run what threads launch within spans of theirs, in a step or after it."""
    events, calls = device_events(host), launched(host)
    chosen = np.zeros(len(calls.call), dtype=bool)
    for thread, (begin, end) in spans.items():
        mine = np.flatnonzero(calls.thread == thread)
        at = np.searchsorted(begin, calls.start_ps[mine], side="right") - 1
        chosen[mine] = (at >= 0) & (calls.start_ps[mine] < end[np.maximum(at, 0)])
    return union_spans(events.start_ps[chosen], events.end_ps[chosen])


def _told(host: Host, step: _Step, rows: I64, loop: _Loop, *, is_same_size: bool) -> Turns | None:
    if loop.step_frac < LARGE_FRAC:
        return None
    first = loop.stretches[0]
    turn = [_name(host, row) for row in rows[first.begin : first.begin + first.period].tolist()]
    is_layers = _are_layers(host, step, loop, turn)
    if not is_same_size and is_layers and any(map(_LAYERS.search, turn)):
        return None  # each of a network's layers has sizes of its own
    place = _place(host, step, rows, first) or CallSite("", "", 0, "")
    around = (first.begin - 1, first.end)
    after, before = ("" if not 0 <= at < len(rows) else _name(host, rows[at]) for at in around)
    return Turns(
        ops=_named(host, rows, first),
        op_count=first.period,
        times=loop.times,
        places=len(loop.stretches),
        after=after.partition(":")[0],
        before=before.partition(":")[0],
        within=_range_around(host, step, rows[first.begin], rows[loop.stretches[-1].end - 1]),
        is_same_size=is_same_size,
        is_layers=is_layers,
        is_training=loop.is_training,
        step_frac=loop.step_frac,
        ops_frac=loop.ops_frac,
        function=place.function,
        file=place.file,
        line=place.line if place.file else None,
    )


def _name(host: Host, row: int) -> str:
    name: str = host.space.event_metadata.name[host.space.events.metadata[row]]
    return name


def _are_layers(host: Host, step: _Step, loop: _Loop, turn: list[str]) -> bool:
    """Whether a model may have so many of them.

    A layer multiplies with weights of its own: where fewer parameters have gradients than there are
    turns, the turns share theirs. None computes its gradients before the next one runs.
    """
    is_named = any(map(_LAYERS.search, turn))
    if _has_backward(turn) or not (is_named or any(map(_PRODUCTS.search, turn))):
        return False
    events = host.space.events
    ends = rows_of(events.metadata, entries_named(host, lambda name: _OF_PARAMETER in name))
    start = events.start_ps[ends]
    owned = int(((start >= step.begin_ps) & (start < step.end_ps)).sum())
    if owned == 0:
        return loop.times <= LAYERS
    return owned >= loop.times * len(loop.stretches)


def _has_backward(turn: list[str]) -> bool:
    """Whether a turn has a pass and its gradients: a step of its own, or a sample's."""
    backward = [_OF_GRADIENTS in name for name in turn]
    forward = (name for name, is_of in zip(turn, backward, strict=True) if not is_of)
    return any(backward) and any(map(_PRODUCTS.search, forward))


def _range_around(host: Host, step: _Step, first: int, last: int) -> str:
    """The innermost range that the program marks around two events of a step."""
    space, line = host.space, host.space.lines[step.line]
    begin, end = space.events.start_ps[first], space.events.start_ps[last] + space.length_ps[last]
    is_op = host_names(host).op >= 0
    marks = entries_named(host, _is_range) & ~is_op
    rows = rows_of(space.events.metadata[line.begin : line.end], marks) + line.begin
    start = space.events.start_ps[rows]
    until = start + space.length_ps[rows]
    around = (start <= begin) & (until >= end) & (start >= step.begin_ps) & (until <= step.end_ps)
    rows = rows[around & (until - start < step.end_ps - step.begin_ps)]
    if len(rows) == 0:
        return ""
    return region_name(_name(host, rows[np.argmin(space.length_ps[rows])]))


def _is_range(name: str) -> bool:
    return bool(region_name(name)) and not name.startswith(names.PYTHON_CALL_MARK)


def _place(host: Host, step: _Step, rows: I64, one: InARow) -> CallSite | None:
    """Where the program calls most of the ops of a stretch from."""
    calls = frames(host, step.line, step.begin_ps, step.end_ps)
    if calls is None:
        return None
    if not calls.is_sampled:
        turn = rows[one.begin : one.begin + one.period]
        begin = host.space.events.start_ps[turn]
        return place_of(calls, begin, begin + host.space.length_ps[turn])
    spans = [_span(host, other, len(rows), one) for other in _kept_steps(host)[:DOZENS]]
    begin, end = np.asarray([each for each in spans if each], np.int64).T
    calls = frames(host, step.line, int(begin[0]), int(end[-1]))
    return None if calls is None else _seen_most(calls, begin, end)


def _span(host: Host, step: _Step, count: int, one: InARow) -> tuple[int, int] | None:
    """When a stretch runs in a step of as many ops as the one it was found in."""
    rows = _without_views(host, _called(host, step))
    if len(rows) != count:
        return None
    start, last = host.space.events.start_ps[rows[one.begin]], rows[one.end - 1]
    return int(start), int(host.space.events.start_ps[last] + host.space.length_ps[last])


def _seen_most(calls: Frames, begin_ps: I64, end_ps: I64) -> CallSite | None:
    """The line of the program's function that most looks within these spans saw."""
    looks, owner = calls.looks()
    at = np.searchsorted(begin_ps, looks, side="right") - 1
    seen = owner[(at >= 0) & (looks < end_ps[np.maximum(at, 0)])]
    seen = seen[seen >= 0]
    row = np.where(calls.line[seen] >= 0, calls.line[seen], calls.own[seen])
    row = row[row >= 0]
    if len(row) < FEW:
        return None
    own = np.where(calls.own[row] >= 0, calls.own[row], row)
    functions, code, often = np.unique(calls.name[own], return_inverse=True, return_counts=True)
    mine = row[code == int(often.argmax())]
    if len(mine) < HALF_FRAC * len(row) or len(functions) == 0:
        return None
    lines, first, count = np.unique(calls.name[mine], return_index=True, return_counts=True)
    return site_of(calls, int(mine[first[int(count.argmax())]])) if len(lines) else None


def _named(host: Host, rows: I64, one: InARow) -> str:
    """The ops of a turn that take longest: "2 aten/linear, aten/silu"."""
    space, whole = host.space, rows[one.begin : one.end]
    spent = space.length_ps[whole].reshape(one.times, one.period).sum(axis=0)
    total: dict[str, int] = {}
    count: dict[str, int] = {}
    for row, time in zip(whole[: one.period].tolist(), spent.tolist(), strict=True):
        name = space.event_metadata.name[space.events.metadata[row]].partition(":")[0]
        total[name] = total.get(name, 0) + time
        count[name] = count.get(name, 0) + 1
    named = sorted(total, key=lambda name: -total[name])[:FEW]
    return ", ".join(
        f"{number} {name}" if (number := count[name]) > 1 else name
        for name in total
        if name in named
    )


@dataclass(frozen=True, slots=True)
class InARow:
    """A stretch of a sequence that consists of the same again and again.

    Attributes:
        begin: Where it begins.
        period: Length of what repeats.
        times: How often it comes, whole.
    """

    begin: int
    period: int
    times: int

    @property
    def end(self) -> int:
        """One past the last of its whole turns."""
        return self.begin + self.period * self.times


def in_a_row(sequence: I64, least: int) -> list[InARow]:
    """All stretches in which the same comes ``least`` times or more, the shortest periods first.

    What repeats a shorter repetition is not listed again. Of a long sequence, periods that would
    take too long to look for are left out.
    """
    count = len(sequence)
    longest = min(count // least, COMPARED // max(count, 1))
    found: list[InARow] = []
    for period in range(1, longest + 1):
        same = np.concatenate([[False], sequence[period:] == sequence[:-period], [False]])
        edges = np.flatnonzero(same[1:] != same[:-1])
        length = edges[1::2] - edges[::2]
        long = np.flatnonzero(length >= (least - 1) * period)
        for begin, run in zip(edges[::2][long].tolist(), length[long].tolist(), strict=True):
            if not _is_within(found, period, begin, begin + run + period):
                found.append(InARow(begin, period, run // period + 1))
        if len(found) >= REPEATS:
            break
    return found


def _is_within(found: list[InARow], period: int, begin: int, end: int) -> bool:
    """Whether a shorter period explains a stretch."""
    return any(
        period % one.period == 0 and one.begin <= begin and end < one.end + one.period
        for one in found
    )
