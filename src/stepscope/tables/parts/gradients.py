"""Gradients that a step need not compute.

While PyTorch records gradients, each op takes a number that its gradient carries. A number that no
gradient carries was kept for nothing (``unused_graph``); a number that several carry was computed
again (``repeated_gradients``); more parameters with gradients than an optimizer updates are
unclaimed (``unclaimed_gradients``).
"""

from __future__ import annotations

from string import digits
from typing import Final

import numpy as np

from stepscope.columns import distinct, distinct_keys, rows_of, sum_by_key, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.result import Place, ms
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import CallSite, site_of
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.regions import is_of_backward, prepares_backward
from stepscope.tables.core.thresholds import PART_FRAC
from stepscope.tables.core.time_spans import covered, span_at
from stepscope.tables.host.events import Work, host_names, timed_rows
from stepscope.tables.host.tapes import TAPE
from stepscope.tables.in_steps.host_activity import torch_dispatches
from stepscope.tables.in_steps.optimizer_updates import step_of_torch
from stepscope.tables.python.frames import Frames
from stepscope.tables.torch.autograd import NumberedOps, numbered_ops
from stepscope.tables.traits.updates import after_model


@dataclass(frozen=True, slots=True)
class NeedlessGradients:
    """Gradients that were prepared and never computed, computed again, or never used.

    Attributes:
        time_ms, ops: Per step, of the forward ops whose gradients nothing computed, of all but the
            first time that gradients were computed, or of the gradients that nothing uses; of
            these, ``ops`` are the parameters in which a backward pass ends.
        longest, function, file, line, caller: The op that most of their time is of, and where most
            is called from; "" and None where no line was recorded.
        is_all: Whether nothing computes a gradient.
        times: How often each is computed; 0 where none is.
        updated: How many parameters are updated; 0 where that is not known.
    """

    time_ms: float
    ops: float
    longest: str
    function: str
    file: str
    line: int | None
    caller: str
    is_all: bool = False
    times: float = 0.0
    updated: int = 0

    @property
    def place(self) -> Place | None:
        """Where most of it is called from; None where no line was recorded."""
        if not self.function:
            return None
        return Place(self.function, self.file, self.line or 0, self.caller)


def unused_graph(host: Host, found: Account) -> NeedlessGradients | None:
    """None where every forward op on the loop's thread has its gradient, or needs none."""
    if found.line < 0:
        return None
    numbered = numbered_ops(host)
    texts = host.space.event_metadata.name
    is_all = not numbered.backward.any()
    if is_all and any(is_of_backward(one) or prepares_backward(one) for one in texts):
        return None  # gradients ran, or will, and the recording does not say whose
    mine = _unused(numbered) & (numbered.thread == host.space.lines[found.line].id)
    mine &= ~_for_others(host, found.line, numbered.start_ps)
    start, end = found.found.kept_spans
    mine &= (numbered.end_ps > start[0]) & (numbered.start_ps < end[-1])
    spans = numbered.start_ps[mine], numbered.end_ps[mine]
    return _needless(host, found, numbered.row[mine], *spans, is_all=is_all)


def _needless(
    host: Host,
    found: Account,
    rows: I64,
    begin: I64,
    until: I64,
    *,
    is_all: bool = False,
    times: float = 0.0,
) -> NeedlessGradients | None:
    """Return the work of these events per step; None if they take no time."""
    spans, steps = union_spans(begin, until), found.found.kept_spans
    time = covered(*spans, *steps).sum()
    if time == 0:
        return None
    at, count = place_of(found.frames, *spans) or CallSite("", "", 0, ""), len(steps[0])
    longest = longest_name(host, rows, until - begin)
    where = at.function, at.file, at.line if at.file else None, at.caller
    return NeedlessGradients(
        ms(int(time)) / count, len(rows) / count, longest, *where, is_all, times
    )


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
    row = calls.place_of(call[known])
    row, length = row[row >= 0], (until - begin)[known][row >= 0]
    if len(row) == 0:
        return None
    first, code = distinct_keys(calls.name[row])
    most = int(np.argmax(sum_by_key(code, length, len(first))))
    return site_of(calls, int(row[first[most]]))


@derived
def differentiates_gradients(host: Host) -> bool:
    """By the names of ops, or as PyTorch's backward passes go through ops that ran within one.

    Penalties on gradients need those of the first pass again.
    """
    texts = host.space.event_metadata.name
    if any("BackwardBackward" in name or name.count(TAPE) > 1 for name in texts):
        return True
    numbered = numbered_ops(host)
    nodes = distinct(numbered.number[numbered.backward])
    made = [
        _made_within(numbered, numbered.thread == thread)
        for thread in distinct(numbered.thread[numbered.backward]).tolist()
    ]
    again = np.isin(nodes, np.concatenate([nodes[:0], *made]))
    return int(again.sum()) > PART_FRAC * len(nodes)


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
    start, end = found.found.kept_spans
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
    _first, code = distinct_keys(np.cumsum(~again))
    runs = np.bincount(code)
    spent = sum_by_key(code[again], until[which] - begin[which], len(runs))
    times = float(np.average(runs, weights=spent)) if spent.any() else float(runs.max())
    return _needless(host, found, rows[which], begin[which], until[which], times=times)


