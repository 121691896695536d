"""Which calls, repeated, are one round of a program's loop: found by agreement, not by timing.

A loop calls the same functions in every round. So whatever busy machine, asynchronous dispatch or
slow step there was, between two calls of a function that is called once a round every other
function of the loop is called as often as in any other round. That is what is looked for; it
holds for any part of a recording, too, so a file that was cut gives the same rounds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stepscope.columns.space import I64
from stepscope.records import dataclass

if TYPE_CHECKING:
    from stepscope.tables.steps.calls import Calls

# Rounds that need to be alike before something counts as a part of each.
_ALIKE = 0.8
# A function called several times a round says less for the round than one called once: a loop of
# five steps and a validation has as regular a pattern as a step of five calls and a sum.
_SEVERAL = 0.4
# Calls of one name in a round from which one more or less makes no other round.
_MANY = 3
# Names that people, and Keras, give to the function that is one step. A round that calls it more
# or less often than once is so much less likely: of 48 calls of ``loss`` to one of ``update``, the
# 48 are a part of the step.
_STEP_NAME = re.compile(r"(?<![a-z])(steps?|train|update|batch|fit|epoch)(?![a-z])|_step|step_")
_OTHER_NAME = 0.6
# Names looked at, by time, so that the cost stays bounded.
_MOST_NAMES = 64


@dataclass(frozen=True, eq=False, slots=True)
class Cycle:
    """The rounds of a loop.

    Attributes:
        anchor: What is called once a round and explains most.
        members: All that are called once a round, the anchor among them.
        start_ps: Where each round begins: at the first call of its members.
        end_ps: Where the last call of its members ends.
        explained: Share of all calls, by weight and time, that recur in every round.
        agreeing: ``(kind, name, calls a round)`` of what recurs in every round.
        every: How often a round runs the anchor, and what agrees with it.
    """

    anchor: Calls
    members: tuple[Calls, ...]
    start_ps: I64
    end_ps: I64
    explained: float
    agreeing: tuple[tuple[str, str, int], ...]
    every: int = 1

    def __len__(self) -> int:
        return len(self.start_ps)


def is_step_name(name: str) -> bool:
    """Whether people call the function of a step so."""
    return _STEP_NAME.search(name) is not None


def find_cycle(
    calls: Sequence[Calls],
    *,
    fewest: int = 3,
    several: float = _SEVERAL,
    anchors: Sequence[Calls] | None = None,
) -> Cycle | None:
    """The rounds that most of the calls share; None where nothing recurs.

    Args:
        calls: What may recur, of one thread or device.
        fewest: Calls of one name that make a loop.
        several: Weight of what recurs several times a round.
        anchors: The only ones of them that may tell the round; None for any.
    """
    chosen = sorted(calls, key=lambda one: (-one.weight, -one.time_ps, one.name))[:_MOST_NAMES]
    chosen = [one for one in chosen if len(one)]
    if not chosen:
        return None
    shares = _shares(chosen)
    span = _span(chosen)
    best: tuple[float, int, Calls] | None = None
    may_tell = chosen if anchors is None else [one for one in chosen if one in anchors]
    heaviest = max((one.weight for one in may_tell if len(one) >= fewest), default=0.0)
    told = [
        one
        for one in may_tell
        if one.kind == "call" and len(one) >= fewest and is_step_name(one.name)
    ]
    for place, anchor in enumerate(chosen):
        # Single ops tell the round only where no function of the program does.
        if len(anchor) < fewest or anchor.weight < heaviest or anchor not in may_tell:
            continue
        score = 0.0
        for share, other in zip(shares, chosen, strict=True):
            often = _calls_a_round(anchor.start_ps, other.start_ps)
            if often:
                score += share * (1.0 if often == 1 else several)
        rounds = len(anchor)
        reach = int(anchor.start_ps[-1] - anchor.start_ps[0]) * rounds / (rounds - 1)
        score *= rounds / (rounds + 1) * min(1.0, 0.2 + reach / max(span, 1))
        if any(_calls_a_round(anchor.start_ps, one.start_ps) != 1 for one in told):
            score *= _OTHER_NAME
        if best is None or score > best[0] + 1e-9:
            best = (score, place, anchor)
    return None if best is None else _cycle(best[2], chosen, shares)


def _shares(calls: Sequence[Calls]) -> list[float]:
    """What each name counts: half by its weight, half by its time if any has one; they sum to 1."""
    weight = sum(one.weight for one in calls) or 1.0
    time = sum(one.time_ps for one in calls)
    if not time:
        return [one.weight / weight for one in calls]
    return [0.5 * one.weight / weight + 0.5 * one.time_ps / time for one in calls]


def _span(calls: Sequence[Calls]) -> int:
    return int(max(one.end_ps[-1] for one in calls) - min(one.start_ps[0] for one in calls))


def _calls_a_round(anchor: I64, other: I64) -> int:
    """How often the other is called between two calls of the anchor; 0 where that differs."""
    if anchor is other:
        return 1
    counts = np.diff(np.searchsorted(other, anchor))
    if len(counts) == 0:
        return 0
    often = int(np.bincount(counts).argmax())
    # Of many calls a round one may be lost, or a round may need one more.
    spare = max(often // 4, 1) if often >= _MANY else 0
    alike = float((np.abs(counts - often) <= spare).mean())
    return often if often and alike >= _ALIKE else 0


def _cycle(anchor: Calls, calls: Sequence[Calls], shares: Sequence[float]) -> Cycle:
    often = [_calls_a_round(anchor.start_ps, one.start_ps) for one in calls]
    members = [one for one, count in zip(calls, often, strict=True) if count == 1]
    first = _first_of_round(anchor, members)
    start = first.start_ps
    # A round with few of its members is the fetch that found nothing more, or was cut.
    edges = [*start.tolist(), _FAR]
    present = sum(
        (np.diff(np.searchsorted(one.start_ps, edges)) > 0).astype(int) for one in members
    )
    start = start[2 * np.asarray(present) > len(members)]
    limit = np.concatenate([start[1:], [_FAR]])
    end = start.copy()
    for one in members:
        place = np.searchsorted(one.start_ps, limit) - 1
        inside = (place >= 0) & (one.start_ps[np.maximum(place, 0)] >= start)
        end = np.maximum(end, np.where(inside, one.end_ps[np.maximum(place, 0)], end))
    agreeing = [
        (one.kind, one.name, count) for one, count in zip(calls, often, strict=True) if count
    ]
    explained = sum(share for share, count in zip(shares, often, strict=True) if count)
    return Cycle(
        anchor, tuple(members), start, np.minimum(end, limit), float(explained), tuple(agreeing)
    )


_FAR = np.iinfo(np.int64).max


def _first_of_round(anchor: Calls, members: Sequence[Calls]) -> Calls:
    """The member with which most rounds are whole; asking for input comes before all else."""
    best: tuple[int, int, int] | None = None
    chosen = anchor
    for one in members:
        edges = np.concatenate([one.start_ps, [_FAR]])
        whole = np.ones(len(one), dtype=bool)
        for other in members:
            whole &= np.diff(np.searchsorted(other.start_ps, edges)) > 0
        rank = (-int(whole.sum()), 0 if one.kind == "fetch" else 1, int(one.start_ps[0]))
        if best is None or rank < best:
            best, chosen = rank, one
    return chosen
