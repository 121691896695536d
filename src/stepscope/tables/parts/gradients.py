"""Gradients that a step need not compute, and passes without gradients.

While PyTorch records gradients, each op takes a number that its gradient carries. A number that no
gradient carries was kept for nothing (``unused_graph``); a number that several carry was computed
again (``repeated_gradients``); more parameters with gradients than an optimizer updates are
unclaimed (``unclaimed_gradients``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct, distinct_keys, rows_of, sum_by_key, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.result import Place, ms
from stepscope.schema import names
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import CallSite, Owner, site_of, time_by_family
from stepscope.tables.core.interval_overlap import covered, span_at
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.regions import is_of_backward, prepares_backward
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.thresholds import HALF_FRAC, NEARLY_ALL_FRAC, PART_FRAC
from stepscope.tables.host.events import Work, host_names, timed_rows
from stepscope.tables.host.tapes import TAPE
from stepscope.tables.in_steps.host_activity import torch_dispatches
from stepscope.tables.in_steps.optimizer_updates import step_of_torch
from stepscope.tables.python.frames import Frames
from stepscope.tables.torch.autograd import NumberedOps, numbered_ops
from stepscope.tables.traits.gradient_names import (
    DIGITS,
    apart_from_gradients,
)
from stepscope.tables.traits.op_families import PRODUCTS
from stepscope.tables.traits.updates import after_model


@dataclass(frozen=True, slots=True)
class NeedlessGradients:
    """Gradients that were prepared and never computed, computed again, or never used.

    Attributes:
        time_ms: Per step, of the forward ops whose gradients nothing computed, of all but the
            first time that gradients were computed, or of the gradients that nothing uses. Where
            shapes do not tell these, all are taken to cost as much.
        ops: How many of them, per step; or in how many parameters a backward pass ends.
        times: How often each is computed; 0 where none is.
        updated, is_all: Of parameters, how many are updated; whether nothing computes a gradient.
        longest, function, file, line, caller: The op that most of their time is of, and where most
            is called from; "" and None where no line was recorded.
    """

    time_ms: float
    ops: float
    times: float
    longest: str
    function: str
    file: str
    line: int | None
    caller: str
    updated: float = 0.0
    is_all: bool = False

    @property
    def place(self) -> Place | None:
        """Where most of it is called from; None where no line was recorded."""
        if not self.function:
            return None
        return Place(self.function, self.file, self.line or 0, self.caller)


def _needless(
    found: Account,
    time_ps: int,
    ops: int,
    longest: str,
    place: CallSite | None,
    *,
    times: float = 0.0,
    updated: int = 0,
    is_all: bool = False,
) -> NeedlessGradients:
    """Return such work per step; the number of updated parameters is of each step already."""
    at, count = place or CallSite("", "", 0, ""), int(found.found.kept.sum())
    line = at.line if at.file else None
    each = ops if updated else ops / count
    return NeedlessGradients(
        ms(time_ps) / count, each, times, longest, at.function, at.file, line, at.caller, updated,
        is_all,
    )  # fmt: skip


def unused_graph(host: Host, found: Account) -> NeedlessGradients | None:
    """None where every forward op on the loop's thread has its gradient, or needs none."""
    if found.line < 0:
        return None
    numbered, steps = numbered_ops(host), found.found
    if not numbered.backward.any() and any(map(_tells_of_backward, host.space.event_metadata.name)):
        return None  # gradients ran, or will, and the recording does not say whose
    mine = _unused(numbered) & (numbered.thread == host.space.lines[found.line].id)
    mine &= ~_for_others(host, found.line, numbered.start_ps)
    begin, until = numbered.start_ps[mine], numbered.end_ps[mine]
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    inside = (until > start[0]) & (begin < end[-1])
    begin, until, rows = begin[inside], until[inside], numbered.row[mine][inside]
    spans = union_spans(begin, until)
    time = int(covered(*spans, start, end).sum())
    if time == 0:
        return None
    longest, place = longest_name(host, rows, until - begin), place_of(found.frames, *spans)
    is_all = not numbered.backward.any()
    return _needless(found, time, len(begin), longest, place, is_all=is_all)


