"""Gradients of parameters that are computed, and that no optimizer takes.

A backward pass ends in each parameter that asks for a gradient; an optimizer updates those it was
given. Where a pass ends in more of them than all optimizers of a step update together, the rest is
computed for nothing: of a teacher without ``no_grad``, or a backbone that was not frozen. Passes
are counted one by one, as several of them may add up gradients for one update.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct_keys, rows_of, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.schema import names
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import CallSite
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.core.regions import is_of_backward
from stepscope.tables.core.stats import event_stats
from stepscope.tables.host.events import timed_rows
from stepscope.tables.in_steps.host_activity import torch_dispatches
from stepscope.tables.in_steps.optimizer_updates import step_of_torch
from stepscope.tables.parts.gradients.higher import differentiates_gradients
from stepscope.tables.parts.gradients.unused_graph import longest_name, place_of
from stepscope.tables.torch.autograd import numbered_ops
from stepscope.tables.traits.updates import after_model

_ACCUMULATE: Final = "AccumulateGrad"
# Which ops of an optimizer's step run once for each parameter: those of the first, less those of
# the second. Of an optimizer that is not among them the name with the most ops is an upper bound.
_ONCE: Final = {
    **dict.fromkeys(("Adam", "AdamW", "NAdam", "RMSprop", "Adagrad"), ("addcdiv_", "")),
    "SGD": ("add_", "mul_"),
}
# Ops that update many parameters at once: how many is not recorded.
_TOGETHER: Final = ("_foreach_", "_fused_")
# What is surely for nobody: the shapes say so, or nearly all of a pass is.
_SURE: Final = 0.9
# Share of the time that this must have for its line to be the place.
_MOST: Final = 0.5
_UNKNOWN: Final = "?"

_Share = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class UnclaimedGradients:
    """What backward passes compute for parameters that nothing updates.

    Attributes:
        time_ps: Of the passes in the kept steps; where shapes do not tell which parameters are
            updated, all are taken to cost as much.
        parameters: How many get a gradient in a backward pass.
        updated: How many of them the optimizers of a step update.
        op: The backward op that most of it is of.
        place: The line that most of it is the gradient of; None where it is not known.
    """

    time_ps: int
    parameters: int
    updated: int
    op: str
    place: CallSite | None


@dataclass(frozen=True, slots=True)
class _Updates:
    """What the optimizers of a step update: how many, and of each shape where it is recorded."""

    number: int
    shapes: dict[str, int]


def unclaimed_gradients(host: Host, found: Account) -> UnclaimedGradients | None:
    """None where each parameter with a gradient may be updated, or nobody can tell."""
    steps = found.found
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    rows = timed_rows(host, entries_named(host, is_of_backward))
    rows = rows[np.argsort(host.space.events.start_ps[rows], kind="stable")]
    updates = _updates(host, start, end)
    if updates is None or len(rows) == 0 or found.line < 0:
        return None
    # Points at which gradients are differentiated have gradients, too, and nobody updates them.
    if differentiates_gradients(host):
        return None
    begin = host.space.events.start_ps[rows]
    until = begin + host.space.length_ps[rows]
    is_end = entries_named(host, lambda name: is_of_backward(name) and name.endswith(_ACCUMULATE))
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
    step = np.searchsorted(start, begin, side="right") - 1
    part[(step < 0) | (begin >= end[np.maximum(step, 0)])] = 0.0
    time = int((part * (until - begin)).sum())
    # Nodes within nodes, as checkpoints have them, count once.
    time = min(time, int(covered(*union_spans(begin, until), start, end).sum()))
    sure = (part >= _SURE) & ~ends
    shown = sure if is_known and sure.any() else (part > 0) & ~ends
    if time <= 0 or not shown.any():
        return None
    name = longest_name(host, rows[shown], (until - begin)[shown])
    spent = int((until - begin)[sure].sum())
    place = _place(host, found, begin[sure], until[sure]) if spent >= _MOST * time else None
    return UnclaimedGradients(time, got, updates.number, name, place)


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
            ops = ops[_inside(at, *spans)]
            if len(ops) and kind.startswith(_TOGETHER):
                return None
            at = space.events.start_ps[ops]
            ops = ops[_inside(at, start, end)]
            ran[kind] = ops, np.searchsorted(start, space.events.start_ps[ops], "right") - 1
        updated, of_shape = _updated(host, optimizer, ran, len(start))
        in_step += updated
        shapes = {text: shapes.get(text, 0) + of_shape.get(text, 0) for text in shapes | of_shape}
    most = int(in_step.max(initial=0))
    return _Updates(most, shapes) if most else None


def _inside(at: I64, begin: I64, until: I64) -> Bool:
    """Which moments lie in one of some disjoint ascending spans."""
    last = np.searchsorted(begin, at, side="right") - 1
    found: Bool = (last >= 0) & (at < np.append(until, 0)[last])
    return found


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
    return entries_named(host, lambda name: name.endswith(_ACCUMULATE) and not is_of_backward(name))


def _passes(host: Host, found: Account, spans: tuple[I64, I64], at: I64) -> I64:
    """Which backward pass each moment is of: ops of the loop's own lie between two."""
    space, rows = host.space, torch_dispatches(host)
    ids = np.asarray([line.id for line in space.lines], dtype=np.int64)
    rows = rows[ids[space.lines_of(rows)] == space.lines[found.line].id]
    begin = np.sort(space.events.start_ps[rows])
    passes: I64 = np.searchsorted(begin[~_inside(begin, *spans)], at)
    return passes


def _most_of_a_pass(at: I64, of: I64, start: I64, end: I64) -> int:
    """The usual number of parameters that the largest pass of a step ends in."""
    step = np.searchsorted(start, at, side="right") - 1
    inside = _inside(at, start, end)
    if not inside.any():
        return 0
    first, code = distinct_keys(of[inside])
    largest = np.zeros(len(start), dtype=np.int64)
    np.maximum.at(largest, step[inside][first], np.bincount(code))
    return int(np.median(largest[largest > 0]))


def _place(host: Host, found: Account, begin: I64, until: I64) -> CallSite | None:
    """The line that ran what most of the gradients' time is the gradient of."""
    numbered = numbered_ops(host)
    known = np.flatnonzero(numbered.backward & _inside(numbered.start_ps, begin, until))
    last = numbered.last_forward()
    if len(last) == 0 or len(known) == 0:
        return None
    number, asked = numbered.number[last], numbered.number[known]
    slot = np.minimum(np.searchsorted(number, asked), len(last) - 1)
    forward = last[slot[number[slot] == asked]]
    return place_of(found.frames, numbered.start_ps[forward], numbered.end_ps[forward])
