"""Below which function a part's time divides, and between which of its calls.

One line of a layer may have all of a part's ops; what a person can leave out is one of the calls
that lead there: the second of two passes, or one term of a loss. From the loop inwards, the first
function with several of them is where to look.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from stepscope.tables.core.thresholds import FEW, HALF_FRAC, LARGE_FRAC, MOST_FRAC

# Of these only what they call is named.
_LAMBDA: Final = "<lambda>"


class CallLine(NamedTuple):
    """One line of the program in a stack."""

    file: str
    line: int
    function: str


Chain = tuple[CallLine, ...]


def chain_of(innermost_first: Iterable[CallLine]) -> Chain:
    """A stack from the loop inwards; what a compiler has written into it several times, once."""
    return tuple(dict.fromkeys(reversed(list(innermost_first))))


class Branches(NamedTuple):
    """Where the time divides.

    Attributes:
        function: The function whose lines they are.
        calls: Of each line with much of it: the line, what it calls (its own function: nothing),
            and its share.
    """

    function: str
    calls: tuple[tuple[CallLine, str, float], ...]


def branches(chains: Iterable[tuple[Chain, float]], whole: float) -> Branches | None:
    """Where time divides first, from the loop inwards; None where one line has nearly all of it.

    Args:
        chains: Stacks from the loop inwards, and the time of each.
        whole: What shares are of: the time of these and of whatever has no stack.
    """
    here = [(chain, time) for chain, time in chains if chain]
    depth = 0
    while here:
        times: dict[CallLine, float] = {}
        for chain, time in here:
            if len(chain) > depth:
                times[chain[depth]] = times.get(chain[depth], 0.0) + time
        if not times:
            return None
        most = max(times, key=lambda frame: times[frame])
        if times[most] < MOST_FRAC * whole:
            return _between(here, depth, times, whole)
        here = [(chain, time) for chain, time in here if chain[depth : depth + 1] == (most,)]
        depth += 1
    return None


def _between(
    here: list[tuple[Chain, float]], depth: int, times: dict[CallLine, float], whole: float
) -> Branches | None:
    longest = sorted(times, key=lambda frame: -times[frame])[:FEW]
    shown = [frame for frame in longest if times[frame] >= LARGE_FRAC * whole]
    functions = {(frame.file, frame.function) for frame in shown}
    enough = sum(times[frame] for frame in shown) >= HALF_FRAC * whole
    if len(shown) < 2 or len(functions) > 1 or not enough:
        return None
    calls = tuple((frame, _called(here, depth, frame), times[frame] / whole) for frame in shown)
    return Branches(shown[0].function, calls)


def _called(here: list[tuple[Chain, float]], depth: int, frame: CallLine) -> str:
    """The function that a line calls, of those that most of its time is below; "" of none."""
    below: dict[str, float] = {}
    for chain, time in here:
        if chain[depth : depth + 1] == (frame,):
            inner = [one.function for one in chain[depth + 1 :]]
            name = next((one for one in inner if not one.endswith(_LAMBDA)), "")
            below[name] = below.get(name, 0.0) + time
    return max(below, key=lambda name: below[name])
