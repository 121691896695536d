"""Collectives: what devices exchange, how long they wait for each other, and how fast it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isnan, nan
from typing import Annotated, Any, Final

from stepscope.columns.space import I64, Bool
from stepscope.quantities import share_words, time_words
from stepscope.records import dataclass
from stepscope.registry import Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, ms
from stepscope.tables.collectives.exchanges import ExchangeKind, Exchanges, exchanges
from stepscope.tables.core.profile import Profile

_BOTH_WAYS: Final = re.compile(r"all_?reduce")
_ONE_WAY: Final = re.compile(r"gather|reduce_?scatter|all_?to_?all")


class GroupRow(Row):
    """One collective of one process group, with messages of one size."""

    group: Annotated[str, Column("Process group", kind="category")]
    description: Annotated[str, Column("For", kind="category")]
    collective: Annotated[str, Column("Collective", kind="name")]
    ranks: Annotated[float, Column("Ranks", kind="number", help="Size of the process group.")]
    message_bytes: Annotated[
        float, Column("Message", unit="B", kind="bytes", help="Size of one exchange.")
    ]
    count: Annotated[
        float, Column("Count", kind="number", help="Exchanges, mean over the devices.")
    ]
    time_ms: Annotated[
        float,
        Column(
            "Time",
            unit="ms",
            kind="time",
            sort="desc",
            help="Time in this collective, mean over the devices.",
        ),
    ]
    exposed_ms: Annotated[
        float, Column("Exposed", unit="ms", kind="time", help="Time in which nothing computes.")
    ]
    wait_ms: Annotated[
        float,
        Column(
            "Waiting",
            unit="ms",
            kind="time",
            help="Until the last device arrives; unknown if partners were not recorded.",
        ),
    ]
    transfer_ms: Annotated[
        float, Column("Transfer", unit="ms", kind="time", help="After all devices have arrived.")
    ]
    algorithm_gbps: Annotated[
        float,
        Column(
            "Algorithm bandwidth", unit="GB/s", kind="rate", help="Message size ÷ transfer time."
        ),
    ]
    bus_gbps: Annotated[
        float,
        Column(
            "Bus bandwidth",
            unit="GB/s",
            kind="rate",
            help="Per link: algorithm bandwidth × 2(n-1)/n for all-reduce, (n-1)/n for others.",
        ),
    ]


class WorkerRow(Row):
    """One device: what it spent in collectives, and what others waited for it."""

    host: Annotated[str, Column("Host", kind="name")]
    device: Annotated[str, Column("Device", kind="name")]
    time_ms: Annotated[float, Column("Time", unit="ms", kind="time")]
    exposed_ms: Annotated[float, Column("Exposed", unit="ms", kind="time")]
    wait_ms: Annotated[float, Column("Waiting for others", unit="ms", kind="time")]
    last: Annotated[
        float,
        Column(
            "Came last",
            kind="number",
            help="Exchanges in which it arrived last; unknown if partners were not recorded.",
        ),
    ]
    caused_wait_ms: Annotated[
        float,
        Column(
            "Others waited",
            unit="ms",
            kind="time",
            sort="desc",
            help="Sum of the other devices' waits for this one.",
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class Collectives(Result):
    """What devices exchange with each other: waiting, transfer, bandwidth, and who comes last.

    Attributes:
        headline: The answer in one sentence.
        time_ms: Time in collectives, a mean over the devices.
        exposed_ms: Part of that time in which nothing computes; None if only exchanges were
            recorded.
        wait_ms: Part of that time until the last device arrived; None if unknown.
        groups: One row per collective of each process group.
        workers: One row per device.
    """

    tool = "collectives"
    headline: str
    time_ms: float
    exposed_ms: float | None
    wait_ms: float | None
    groups: Table[GroupRow]
    workers: Table[WorkerRow]


@dataclass(frozen=True, slots=True)
class Options:
    """The page has no options."""


def collectives(profile: Profile, options: Options = Options()) -> Collectives:
    """Every exchange between devices, by process group and by device."""
    found = exchanges(profile)
    devices = max(len(found.workers), 1)
    known = found.transfer_ps >= 0
    wait = ms(int((found.duration_ps - found.transfer_ps)[known].sum())) / devices
    time, exposed = ms(int(found.duration_ps.sum())) / devices, _exposed(found.exposed_ps, devices)
    workers = _workers(found)
    return Collectives(
        headline=_headline(found, time, exposed, wait, workers),
        time_ms=time,
        exposed_ms=None if isnan(exposed) else exposed,
        wait_ms=wait if known.any() else None,
        groups=_groups(found),
        workers=workers,
        diagnostics=_diagnostics(known),
    )


def _exposed(exposed_ps: I64, devices: int) -> float:
    """With nothing computing, a mean over devices, in ms; NaN where that was not recorded."""
    return nan if (exposed_ps < 0).any() else ms(int(exposed_ps.sum())) / devices


def _headline(
    found: Exchanges, time: float, exposed: float, wait: float, workers: Table[WorkerRow]
) -> str:
    text = f"Each device spends {time_words(time)} in collectives"
    if not isnan(exposed):
        share = exposed / time if time else 0.0
        text += f", {share_words(share)} of it with nothing computing"
    caused = [row["caused_wait_ms"] or 0.0 for row in workers.rows()]
    if not sum(caused):
        return f"{text}."
    host, device = found.workers[caused.index(max(caused))]
    text += f"; {time_words(wait)} is waiting"
    of_rank = share_words(max(caused) / sum(caused))
    return f"{text}, and {of_rank} of all waiting is for {host} {device}."


def _groups(found: Exchanges) -> Table[GroupRow]:
    return Table.from_rows(GroupRow, list(_group_rows(found)))


def _group_rows(found: Exchanges) -> Iterator[dict[str, Any]]:
    devices = len(found.workers)
    for code, kind in enumerate(found.kinds):
        mine = found.kind == code
        known = mine & (found.transfer_ps >= 0)
        transfer = ms(int(found.transfer_ps[known].sum())) / devices if known.any() else nan
        time = ms(int(found.duration_ps[mine].sum())) / devices
        count = int(mine.sum()) / devices
        # Where partners are known the transfer counts, else all of it, waiting included.
        moved, taken = (int(known.sum()) / devices, transfer) if known.any() else (count, time)
        rate = kind.message_bytes * moved / taken / 1e6 if kind.message_bytes and taken else nan
        yield {
            "group": kind.group,
            "description": kind.description,
            "collective": kind.collective,
            "ranks": kind.ranks or nan,
            "message_bytes": kind.message_bytes or nan,
            "count": count,
            "time_ms": time,
            "exposed_ms": _exposed(found.exposed_ps[mine], devices),
            "wait_ms": ms(int(found.duration_ps[known].sum())) / devices - transfer,
            "transfer_ms": transfer,
            "algorithm_gbps": rate,
            "bus_gbps": rate * _bus_factor(kind),
        }


def _bus_factor(kind: ExchangeKind) -> float:
    """What share of the message each link carries; unknown without the number of ranks."""
    if not kind.ranks:
        return nan
    share = (kind.ranks - 1) / kind.ranks
    if _BOTH_WAYS.search(kind.collective):
        return 2 * share
    return share if _ONE_WAY.search(kind.collective) else 1.0


def _workers(found: Exchanges) -> Table[WorkerRow]:
    rows = []
    for number, (host, device) in enumerate(found.workers):
        mine = found.worker == number
        known: Bool = mine & (found.transfer_ps >= 0)
        waited = int((found.duration_ps - found.transfer_ps)[known].sum())
        rows.append(
            {
                "host": host,
                "device": device,
                "time_ms": ms(int(found.duration_ps[mine].sum())),
                "exposed_ms": _exposed(found.exposed_ps[mine], 1),
                "wait_ms": ms(waited) if known.any() else nan,
                "last": int(found.is_last[mine].sum()) if known.any() else nan,
                "caused_wait_ms": ms(int(found.caused_ps[mine].sum())) if known.any() else nan,
            }
        )
    return Table.from_rows(WorkerRow, rows)


def _diagnostics(known: Bool) -> tuple[Diagnostic, ...]:
    if known.all():
        return ()
    text = (
        f"{int((~known).sum()):,} of {len(known):,} exchanges have no partners in this recording, "
        "or partners that exchanged something else: how much of their time is waiting is unknown, "
        "and bandwidths that include waiting are lower bounds."
    )
    return (Diagnostic("unmatched-collectives", "info", text),)


TOOL = Tool(
    id="collectives",
    short="comm",
    title="Collectives",
    tab="Table",
    run=collectives,
    options=Options,
    result=Collectives,
    times_of=("recording",),
)
