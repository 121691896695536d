"""Accounts of drawn steps, and what they say."""

from __future__ import annotations

from typing import Any

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import Account, account
from stepscope.tables.account.owners import Owner, owners
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Part, parts
from tests.profiles import draw, event, nth, space

STEP = event("train", step_num=nth, _r=1)
Times = dict[tuple[str, str], float]
# What letters mean: the name of an event, or an event.
Letters = dict[str, Any]


def host(*rows: str, steps: int = 2, loop: str = "", **letters: Any) -> Host:
    """A loop of so many steps, 100 µs a character, as wide as the rows or as ``loop`` says.

    Each row continues the thread above it, the loop's at first, or names a thread or a plane.
    """
    wide = max(len(row.rpartition("  ")[2]) for row in rows if not row.startswith("/"))
    loop = loop or ("S" + "-" * (wide // steps - 1)) * steps
    named = [row if "  " in row or row.startswith("/") else f'"  {row}' for row in rows]
    picture = "\n".join(["/host:CPU", f"python  {loop}", *named])
    means = {
        letter: event(meaning) if isinstance(meaning, str) else meaning
        for letter, meaning in letters.items()
    }
    return Host("h", decode(space(*draw(picture, unit_us=100, S=STEP, **means))))


def accounted(one: Host) -> Account:
    """The account of a host that has one."""
    found = account(one)
    assert found is not None
    return found


def told(one: Host) -> Times:
    """Milliseconds in all steps, by kind and name of their owners."""
    found = accounted(one)
    return _summed(found, owners(found))


def parted(one: Host) -> Times:
    """Milliseconds in all steps, by kind and name of their parts."""
    found = accounted(one)
    return _summed(found, parts(found))


def _summed(found: Account, listed: list[Owner] | list[Part]) -> Times:
    total: Times = {}
    for one in listed:
        key = (one.kind, one.name)
        total[key] = round(total.get(key, 0.0) + one.total_ps / 1e9, 6)
    assert round(sum(total.values()) * 1e9) == int(found.found.duration_ps[found.found.kept].sum())
    return total


def owner_named(one: Host, name: str) -> Owner:
    """The first owner of this name."""
    return next(owner for owner in owners(accounted(one)) if owner.name == name)
