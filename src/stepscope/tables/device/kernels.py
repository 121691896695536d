"""The kernels of a profile: every distinct launch of every distinct kernel, with its times.

A row is a kernel as launched for an op: name, launch parameters and op together. Rows of several
devices and hosts are merged by adding their counts and times, never by joining cut lists.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from stepscope.columns import median
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass, field, replace
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import packed
from stepscope.tables.core.op_name import OpCategory, OpName
from stepscope.tables.core.planes import OP_LINE_PLANES, PlaneKind, planes
from stepscope.tables.core.presence import Stretch, any_stretch
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.time_spans import TimeSpans
from stepscope.tables.device.events import (
    DeviceEvents,
    device_entries,
    device_events,
    device_lines,
)
from stepscope.tables.device.kernel_launch import UNKNOWN_LAUNCH, KernelLaunch, parse_kernel_details
from stepscope.tables.device.kernel_names import is_16_bit
from stepscope.tables.host.events import Work


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel as launched: what makes two events the same row.

    Attributes:
        name: The kernel's (demangled) name as recorded.
        launch: How it was launched.
        op_name, op_type: The framework op it ran for; "" when unknown.
        bits_16: Whether it computes in 16 bits or fewer, as the step's parts have it.
        bits_known: Whether anything recorded says so.
    """

    name: str
    launch: KernelLaunch
    op_name: str
    op_type: str
    bits_16: bool
    bits_known: bool

    def __hash__(self) -> int:
        # Tables group kernels several times; these three tell nearly all of them apart.
        return hash((self.name, self.op_name, self.launch.grid))


@dataclass(frozen=True, slots=True)
class Times:
    """Count and durations (ps) of the events of a kernel."""

    occurrences: float
    total_ps: float
    min_ps: int
    max_ps: int

    def __add__(self, other: Times) -> Times:
        return Times(
            self.occurrences + other.occurrences,
            self.total_ps + other.total_ps,
            min(self.min_ps, other.min_ps),
            max(self.max_ps, other.max_ps),
        )

    def over(self, steps: int) -> Times:
        """Count and total of the mean of so many steps."""
        return replace(self, occurrences=self.occurrences / steps, total_ps=self.total_ps / steps)


@dataclass(frozen=True, slots=True)
class DeviceKernel:
    """One kernel's events on one device.

    Attributes:
        host: Name of the host.
        device: Name of the device's plane without its prefix, e.g. "GPU:0".
        durations_ps: Of each of its runs, which ``times`` may be the mean of several steps of.
    """

    host: str
    device: str
    kernel: Kernel
    times: Times
    durations_ps: I64 = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RunSpread:
    """How the runs of kernels differ in length.

    Attributes:
        median_ps: The middle one, or the mean of the two in the middle.
        std_ps: The standard deviation of the sample; NaN of a single run.
    """

    median_ps: float
    std_ps: float


def spread_of(rows: Sequence[DeviceKernel]) -> RunSpread:
    """The spread of all runs of some rows together."""
    durations = [row.durations_ps for row in rows]
    every = durations[0] if len(durations) == 1 else np.concatenate(durations)
    if len(every) < 2:
        return RunSpread(float(every[0]), math.nan)
    return RunSpread(median(every), float(np.std(every, ddof=1)))


