"""Kernel stats: every GPU kernel with its launch, its op and its times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from itertools import accumulate
from operator import itemgetter
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from stepscope.quantities import share_words, time_words
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Result, Row, Table, columns_of, ms, us
from stepscope.tables.core.profile import Profile, derived
from stepscope.tables.device.kernel_classes import kernel_class
from stepscope.tables.device.kernel_launch import KernelLaunch
from stepscope.tables.device.kernel_names import is_tensor_core_eligible, uses_tensor_core
from stepscope.tables.device.kernels import (
    DeviceKernel,
    Kernel,
    Times,
    host_kernels,
    spread_of,
)
from stepscope.tables.steps.time_base import mean_steps, summed_hosts

T = TypeVar("T", Kernel, KernelLaunch)

# Slices of the pie beside "all others".
_SLICES = 10
OTHERS = "all others"


class KernelRow(Row):
    """A kernel as launched for an op (or what the rows are grouped by)."""

    rank: Annotated[int, Column("Rank", kind="rank", help="Position by total time.")]
    name: Annotated[str, Column("Kernel", kind="name")]
    kernel_class: Annotated[
        str, Column("Class", kind="category", help="Kind of work, by the kernel's or op's name.")
    ]
    op_name: Annotated[
        str, Column("Op", kind="name", help="Framework op that launched the kernel.")
    ]
    op_type: Annotated[str, Column("Op type", kind="category", hidden=True)]
    registers_per_thread: Annotated[int, Column("Registers per thread", kind="count")]
    shmem_bytes: Annotated[
        int,
        Column("Shared memory", unit="B", kind="bytes", help="Static plus dynamic, per block."),
    ]
    static_shmem_bytes: Annotated[
        int, Column("Static shared memory", unit="B", kind="bytes", hidden=True)
    ]
    dynamic_shmem_bytes: Annotated[
        int, Column("Dynamic shared memory", unit="B", kind="bytes", hidden=True)
    ]
    block_dim: Annotated[str, Column("Block", kind="text", help="Threads per block, x,y,z.")]
    grid_dim: Annotated[str, Column("Grid", kind="text", help="Blocks, x,y,z.")]
    occupancy_frac: Annotated[
        float,
        Column(
            "Occupancy",
            unit="%",
            kind="ratio",
            help="Theoretical occupancy; empty if not recorded.",
        ),
    ]
    is_op_tensor_core_eligible: Annotated[
        bool,
        Column(
            "Op could use tensor cores",
            kind="flag",
            help="Whether NVIDIA tensor cores or AMD matrix cores could run the op.",
        ),
    ]
    is_kernel_using_tensor_core: Annotated[bool, Column("Uses tensor cores", kind="flag")]
    is_16_bit: Annotated[
        bool,
        Column(
            "16-bit",
            kind="flag",
            help="Whether it computes in 16 bits or fewer, by operands or name.",
        ),
    ]
    is_precision_known: Annotated[
        bool,
        Column(
            "Precision known",
            kind="flag",
            hidden=True,
            help="No if operands, program and name do not give the number of bits.",
        ),
    ]
    occurrences: Annotated[float, Column("Occurrences", kind="count")]
    total_duration_us: Annotated[float, Column("Total time", unit="µs", kind="time", sort="desc")]
    avg_duration_us: Annotated[float, Column("Average time", unit="µs", kind="time")]
    median_duration_us: Annotated[float, Column("Median", unit="µs", kind="time")]
    std_duration_us: Annotated[
        float,
        Column(
            "Standard deviation",
            unit="µs",
            kind="time",
            help="Standard deviation of its durations; empty for a single run.",
        ),
    ]
    min_duration_us: Annotated[float, Column("Shortest", unit="µs", kind="time")]
    max_duration_us: Annotated[float, Column("Longest", unit="µs", kind="time")]
    share_frac: Annotated[
        float, Column("Share", unit="%", kind="ratio", help="Share of the time of all kernels.")
    ]
    cumulative_frac: Annotated[
        float,
        Column("Cumulative", unit="%", kind="ratio", help="Share of this row and all rows above."),
    ]
    devices: Annotated[str, Column("Devices", kind="text", help="Devices that ran it.")]


class KernelSliceRow(Row):
    """One slice of the pie of the longest kernels; the last one is all others."""

    name: Annotated[str, Column("Kernel", kind="name")]
    kernels: Annotated[
        int,
        Column("Kernels", kind="count", help="Distinct kernels: 1, except for the rest."),
    ]
    total_duration_us: Annotated[float, Column("Total time", unit="µs", kind="time")]
    share_frac: Annotated[float, Column("Share", unit="%", kind="ratio")]


class KernelClassRow(Row):
    """All kernels of one class."""

    kernel_class: Annotated[str, Column("Class", kind="category")]
    kernels: Annotated[int, Column("Kernels", kind="count", help="Distinct kernels.")]
    occurrences: Annotated[float, Column("Occurrences", kind="count")]
    total_duration_us: Annotated[float, Column("Total time", unit="µs", kind="time", sort="desc")]
    share_frac: Annotated[float, Column("Share", unit="%", kind="ratio")]
    tensor_core_frac: Annotated[
        float,
        Column("On tensor cores", unit="%", kind="ratio", help="Share of the class's time."),
    ]


class KernelDeviceRow(Row):
    """All kernels of one device."""

    host: Annotated[str, Column("Host", kind="name")]
    device: Annotated[str, Column("Device", kind="name")]
    kernels: Annotated[int, Column("Kernels", kind="count", help="Distinct kernels.")]
    occurrences: Annotated[float, Column("Occurrences", kind="count")]
    total_duration_us: Annotated[float, Column("Total time", unit="µs", kind="time")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of kernel_stats."""

    group_by: Annotated[
        Literal["kernel", "op", "class", "name"],
        Help("One row per kernel, launch and op (kernel), per op, class or kernel name."),
    ] = "kernel"


