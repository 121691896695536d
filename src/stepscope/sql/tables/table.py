"""How a table of SQL declares itself, and what several of them are built with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline.axis import axis_of

if TYPE_CHECKING:
    import polars as pl

ColumnType = Literal["text", "integer", "number", "flag"]
PS_PER_US: Final = 1e6


@dataclass(frozen=True, slots=True)
class QueryColumn:
    """A column: its name (which ends in its unit), its type, and what it means."""

    name: str
    type: ColumnType
    meaning: str


@dataclass(frozen=True, slots=True)
class QueryTable:
    """A table that queries name.

    Attributes:
        meaning: What one row is.
        columns: In order; ``build`` gives exactly these.
        rows: The columns of one host, by name, given its place among the hosts.
    """

    name: str
    meaning: str
    columns: tuple[QueryColumn, ...]
    rows: Callable[[Profile, int], dict[str, Any] | None]

    def build(self, profile: Profile) -> pl.DataFrame:
        """All hosts' rows as one frame; texts are dictionary-encoded where they repeat."""
        import polars as pl

        types: dict[ColumnType, pl.DataType] = {
            "text": pl.String(),
            "integer": pl.Int64(),
            "number": pl.Float64(),
            "flag": pl.Boolean(),
        }
        schema = {column.name: types[column.type] for column in self.columns}
        frames = [pl.DataFrame(schema=schema)]
        for number in range(len(profile.hosts)):
            found = self.rows(profile, number)
            if found is not None:
                host = pl.repeat(profile.hosts[number].name, _height(found), eager=True)
                frame = pl.DataFrame({"host": host.cast(pl.Categorical), **found})
                kept = {n: t for n, t in frame.schema.items() if t == pl.Categorical}
                frames.append(frame.select(list(schema)).cast(pl.Schema(schema | kept)))
        if len(frames) > 1:
            del frames[0]
        return pl.concat(frames, how="vertical_relaxed")


HOST: Final = QueryColumn("host", "text", "Host, as its file is named.")
EVENT: Final = QueryColumn(
    "event", "integer", "Id of the event on the timeline: the key of joins, and of links to it."
)


def axis_time_us(profile: Profile, number: int, start_ps: I64) -> np.ndarray:
    """Times of a host's own clock in µs on the timeline's axis."""
    return (start_ps + axis_of(profile).shift_ps[number]) / PS_PER_US


def event_ids(profile: Profile, number: int, rows: I64) -> I64:
    """Ids on the timeline of a host's event rows."""
    return rows + sum(len(host.space.events) for host in profile.hosts[:number])


def dictionary(words: Sequence[str], codes: np.ndarray) -> pl.Series:
    """Texts that repeat: each word once, and a code per row."""
    import polars as pl

    listed = pl.Series(list(words) or [""], dtype=pl.String).cast(pl.Categorical)
    return listed.gather(np.maximum(codes, 0))


def lines_planes(host: Host) -> I64:
    """The plane of each line of a host."""
    return np.asarray([line.plane for line in host.space.lines] or [0], dtype=np.int64)


def steps_at(starts: I64, ends: I64, nums: I64, at: I64) -> list[int | None]:
    """The number of the step each time lies in; None outside of steps."""
    if len(starts) == 0:
        return [None] * len(at)
    row = np.maximum(np.searchsorted(starts, at, side="right") - 1, 0)
    inside = (at >= starts[row]) & (at < ends[row])
    return [num if one else None for num, one in zip(nums[row].tolist(), inside, strict=True)]


def _height(columns: dict[str, Any]) -> int:
    return len(next(iter(columns.values())))
