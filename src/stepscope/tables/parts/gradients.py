"""Gradients that PyTorch prepares and nothing computes, and products without gradients.

While PyTorch records gradients, each op takes a number that its gradient carries. A number that no
gradient carries was kept for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stepscope.columns import distinct, distinct_keys, sum_by_key, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.result import Place, ms
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import CallSite, Owner, site_of, time_by_family
from stepscope.tables.core.interval_overlap import covered, span_at
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host
from stepscope.tables.core.regions import is_of_backward, prepares_backward
from stepscope.tables.core.thresholds import PART_FRAC
from stepscope.tables.host.events import Work, host_names, timed_rows
from stepscope.tables.python.frames import Frames
from stepscope.tables.torch.autograd import NumberedOps, numbered_ops
from stepscope.tables.traits.gradient_names import (
    apart_from_gradients,
)
from stepscope.tables.traits.op_families import PRODUCTS


@dataclass(frozen=True, slots=True)
class NeedlessGradients:
    """Gradients that were prepared and never computed.

    Attributes:
        time_ms, ops: Per step, of the forward ops whose gradients nothing computed.
        longest, function, file, line, caller: The op that most of their time is of, and where most
            is called from; "" and None where no line was recorded.
        is_all: Whether nothing computes a gradient.
    """

    time_ms: float
    ops: float
    longest: str
    function: str
    file: str
    line: int | None
    caller: str
    is_all: bool

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
    count = int(steps.kept.sum())
    place = place_of(found.frames, *spans) or CallSite("", "", 0, "")
    return NeedlessGradients(
        ms(time) / count,
        len(begin) / count,
        longest_name(host, rows, until - begin),
        place.function,
        place.file,
        place.line if place.file else None,
        place.caller,
        is_all=not numbered.backward.any(),
    )


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


def without_gradients(host: Host, listed: Iterable[Owner]) -> frozenset[int]:
    """Ids of the owners of such products; none where they are little, or nothing is trained."""
    owners = list(listed)
    ops = [one for one in owners if one.kind == "op"]
    apart = apart_from_gradients(host, (one.name for one in ops))
    found = [one for one in ops if one.family in PRODUCTS and one.name in apart]
    enough = PART_FRAC * sum(one.total_ps for one in owners)
    families = time_by_family(found)
    return frozenset(id(one) for one in found if families[one.family] > enough)