@dataclass(frozen=True, slots=True)
class KernelTotals:
    """Totals over the kernels shown.

    Attributes:
        distinct_kernels: Distinct kernel names.
        occurrences: Kernel runs.
        total_duration_us: Sum of kernel times; concurrent kernels all count.
        tensor_core_frac: Share of the time in kernels that use tensor or matrix cores.
        tensor_core_eligible_frac: Share of the time in ops that could use tensor or matrix cores.
        tensor_core_missed_us: Time of matrix products and convolutions that do not use tensor or
            matrix cores.
        bits_16_frac: Share of the time in kernels that compute in 16 bits or fewer.
    """

    distinct_kernels: int
    occurrences: float
    total_duration_us: float
    tensor_core_frac: float | None
    tensor_core_eligible_frac: float | None
    tensor_core_missed_us: float
    bits_16_frac: float | None


@dataclass(frozen=True, kw_only=True)
class KernelStats(Result):
    """Every GPU kernel with its launch, the op that launched it, and its times.

    Attributes:
        headline: The kind of work with most kernel time, in one sentence.
        kernels: Kernels, longest total first.
        longest: The longest kernels, and all others as one row, for a pie chart.
        by_class: Kernel time by kind of work.
        by_device: Kernel time by device.
        totals: Base of the shares.
    """

    tool = "kernel_stats"
    headline: str
    kernels: Table[KernelRow]
    longest: Table[KernelSliceRow]
    by_class: Table[KernelClassRow]
    by_device: Table[KernelDeviceRow]
    totals: KernelTotals


@dataclass(frozen=True, slots=True)
class _Traits:
    """What a kernel is, beside how long it took."""

    kernel_class: str
    tensor_core: bool
    eligible: bool
    bits_16: bool
    bits_known: bool


class _Ran(NamedTuple):
    """A kernel's events on one device, and what the kernel is."""

    row: DeviceKernel
    traits: _Traits


def kernel_stats(profile: Profile, options: Options = Options()) -> KernelStats:
    """Times of the GPU kernels of all hosts and devices together."""
    rows = session_kernels(profile)
    ran = [_Ran(row, _traits(row.kernel)) for row in rows]
    total_ps = sum(row.times.total_ps for row in rows)
    by_class = _class_totals(ran, total_ps)
    return KernelStats(
        headline=_headline(by_class, total_ps),
        kernels=_kernel_table(ran, options, total_ps),
        longest=_longest(rows, total_ps),
        by_class=by_class,
        by_device=_device_totals(rows),
        totals=_totals(ran, total_ps),
    )


def _headline(classes: Table[KernelClassRow], total_ps: float) -> str:
    if not total_ps:
        return "No kernel ran."
    ran = f"Kernels ran for {time_words(ms(total_ps))}"
    first = next(iter(classes.rows()))
    return f"{ran}, {share_words(first['share_frac'])} of it {first['kernel_class']}."