def host_kernels(host: Host, spans: TimeSpans | None = None) -> tuple[DeviceKernel, ...]:
    """The kernels of a host's GPUs, by device; of those that begin in the spans."""
    found = device_events(host)
    chosen = np.flatnonzero(is_gpu_kernel(host, found))
    if spans is not None:
        chosen = chosen[spans.hold(found.start_ps[chosen])]
    if len(chosen) == 0:
        return ()
    details = event_stats(host).texts(names.KERNEL_DETAILS)
    launches = [parse_kernel_details(text) for text in details.texts]
    keys = (
        host.space.events.metadata[found.rows[chosen]].astype(np.int64),
        details.at(found.rows[chosen]),
        found.op[chosen].astype(np.int64),
        found.device[chosen].astype(np.int64),
        found.work[chosen].astype(np.int64),
        found.bits_known[chosen].astype(np.int64),
    )
    first, times, durations = _aggregate(packed(keys), found.duration_ps[chosen])
    rows = []
    columns = (key[first].tolist() for key in keys)
    for metadata, detail, op, device, work, known, total, runs in zip(
        *columns, times, durations, strict=True
    ):
        name = host.space.event_metadata.name[metadata]
        launch = launches[detail] if detail >= 0 else UNKNOWN_LAUNCH
        op_name, op_type = _op_of(found.ops[op], name)
        plane = host.space.planes[device].name.removeprefix("/device:")
        # A collective computes nothing that a step counts; its name still says its type.
        bits_16 = work == Work.COMPUTE_16 or (work != Work.COMPUTE_32 and is_16_bit(name))
        kernel = Kernel(name, launch, op_name, op_type, bits_16, bool(known))
        rows.append(DeviceKernel(host.name, plane, kernel, total, runs))
    return tuple(rows)


def runs_kernels(host: Host) -> bool:
    """Whether its devices are such as run kernels: a TPU runs the ops of its programs."""
    kinds = planes(host).plane_kind
    return PlaneKind.GPU in kinds or not any(kind in OP_LINE_PLANES for kind in kinds)


def has_kernels(host: Host) -> bool:
    """Whether ``host_kernels`` has any."""
    kinds = planes(host).plane_kind
    lines = [
        row for row in device_lines(host) if kinds[host.space.lines[row].plane] is PlaneKind.GPU
    ]
    if not lines:
        return False
    if any_stretch(
        host,
        lines,
        lambda stretch: bool((stretch.has(names.KERNEL_DETAILS) & stretch.timed).any()),
    ):
        return True
    computes = device_entries(host, _computes)

    def is_kernel(stretch: Stretch) -> bool:
        found = computes[stretch.entry] & ~stretch.has(names.MEMCPY_DETAILS)
        return bool((found & stretch.timed).any())

    return any_stretch(host, lines, is_kernel)


def _computes(work: Work) -> bool:
    return work >= Work.COMPUTE_32 or work is Work.COLLECTIVE


def is_gpu_kernel(host: Host, found: DeviceEvents) -> Bool:
    """Events of GPU streams that are kernels: launched with details, or computing something.

    Only device streams count: host events of old recordings carry ``kernel_details``, too, with
    values that mean nothing.
    """
    kinds = planes(host).plane_kind
    is_gpu = np.asarray([kind is PlaneKind.GPU for kind in kinds] or [False], dtype=bool)
    stats = event_stats(host)
    launched = stats.texts(names.KERNEL_DETAILS).at(found.rows) >= 0
    copied = stats.texts(names.MEMCPY_DETAILS).at(found.rows) >= 0
    chosen: Bool = is_gpu[found.device] & (launched | (found.is_kernel & ~copied))
    return chosen


def _aggregate(key: I64, duration: I64) -> tuple[I64, list[Times], list[I64]]:
    """Per distinct key: the place of its first row, its count, sum and range, and durations."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    begin = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    counts = np.diff(np.append(begin, len(key)))
    spans = duration[order]
    columns = (
        counts.tolist(),
        np.add.reduceat(spans, begin).tolist(),
        np.minimum.reduceat(spans, begin).tolist(),
        np.maximum.reduceat(spans, begin).tolist(),
    )
    times = [Times(*row) for row in zip(*columns, strict=True)]
    return order[begin], times, np.split(spans, begin[1:])


def _op_of(op: OpName, kernel: str) -> tuple[str, str]:
    """Name and type of the framework op, empty where the recording names none."""
    if op.category is not OpCategory.UNKNOWN:
        return op.name, op.type
    if op.type == "Unknown" or op.name == kernel:
        return "", ""
    return op.name.partition(":")[0], ""