def _tells_of_backward(name: str) -> bool:
    """Whether an event of this name is of a backward pass, or prepares one that is to come."""
    return is_of_backward(name) or prepares_backward(name)


def _unused(ops: NumberedOps) -> Bool:
    """Forward ops whose number was used up, and that no gradient carries."""
    forward = ~ops.backward
    if not forward.any():
        return forward
    carried = distinct(ops.number[ops.backward])
    # Every op says the next number, until one takes it.
    taken = ops.number < int(ops.number[forward].max())
    unused: Bool = forward & taken & ~np.isin(ops.number, carried)
    if len(carried):  # what follows the last gradient may have had its own after the recording
        unused &= ops.end_ps <= int(ops.start_ps[ops.backward].max())
    return unused & ~_around_others(ops, forward & np.isin(ops.number, carried))


def _around_others(ops: NumberedOps, used: Bool) -> Bool:
    """Whether an op is made of others that have their gradients.

    Such an op says the number that the first op in it takes, and that may be one whose result it
    drops: a product looks at its factor transposed before it decides how to multiply.
    """
    around = np.zeros(len(ops.row), dtype=bool)
    for thread in distinct(ops.thread[used]).tolist():
        mine = ops.thread == thread
        begin = np.sort(ops.start_ps[used & mine])
        first = np.searchsorted(begin, ops.start_ps[mine])
        around[mine] = np.append(begin, np.iinfo(np.int64).max)[first] < ops.end_ps[mine]
    return around


def _for_others(host: Host, line: int, at_ps: I64) -> Bool:
    """Whether a backward pass or a compiler runs then, whose forward ops have no gradients.

    Checkpoints of activations compute them again, and the gradients carry the numbers of the first
    time. A compiler traces ops to see what they are, with tensors that hold nothing.
    """
    compiles = host_names(host).work == Work.COMPILE
    rows = timed_rows(host, entries_shaped(host, is_of_backward) | compiles)
    one = host.space.lines[line]
    rows = rows[(rows >= one.begin) & (rows < one.end)]
    begin = host.space.events.start_ps[rows]
    return span_at(*union_spans(begin, begin + host.space.length_ps[rows]), at_ps) >= 0


def longest_name(host: Host, rows: I64, length: I64) -> str:
    """The name that most of the time of some events is of."""
    names, of = host.space.event_metadata.name, host.space.events.metadata[rows].astype(np.int64)
    first, code = distinct_keys(of)
    most = int(np.argmax(sum_by_key(code, length, len(first))))
    return names[int(of[first[most]])]


