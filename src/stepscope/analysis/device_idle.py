"""Device idle: why devices have nothing to do, cause by cause, and what is copied in a step."""

from __future__ import annotations

from math import nan
from typing import Annotated, Any

import numpy as np

from stepscope.panels import BarChart, Figure, Headline, TableView
from stepscope.quantities import share_words
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Result, Row, Table, ms, us
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.device.events import device_events, rows_of_device
from stepscope.tables.in_steps.copies import session_copies
from stepscope.tables.in_steps.driver_calls import session_allocations, session_launches
from stepscope.tables.in_steps.idle import CAUSES, DeviceGaps, Idle, idle
from stepscope.tables.in_steps.slow_calls import session_slow_calls
from stepscope.tables.steps.time_base import base_of
from stepscope.verdicts.sentences import IDLE_LABELS


class CauseRow(Row):
    """One reason for idle devices, in the mean counted step of the mean device."""

    cause: Annotated[str, Column("Cause", kind="category", hidden=True)]
    label: Annotated[str, Column("Meanwhile", kind="name")]
    idle_ms: Annotated[float, Column("Idle", unit="ms", kind="time", sort="desc")]
    step_frac: Annotated[
        float, Column("Share of step", unit="%", kind="ratio", whole_label="Share of the recording")
    ]
    idle_frac: Annotated[float, Column("Share of idle time", unit="%", kind="ratio")]
    after_wait_ms: Annotated[
        float,
        Column(
            "After a wait",
            unit="ms",
            kind="time",
            help="Part in gaps that opened while the host waited for the device.",
        ),
    ]


class IdleDeviceRow(Row):
    """One device in the mean counted step."""

    host: Annotated[str, Column("Host", kind="name")]
    device: Annotated[str, Column("Device", kind="name")]
    idle_ms: Annotated[float, Column("Idle", unit="ms", kind="time", sort="desc")]
    idle_frac: Annotated[
        float, Column("Share of step", unit="%", kind="ratio", whole_label="Share of the recording")
    ]
    largest_cause: Annotated[str, Column("Mostly", kind="category")]
    gaps: Annotated[
        float, Column("Gaps per step", kind="number", whole_label="Gaps in the recording")
    ]
    mean_gap_us: Annotated[float, Column("Mean gap", unit="µs", kind="time")]
    longest_gap_ms: Annotated[float, Column("Longest gap", unit="ms", kind="time")]


class GapRow(Row):
    """One gap: nothing runs on the device."""

    host: Annotated[str, Column("Host", kind="name")]
    device: Annotated[str, Column("Device", kind="name")]
    start_ms: Annotated[float, Column("Start", unit="ms", kind="time")]
    duration_us: Annotated[float, Column("Length", unit="µs", kind="time", sort="desc")]
    meanwhile: Annotated[str, Column("Meanwhile", kind="name", help="Most of the gap.")]
    after_wait: Annotated[bool, Column("After a wait", kind="flag")]
    ended_by: Annotated[str, Column("Ended by", kind="name", help="Next work on the device.")]


class WaitRow(Row):
    """Calls of one name in which the host waits until a device has finished."""

    host: Annotated[str, Column("Host", kind="name")]
    call: Annotated[str, Column("Call", kind="name")]
    per_step: Annotated[
        float, Column("Calls per step", kind="number", whole_label="Calls in the recording")
    ]
    blocked_ms: Annotated[
        float,
        Column(
            "Waits",
            unit="ms",
            kind="time",
            sort="desc",
            help="Waits per step while a device is busy.",
            whole_help="In the recording, while a device is busy.",
        ),
    ]


class LaunchRow(Row):
    """Calls of one name in which the host launches kernels."""

    call: Annotated[str, Column("Call", kind="name")]
    per_step: Annotated[
        float,
        Column(
            "Calls per step",
            kind="number",
            help="Launches on all devices.",
            sort="desc",
            whole_label="Calls in the recording",
        ),
    ]
    mean_us: Annotated[
        float, Column("Mean", unit="µs", kind="time", help="Mean host time of a call.")
    ]
    median_us: Annotated[float, Column("Median", unit="µs", kind="time")]
    max_us: Annotated[float, Column("Longest", unit="µs", kind="time")]


class AllocationRow(Row):
    """Calls of one name in which the host allocates or frees device memory."""

    call: Annotated[str, Column("Call", kind="name")]
    per_step: Annotated[
        float,
        Column(
            "Calls per step",
            kind="number",
            help="Calls on all hosts.",
            whole_label="Calls in the recording",
        ),
    ]
    total_ms: Annotated[
        float,
        Column(
            "Time",
            unit="ms",
            kind="time",
            sort="desc",
            help="Host time per step, all hosts together.",
            whole_help="In the recording, all hosts together.",
        ),
    ]
    spread_frac: Annotated[
        float,
        Column(
            "Spread",
            unit="%",
            kind="ratio",
            help="Share of the counted steps over which the time is spread.",
        ),
    ]


