"""Work: where the time of ops and kernels goes, in any grouping, and how near its roof it is."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Annotated, Any, Final, Literal, get_args

import numpy as np

from stepscope.errors import UsageError
from stepscope.quantities import share_words, time_words
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Result, Row, Table, us
from stepscope.tables.core.profile import Profile
from stepscope.tables.device.events import has_device_events
from stepscope.tables.device.short_names import called
from stepscope.tables.sums.work import UNNAMED, WorkGroup, WorkSide, WorkTotals, work_totals

_NOT_RECORDED: Final[dict[WorkGroup, str]] = {
    "line": "No line of the program was recorded for this work.",
    "layer": "No module or name scope was recorded for this work.",
    "module": "No module or name scope was recorded for this work.",
}


_LONGEST: Final = 48  # characters of a name in the headline


class WorkRow(Row):
    """All work of one group, on the host or on devices."""

    host_or_device: Annotated[str, Column("Where", kind="category")]
    name: Annotated[str, Column("Name", kind="name", help="Group that the row sums up.")]
    mostly: Annotated[
        str, Column("Mostly", kind="category", help="Type of op with most of its time.")
    ]
    self_time_us: Annotated[
        float,
        Column("Self time", unit="µs", kind="time", sort="desc", help="Without nested work."),
    ]
    share_frac: Annotated[
        float, Column("Share", unit="%", kind="ratio", help="Share of its side's self time.")
    ]
    runs: Annotated[
        float,
        Column("Runs", kind="count", help="Kernels of a GPU, ops of a TPU or of the host."),
    ]
    avg_self_time_us: Annotated[float, Column("Average", unit="µs", kind="time")]
    total_time_us: Annotated[
        float, Column("Total time", unit="µs", kind="time", help="With nested work.")
    ]
    flops: Annotated[
        float,
        Column(
            "FLOPs", kind="number", hidden=True, help="Sum over the part whose FLOPs are known."
        ),
    ]
    flop_rate_gflops: Annotated[
        float,
        Column("FLOP rate", unit="GFLOP/s", kind="rate", help="While its FLOPs are known."),
    ]
    moved_bytes: Annotated[
        float,
        Column("Bytes moved", unit="B", kind="bytes", help="To and from memory, where known."),
    ]
    memory_bw_gbps: Annotated[
        float,
        Column("Bandwidth", unit="GB/s", kind="rate", help="While its bytes are known."),
    ]
    roof_frac: Annotated[
        float,
        Column(
            "Roof reached",
            unit="%",
            kind="ratio",
            help="Share of the FLOP or bandwidth peak that limits it; above 100 % if Winograd, FFT "
            "or a cache saves work.",
        ),
    ]
    peak_bytes: Annotated[
        float,
        Column(
            "At the peak",
            unit="B",
            kind="bytes",
            help="Memory that it holds at the peak, if allocations were recorded.",
        ),
    ]
    devices: Annotated[str, Column("Ran on", kind="text")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of work_table."""

    group_by: Annotated[
        WorkGroup, Help("A layer has all modules whose names differ only in a number.")
    ] = "type"
    where: Annotated[
        Literal["both", "host", "device"], Help("Work of the host, the devices or both.")
    ] = "both"
    within: Annotated[
        str, Help("Only the work of one group, by its kind and name: type=Cast, line=train.py:31 f")
    ] = ""


@dataclass(frozen=True, kw_only=True)
class WorkTable(Result):
    """Where the time of all work goes: by op, type, kernel, module, line, stream or device.

    Attributes:
        headline: The largest row, in one sentence.
        groups: Rows by self time.
    """

    tool = "work_table"
    headline: str
    groups: Table[WorkRow]


