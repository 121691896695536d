"""Which of the loop's own calls each owner's time is below.

A function that the loop calls may spend its time in a hundred places of its own and of libraries,
each too small to be named: what a person would leave out is the call.
"""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import CallSite, Owner, site_of
from stepscope.tables.python.frames import Frames
from stepscope.tables.python.functions import loop_functions

# Stacks are followed so far.
_DEEPEST = 256


def outer_calls(found: Account, listed: Iterable[Owner]) -> dict[int, str]:
    """By the owners' ids, as "function (file:line)": the outermost that is not the loop's.

    Owners of work that was launched elsewhere, or of several rows, are left out.
    """
    calls = found.frames
    if calls is None:
        return {}
    loops = loop_functions(calls, found.found)
    sites: dict[int, CallSite | None] = {}
    told: dict[int, str] = {}
    for one in listed:
        if len(one.rows) != 1 or one.is_launched:
            continue
        place = int(found.place[one.rows[0]])
        own = int(calls.own[place]) if place >= 0 else -1
        if own not in sites:
            sites[own] = _outermost(calls, own, loops)
        if (site := sites[own]) is not None:
            told[id(one)] = f"{site.function} ({site.file}:{site.line})"
    return told


def _outermost(calls: Frames, own: int, loops: frozenset[tuple[str, str]]) -> CallSite | None:
    best, at = -1, own
    for _ in range(_DEEPEST):
        if at < 0:
            break  # what calls it, the loop, began before the recording
        name = calls.names[int(calls.name[at])]
        if (name.file, name.function) in loops:
            break
        best, around = at, int(calls.caller[at])
        at = int(calls.own[around]) if around >= 0 else -1
    return site_of(calls, best) if best >= 0 else None
