"""Hung collectives: which rank a job waits for, from the dumps of NCCL's flight recorder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

import numpy as np

from stepscope.quantities import share_words
from stepscope.records import dataclass
from stepscope.registry import Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table
from stepscope.tables.collectives.calls import (
    Called,
    GroupCalls,
    Lateness,
    Stuck,
    calls,
    lateness,
    stuck,
)
from stepscope.tables.core.profile import Profile

_NS_PER_MS: Final = 1e6
_NAMED: Final = 4


class StuckRow(Row):
    """A collective that had not finished, or that ranks called differently."""

    group: Annotated[str, Column("Process group", kind="category")]
    description: Annotated[str, Column("For", kind="name")]
    number: Annotated[
        int, Column("Number", kind="count", help="PyTorch's number of it in the group.")
    ]
    collective: Annotated[
        str, Column("Collective", kind="category", help="Name that most ranks called.")
    ]
    state: Annotated[
        str,
        Column(
            "State",
            kind="category",
            help="Rank missing, called differently, or running (all ranks called it alike).",
        ),
    ]
    ranks: Annotated[
        int, Column("Ranks", kind="count", help="Size of the group; 0 if not recorded.")
    ]
    joined: Annotated[int, Column("Called it", kind="count")]
    missing: Annotated[str, Column("Did not call it", kind="name")]
    differing: Annotated[str, Column("Called something else", kind="name")]
    last: Annotated[str, Column("Called it last", kind="name")]
    spread_ms: Annotated[
        float,
        Column(
            "First to last",
            unit="ms",
            kind="time",
            help="Between the first and the last call; limited by the hosts' clocks.",
        ),
    ]
    behind: Annotated[
        int, Column("Behind it", kind="count", help="Later unfinished collectives of the group.")
    ]
    line: Annotated[str, Column("Called at", kind="name", help="Line of the first rank's call.")]


class RankRow(Row):
    """One rank: where it stands, and how often the others waited for its call."""

    rank: Annotated[str, Column("Rank", kind="name")]
    calls: Annotated[int, Column("Calls", kind="count", help="Calls in the rank's dump.")]
    unfinished: Annotated[int, Column("Unfinished", kind="count")]
    last: Annotated[str, Column("Last call", kind="name")]
    line: Annotated[str, Column("Called at", kind="name")]
    came_last: Annotated[
        int,
        Column(
            "Came last",
            kind="count",
            help="Collectives that it entered last, of those that the whole group called.",
        ),
    ]
    late_ms: Annotated[
        float,
        Column(
            "Late",
            unit="ms",
            kind="time",
            sort="desc",
            help="Sum of its delays behind the middle rank when it came last.",
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class HungCollectives(Result):
    """Which rank a hung job waits for: missing, differing and late calls of collectives.

    Attributes:
        headline: The answer in one sentence.
        is_stuck: Whether a rank is missing from a collective, or ranks called it differently.
        stuck: First unfinished collective of each process group, and all that ranks called
            differently.
        ranks: One row per rank.
    """

    tool = "hung_collectives"
    headline: str
    is_stuck: bool
    stuck: Table[StuckRow]
    ranks: Table[RankRow]


@dataclass(frozen=True, slots=True)
class Options:
    """The page has no options."""


def hung_collectives(profile: Profile, options: Options = Options()) -> HungCollectives:
    """Which rank the others wait for, and in which collective."""
    found, waiting, late = calls(profile), stuck(profile), lateness(profile)
    return HungCollectives(
        headline=_headline(found, waiting, late),
        is_stuck=any(one.missing or one.odd(found) for one in waiting),
        stuck=Table.from_rows(StuckRow, [_stuck_row(found, one) for one in waiting]),
        ranks=Table.from_rows(RankRow, list(_rank_rows(found, late))),
        diagnostics=tuple(_diagnostics(found, waiting)),
    )


def _headline(found: GroupCalls, waiting: list[Stuck], late: Lateness) -> str:
    one = _cause(found, waiting)
    if one is None:
        return _nothing_stuck(found, waiting, late)
    what = _what(found, one)
    if odd := one.odd(found):
        ranks = _listed([found.label(one.joined[at]) for at in odd])
        said = found.called[one.said[odd[0]]]
        other = found.called[next(c for at, c in enumerate(one.said) if at not in odd)]
        text = (
            f"{what} was called differently: {ranks} called {_call(said, other)} where "
            f"{_count(len(one.joined) - len(odd), 'rank')} called {_call(other, said)}"
        )
    elif one.missing:
        ranks = _listed([found.label(worker) for worker in one.missing])
        text = (
            f"{what} waits for {ranks}, which did not call it; "
            f"{_last_of(found, one.missing[0], one.group)}"
        )
    elif one.absent:
        text = (
            f"{what} had not finished on the {_count(len(one.joined), 'rank')} with a dump; "
            f"{_listed([f'rank {rank}' for rank in one.absent])} left none"
        )
    else:
        last = found.label(one.joined[-1])
        text = (
            f"All ranks called {what}, {last} last and {one.spread_ns / _NS_PER_MS:,.1f} ms after "
            "the first; it had not finished"
        )
    return f"{text}."


def _nothing_stuck(found: GroupCalls, waiting: list[Stuck], late: Lateness) -> str:
    done = f"Every one of the {len(found):,} calls in the dumps had finished"
    if not late.compared or not late.last.any():
        return f"{done}."
    worker = int(late.late_ns.argmax())
    return (
        f"{done}; {found.label(worker)} was last in "
        f"{share_words(late.last[worker] / late.compared)} of "
        f"{_count(late.compared, 'collective')}, {late.late_ns[worker] / _NS_PER_MS:,.1f} ms after "
        "the middle rank in total."
    )


def _cause(found: GroupCalls, waiting: list[Stuck]) -> Stuck | None:
    """The collective to look at first: that which no other collective holds up.

    A rank that is missing from one may itself wait in one of another group.
    """
    todo = [one for one in waiting if not one.is_done or one.odd(found)]
    if not todo:
        return None
    one = next((some for some in todo if some.missing or some.odd(found)), todo[0])
    seen = {id(one)}
    while one.missing and not one.odd(found):
        behind = [
            other
            for other in todo
            if id(other) not in seen and set(one.missing) & set(other.joined)
        ]
        blocked = next((other for other in behind if other.missing or other.odd(found)), None)
        if blocked is None:
            break
        one = blocked
        seen.add(id(one))
    return one


def _what(found: GroupCalls, one: Stuck) -> str:
    group = found.groups[one.group]
    most = _most(found, one)
    name = group.description or group.name
    return f"{most.collective} #{one.number:,} of {name or 'its process group'}"


def _most(found: GroupCalls, one: Stuck) -> Called:
    odd = set(one.odd(found))
    return found.called[next(code for at, code in enumerate(one.said) if at not in odd)]


def _call(said: Called, other: Called) -> str:
    """A call, with its shapes where the name is the same."""
    if said.collective != other.collective:
        return said.collective
    return " ".join(one for one in (said.collective, said.sizes, said.types) if one)


def _last_of(found: GroupCalls, worker: int, group: int) -> str:
    """What a rank called last: in the group if anything, else at all."""
    mine = np.flatnonzero(found.worker == worker)
    in_group = mine[found.group[mine] == group]
    if not len(mine):
        return "it called nothing at all"
    rows = in_group if len(in_group) else mine
    row = int(rows[found.created_ns[rows].argmax()])
    said = found.called[int(found.said[row])]
    where = "" if len(in_group) else f" of {found.groups[int(found.group[row])].name}"
    at = f" at {said.line}" if said.line else ""
    state = "finished" if found.is_done[row] else "not finished"
    return f"its last call was {said.collective} #{int(found.number[row]):,}{where}{at}, {state}"


def _stuck_row(found: GroupCalls, one: Stuck) -> dict[str, Any]:
    group, odd = found.groups[one.group], one.odd(found)
    most = _most(found, one)
    state = "called differently" if odd else "rank missing" if one.missing else "running"
    return {
        "group": group.name,
        "description": group.description,
        "number": one.number,
        "collective": most.collective,
        "state": state,
        "ranks": len(group.ranks),
        "joined": len(one.joined),
        "missing": ", ".join(found.label(worker) for worker in one.missing),
        "differing": ", ".join(
            f"{found.label(one.joined[at])}: {_call(found.called[one.said[at]], most)}"
            for at in odd
        ),
        "last": found.label(one.joined[-1]),
        "spread_ms": one.spread_ns / _NS_PER_MS,
        "behind": one.behind,
        "line": found.called[one.said[0]].line,
    }


def _rank_rows(found: GroupCalls, late: Lateness) -> Iterator[dict[str, Any]]:
    for worker in range(len(found.workers)):
        mine = np.flatnonzero(found.worker == worker)
        row = int(mine[found.created_ns[mine].argmax()]) if len(mine) else -1
        said = found.called[int(found.said[row])] if row >= 0 else Called("", "", "", "")
        yield {
            "rank": found.label(worker),
            "calls": len(mine),
            "unfinished": int((~found.is_done[mine]).sum()),
            "last": f"{said.collective} #{int(found.number[row]):,}" if row >= 0 else "",
            "line": said.line,
            "came_last": int(late.last[worker]),
            "late_ms": float(late.late_ns[worker]) / _NS_PER_MS,
        }


def _diagnostics(found: GroupCalls, waiting: list[Stuck]) -> Iterator[Diagnostic]:
    absent = sorted({rank for one in waiting for rank in one.absent})
    if absent:
        ranks = _listed([f"rank {rank}" for rank in absent])
        yield Diagnostic(
            "missing-dumps",
            "warning",
            f"There is no dump of {ranks}: whether it called what the others wait for is unknown.",
        )
    if found.messages:
        yield Diagnostic(
            "messages-not-compared",
            "info",
            f"{_count(found.messages, 'send and receive', 'sends and receives')} are on the "
            "timeline, and not compared between ranks.",
        )


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def _listed(texts: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    shown = list(texts[:_NAMED])
    more = len(texts) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


TOOL = Tool(
    id="hung_collectives",
    short="hang",
    title="Hung Collectives",
    tab="Ranks",
    run=hung_collectives,
    options=Options,
    result=HungCollectives,
)
