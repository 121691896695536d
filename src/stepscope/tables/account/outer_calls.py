"""The program's calls from the loop inwards, each with all that is below it.

A function that the loop calls may spend its time in a hundred places of its own and of libraries,
each too small to be named: what a person would leave out is the call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import CallSite, Owner, site_of
from stepscope.tables.core.thresholds import DEEPEST, SOME_FRAC
from stepscope.tables.python.frames import Frames
from stepscope.tables.python.functions import loop_functions


@dataclass(slots=True)
class OuterCall:
    """One function of the program, as it is called on one path.

    Attributes:
        site: Its name and where it begins, and what calls it.
        is_loop: Whether it runs through the steps: it is the loop's, or around that.
        above: Which of the calls it is below; -1 none.
        time_ps: In all kept steps by kind of owner, with all that it calls.
    """

    site: CallSite
    is_loop: bool
    above: int
    time_ps: dict[str, int] = field(default_factory=dict)

    @property
    def total_ps(self) -> int:
        """Of all kinds."""
        return sum(self.time_ps.values())


def outer_calls(found: Account, listed: Iterable[Owner]) -> list[OuterCall]:
    """The calls with a good share of the steps, those with most first; each after what calls it.

    Owners of work that was launched elsewhere, or of several rows, count for none.
    """
    calls = found.frames
    if calls is None:
        return []
    loops = loop_functions(calls, found.found)
    chains: dict[int, list[int]] = {}
    nodes: list[OuterCall] = []
    known: dict[tuple[int, str, str], int] = {}
    for one in listed:
        if len(one.rows) != 1 or one.is_launched:
            continue
        place = int(found.place[one.rows[0]])
        own = int(calls.own[place]) if place >= 0 else -1
        if own not in chains:
            chains[own] = _chain(calls, own, loops, nodes, known)
        for at in chains[own]:
            time = nodes[at].time_ps
            time[one.kind] = time.get(one.kind, 0) + one.total_ps
    return _largest(nodes, int(found.net_step_ps * found.found.kept.sum()))


def _chain(
    calls: Frames,
    own: int,
    loops: frozenset[tuple[str, str]],
    nodes: list[OuterCall],
    known: dict[tuple[int, str, str], int],
) -> list[int]:
    """The nodes that a function's time is below, the outermost first; new ones are added."""
    inwards: list[int] = []
    while own >= 0 and len(inwards) < DEEPEST:
        inwards.append(own)
        around = int(calls.caller[own])
        own = int(calls.own[around]) if around >= 0 else -1
    found: list[int] = []
    for row in reversed(inwards):
        name = calls.names[int(calls.name[row])]
        key = (found[-1] if found else -1, name.file, name.function)
        if key not in known:
            known[key] = len(nodes)
            # What is below a call of the loop's is none, however often it runs.
            is_loop = (key[0] < 0 or nodes[key[0]].is_loop) and key[1:] in loops
            nodes.append(OuterCall(site_of(calls, row), is_loop, key[0]))
        found.append(known[key])
    return found


def _largest(nodes: list[OuterCall], whole_ps: int) -> list[OuterCall]:
    """Those with enough of the steps, by time; what is below one comes after it."""
    # What calls one has as much, and was made before it.
    order = sorted(range(len(nodes)), key=lambda at: -nodes[at].total_ps)
    kept = [at for at in order if nodes[at].total_ps >= SOME_FRAC * whole_ps]
    moved = {at: to for to, at in enumerate(kept)} | {-1: -1}
    return [
        OuterCall(nodes[at].site, nodes[at].is_loop, moved[nodes[at].above], nodes[at].time_ps)
        for at in kept
    ]
