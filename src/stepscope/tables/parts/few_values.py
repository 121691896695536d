"""Which parts compute many values of which the program takes few (``tables.torch.few_taken``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import CallSite, site_of
from stepscope.tables.core.op_name import parse_op_name
from stepscope.tables.core.profile import Host
from stepscope.tables.device.events import device_events
from stepscope.tables.parts.parts import Part
from stepscope.tables.torch.few_taken import FewTaken, few_taken
from stepscope.tables.torch.launches import launched

# What is known of less of a part's time does not stand for it; of a function it is the end of what
# that computes, which the rest leads to.
_SOME_FRAC: Final = {"op": 0.3, "function": 0.03}
# One of the few actions of a policy is what a model of them is for.
_LEAST_TIMES: Final = {"op": 1, "function": 16}


@dataclass(frozen=True, slots=True)
class FewValues:
    """Values that are taken of what a part computes.

    Attributes:
        share: Of the part's time that computes them.
        one_in: Of so many values one is taken.
        taken_by: The op that takes them, and where, as "index in Parser.loss (train.py:117)".
        at: The place alone; "" unknown.
    """

    share: float
    one_in: int
    taken_by: str
    at: str


def few_values(host: Host, found: Account, one: Part) -> FewValues | None:
    """Of a part that multiplies matrices, or a function; None where all is taken, or unknown."""
    known = few_taken(host)
    if known is None or one.total_ps <= 0 or one.kind not in _SOME_FRAC:
        return None
    mine = _of_part(host, found, one, known)
    steps = found.found
    begin = known.start_ps[0]
    at = np.searchsorted(steps.start_ps, begin, side="right") - 1
    mine &= (at >= 0) & steps.kept[at] & (begin < steps.end_ps[at])
    which = np.flatnonzero(mine)
    share = known.each * _time(host, one, known, which) / one.total_ps
    if share < _SOME_FRAC[one.kind]:
        return None
    one_in = int(known.of[which].sum() // known.taken[which].sum())
    if one_in < _LEAST_TIMES[one.kind]:
        return None
    return FewValues(min(share, 1.0), one_in, *_taker(host, found, known.taker[which]))


def _of_part(host: Host, found: Account, one: Part, known: FewTaken) -> Bool:
    """Which products come from one of the part's lines; where none is known, which have its name.

    Then its longest op has to be one of them.
    """
    owners = [owner for owner in one.owners if owner.kind == "op"]
    lines = {(owner.file, owner.line) for owner in owners if owner.file}
    if lines:
        rows = _places(host, found, known.product)
        sites = {row: _site(found, row) for row in np.unique(rows).tolist()}
        mine = [row for row, at in sites.items() if at and (at.file, at.line) in lines]
        return np.isin(rows, mine)
    is_one = bool(owners) and _runs(host, known, owners[0].event)
    return np.full(len(known.of), is_one)


def _runs(host: Host, known: FewTaken, event: int) -> bool:
    """Whether an op, or what launched it, lies in one of the products or in one's gradient."""
    if event < 0:
        return False
    thread, start = _called(host, event)
    inside = (known.thread == thread) & (known.start_ps <= start) & (start < known.end_ps)
    return bool(inside.any())


def _called(host: Host, event: int) -> tuple[int, int]:
    """The thread, by its line's id, that ran an event or launched it, and when."""
    of_device = np.flatnonzero(device_events(host).rows == event)
    if len(of_device):
        calls = launched(host)
        return int(calls.thread[of_device[0]]), int(calls.start_ps[of_device[0]])
    line = int(host.space.lines_of(np.asarray([event]))[0])
    return host.space.lines[line].id, int(host.space.events.start_ps[event])


def _taker(host: Host, found: Account, events: I64) -> tuple[str, str]:
    """What takes the values, and where that is."""
    event = int(events[np.argmax(events >= 0)])
    if event < 0:
        return "the loss", ""
    name = host.space.event_metadata.name[host.space.events.metadata[event]]
    called = parse_op_name(name).type
    site = _site(found, int(_places(host, found, np.asarray([event]))[0]))
    if site is None or not site.file:
        return called, ""
    at = f"{site.file.rpartition('/')[2]}:{site.line}"
    return f"{called} in {site.function} ({at})" if site.function else f"{called} ({at})", at


def _places(host: Host, found: Account, events: I64) -> I64:
    """The program's line, else its function, in which each event runs; -1 unknown."""
    calls = found.frames
    if calls is None or len(calls.rows) == 0:
        return np.full(len(events), -1, dtype=np.int64)
    call = calls.moments.at(host.space.events.start_ps[events] + host.space.length_ps[events] // 2)
    row = np.where(calls.line[call] >= 0, calls.line[call], calls.own[call])
    places: I64 = np.where(call >= 0, row, -1)
    return places


def _site(found: Account, row: int) -> CallSite | None:
    return None if found.frames is None or row < 0 else site_of(found.frames, row)


def _time(host: Host, one: Part, known: FewTaken, which: I64) -> int:
    """How long some of the products and their gradients take, where the part runs."""
    if not one.first.on_device:
        return int((known.end_ps - known.start_ps)[:, which].sum())
    devices, calls = device_events(host), launched(host)
    spent = 0
    for thread in np.unique(known.thread[:, which]).tolist():
        mine = calls.thread == thread
        order = np.argsort(calls.start_ps[mine], kind="stable")
        start = calls.start_ps[mine][order]
        sums = np.append(0, np.cumsum(devices.self_ps[mine][order]))
        here = known.thread[:, which] == thread
        begin = np.searchsorted(start, known.start_ps[:, which][here])
        end = np.searchsorted(start, known.end_ps[:, which][here])
        spent += int((sums[end] - sums[begin]).sum())
    return spent