def _traits(kernel: Kernel) -> _Traits:
    tensor_core = uses_tensor_core(kernel.name)
    return _Traits(
        kernel_class=kernel_class(kernel.name, kernel.op_name),
        tensor_core=tensor_core,
        eligible=tensor_core or is_tensor_core_eligible(kernel.op_name),
        bits_16=kernel.bits_16,
        bits_known=kernel.bits_known,
    )


_GROUPS: dict[str, Callable[[_Ran], object]] = {
    "kernel": lambda one: one.row.kernel,
    "op": lambda one: one.row.kernel.op_name,
    "class": lambda one: one.traits.kernel_class,
    "name": lambda one: one.row.kernel.name,
}


def _kernel_table(ran: list[_Ran], options: Options, total_ps: float) -> Table[KernelRow]:
    key = _GROUPS[options.group_by]
    groups: dict[object, list[_Ran]] = {}
    for one in ran:
        groups.setdefault(key(one), []).append(one)
    several_hosts = len({one.row.host for one in ran}) > 1
    found = [_row(members, several_hosts) for members in groups.values()]
    # Ties by name and launch, so that equal profiles give equal tables.
    found.sort(key=itemgetter("name", "grid_dim", "block_dim", "op_name"))
    found.sort(key=itemgetter("total_duration_us"), reverse=True)
    shares = [row["total_duration_us"] / us(total_ps) if total_ps else 0.0 for row in found]
    numbered = enumerate(zip(found, shares, accumulate(shares), strict=True), start=1)
    for rank, (values, share, running) in numbered:
        values |= {"rank": rank, "share_frac": share, "cumulative_frac": min(running, 1.0)}
    return Table(KernelRow, {name: [row[name] for row in found] for name in columns_of(KernelRow)})


def _row(ran: list[_Ran], several_hosts: bool) -> dict[str, Any]:
    """One row: values all members share, None (or "") where they differ; times added up."""
    members = [one.row for one in ran]
    kernels = [one.kernel for one in members]
    times, spread = _sum(members), spread_of(members)
    kernel, launch = _common(kernels), _common([one.launch for one in kernels])
    traits = _common_traits([one.traits for one in ran])
    places = dict.fromkeys(
        f"{member.host}/{member.device}" if several_hosts else member.device for member in members
    )
    return {
        "name": kernel.name or _several(kernels),
        "kernel_class": traits.kernel_class,
        "op_name": kernel.op_name or "",
        "op_type": kernel.op_type or "",
        "registers_per_thread": launch.registers,
        "shmem_bytes": launch.shared_bytes,
        "static_shmem_bytes": launch.static_shared_bytes,
        "dynamic_shmem_bytes": launch.dynamic_shared_bytes,
        "block_dim": str(launch.block or ""),
        "grid_dim": str(launch.grid or ""),
        "occupancy_frac": launch.occupancy_frac,
        "is_op_tensor_core_eligible": traits.eligible,
        "is_kernel_using_tensor_core": traits.tensor_core,
        "is_16_bit": traits.bits_16,
        "is_precision_known": traits.bits_known,
        "occurrences": times.occurrences,
        "total_duration_us": us(times.total_ps),
        "avg_duration_us": us(times.total_ps) / times.occurrences,
        "median_duration_us": us(spread.median_ps),
        "std_duration_us": us(spread.std_ps),
        "min_duration_us": us(times.min_ps),
        "max_duration_us": us(times.max_ps),
        "devices": ", ".join(places),
    }


def _common(records: list[T]) -> T:
    """A record of what all of these share, None where they differ."""
    first = records[0]
    if len(records) == 1:
        return first
    names = [f.name for f in fields(first)]
    return type(first)(**{name: _shared([getattr(one, name) for one in records]) for name in names})


def _common_traits(traits: list[_Traits]) -> _Traits:
    """The traits of several kernels together."""
    if len(traits) == 1:
        return traits[0]
    return _Traits(
        kernel_class=_shared([one.kernel_class for one in traits]) or "",
        tensor_core=any(one.tensor_core for one in traits),
        eligible=any(one.eligible for one in traits),
        bits_16=all(one.bits_16 for one in traits),
        bits_known=all(one.bits_known for one in traits),
    )


def _shared(values: list[Any]) -> Any:
    """The value all have, else None."""
    return values[0] if values.count(values[0]) == len(values) else None


def _several(kernels: list[Kernel]) -> str:
    return f"{len({kernel.name for kernel in kernels})} kernels"


