"""DCN collectives: what exchanging data with other TPU slices costs, collective by collective."""

from __future__ import annotations

from math import nan
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import sum_by_key
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.registry import Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, columns_of, ms
from stepscope.tables.collectives.dcn_messages import dcn_paths
from stepscope.tables.collectives.dcn_ops import (
    DcnRole,
)
from stepscope.tables.collectives.dcn_runs import DcnRuns, RunsInSteps, dcn_runs, runs_in_steps
from stepscope.tables.core.profile import Profile

F64 = NDArray[np.float64]


class DcnCollectiveRow(Row):
    """One collective, over all its runs on all TPUs; times are means of one run."""

    collective: Annotated[
        str, Column("Collective", kind="name", help="XLA's name of its rendezvous.")
    ]
    transfer_type: Annotated[str, Column("Type", kind="category")]
    program: Annotated[str, Column("Program", kind="name", hidden=True)]
    total_stall_ms: Annotated[
        float,
        Column("Total stall", unit="ms", kind="time", sort="desc", help="Sum over runs and TPUs."),
    ]
    stall_frac: Annotated[float, Column("Share of stall", unit="%", kind="ratio")]
    stall_ms: Annotated[
        float,
        Column(
            "Stall",
            unit="ms",
            kind="time",
            help="Time per run in which the TPU waits in one of the four ops.",
        ),
    ]
    send_ms: Annotated[float, Column("Send", unit="ms", kind="time")]
    send_done_ms: Annotated[float, Column("Send-done", unit="ms", kind="time")]
    recv_ms: Annotated[float, Column("Recv", unit="ms", kind="time")]
    recv_done_ms: Annotated[float, Column("Recv-done", unit="ms", kind="time")]
    slack_ms: Annotated[
        float,
        Column(
            "Slack",
            unit="ms",
            kind="time",
            help="Time for the network before the TPU waits: send to recv-done, without these ops.",
        ),
    ]
    observed_ms: Annotated[
        float,
        Column(
            "Duration",
            unit="ms",
            kind="time",
            help="From the start of the send to the end of the recv-done.",
        ),
    ]
    runs: Annotated[int, Column("Runs", kind="count", help="Runs on all TPUs.")]
    incomplete: Annotated[
        int,
        Column("Incomplete", kind="count", help="Sends and recv-dones without their counterpart."),
    ]
    tpus: Annotated[int, Column("TPUs", kind="count")]
    sent_bytes: Annotated[
        float, Column("Sent", unit="B", kind="bytes", help="Sent by one TPU in one run.")
    ]
    required_gbitps: Annotated[
        float,
        Column(
            "Bandwidth needed",
            unit="Gbit/s",
            kind="rate",
            help="Needed by one TPU to send within the slack; empty without slack.",
        ),
    ]
    reached_gbitps: Annotated[
        float,
        Column(
            "Bandwidth reached",
            unit="Gbit/s",
            kind="rate",
            help="One TPU in its fastest run.",
        ),
    ]
    send_op: Annotated[str, Column("Send op", kind="name")]
    recv_op: Annotated[str, Column("Recv op", kind="name", help="Name of the recv-done.")]


class DcnDeviceRow(Row):
    """One TPU, over all collectives."""

    device: Annotated[str, Column("TPU", kind="name")]
    host: Annotated[str, Column("Host", kind="name")]
    total_stall_ms: Annotated[
        float, Column("Total stall", unit="ms", kind="time", sort="desc", help="Sum over runs.")
    ]
    recv_done_ms: Annotated[
        float,
        Column(
            "Of it recv-done",
            unit="ms",
            kind="time",
            help="Time in recv-done, waiting for the network.",
        ),
    ]
    runs: Annotated[int, Column("Runs", kind="count")]
    incomplete: Annotated[
        int,
        Column("Incomplete", kind="count", help="Sends and recv-dones without their counterpart."),
    ]