def place_of(calls: Frames | None, begin: I64, until: I64) -> CallSite | None:
    """The line of the program that most of some spans is called from; None unknown."""
    if calls is None:
        return None
    call = calls.moments.at((begin + until) // 2)
    known = call >= 0
    at = call[known]
    row = np.where(calls.line[at] >= 0, calls.line[at], calls.own[at])
    row, length = row[row >= 0], (until - begin)[known][row >= 0]
    if len(row) == 0:
        return None
    first, code = distinct_keys(calls.name[row])
    most = int(np.argmax(sum_by_key(code, length, len(first))))
    return site_of(calls, int(row[first[most]]))


@derived
def differentiates_gradients(host: Host) -> bool:
    """By the names of ops, or by the numbers that PyTorch's autograd gives them."""
    return any(map(_is_higher, host.space.event_metadata.name)) or _goes_through_gradients(host)


def _is_higher(name: str) -> bool:
    """A gradient of a gradient: penalties on gradients need those of the first pass again."""
    return "BackwardBackward" in name or name.count(TAPE) > 1


def _goes_through_gradients(host: Host) -> bool:
    """Whether PyTorch's backward passes go through ops that ran within one (``create_graph``)."""
    numbered = numbered_ops(host)
    nodes = distinct(numbered.number[numbered.backward])
    made = [
        _made_within(numbered, numbered.thread == thread)
        for thread in distinct(numbered.thread[numbered.backward]).tolist()
    ]
    return sum(map(len, made)) > 0 and _is_some(nodes, np.concatenate(made))


def _is_some(nodes: I64, made: I64) -> bool:
    return int(np.isin(nodes, made).sum()) > PART_FRAC * len(nodes)


def _made_within(numbered: NumberedOps, mine: Bool) -> I64:
    """Numbers of the ops of a thread that ran within its backward passes."""
    back, other = mine & numbered.backward, mine & ~numbered.backward
    passes = union_spans(numbered.start_ps[back], numbered.end_ps[back])
    within = span_at(*passes, numbered.start_ps[other]) >= 0
    return distinct(numbered.number[other][within])


def repeated_gradients(host: Host, found: Account) -> NeedlessGradients | None:
    """Return None if each is computed once, or gradients are differentiated: they are needed."""
    if differentiates_gradients(host):
        return None
    rows, group = _of_torch(host)
    steps = found.found
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    begin = host.space.events.start_ps[rows]
    until = begin + host.space.length_ps[rows]
    step = span_at(start, end, begin)
    inside = step >= 0
    rows, begin, until, step = rows[inside], begin[inside], until[inside], step[inside]
    order = np.lexsort((begin, group[inside], step))
    key = np.stack([step[order], group[inside][order]])
    again = np.append(False, (np.diff(key) == 0).all(axis=0))[: len(order)]
    if not again.any():
        return None
    which = order[again]
    spans = union_spans(begin[which], until[which])
    time = int(covered(*spans, start, end).sum())
    length = until[which] - begin[which]
    _first, code = distinct_keys(np.cumsum(~again))
    runs = np.bincount(code)
    spent = sum_by_key(code[again], length, len(runs))
    times = float(np.average(runs, weights=spent)) if spent.any() else float(runs.max())
    name = longest_name(host, rows[which], length)
    return _needless(found, time, len(which), name, place_of(found.frames, *spans), times=times)


def _of_torch(host: Host) -> tuple[I64, I64]:
    """The nodes of autograd that ran, and which forward op each is of."""
    numbered, names = numbered_ops(host), host.space.event_metadata.name
    is_node = np.asarray([*map(_is_node, names), False])
    of = host.space.events.metadata[numbered.row]
    nodes = np.flatnonzero(numbered.backward & is_node[of])
    # An op and what evaluates it have one number, and each is computed as often.
    _first, code = distinct_keys(of[nodes].astype(np.int64))
    return numbered.row[nodes], numbered.number[nodes] * np.int64(len(_first) or 1) + code


def _is_node(name: str) -> bool:
    """Whether it is a node of autograd: ``MmBackward0``, with any words before it."""
    return name.rstrip(DIGITS).endswith("Backward")


_ACCUMULATE: Final = "AccumulateGrad"
# Which ops of an optimizer's step run once for each parameter: those of the first, less those of
# the second. Of an optimizer that is not among them the name with the most ops is an upper bound.
_ONCE: Final = {
    **dict.fromkeys(("Adam", "AdamW", "NAdam", "RMSprop", "Adagrad"), ("addcdiv_", "")),
    "SGD": ("add_", "mul_"),
}
# Ops that update many parameters at once: how many is not recorded.
_TOGETHER: Final = ("_foreach_", "_fused_")
_UNKNOWN: Final = "?"

_Share = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Updates:
    """What the optimizers of a step update: how many, and of each shape where it is recorded."""

    number: int
    shapes: dict[str, int]


def unclaimed_gradients(host: Host, found: Account) -> NeedlessGradients | None:
    """None where each parameter with a gradient may be updated, or nobody can tell."""
    steps = found.found
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    rows = timed_rows(host, entries_shaped(host, is_of_backward))
    rows = rows[np.argsort(host.space.events.start_ps[rows], kind="stable")]
    updates = _updates(host, start, end)
    if updates is None or len(rows) == 0 or found.line < 0:
        return None
    # Points at which gradients are differentiated have gradients, too, and nobody updates them.
    if differentiates_gradients(host):
        return None
    begin = host.space.events.start_ps[rows]
    until = begin + host.space.length_ps[rows]
    is_end = entries_shaped(host, lambda name: is_of_backward(name) and name.endswith(_ACCUMULATE))
    ends = is_end[host.space.events.metadata[rows]]
    of_pass = _passes(host, found, union_spans(begin, until), begin)
    got = _most_of_a_pass(begin[ends], of_pass[ends], start, end)
    if got <= updates.number:
        return None
    share, is_known = _shares(host, rows[ends], got, updates)
    # What is computed up to the next parameter is for it.
    at: I64 = np.cumsum(ends) - ends
    mine = np.append(of_pass[ends], -1)[at] == of_pass
    part = np.where(mine, np.append(share, 0.0)[at], 0.0)
    part[span_at(start, end, begin) < 0] = 0.0
    time = int((part * (until - begin)).sum())
    # Nodes within nodes, as checkpoints have them, count once.
    time = min(time, int(covered(*union_spans(begin, until), start, end).sum()))
    sure = (part >= NEARLY_ALL_FRAC) & ~ends
    shown = sure if is_known and sure.any() else (part > 0) & ~ends
    if time <= 0 or not shown.any():
        return None
    name = longest_name(host, rows[shown], (until - begin)[shown])
    spent = int((until - begin)[sure].sum())
    place = _place(host, found, begin[sure], until[sure]) if spent >= HALF_FRAC * time else None
    return _needless(found, time, got, name, place, updated=updates.number)


def _updates(host: Host, start: I64, end: I64) -> _Updates | None:
    """The most parameters that one step's optimizers update; None where that is not known."""
    space = host.space
    named = [step_of_torch(text) for text in space.event_metadata.name]
    kinds = [text.rpartition(":")[2] for text in space.event_metadata.name]
    counted = sorted({one for one in kinds if one.endswith("_")})
    in_step = np.zeros(len(start), dtype=np.int64)
    shapes: dict[str, int] = {}
    for optimizer in sorted({one for one in named if one}):
        rows = timed_rows(host, np.asarray([one == optimizer for one in named]))
        rows = rows[np.argsort(space.events.start_ps[rows], kind="stable")]
        begin = space.events.start_ps[rows]
        until = begin + space.length_ps[rows]
        spans = union_spans(np.minimum(after_model(host, begin, until), until), until)
        ran: dict[str, tuple[I64, I64]] = {}
        for kind in counted:
            ops = rows_of(space.events.metadata, np.asarray([*map(kind.__eq__, kinds), False]))
            at = space.events.start_ps[ops]
            ops = ops[span_at(*spans, at) >= 0]
            if len(ops) and kind.startswith(_TOGETHER):
                return None
            at = space.events.start_ps[ops]
            ops = ops[span_at(start, end, at) >= 0]
            ran[kind] = ops, np.searchsorted(start, space.events.start_ps[ops], "right") - 1
        updated, of_shape = _updated(host, optimizer, ran, len(start))
        in_step += updated
        shapes = {text: shapes.get(text, 0) + of_shape.get(text, 0) for text in shapes | of_shape}
    most = int(in_step.max(initial=0))
    return _Updates(most, shapes) if most else None


def _updated(
    host: Host, optimizer: str, ran: dict[str, tuple[I64, I64]], steps: int
) -> tuple[I64, dict[str, int]]:
    """How many parameters an optimizer updates in each step, and the most of each shape."""
    nothing = np.zeros(steps, dtype=np.int64)
    count = {kind: np.bincount(step, minlength=steps) for kind, (_ops, step) in ran.items()}
    most: I64 = np.max([nothing, *count.values()], axis=0)
    once, less = _ONCE.get(optimizer, ("", ""))
    if once not in count:
        return most, {_UNKNOWN: 1}
    exact: I64 = count[once] - count.get(less, nothing)
    if not (exact > 0).any():
        return most, {_UNKNOWN: 1}
    at = int(exact.argmax())
    shapes: dict[str, int] = {}
    for kind, sign in ((once, 1), (less, -1)):
        ops, step = ran.get(kind, (nothing[:0], nothing[:0]))
        for text in _shapes(host, ops[step == at]):
            shapes[text] = shapes.get(text, 0) + sign
    return exact, shapes


def _shapes(host: Host, rows: I64) -> list[str]:
    """The shape of the first operand of each op; "?" where it was not recorded."""
    said = event_stats(host).texts(names.SHAPE)
    codes = said.at(rows).tolist()
    return [_UNKNOWN if code < 0 else said.texts[code].partition("]")[0] for code in codes]


def _shares(host: Host, ends: I64, got: int, updates: _Updates) -> tuple[_Share, bool]:
    """Which share of each parameter's gradients is for nobody, and whether shapes tell."""
    same = np.full(len(ends), (got - updates.number) / got)
    inner = rows_of(host.space.events.metadata, _is_inner(host))
    inner = inner[np.argsort(host.space.events.start_ps[inner], kind="stable")]
    if len(inner) != len(ends) or _UNKNOWN in updates.shapes:
        return same, False
    said = _shapes(host, inner)
    if _UNKNOWN in said:
        return same, False
    # Passes of a recording are alike: as many of each shape as the parameters of one.
    passes = max(round(len(ends) / got), 1)
    left = {
        text: max(1 - updates.shapes.get(text, 0) * passes / said.count(text), 0.0)
        for text in set(said)
    }
    return np.asarray([left[text] for text in said]), True


def _is_inner(host: Host) -> Bool:
    """Names of what adds a gradient up, without those of what calls it."""
    return entries_shaped(
        host, lambda name: name.endswith(_ACCUMULATE) and not is_of_backward(name)
    )


def _passes(host: Host, found: Account, spans: tuple[I64, I64], at: I64) -> I64:
    """Which backward pass each moment is of: ops of the loop's own lie between two."""
    space, rows = host.space, torch_dispatches(host)
    ids = np.asarray([line.id for line in space.lines], dtype=np.int64)
    rows = rows[ids[space.lines_of(rows)] == space.lines[found.line].id]
    begin = np.sort(space.events.start_ps[rows])
    passes: I64 = np.searchsorted(begin[span_at(*spans, begin) < 0], at)
    return passes


def _most_of_a_pass(at: I64, of: I64, start: I64, end: I64) -> int:
    """The usual number of parameters that the largest pass of a step ends in."""
    step = span_at(start, end, at)
    inside = step >= 0
    if not inside.any():
        return 0
    first, code = distinct_keys(of[inside])
    largest = np.zeros(len(start), dtype=np.int64)
    np.maximum.at(largest, step[inside][first], np.bincount(code))
    return int(np.median(largest[largest > 0]))


def _place(host: Host, found: Account, begin: I64, until: I64) -> CallSite | None:
    """The line that ran what most of the gradients' time is the gradient of."""
    numbered = numbered_ops(host)
    known = np.flatnonzero(numbered.backward & (span_at(begin, until, numbered.start_ps) >= 0))
    last = numbered.last_forward()
    if len(last) == 0 or len(known) == 0:
        return None
    number, asked = numbered.number[last], numbered.number[known]
    slot = np.minimum(np.searchsorted(number, asked), len(last) - 1)
    forward = last[slot[number[slot] == asked]]
    return place_of(found.frames, numbered.start_ps[forward], numbered.end_ps[forward])


def without_gradients(host: Host, listed: Iterable[Owner]) -> frozenset[int]:
    """Ids of the owners of such products; none where they are little, or nothing is trained."""
    owners = list(listed)
    ops = [one for one in owners if one.kind == "op"]
    apart = apart_from_gradients(host, (one.name for one in ops))
    found = [one for one in ops if one.family in PRODUCTS and one.name in apart]
    enough = PART_FRAC * sum(one.total_ps for one in owners)
    families = time_by_family(found)
    return frozenset(id(one) for one in found if families[one.family] > enough)