class SlowCallRow(Row):
    """Calls into the driver that take far longer than most do, while no device works."""

    call: Annotated[str, Column("Call", kind="name")]
    per_step: Annotated[
        float, Column("Calls per step", kind="number", whole_label="Calls in the recording")
    ]
    total_ms: Annotated[
        float,
        Column(
            "Time",
            unit="ms",
            kind="time",
            sort="desc",
            help="Host time per step, all hosts together.",
            whole_help="In the recording, all hosts together.",
        ),
    ]
    longest_ms: Annotated[float, Column("Longest", unit="ms", kind="time")]
    steps_frac: Annotated[float, Column("Steps with it", unit="%", kind="ratio")]


class CopyRow(Row):
    """The copies of one kind in the counted steps."""

    direction: Annotated[str, Column("Direction", kind="category")]
    host_memory: Annotated[
        str,
        Column(
            "Host memory",
            kind="category",
            help="Pageable or pinned; pageable memory is copied in two stages.",
        ),
    ]
    asynchronous: Annotated[bool, Column("Asynchronous", kind="flag")]
    per_step: Annotated[
        float, Column("Copies per step", kind="number", whole_label="Copies in the recording")
    ]
    time_ms: Annotated[
        float,
        Column(
            "Time",
            unit="ms",
            kind="time",
            sort="desc",
            help="Copy time per step, all devices.",
            whole_help="In the recording, all devices.",
        ),
    ]
    bytes_per_step: Annotated[
        float,
        Column("Bytes per step", unit="B", kind="bytes", whole_label="Bytes in the recording"),
    ]
    bandwidth_gbps: Annotated[float, Column("Bandwidth", unit="GB/s", kind="rate")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of device_idle."""

    min_gap_us: Annotated[
        float, Help("List gaps at least this long; shorter ones still count in the causes.")
    ] = 10.0


@dataclass(frozen=True, kw_only=True)
class DeviceIdle(Result):
    """Why devices have nothing to do, cause by cause, and what is copied in a step.

    Attributes:
        headline: How long devices are idle, and the main reason, in one sentence.
        step_time_ms: Mean counted step, over the participating hosts.
        step_count: Counted steps.
        idle_ms: Idle time per step, mean over devices.
        idle_frac: Idle share of the step.
        after_wait_ms: Idle time in gaps that opened while the host waited for the device.
        blocked_ms: Time per step in which the host waits for busy devices, mean over hosts.
        causes: The idle time by cause; sums to ``idle_ms``.
        devices: The idle time by device.
        waits: Calls that wait for the device.
        launches: Calls that launch kernels.
        allocations: Calls that allocate memory from the driver or free it.
        slow_calls: Driver calls far longer than the usual ones: they start the device.
        copies: Copies per step, to, from and between devices.
        gaps: The gaps, longest first.
    """

    tool = "device_idle"
    headline: str
    step_time_ms: float
    step_count: int
    idle_ms: float
    idle_frac: float
    after_wait_ms: float
    blocked_ms: float
    causes: Table[CauseRow]
    devices: Table[IdleDeviceRow]
    waits: Table[WaitRow]
    launches: Table[LaunchRow]
    allocations: Table[AllocationRow]
    slow_calls: Table[SlowCallRow]
    copies: Table[CopyRow]
    gaps: Table[GapRow]


def device_idle(profile: Profile, options: Options = Options()) -> DeviceIdle:
    """Explain the idle time of the devices in the counted steps."""
    found = idle(profile)
    if found is None:
        raise ValueError("device_idle needs steps and devices; its Need says so")
    count = max(found.step_count, 1)
    parts = {
        cause: _mean(found, [one.cause_ps[cause] for one in found.devices]) for cause in CAUSES
    }
    late = {
        cause: _mean(found, [one.after_wait_ps[cause] for one in found.devices]) for cause in CAUSES
    }
    step = ms(sum(found.step_ps.values())) / len(found.step_ps) / count
    idle_ms = sum(parts.values())
    causes = _causes(parts, late, step)
    return DeviceIdle(
        headline=_headline(profile, idle_ms / step if step else nan, causes),
        step_time_ms=step if found.step_count else nan,
        step_count=found.step_count,
        idle_ms=idle_ms,
        idle_frac=idle_ms / step if step else nan,
        after_wait_ms=sum(late.values()),
        blocked_ms=ms(sum(found.blocked_ps.values())) / len(found.blocked_ps) / count,
        causes=causes,
        devices=_devices(profile, found),
        waits=_waits(profile, found),
        launches=_launches(profile, found),
        allocations=_allocations(profile, found),
        slow_calls=_slow_calls(profile, found),
        copies=_copies(profile, found),
        gaps=_gaps(profile, found, options),
    )


def _headline(profile: Profile, idle_frac: float, causes: Table[CauseRow]) -> str:
    if idle_frac != idle_frac:
        return "Device idle time is unknown."
    base = "recording" if base_of(profile, "step") == "recording" else "step"
    first = next(causes.records(), None)
    why = f", mostly {first.label}" if first and first.idle_ms else ""
    why = why if why.endswith(IDLE_LABELS["python"]) else why.lower()
    return f"Devices are idle {share_words(idle_frac, 1)} of the {base}{why}."


def _mean(found: Idle, per_device_ps: list[int]) -> float:
    return ms(sum(per_device_ps)) / len(found.devices) / max(found.step_count, 1)


def _causes(parts: dict[str, float], late: dict[str, float], step: float) -> Table[CauseRow]:
    whole = sum(parts.values())
    order = sorted(parts, key=lambda cause: -parts[cause])
    return Table(
        CauseRow,
        {
            "cause": order,
            "label": [IDLE_LABELS[cause] for cause in order],
            "idle_ms": [parts[cause] for cause in order],
            "step_frac": [parts[cause] / step if step else nan for cause in order],
            "idle_frac": [parts[cause] / whole if whole else nan for cause in order],
            "after_wait_ms": [late[cause] for cause in order],
        },
    )


def _device_name(profile: Profile, one: DeviceGaps) -> tuple[str, str]:
    host = profile.hosts[one.host]
    return host.name, host.space.planes[one.device].name


def _devices(profile: Profile, found: Idle) -> Table[IdleDeviceRow]:
    count = max(found.step_count, 1)
    rows = []
    for one in found.devices:
        whole, gaps = sum(one.cause_ps.values()), one.gaps
        host, device = _device_name(profile, one)
        step_ps = found.step_ps[one.host]
        rows.append(
            {
                "host": host,
                "device": device,
                "idle_ms": ms(whole) / count,
                "idle_frac": whole / step_ps if step_ps else nan,
                "largest_cause": IDLE_LABELS[
                    max(one.cause_ps, key=lambda cause: one.cause_ps[cause])
                ],
                "gaps": len(gaps) / count,
                "mean_gap_us": us(float(gaps.duration_ps.mean())) if len(gaps) else nan,
                "longest_gap_ms": ms(int(gaps.duration_ps.max(initial=0))),
            }
        )
    return Table.from_rows(IdleDeviceRow, sorted(rows, key=lambda row: -row["idle_ms"]))


def _waits(profile: Profile, found: Idle) -> Table[WaitRow]:
    count = max(found.step_count, 1)
    rows = [
        {
            "host": profile.hosts[one.host].name,
            "call": one.name,
            "per_step": one.occurrences / count,
            "blocked_ms": ms(one.blocked_ps) / count,
        }
        for one in found.waits
    ]
    return Table.from_rows(WaitRow, sorted(rows, key=lambda row: -row["blocked_ms"]))


def _launches(profile: Profile, found: Idle) -> Table[LaunchRow]:
    calls = session_launches(profile)
    count = max(found.step_count, 1)
    rows = []
    for code, name in enumerate(calls.names):
        times = calls.duration_ps[calls.name == code]
        rows.append(
            {
                "call": name,
                "per_step": len(times) / count,
                "mean_us": us(float(times.mean())),
                "median_us": us(float(np.median(times))),
                "max_us": us(int(times.max())),
            }
        )
    return Table.from_rows(LaunchRow, sorted(rows, key=lambda row: -row["per_step"]))


def _allocations(profile: Profile, found: Idle) -> Table[AllocationRow]:
    count = max(found.step_count, 1)
    rows = [
        {
            "call": call.name,
            "per_step": call.occurrences / count,
            "total_ms": ms(call.total_ps) / count,
            "spread_frac": call.spread_frac,
        }
        for call in session_allocations(profile)
    ]
    return Table.from_rows(AllocationRow, rows)


def _slow_calls(profile: Profile, found: Idle) -> Table[SlowCallRow]:
    count = max(found.step_count, 1)
    rows = [
        {
            "call": call.name,
            "per_step": call.occurrences / count,
            "total_ms": ms(call.total_ps) / count,
            "longest_ms": ms(call.longest_ps),
            "steps_frac": call.steps / count,
        }
        for call in session_slow_calls(profile)
    ]
    return Table.from_rows(SlowCallRow, rows)


def _copies(profile: Profile, found: Idle) -> Table[CopyRow]:
    count = max(found.step_count, 1)
    cells = [
        {
            "direction": one.kind.direction,
            "host_memory": one.kind.host_memory,
            "asynchronous": one.kind.asynchronous,
            "per_step": one.occurrences / count,
            "time_ms": ms(one.total_ps) / count,
            "bytes_per_step": nan if one.bytes is None else one.bytes / count,
            "bandwidth_gbps": one.bytes / (one.total_ps / 1e12) / 1e9
            if one.bytes is not None and one.total_ps
            else nan,
        }
        for one in session_copies(profile)
    ]
    return Table.from_rows(CopyRow, cells)


def _gaps(profile: Profile, found: Idle, options: Options) -> Table[GapRow]:
    """Gaps of all devices that are long enough to list, longest first."""
    labels = np.asarray(
        [*(IDLE_LABELS[cause] for cause in CAUSES), ""], dtype=object
    )  # last: unknown
    parts: list[dict[str, Any]] = []
    for one in found.devices:
        host, device = _device_name(profile, one)
        gaps, rows = one.gaps, np.flatnonzero(one.gaps.duration_ps >= options.min_gap_us * 1e6)
        ended_by = _names_at(profile.hosts[one.host], one.device, gaps.end_ps[rows])
        parts.append(
            {
                "host": np.full(len(rows), host, dtype=object),
                "device": np.full(len(rows), device, dtype=object),
                "start_ms": gaps.start_ps[rows] / 1e9,
                "duration_us": gaps.duration_ps[rows] / 1e6,
                "meanwhile": labels[gaps.cause[rows]],
                "after_wait": gaps.after_wait[rows],
                "ended_by": np.asarray(ended_by, dtype=object),
            }
        )
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((columns["start_ms"], -columns["duration_us"]))
    return Table(GapRow, {name: values[order].tolist() for name, values in columns.items()})


def _names_at(host: Host, device: int, at_ps: Any) -> list[str]:
    """What starts on a device at each of these times; "" where nothing does (a step ends)."""
    found = device_events(host)
    own = rows_of_device(host, device)
    own = own[~found.is_container[own]]
    order = own[np.argsort(found.start_ps[own], kind="stable")]
    start = found.start_ps[order]
    place = np.minimum(np.searchsorted(start, at_ps), max(len(start) - 1, 0))
    table = host.space.event_metadata
    entry = host.space.events.metadata[found.rows[order[place]]].tolist()
    return [
        (table.display_name[one] or table.name[one]) if known else ""
        for one, known in zip(entry, (start[place] == at_ps).tolist(), strict=True)
    ]


TOOL = Tool(
    id="device_idle",
    short="idle",
    title="Device Idle",
    tab="Idle",
    run=device_idle,
    options=Options,
    result=DeviceIdle,
    times_of=("step", "recording"),
    steps_of="mean",
    page=(
        Headline("{headline}"),
        Figure("Idle", "{idle_ms} | –", "of {step_time_ms}, mean over devices | mean over devices"),
        Figure(
            "After a wait",
            "{after_wait_ms} | –",
            "in gaps that began while the host waited for the device",
        ),
        Figure("Host blocked", "{blocked_ms} | –", "waiting for busy devices"),
        Figure("Steps counted", "{times_of=step?}{step_count}"),
        BarChart(
            "causes",
            title="What the host does in that time",
            note="idle time, split by what the host does; shares are of all the time",
            noun=("cause", "causes"),
            none="Devices are never idle in that time.",
            label="{label}",
            value="idle_ms",
            text="{idle_ms}[, {step_frac}]",
        ),
        TableView(
            "devices",
            note="those that ran anything in that time",
            noun=("device", "devices"),
            none="No device was active in that time.",
        ),
        TableView(
            "gaps",
            title="Longest gaps",
            note="times without work on a device",
            noun=("gap", "gaps"),
            none="No gap is long enough to list.",
        ),
        TableView(
            "launches",
            title="Launching calls",
            noun=("call", "calls"),
            none="No launch call ran in the counted steps.",
        ),
        TableView(
            "waits",
            title="Calls that wait for the device",
            noun=("call", "calls"),
            none="The host never waits for a device.",
        ),
        TableView(
            "copies",
            note="summed over devices; several may run at once",
            noun=("direction", "directions"),
            none="Nothing is copied.",
        ),
        TableView(
            "allocations",
            title="Memory from the driver",
            noun=("call", "calls"),
            none="No memory is allocated or freed through the driver.",
        ),
        TableView(
            "slow_calls",
            title="Calls that start the device",
            note="far longer than most, while no device works",
            noun=("call", "calls"),
            none="No call into the driver takes far longer than most do.",
        ),
    ),
)
