"""Ops of compiled programs that compute the same for each of many copies."""

from __future__ import annotations

from stepscope.tables.core.profile import Host, derived
from stepscope.tables.traits.alike import AlikeValues
from stepscope.tables.traits.inside import at_line
from stepscope.tables.traits.instructions import instruction_of


@derived
def _values(_host: Host) -> dict[int, AlikeValues]:
    """Of the programs that were asked for; filled when one is."""
    return {}


def copies(host: Host, event: int) -> tuple[int, str]:
    """How many times the op of an event computes the same, and where what it is given was copied.

    As ``file:line``; 1 and "" where it computes nothing twice.
    """
    found = instruction_of(host, event)
    if found is None:
        return 1, ""
    module, one = found
    known = _values(host)
    if id(module) not in known:
        known[id(module)] = AlikeValues(module)
    count, by = known[id(module)].copies(one)
    return (count, at_line(module, by)) if by is not None else (1, "")
