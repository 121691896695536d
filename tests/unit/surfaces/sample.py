"""A table with a column of every shape."""

from __future__ import annotations

from typing import Annotated

from stepscope.result import Column, Row, Table


class Sample(Row):
    """A row of every shape."""

    rank: Annotated[int, Column("Rank", kind="rank")]
    operation: Annotated[str, Column("Operation", kind="name")]
    secret: Annotated[str, Column("Secret", kind="text", hidden=True)]
    total_us: Annotated[float, Column("Total", unit="µs", kind="time")]
    self_us: Annotated[float, Column("Self", unit="µs", kind="time", sort="desc")]
    rate: Annotated[float, Column("Rate", unit="GFLOP/s", kind="rate")]
    share_frac: Annotated[float, Column("Share", unit="%", kind="ratio")]


def sample(names: tuple[str, ...] = ("short", "a/much/longer/name/" * 6)) -> Table[Sample]:
    n = len(names)
    return Table(
        Sample,
        {
            "rank": list(range(1, n + 1)),
            "operation": list(names),
            "secret": ["s"] * n,
            "total_us": [1234.5] * n,
            "self_us": [1.5] * n,
            "rate": [float("nan")] * n,
            "share_frac": [0.5] * n,
        },
    )