class DcnPathRow(Row):
    """All messages from one slice to another, as the receiving hosts noted them."""

    source_slice: Annotated[int, Column("From slice", kind="rank")]
    destination_slice: Annotated[int, Column("To slice", kind="rank")]
    messages: Annotated[int, Column("Messages", kind="count")]
    total_bytes: Annotated[float, Column("Bytes", unit="B", kind="bytes", sort="desc")]
    latency_ms: Annotated[
        float,
        Column("Mean latency", unit="ms", kind="time", help="Mean time from send to arrival."),
    ]
    latency_max_ms: Annotated[float, Column("Longest", unit="ms", kind="time")]
    busy_ms: Annotated[
        float,
        Column(
            "Busy",
            unit="ms",
            kind="time",
            help="Time with at least one message under way, summed over hosts.",
        ),
    ]
    bandwidth_gbitps: Annotated[
        float, Column("Bandwidth", unit="Gbit/s", kind="rate", help="To one host, while busy.")
    ]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of megascale_stats; it has none."""


@dataclass(frozen=True, kw_only=True)
class MegascaleStats(Result):
    """Cost of exchanging data with other TPU slices, collective by collective.

    Attributes:
        headline: The collective that stalls the TPUs most, and whether bandwidth explains it.
        stall_ms: Time that the mean TPU stalls in collectives.
        stall_per_step_ms: Stall per counted step; None without steps.
        step_time_ms: Mean counted step; None without steps.
        tpu_count: Number of participating TPUs.
        runs: Complete runs of all collectives on all TPUs.
        incomplete: Sends without a recv-done and recv-dones without a send; no run counts them.
        reached_gbitps: Bandwidth of the fastest run of any collective, per TPU.
        collectives: The collectives, the one that stalls longest first.
        devices: The TPUs, the one that stalls longest first.
        paths: Messages between slices, by source and target; empty if not recorded.
    """

    tool = "megascale_stats"
    headline: str
    stall_ms: float
    stall_per_step_ms: float | None
    step_time_ms: float | None
    tpu_count: int
    runs: int
    incomplete: int
    reached_gbitps: float | None
    collectives: Table[DcnCollectiveRow]
    devices: Table[DcnDeviceRow]
    paths: Table[DcnPathRow]


def megascale_stats(profile: Profile, options: Options = Options()) -> MegascaleStats:
    """The runs of collectives between slices, added up by collective and by TPU."""
    found = dcn_runs(profile)
    collectives = _collectives(found)
    devices = _devices(profile, found)
    steps = runs_in_steps(profile)
    reached = _reached_gbitps(found)
    fastest = float(np.nanmax(reached)) if np.isfinite(reached).any() else None
    return MegascaleStats(
        headline=_headline(collectives, found, steps, fastest),
        stall_ms=ms(found.stall_ps.sum()) / len(devices) if len(devices) else nan,
        stall_per_step_ms=ms(steps.stall_ps(np.ones(len(found), dtype=bool))) if steps else None,
        step_time_ms=ms(steps.step_ps) if steps else None,
        tpu_count=len(devices),
        runs=len(found),
        incomplete=len(found.lone_host),
        reached_gbitps=fastest,
        collectives=collectives,
        devices=devices,
        paths=_paths(profile),
        diagnostics=_diagnostics(profile, found, collectives),
    )


def _gbitps(sent_bytes: F64, time_ps: F64) -> F64:
    """Bytes in a time as Gbit/s; NaN where there is no time or no number of bytes."""
    rate: F64 = np.divide(
        8e3 * sent_bytes, time_ps, out=np.full(len(time_ps), nan), where=time_ps > 0
    )
    return rate


def _sent_bytes(found: DcnRuns) -> F64:
    """Of each collective; NaN where unknown."""
    known = (one.sent_bytes for one in found.collectives)
    return np.asarray([nan if sent is None else sent for sent in known], dtype=np.float64)


def _reached_gbitps(found: DcnRuns) -> F64:
    """Bandwidth over the duration of the fastest run of each collective; NaN where unknown."""
    shortest = np.full(len(found.collectives), nan)
    np.fmin.at(shortest, found.collective, found.observed_ps)
    return _gbitps(_sent_bytes(found), shortest)


def _collectives(found: DcnRuns) -> Table[DcnCollectiveRow]:
    of, size = found.collective, len(found.collectives)
    runs = np.bincount(of, minlength=size)
    incomplete = np.bincount(found.lone_collective, minlength=size)

    def total_ps(values: I64, of: I64) -> I64:
        return sum_by_key(of, values, size)

    def mean_ms(values: I64) -> F64:
        return _shares(total_ps(values, of), runs) / 1e9

    def role_ms(role: DcnRole) -> F64:
        """Mean over all runs, so that the four sum to the stall; NaN where no run has the op."""
        own = found.role_ps[role]
        has = own >= 0
        total = total_ps(own[has], of[has])
        ever = np.bincount(of[has], minlength=size) > 0
        return np.where(ever, _shares(total, runs), nan) / 1e9

    stall = total_ps(found.stall_ps, of) / 1e9
    slack, sent = mean_ms(found.slack_ps), _sent_bytes(found)
    every = found.collectives
    columns: dict[str, Any] = {
        "collective": [one.rendezvous for one in every],
        "transfer_type": [one.transfer_type for one in every],
        "program": [one.program for one in every],
        "total_stall_ms": stall,
        "stall_frac": _shares(stall, np.full(size, stall.sum())),
        "stall_ms": mean_ms(found.stall_ps),
        "send_ms": role_ms(DcnRole.SEND),
        "send_done_ms": role_ms(DcnRole.SEND_DONE),
        "recv_ms": role_ms(DcnRole.RECV),
        "recv_done_ms": role_ms(DcnRole.RECV_DONE),
        "slack_ms": slack,
        "observed_ms": mean_ms(found.observed_ps),
        "runs": runs,
        "incomplete": incomplete,
        "tpus": _tpus(found),
        "sent_bytes": sent,
        "required_gbitps": _gbitps(sent, slack * 1e9),
        "reached_gbitps": _reached_gbitps(found),
        "send_op": found.send_op,
        "recv_op": found.recv_op,
    }
    present = np.flatnonzero(runs + incomplete)
    order = present[np.argsort(-stall[present], kind="stable")].tolist()
    return Table(
        DcnCollectiveRow,
        {
            name: values[order] if isinstance(values, np.ndarray) else [values[at] for at in order]
            for name, values in columns.items()
        },
    )


def _shares(part: NDArray[Any], whole: NDArray[Any]) -> F64:
    """``part / whole``; NaN where the whole is 0."""
    share: F64 = np.divide(part, whole, out=np.full(len(part), nan), where=whole > 0)
    return share


def _tpus(found: DcnRuns) -> I64:
    """How many TPUs run each collective, or a half of it."""
    ran = np.stack([found.collective, found.host, found.device])
    half = np.stack([found.lone_collective, found.lone_host, found.lone_device])
    distinct = np.unique(np.concatenate([ran, half], axis=1), axis=1)
    return np.bincount(distinct[0], minlength=len(found.collectives))


def _devices(profile: Profile, found: DcnRuns) -> Table[DcnDeviceRow]:
    places = set(zip(found.host.tolist(), found.device.tolist(), strict=True))
    places |= set(zip(found.lone_host.tolist(), found.lone_device.tolist(), strict=True))
    rows = []
    for at, device in sorted(places):
        own = (found.host == at) & (found.device == device)
        half = (found.lone_host == at) & (found.lone_device == device)
        host = profile.hosts[at]
        name = host.space.planes[device].name.removeprefix("/device:")
        rows.append(
            {
                "device": name if len(profile.hosts) == 1 else f"{host.name}/{name}",
                "host": host.name,
                "total_stall_ms": ms(found.stall_ps[own].sum()),
                "recv_done_ms": ms(found.role_ps[DcnRole.RECV_DONE][own].sum()),
                "runs": int(own.sum()),
                "incomplete": int(half.sum()),
            }
        )
    rows.sort(key=lambda row: -float(str(row["total_stall_ms"])))
    return Table(
        DcnDeviceRow, {name: [row[name] for row in rows] for name in columns_of(DcnDeviceRow)}
    )


def _paths(profile: Profile) -> Table[DcnPathRow]:
    found = dcn_paths(profile)
    timed_bytes = np.asarray([one.timed_bytes for one in found], dtype=np.float64)
    busy = np.asarray([one.busy_ps for one in found], dtype=np.float64)
    return Table(
        DcnPathRow,
        {
            "source_slice": [one.source for one in found],
            "destination_slice": [one.destination for one in found],
            "messages": [one.messages for one in found],
            "total_bytes": [float(one.bytes) for one in found],
            "latency_ms": [ms(one.latency_ps.mean()) if one.busy_ps else nan for one in found],
            "latency_max_ms": [ms(one.latency_ps.max()) if one.busy_ps else nan for one in found],
            "busy_ms": [ms(one.busy_ps) if one.busy_ps else nan for one in found],
            "bandwidth_gbitps": _gbitps(timed_bytes, busy),
        },
    )


def _headline(
    table: Table[DcnCollectiveRow],
    found: DcnRuns,
    steps: RunsInSteps | None,
    fastest: float | None,
) -> str:
    """Which collective stalls the TPUs most, and whether bandwidth explains it."""
    if not len(found):
        return "No run of a collective between slices is complete in this recording."
    top = next(table.rows())
    if not top["total_stall_ms"]:
        return "No collective between slices stalls a TPU."
    of_type = f" ({top['transfer_type']})" if top["transfer_type"] else ""
    total_ps = sum_by_key(found.collective, found.stall_ps, len(found.send_op))
    own = found.collective == total_ps.argmax()
    in_step = ms(steps.stall_ps(own)) if steps else 0.0
    cost = (
        f"{_time(in_step)} of each {_time(ms(steps.step_ps))} step"
        if steps and in_step
        else f"{_time(top['total_stall_ms'] / top['tpus'])} in this recording"
    )
    tpus = "the TPU" if top["tpus"] == 1 else f"each of {top['tpus']} TPUs (mean)"
    return f"{top['collective']}{of_type} stalls {tpus} for {cost}{_explanation(top, fastest)}"


def _explanation(top: dict[str, Any], fastest: float | None) -> str:
    """What the bandwidth that it needs says of its stall."""
    needed = top["required_gbitps"]
    if not top["slack_ms"]:
        return ": it has no slack, nothing else runs between its send and its recv-done."
    if needed is None or fastest is None:
        return "; the profile does not say how much it sends."
    slack = (
        f": to send within its slack of {_time(top['slack_ms'])} it needs {_amount(needed)} "
        "Gbit/s per TPU"
    )
    if needed > fastest:
        return (
            f"{slack}, more than any run reached ({_amount(fastest)}): the network may explain it."
        )
    return (
        f"{slack}, and the network has carried {_amount(fastest)}: bandwidth does not explain it."
    )


def _time(time_ms: float) -> str:
    return f"{_amount(time_ms)} ms" if time_ms >= 0.1 else f"{_amount(1e3 * time_ms)} µs"


def _amount(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _diagnostics(
    profile: Profile, found: DcnRuns, table: Table[DcnCollectiveRow]
) -> tuple[Diagnostic, ...]:
    notes = []
    cut = int(found.lone_is_cut.sum())
    missing = len(found.lone_host) - cut
    if cut:
        notes.append(
            Diagnostic(
                "collectives-cut",
                "info",
                f"Not counted: {cut} sends and recv-dones whose other half is beyond an edge of "
                "the recording.",
            )
        )
    if missing:
        notes.append(
            Diagnostic(
                "collectives-incomplete",
                "warning",
                f"Not counted: {missing} sends and recv-dones whose other half is missing inside "
                "the recording. Events were dropped.",
            )
        )
    unknown = int(np.isnan(table["sent_bytes"]).sum())
    if unknown:
        notes.append(
            Diagnostic(
                "collectives-without-size",
                "info",
                f"It is unknown how much {unknown} collectives send: the profile lacks their type "
                "or the size of their groups (dcn_collective_info).",
            )
        )
    if not dcn_paths(profile):
        notes.append(
            Diagnostic(
                "messages-not-recorded",
                "info",
                "Single messages between slices (paths) are not in this recording: no host noted "
                '"MegaScale: Communication Transport Receive".',
            )
        )
    skewed = sum(one.skewed for one in dcn_paths(profile))
    if skewed:
        notes.append(
            Diagnostic(
                "messages-without-latency",
                "info",
                f"{skewed} messages between slices have no latency: the hosts' clocks differ by "
                "more than it.",
            )
        )
    return tuple(notes)


TOOL = Tool(
    id="megascale_stats",
    short="dcn",
    title="Cross-slice Collectives",
    tab="Ranks",
    run=megascale_stats,
    options=Options,
    result=MegascaleStats,
    times_of=("recording",),
)