def work_table(profile: Profile, options: Options = Options()) -> WorkTable:
    """The work of the profile, grouped."""
    within = _within(options.within)
    sides: dict[WorkSide, WorkTotals] = {
        side: work_totals(profile, side, options.group_by, within)
        for side in ("Device", "Host")
        if options.where in ("both", side.lower())
        and not (side == "Host" and options.group_by == "kernel")
    }
    rows = [row for side, totals in sides.items() for row in _rows(side, totals, options.group_by)]
    short = called(profile)
    headline = _headline(rows, options.group_by, short)
    if within is not None:
        headline = f"Within {_brief(within[1], short)}: {headline}"
    return WorkTable(headline=headline, groups=Table.from_rows(WorkRow, rows))


def _within(text: str) -> tuple[WorkGroup, str] | None:
    """The kind and name of a group; raises ``UsageError`` for what is none."""
    if not text:
        return None
    kind, _, name = text.partition("=")
    for known in get_args(WorkGroup):
        if kind == known and name:
            return known, name
    raise UsageError(
        f"work_table: within cannot be {text!r}.",
        hint=f"Give kind=name, with a kind of {', '.join(get_args(WorkGroup))}.",
    )


def _rows(side: WorkSide, totals: WorkTotals, by: WorkGroup) -> list[dict[str, Any]]:
    """The rows of one side, largest self time first, then by name."""
    whole = int(totals.self_ps.sum())
    found = []
    order = sorted(
        range(len(totals)), key=lambda row: (-int(totals.self_ps[row]), totals.name[row])
    )
    for row in order:
        self_ps, runs = int(totals.self_ps[row]), float(totals.runs[row])
        found.append(
            {
                "host_or_device": side,
                "name": totals.name[row] or UNNAMED[by],
                "mostly": "" if by == "type" else totals.mostly[row],
                "self_time_us": us(self_ps),
                "share_frac": self_ps / whole if whole else 0.0,
                "runs": runs,
                "avg_self_time_us": us(self_ps) / runs if runs else nan,
                "total_time_us": us(int(totals.total_ps[row])),
                "flops": float(totals.flops[row]),
                "flop_rate_gflops": _rate(totals.flops[row], totals.flops_ps[row]),
                "moved_bytes": float(totals.moved_bytes[row]),
                "memory_bw_gbps": _rate(totals.moved_bytes[row], totals.moved_ps[row]),
                "roof_frac": float(totals.roof_frac[row]),
                "peak_bytes": float(totals.peak_bytes[row]),
                "devices": totals.devices[row],
            }
        )
    return found


def _rate(amount: np.float64, time_ps: np.int64) -> float:
    """10⁹ of it a second."""
    return float(amount) / int(time_ps) * 1e3 if time_ps > 0 else nan


def _brief(name: str, short: Mapping[str, str]) -> str:
    """A name for a sentence: what a kernel is called, the end of a path."""
    name = short.get(name, name)
    if len(name) > _LONGEST and "/" in name:
        name = "…/" + "/".join(name.split("/")[-2:])
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"


def _headline(rows: list[dict[str, Any]], by: WorkGroup, short: Mapping[str, str]) -> str:
    """The largest row that has a name, or what was not recorded."""
    named = [row for row in rows if row["name"] != UNNAMED[by]]
    if not named:
        return _NOT_RECORDED.get(by, "") if rows else "Nothing of this kind was recorded."
    top = max(named, key=lambda row: row["self_time_us"])
    side = top["host_or_device"]
    whole = sum(row["self_time_us"] for row in rows if row["host_or_device"] == side)
    share = f"{share_words(top['share_frac'])} of the {time_words(whole / 1e3)} of work"
    return (
        f"{_brief(top['name'], short)}: {share} on {'devices' if side == 'Device' else 'the host'}."
    )


TOOL = Tool(
    id="work_table",
    short="work",
    title="Work",
    tab="Table",
    run=work_table,
    options=Options,
    result=WorkTable,
    times_of=("recording", "step"),
    # Host and device in one order compare what runs at once; the device's is what a step waits for.
    opens=lambda profile: {"where": "device"} if any(map(has_device_events, profile.hosts)) else {},
)
