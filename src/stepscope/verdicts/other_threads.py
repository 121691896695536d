"""Threads beside the loop's: those that run Python, and those that it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from stepscope.result import Column, R, Row, Table, columns_of
from stepscope.tables.account.account import Account
from stepscope.tables.core.profile import Host

if TYPE_CHECKING:
    from stepscope.tables.account.threads import LockHolder, Rival


class _PlaceRow(Row):
    """A thread, and the place of the program that it is at."""

    thread: Annotated[str, Column("Thread", kind="name")]
    function: Annotated[str, Column("Function", kind="name")]
    file: Annotated[str, Column("File", kind="name")]
    line: Annotated[int, Column("Line", kind="number")]


class RivalRow(_PlaceRow):
    """Another thread of the program that runs Python beside the loop."""

    call: Annotated[
        str, Column("Calls", kind="name", help="The library call with most of the time.")
    ]
    busy_frac: Annotated[
        float,
        Column("Runs Python", unit="%", kind="ratio", sort="desc", help="Share of the steps."),
    ]
    loop_waits: Annotated[bool, Column("Delays the loop", kind="flag")]
    count: Annotated[int, Column("Threads", kind="number", help="That do the same.")]
    takes_turns: Annotated[bool, Column("Takes turns", kind="flag")]
    makes_input: Annotated[bool, Column("For tf.data", kind="flag", hidden=True)]


class LockHolderRow(_PlaceRow):
    """Where a thread has a lock that the loop waits for."""

    call: Annotated[str, Column("Calls", kind="name")]
    wait_frac: Annotated[
        float,
        Column(
            "Share of the waits",
            unit="%",
            kind="ratio",
            sort="desc",
            help="The loop's wait for a lock.",
        ),
    ]


def thread_tables(host: Host, found: Account) -> tuple[Table[RivalRow], Table[LockHolderRow]]:
    """Return who runs Python beside the loop, and who holds locks while it waits."""
    if found.frames is None:
        return _rows(RivalRow, []), _rows(LockHolderRow, [])
    from stepscope.tables.account.threads import lock_holders, rivals

    return _rows(RivalRow, rivals(host, found)), _rows(LockHolderRow, lock_holders(host, found))


def _rows(row: type[R], listed: Sequence[Rival] | Sequence[LockHolder]) -> Table[R]:
    rows = {name: [getattr(one, name) for one in listed] for name in columns_of(row)}
    return Table(row, rows | {"line": [one or None for one in rows["line"]]})
