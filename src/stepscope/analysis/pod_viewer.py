"""Pod viewer: every step on every worker, and which worker the others wait for."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct
from stepscope.columns.space import I64
from stepscope.errors import UsageError
from stepscope.panels import Figure, Headline, OwnChart, TableView
from stepscope.quantities import time_words
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table
from stepscope.tables.collectives.operations import CollectiveEvents, collectives
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Profile
from stepscope.tables.steps.attribution import sum_parts
from stepscope.tables.steps.session import aligned_steps
from stepscope.tables.workers.arrivals import (
    Arrivals,
    arrivals_of,
    clocks_apart_ms,
    host_waits_caused,
    meets_unrecorded,
    waits_caused,
)
from stepscope.tables.workers.steps import (
    TRANSFER,
    WAIT,
    WORKER_PARTS,
    PodColumn,
    WorkerSteps,
    worker_steps,
)

# What the bars are made of, and how a bottleneck is called.
LABELS: dict[str, str] = {
    "device_compute_16": "Device compute, 16-bit",
    "device_compute_32": "Device compute, 32-bit or unknown",
    "device_to_device": "Device to device",
    TRANSFER: "Collective transfer",
    WAIT: "Waiting for other workers",
    "input": "Input wait",
    "host_to_device": "Copy to device",
    "output": "Output",
    "kernel_launch": "Kernel launch",
    "host_compute": "Host compute",
    "compilation": "Compilation",
    "host_wait": "Waiting on the host",
    "other": "All others",
}
# Parts that are one when it comes to naming the largest.
_GROUPS: dict[str, tuple[str, ...]] = {
    "Device compute": ("device_compute_16", "device_compute_32"),
    **{label: (part,) for part, label in LABELS.items() if not part.startswith("device_compute")},
}
# A worker is named a straggler when the others lose this share of the step to it.
STRAGGLER_FRAC = 0.01
# A host is named instead of one of its devices when it costs the others this much more.
_TOGETHER = 1.5
# Clocks that differ by less are as good as one.
_LEAST_APART_MS = 0.001
# Devices that a note lists.
_MAX_NAMED = 10


class WorkerRow(Row):
    """One worker in the mean kept step."""

    worker: Annotated[int, Column("Worker", kind="rank")]
    host: Annotated[str, Column("Host", kind="name")]
    device: Annotated[str, Column("Device", kind="name")]
    device_type: Annotated[str, Column("Type", kind="category", hidden=True)]
    step_time_ms: Annotated[float, Column("Step time", unit="ms", kind="time")]
    bottleneck: Annotated[
        str, Column("Bottleneck", kind="category", help="Largest part of its step.")
    ]
    bottleneck_frac: Annotated[float, Column("Bottleneck share", unit="%", kind="ratio")]
    device_work_ms: Annotated[
        float, Column("Device work", unit="ms", kind="time", help="Compute and copies.")
    ]
    waited_ms: Annotated[
        float,
        Column(
            "Waits in collectives",
            unit="ms",
            kind="time",
            help="Until the last worker arrives; part of the transfers if partners are unknown.",
        ),
    ]
    transfer_ms: Annotated[float, Column("Transfers", unit="ms", kind="time")]
    hidden_transfer_ms: Annotated[
        float,
        Column(
            "Hidden transfers",
            unit="ms",
            kind="time",
            help="Transfers that overlap other work and add nothing to the step.",
        ),
    ]
    last_frac: Annotated[
        float,
        Column(
            "Arrives last",
            unit="%",
            kind="ratio",
            help="Share of the collectives in which it arrives last.",
        ),
    ]
    caused_wait_ms: Annotated[
        float,
        Column(
            "Makes others wait",
            unit="ms",
            kind="time",
            sort="desc",
            help="Saving of the others per step if it arrived with the second to last.",
            whole_help="Saving of the others if it arrived with the second to last.",
        ),
    ]


class PodRow(Row):
    """One step of one worker; the parts sum to the step time."""

    step_num: Annotated[int, Column("Step", kind="number")]
    worker: Annotated[int, Column("Worker", kind="rank")]
    host: Annotated[str, Column("Host", kind="name")]
    device: Annotated[str, Column("Device", kind="name")]
    step_time_ms: Annotated[float, Column("Step time", unit="ms", kind="time")]
    device_compute_16_ms: Annotated[float, Column("Device compute, 16-bit", unit="ms", kind="time")]
    device_compute_32_ms: Annotated[
        float, Column("Device compute, 32-bit or unknown", unit="ms", kind="time")
    ]
    device_to_device_ms: Annotated[float, Column("Device to device", unit="ms", kind="time")]
    collective_transfer_ms: Annotated[float, Column("Collective transfer", unit="ms", kind="time")]
    collective_wait_ms: Annotated[
        float, Column("Waiting for other workers", unit="ms", kind="time")
    ]
    input_ms: Annotated[float, Column("Input wait", unit="ms", kind="time")]
    host_to_device_ms: Annotated[float, Column("Copy to device", unit="ms", kind="time")]
    output_ms: Annotated[float, Column("Output", unit="ms", kind="time")]
    kernel_launch_ms: Annotated[float, Column("Kernel launch", unit="ms", kind="time")]
    host_compute_ms: Annotated[float, Column("Host compute", unit="ms", kind="time")]
    compilation_ms: Annotated[float, Column("Compilation", unit="ms", kind="time")]
    host_wait_ms: Annotated[
        float,
        Column(
            "Waiting on the host",
            unit="ms",
            kind="time",
            help="A thread waits, and nothing that it may wait for was recorded.",
        ),
    ]
    other_ms: Annotated[float, Column("All others", unit="ms", kind="time")]
    bottleneck: Annotated[
        str, Column("Bottleneck", kind="category", help="Largest part of this step.")
    ]
    kept: Annotated[bool, Column("Counted", kind="flag")]


class CollectiveRow(Row):
    """The collectives of one name, over all steps."""

    name: Annotated[str, Column("Collective", kind="name")]
    occurrences: Annotated[int, Column("Occurrences", kind="count")]
    workers: Annotated[float, Column("Workers", kind="count", help="Mean number of participants.")]
    skew_mean_ms: Annotated[
        float,
        Column(
            "Mean skew",
            unit="ms",
            kind="time",
            sort="desc",
            help="From the first to the last arrival.",
        ),
    ]
    skew_max_ms: Annotated[float, Column("Max skew", unit="ms", kind="time")]
    transfer_mean_ms: Annotated[
        float,
        Column("Mean transfer", unit="ms", kind="time", help="From the last arrival to the end."),
    ]
    waited_ms: Annotated[
        float, Column("Waited", unit="ms", kind="time", help="Sum over occurrences and workers.")
    ]
    last_worker: Annotated[
        int, Column("Most often last", kind="number", help="Number of the worker.")
    ]
    last_frac: Annotated[float, Column("Last in", unit="%", kind="ratio")]


@dataclass(frozen=True, slots=True)
class Straggler:
    """The worker the others wait for.

    Attributes:
        worker: Number of the worker, or of the first one if a whole host is late.
        host: Host of the worker.
        device: Device of the worker; "" if all devices of the host are late together.
        caused_wait_ms: Time per step that the mean of the others would save without its delay.
        step_frac: That time as a share of the step.
        last_frac: Share of the collectives in which it arrives last; None without collectives.
        cause: Part of its step that exceeds the median of the others most.
        cause_ms: Excess of that part.
        message: The finding in one sentence.
    """

    worker: int
    host: str
    device: str
    caused_wait_ms: float
    step_frac: float
    last_frac: float | None
    cause: str
    cause_ms: float
    message: str


@dataclass(frozen=True, slots=True)
class Options:
    """Options of pod_viewer."""

    step: Annotated[
        int, Help("Only this step (its place in step_nums, from 0); -1 all steps.")
    ] = -1


@dataclass(frozen=True, kw_only=True)
class PodViewer(Result):
    """Where each step goes on every worker, and which worker the others wait for.

    Attributes:
        device_type: Hardware of the workers.
        parts: Parts of the step in stacking order, with their labels.
        step_nums: Numbers of the aligned steps.
        step_time_ms: Mean kept step; of each step the slowest worker counts.
        bottleneck: The largest part of the mean step over all workers.
        straggler: Worker that the others wait for; None without one.
        mismatched_collectives: Collectives that could not be matched across devices.
        workers: Every worker in the mean kept step.
        pod: Every step of every worker.
        collective_table: Arrival skew and transfer time of each collective.
    """

    tool = "pod_viewer"
    device_type: str
    parts: dict[str, str]
    step_nums: tuple[int, ...]
    step_time_ms: float
    bottleneck: str
    straggler: Straggler | None
    mismatched_collectives: int
    workers: Table[WorkerRow]
    pod: Table[PodRow]
    collective_table: Table[CollectiveRow]


def pod_viewer(profile: Profile, options: Options = Options()) -> PodViewer:
    """The steps of all workers, aligned; collectives split into waiting and transfer."""
    found, meeting = worker_steps(profile), collectives(profile)
    if found is None:
        raise ValueError("pod_viewer needs steps; its Need says so")
    if not -1 <= options.step < len(found.num):
        raise UsageError(
            f"There is no step at place {options.step}.",
            hint=f"Places go from 0 to {len(found.num) - 1}; -1 is all steps.",
        )
    arrivals = arrivals_of(profile, found, meeting)
    means = _means(found)
    largest, _share = _largest({part: values.mean(keepdims=True) for part, values in means.items()})
    return PodViewer(
        device_type=", ".join(dict.fromkeys(worker.device_type for worker in found.workers)),
        parts={part: LABELS[part] for part in WORKER_PARTS},
        step_nums=tuple(found.num.tolist()),
        step_time_ms=found.mean_step_ms,
        bottleneck=largest[0],
        straggler=_straggler(found, means, arrivals),
        mismatched_collectives=meeting.mismatched,
        workers=_worker_table(found, means, arrivals, meeting),
        pod=_pod_table(found, options.step),
        collective_table=_collective_table(meeting, arrivals),
        diagnostics=_diagnostics(profile, found, meeting),
    )


F64 = NDArray[np.float64]


def _means(found: WorkerSteps) -> dict[str, F64]:
    """Mean of each part over the kept steps, by worker, in ms."""
    kept = found.counted
    return {part: found.parts_ps[part][:, kept].mean(axis=1) / 1e9 for part in WORKER_PARTS}


def _largest(parts: Mapping[str, NDArray[Any]]) -> tuple[list[str], F64]:
    """The name of the largest group of parts in each row, and its share of the row."""
    names = list(_GROUPS)
    stacked = np.stack([sum_parts(parts, members) for members in _GROUPS.values()])
    whole = stacked.sum(axis=0)
    share = np.divide(stacked.max(axis=0), whole, out=np.full(len(whole), nan), where=whole > 0)
    return [names[row] for row in stacked.argmax(axis=0).tolist()], share


def _straggler(found: WorkerSteps, means: dict[str, F64], arrivals: Arrivals) -> Straggler | None:
    """The worker that makes the others wait the longest, if that is worth naming.

    Without matched collectives nothing says who waits for whom: then it is the worker whose own
    steps are the longest.
    """
    step = found.mean_step_ms
    caused, last = waits_caused(found, arrivals)
    if len(caused) < 2 or not step > 0:
        return None
    met = not np.isnan(caused).all()
    if not met:
        own = found.duration_ps[:, found.counted].mean(axis=1) / 1e9
        caused = own - np.asarray([np.median(np.delete(own, row)) for row in range(len(own))])
    late = [int(np.nanargmax(caused))]
    cost, share = float(caused[late[0]]), float(last[late[0]])
    by_host = host_waits_caused(found, arrivals) if met else {}
    host = max(by_host, key=lambda index: by_host[index], default=-1)
    # Devices that are late together do not lead each other: their host is what is late.
    if len(by_host) > 1 and by_host[host] > _TOGETHER * cost:
        late = [row for row, one in enumerate(found.workers) if one.host == host]
        cost, share = by_host[host], float(np.nansum(last[late]))
    if cost / step < STRAGGLER_FRAC:
        return None
    cause, excess = _cause(means, late)
    worker = found.workers[late[0]]
    longer = f"{time_words(excess)} longer than elsewhere"
    reason = f", where {cause.lower()} takes {longer}" if cause else ""
    lost = time_words(cost)
    title = _title(worker) if len(late) == 1 else f"{worker.host_name} (all {len(late)} devices)"
    return Straggler(
        worker=late[0],
        host=worker.host_name,
        device=worker.device_name if len(late) == 1 else "",
        caused_wait_ms=cost,
        step_frac=cost / step,
        last_frac=share if met else None,
        cause=cause,
        cause_ms=excess,
        message=f"The others wait {lost} of each {time_words(step)} step for {title}{reason}."
        if met
        else f"Steps of {title} take {lost} longer than the others'{reason}.",
    )


def _cause(means: dict[str, F64], late: list[int]) -> tuple[str, float]:
    """The part in which workers exceed the median of the others the most, and by how much."""
    excess = {
        label: float(values[late].mean() - np.median(np.delete(values, late)))
        for label, parts in _GROUPS.items()
        if parts not in ((WAIT,), (TRANSFER,))
        for values in [sum_parts(means, parts)]
    }
    label = max(excess, key=lambda name: excess[name])
    return (label, excess[label]) if excess[label] > 0 else ("", 0.0)


def _title(worker: PodColumn) -> str:
    return f"{worker.device_name} of {worker.host_name}"


_DEVICE_WORK = ("device_compute_16", "device_compute_32", "device_to_device")


def _worker_table(
    found: WorkerSteps, means: dict[str, F64], arrivals: Arrivals, meeting: CollectiveEvents
) -> Table[WorkerRow]:
    caused, last = waits_caused(found, arrivals)
    unknown = meets_unrecorded(found, meeting)
    largest, share = _largest(means)
    size = len(found.workers)
    return Table(
        WorkerRow,
        {
            "worker": np.arange(size),
            "host": [worker.host_name for worker in found.workers],
            "device": [worker.device_name for worker in found.workers],
            "device_type": [worker.device_type for worker in found.workers],
            "step_time_ms": sum_parts(means, WORKER_PARTS),
            "bottleneck": largest,
            "bottleneck_frac": share,
            "device_work_ms": sum_parts(means, _DEVICE_WORK),
            "waited_ms": np.where(unknown, nan, means[WAIT]),
            "transfer_ms": means[TRANSFER],
            "hidden_transfer_ms": found.hidden_transfer_ms,
            "last_frac": last,
            "caused_wait_ms": caused,
        },
    )


def _pod_table(found: WorkerSteps, step: int) -> Table[PodRow]:
    """Rows step by step, workers in order within each."""
    picked = np.arange(len(found.num)) if step < 0 else np.asarray([step])
    size = len(found.workers)

    def column(values: I64) -> F64:
        return values[:, picked].T.ravel() / 1e9

    parts = {part: column(found.parts_ps[part]) for part in WORKER_PARTS}
    columns: dict[str, Any] = {
        "step_num": np.repeat(found.num[picked], size),
        "worker": np.tile(np.arange(size), len(picked)),
        "host": [worker.host_name for worker in found.workers] * len(picked),
        "device": [worker.device_name for worker in found.workers] * len(picked),
        "step_time_ms": column(found.duration_ps),
        "bottleneck": _largest(parts)[0],
        "kept": np.repeat(found.kept[picked], size),
    }
    return Table(PodRow, columns | {f"{part}_ms": values for part, values in parts.items()})


def _collective_table(meeting: CollectiveEvents, arrivals: Arrivals) -> Table[CollectiveRow]:
    names = list(dict.fromkeys(meeting.names))
    codes = {name: code for code, name in enumerate(names)}
    kept = distinct(arrivals.group)
    name = np.asarray([codes[meeting.names[group]] for group in kept.tolist()], dtype=np.int64)
    skew = (arrivals.last_ps - arrivals.first_ps) / 1e9
    transfer = (arrivals.end_ps - arrivals.last_ps) / 1e9
    waited = np.bincount(
        np.searchsorted(kept, arrivals.group),
        weights=meeting.wait_ps[arrivals.event] / 1e9,
        minlength=len(kept),
    )
    rows = []
    for code in distinct(name).tolist():
        own = name == code
        last = np.bincount(arrivals.last_worker[own])
        rows.append(
            {
                "name": names[code],
                "occurrences": int(own.sum()),
                "workers": float(arrivals.members[own].mean()),
                "skew_mean_ms": float(skew[own].mean()),
                "skew_max_ms": float(skew[own].max()),
                "transfer_mean_ms": float(transfer[own].mean()),
                "waited_ms": float(waited[own].sum()),
                "last_worker": int(last.argmax()),
                "last_frac": float(last.max() / own.sum()),
            }
        )
    rows.sort(key=lambda row: -float(str(row["skew_mean_ms"])))
    fields = Table.empty(CollectiveRow).columns
    return Table(CollectiveRow, {field: [row[field] for row in rows] for field in fields})


def _diagnostics(
    profile: Profile, steps_found: WorkerSteps, meeting: CollectiveEvents
) -> tuple[Diagnostic, ...]:
    taking_part = {one.host for one in aligned_steps(profile)}
    found = [
        Diagnostic(
            "host-without-steps",
            "info",
            "This host has no steps of its own, or no device while others have: it is left out.",
            host.name,
        )
        for index, host in enumerate(profile.hosts)
        if index not in taking_part
    ]
    working = {(worker.host, worker.device) for worker in steps_found.workers}
    for index in sorted(taking_part):
        host = profile.hosts[index]
        present = [one for one in devices(host) if one.has_events]
        beside = [one.name for one in present if (index, one.plane) not in working]
        if beside:
            more = f" and {len(beside) - _MAX_NAMED:,} more" if len(beside) > _MAX_NAMED else ""
            listed = f"{', '.join(beside[:_MAX_NAMED])}{more}"
            text = f"Left out because they ran in no step, or in few: {listed}."
            found.append(Diagnostic("device-outside-steps", "info", text, host.name))
    apart = clocks_apart_ms(profile, meeting)
    if apart >= _LEAST_APART_MS:
        found.append(
            Diagnostic(
                "clock-offset",
                "info",
                f"The hosts' clocks differ by up to {time_words(apart)}; collectives, which end "
                "everywhere at once, were used to bring them together.",
            )
        )
    if meets_unrecorded(steps_found, meeting).any():
        found.append(
            Diagnostic(
                "waits-unknown",
                "info",
                "Whom a worker meets in its collectives was not recorded: how long it waits for "
                "them is not known, and is part of its transfers. Record all ranks to see it.",
            )
        )
    if meeting.mismatched:
        found.append(
            Diagnostic(
                "collectives-not-matched",
                "warning",
                f"{meeting.mismatched} collectives could not be matched across devices; their "
                "time counts as transfer.",
            )
        )
    return tuple(found)


TOOL = Tool(
    id="pod_viewer",
    short="pod",
    title="Workers",
    tab="Ranks",
    run=pod_viewer,
    options=Options,
    result=PodViewer,
    times_of=("step",),
    steps_of="slowest",
    page=(
        Headline(
            "The other workers wait for worker {straggler.worker}"
            " ({straggler.host}[ {straggler.device}])."
            " | {workers.1.host?}The largest part of the step is {bottleneck}. No worker makes the"
            " others wait."
            " | The largest part of the step is {bottleneck}. There is only one worker.",
            note="{straggler.message}",
            tone="{straggler?}collectives | other",
        ),
        Figure("Step time", "{step_time_ms} | –", "mean of the slowest worker's"),
        Figure("Workers", "{workers.rows}", "{device_type} | device type not known"),
        Figure("Largest part", "{bottleneck} | –", "of the mean step"),
        Figure(
            "Wait caused",
            "{straggler.caused_wait_ms}",
            "{straggler.step_frac} of the step | per step",
        ),
        Figure(
            "Cause of its delay",
            "{straggler.cause}",
            "{straggler.cause_ms} more than the others | compared with the others",
        ),
        Figure(
            "Unmatched collectives",
            "{mismatched_collectives?}{mismatched_collectives}",
            "across devices; excluded",
        ),
        OwnChart("pod_step"),
        TableView(
            "workers",
            note="in the mean of the counted steps, each device by itself: the Overview counts time"
            " in which any device of a host computes as compute.",
            noun=("worker", "workers"),
            main=True,
            sums=False,
        ),
        TableView(
            "collective_table",
            title="Collectives",
            note="skew is the time from the first worker's arrival to the last one's; then the"
            " transfer begins",
            none="No collective in which several workers meet was recorded: which worker waits for"
            " which is unknown.",
            noun=("collective", "collectives"),
            main=True,
            sums=False,
        ),
    ),
)