def _sum(rows: Sequence[DeviceKernel]) -> Times:
    total = rows[0].times
    for row in rows[1:]:
        total = total + row.times
    return total


def _longest(rows: Sequence[DeviceKernel], total_ps: float) -> Table[KernelSliceRow]:
    by_name: dict[str, float] = {}
    for row in rows:
        by_name[row.kernel.name] = by_name.get(row.kernel.name, 0) + row.times.total_ps
    ordered = sorted(by_name.items(), key=lambda item: (-item[1], item[0]))
    # A single one more is shown as itself.
    shown = _SLICES if len(ordered) > _SLICES + 1 else len(ordered)
    slices = [(name, 1, value) for name, value in ordered[:shown]]
    rest = ordered[shown:]
    if rest:
        slices.append((OTHERS, len(rest), sum(value for _name, value in rest)))
    return Table(
        KernelSliceRow,
        {
            "name": [name for name, _count, _value in slices],
            "kernels": [count for _name, count, _value in slices],
            "total_duration_us": [us(value) for _name, _count, value in slices],
            "share_frac": [
                value / total_ps if total_ps else 0.0 for _name, _count, value in slices
            ],
        },
    )


def _class_totals(ran: list[_Ran], total_ps: float) -> Table[KernelClassRow]:
    groups: dict[str, list[_Ran]] = {}
    for one in ran:
        groups.setdefault(one.traits.kernel_class, []).append(one)
    sums = {name: _sum([one.row for one in members]) for name, members in groups.items()}
    order = sorted(groups, key=lambda name: (-sums[name].total_ps, name))
    matrix = {
        name: sum(one.row.times.total_ps for one in groups[name] if one.traits.tensor_core)
        for name in order
    }
    totals = [sums[name].total_ps for name in order]
    return Table(
        KernelClassRow,
        {
            "kernel_class": order,
            "kernels": [len({one.row.kernel.name for one in groups[name]}) for name in order],
            "occurrences": [sums[name].occurrences for name in order],
            "total_duration_us": [us(value) for value in totals],
            "share_frac": [value / total_ps if total_ps else 0.0 for value in totals],
            "tensor_core_frac": [
                matrix[name] / value if value else 0.0
                for name, value in zip(order, totals, strict=True)
            ],
        },
    )


def _device_totals(rows: Sequence[DeviceKernel]) -> Table[KernelDeviceRow]:
    groups: dict[tuple[str, str], list[DeviceKernel]] = {}
    for row in rows:
        groups.setdefault((row.host, row.device), []).append(row)
    sums = [_sum(members) for members in groups.values()]
    return Table(
        KernelDeviceRow,
        {
            "host": [host for host, _device in groups],
            "device": [device for _host, device in groups],
            "kernels": [len({row.kernel.name for row in members}) for members in groups.values()],
            "occurrences": [times.occurrences for times in sums],
            "total_duration_us": [us(times.total_ps) for times in sums],
        },
    )


def _totals(ran: list[_Ran], total_ps: float) -> KernelTotals:
    def time_of(wanted: Callable[[_Traits], bool]) -> float:
        return sum(one.row.times.total_ps for one in ran if wanted(one.traits))

    def share(part: float) -> float | None:
        return part / total_ps if total_ps else None

    missed = time_of(
        lambda one: one.kernel_class in ("gemm", "convolution") and not one.tensor_core
    )
    return KernelTotals(
        distinct_kernels=len({one.row.kernel.name for one in ran}),
        occurrences=sum(one.row.times.occurrences for one in ran),
        total_duration_us=us(total_ps),
        tensor_core_frac=share(time_of(lambda one: one.tensor_core)),
        tensor_core_eligible_frac=share(time_of(lambda one: one.eligible)),
        tensor_core_missed_us=us(missed),
        bits_16_frac=share(time_of(lambda one: one.bits_16)),
    )


@derived
def session_kernels(profile: Profile) -> tuple[DeviceKernel, ...]:
    """The kernels of all hosts, by host and device."""
    found = [row for host, spans in summed_hosts(profile) for row in host_kernels(host, spans)]
    mean = mean_steps(profile)
    if mean is not None:
        found = [replace(row, times=row.times.over(mean.count)) for row in found]
    return tuple(found)


TOOL = Tool(
    id="kernel_stats",
    short="kernels",
    title="Kernels",
    tab="Table",
    run=kernel_stats,
    options=Options,
    result=KernelStats,
    times_of=("recording", "step"),
    opens=lambda _: {"group_by": "name"},
)