def _of_torch(host: Host) -> tuple[I64, I64]:
    """The nodes of autograd that ran, and which forward op each is of."""
    numbered, names = numbered_ops(host), host.space.event_metadata.name
    # "MmBackward0", with any words before it.
    is_node = np.asarray([*(one.rstrip(digits).endswith("Backward") for one in names), False])
    of = host.space.events.metadata[numbered.row]
    nodes = np.flatnonzero(numbered.backward & is_node[of])
    # An op and what evaluates it have one number, and each is computed as often.
    _first, code = distinct_keys(of[nodes].astype(np.int64))
    return numbered.row[nodes], numbered.number[nodes] * np.int64(len(_first) or 1) + code


_ACCUMULATE: Final = "AccumulateGrad"
# Which ops of an optimizer's step run once for each parameter: those of the first, less those of
# the second. Of an optimizer that is not among them the name with the most ops is an upper bound.
_ONCE: Final = {
    **dict.fromkeys(("Adam", "AdamW", "NAdam", "RMSprop", "Adagrad"), ("addcdiv_", "")),
    "SGD": ("add_", "mul_"),
}
# Ops that update many parameters at once: how many is not recorded.
_TOGETHER: Final = ("_foreach_", "_fused_")


def unclaimed_gradients(host: Host, found: Account) -> NeedlessGradients | None:
    """None where each parameter with a gradient may be updated, or nobody can tell."""
    start, end = found.found.kept_spans
    rows = timed_rows(host, entries_shaped(host, is_of_backward))
    rows = rows[np.argsort(host.space.events.start_ps[rows], kind="stable")]
    updated = _updates(host, start, end)
    # Points at which gradients are differentiated have gradients, too, and nobody updates them.
    if not updated or len(rows) == 0 or found.line < 0 or differentiates_gradients(host):
        return None
    begin = host.space.events.start_ps[rows]
    until = begin + host.space.length_ps[rows]
    is_end = entries_shaped(host, lambda name: is_of_backward(name) and name.endswith(_ACCUMULATE))
    ends, spans = is_end[host.space.events.metadata[rows]], union_spans(begin, until)
    got = _most_of_a_pass(begin[ends], _passes(host, found, spans, begin[ends]), start, end)
    if got <= updated or ends.all():
        return None
    # Which parameters nobody updates is not recorded: the gradients of all are taken to cost as
    # much.
    time = int(covered(*spans, start, end).sum() * (got - updated) / got)
    name = longest_name(host, rows[~ends], (until - begin)[~ends])
    if time == 0:
        return None
    time_ms = ms(time) / len(start)
    return NeedlessGradients(time_ms, got, name, "", "", None, "", updated=updated)


def _updates(host: Host, start: I64, end: I64) -> int:
    """The most parameters that one step's optimizers update; 0 where that is not known."""
    space = host.space
    named = [step_of_torch(text) for text in space.event_metadata.name]
    kinds = [text.rpartition(":")[2] for text in space.event_metadata.name]
    in_step = np.zeros(len(start), dtype=np.int64)
    for optimizer in sorted({one for one in named if one}):
        rows = timed_rows(host, np.asarray([one == optimizer for one in named]))
        rows = rows[np.argsort(space.events.start_ps[rows], kind="stable")]
        begin = space.events.start_ps[rows]
        until = begin + space.length_ps[rows]
        spans = union_spans(np.minimum(after_model(host, begin, until), until), until)
        count: dict[str, I64] = {}
        for kind in sorted({one for one in kinds if one.endswith("_")}):
            ops = rows_of(space.events.metadata, np.asarray([*map(kind.__eq__, kinds), False]))
            at = space.events.start_ps[ops]
            at = at[span_at(*spans, at) >= 0]
            if len(at) and kind.startswith(_TOGETHER):
                return 0
            step = span_at(start, end, at)
            count[kind] = np.bincount(step[step >= 0], minlength=len(start))
        once, less = _ONCE.get(optimizer, ("", ""))
        exact = count.get(once, 0) - count.get(less, np.zeros_like(in_step))
        is_exact = once in count and (exact > 0).any()
        in_step += exact if is_exact else np.max([0 * in_step, *count.values()], axis=0)
    return int(in_step.max(initial=0))


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
