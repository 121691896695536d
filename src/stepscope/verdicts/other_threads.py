"""Threads beside the loop's: those that run Python, and those that hold what it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from stepscope.result import Column, R, Row, Table
from stepscope.tables.account.account import Account
from stepscope.tables.account.lock_holders import LockHolder, lock_holders
from stepscope.tables.account.rivals import Rival, rivals
from stepscope.tables.core.profile import Host


class RivalRow(Row):
    """Another thread of the program that runs Python beside the loop."""

    thread: Annotated[str, Column("Thread", kind="name")]
    function: Annotated[str, Column("Function", kind="name")]
    file: Annotated[str, Column("File", kind="name")]
    line: Annotated[int, Column("Line", kind="number")]
    busy_frac: Annotated[
        float,
        Column("Runs Python", unit="%", kind="ratio", sort="desc", help="Share of the steps."),
    ]
    loop_waits: Annotated[bool, Column("Delays the loop", kind="flag")]
    count: Annotated[int, Column("Threads", kind="number", help="That do the same.")]
    takes_turns: Annotated[bool, Column("Takes turns", kind="flag")]
    makes_input: Annotated[bool, Column("For tf.data", kind="flag", hidden=True)]


class LockHolderRow(Row):
    """A place that another thread is at while the loop waits for a lock."""

    thread: Annotated[str, Column("Thread", kind="name")]
    function: Annotated[str, Column("Function", kind="name")]
    file: Annotated[str, Column("File", kind="name")]
    line: Annotated[int, Column("Line", kind="number")]
    call: Annotated[str, Column("Calls", kind="name")]
    wait_frac: Annotated[
        float,
        Column(
            "Share of the waits", unit="%", kind="ratio", sort="desc", help="Of those for a lock."
        ),
    ]


def rival_table(host: Host, found: Account) -> Table[RivalRow]:
    """The threads that run Python beside the loop."""
    return _rows(RivalRow, rivals(host, found))


def lock_table(host: Host, found: Account) -> Table[LockHolderRow]:
    """The threads that hold a lock while the loop waits for one."""
    return _rows(LockHolderRow, lock_holders(host, found))


def _rows(row: type[R], listed: Sequence[Rival] | Sequence[LockHolder]) -> Table[R]:
    rows = {name: [getattr(one, name) for one in listed] for name in row.__annotations__}
    return Table(row, rows | {"line": [one.line or None for one in listed]})
