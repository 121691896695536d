"""Ops of compiled programs that compute the same for each of many copies."""

from __future__ import annotations

from itertools import islice
from typing import Final

from stepscope.tables.core.profile import Host, derived
from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.traits.alike import AlikeValues, is_of_library
from stepscope.tables.traits.inside import at_line
from stepscope.tables.traits.instructions import instruction_of

_WORK: Final = frozenset(
    (
        "dot",
        "convolution",
        "cholesky",
        "triangular-solve",
        "fft",
        "sort",
        "reduce-window",
        "scatter",
    )
)
# So many of a fusion's are looked at.
_MOST: Final = 32


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
    found_in = [known[id(module)].copies(each) for each in _working(module, one)]
    count, by = max(found_in, key=lambda pair: pair[0], default=(1, None))
    return (count, at_line(module, by)) if by is not None else (1, "")


def _working(module: HloModule, one: Instruction) -> list[Instruction]:
    """What an instruction, or its body, works on at length: making copies is not such work."""
    listed = module.with_bodies(one)
    work = (each for each in listed if each.opcode in _WORK or is_of_library(each))
    return list(islice(work, _MOST))
