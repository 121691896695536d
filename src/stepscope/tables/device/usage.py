"""How long each device was busy over the whole recording, with what, and what was exposed.

Plain unions of what ran on a device, in whole nanoseconds; steps play no part. Communication is
exposed where nothing computes, a copy where nothing computes or communicates. Setting memory is
computing, as it keeps the device's cores or memory as busy as a kernel does. On GPUs the kernels
of NCCL and RCCL communicate, and no others: a reduction that an engine fused with its own
transfers computes, too, and its name does not say how much.
"""

from __future__ import annotations

import re

import numpy as np

from stepscope.columns import among, distinct, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.planes import OP_LINE_PLANES, PlaneKind, planes
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.processes import launch_ids
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.device.events import DeviceEvents, device_events, rows_by_device
from stepscope.tables.host.events import Work

_PS_PER_NS = 1000
_EXCHANGE = re.compile(r"[hnr]ccl", re.IGNORECASE)
_SET = re.compile(r"mem_?set", re.IGNORECASE)
_COPY = re.compile(r"mem_?cpy|copy(host|device)to", re.IGNORECASE)
_COPIES = (Work.HOST_TO_DEVICE, Work.DEVICE_TO_HOST, Work.DEVICE_TO_DEVICE)
# What names the op of a device event, whichever the recorder writes.
_OP_STATS = (names.TF_OP, names.ANNOTATION, names.HLO_OP, names.XLA_OP_NAME)


@dataclass(frozen=True, slots=True)
class DeviceUsage:
    """One device over the whole recording.

    Attributes:
        host: Name of its host.
        device: Name of its plane without the prefix, such as "GPU:0".
        events: Number of events on the device.
        with_op: Number of these with a known op.
        without_launch: Number of these without a recorded launch.
        span_ns: From the first begin to the last end.
        busy_ns: Time in which anything ran.
        compute_ns: Time in which it computed.
        communication_ns: Time in which it exchanged data with other devices.
        exposed_communication_ns: Time in which it exchanged data and did not compute.
        copy_ns: Time in which it copied.
        exposed_copy_ns: Time in which it copied and neither computed nor exchanged.
    """

    host: str
    device: str
    events: int
    with_op: int
    without_launch: int
    span_ns: int
    busy_ns: int
    compute_ns: int
    communication_ns: int
    exposed_communication_ns: int
    copy_ns: int
    exposed_copy_ns: int


@derived
def device_usage(host: Host) -> tuple[DeviceUsage, ...]:
    """The use of each device of a host that something ran on, in plane order."""
    found = device_events(host)
    if not len(found):
        return ()
    copies, exchanges = _kinds(host, found)
    with_op, launched = _names_op(host, found), _launched(host, found)
    result = []
    for plane, rows in rows_by_device(host).items():
        mine = rows[~found.is_container[rows]]
        start, end = found.start_ps[mine], found.end_ps[mine]
        if not len(start):
            continue
        copy, exchange = copies[mine], exchanges[mine]
        compute = ~copy & ~exchange
        busy = _union_ns(start, end)
        computing = _union_ns(start[compute], end[compute])
        without_copies = _union_ns(start[~copy], end[~copy])
        result.append(
            DeviceUsage(
                host=host.name,
                device=host.space.planes[plane].name.removeprefix("/device:"),
                events=len(start),
                with_op=int(with_op[mine].sum()),
                without_launch=int((~launched[mine]).sum()),
                span_ns=int(end.max() - start.min()) // _PS_PER_NS,
                busy_ns=busy,
                compute_ns=computing,
                communication_ns=_union_ns(start[exchange], end[exchange]),
                exposed_communication_ns=without_copies - computing,
                copy_ns=_union_ns(start[copy], end[copy]),
                exposed_copy_ns=busy - without_copies,
            )
        )
    return tuple(result)


def _union_ns(start: I64, end: I64) -> int:
    begins, ends = union_spans(start, end)
    return int((ends - begins).sum()) // _PS_PER_NS


def _kinds(host: Host, found: DeviceEvents) -> tuple[Bool, Bool]:
    """Which events copy, and which exchange data with other devices."""
    space = host.space
    kinds = planes(host).plane_kind
    is_gpu = np.asarray([kind is PlaneKind.GPU for kind in kinds] or [False])[found.device]
    entry = space.events.metadata[found.rows]
    sets = entries_shaped(host, lambda name: _SET.search(name) is not None)[entry]
    named = entries_shaped(host, lambda name: _COPY.match(name) is not None)[entry]
    said = event_stats(host).texts(names.MEMCPY_DETAILS).at(found.rows) >= 0
    # On other devices an op's category says it; a GPU's kernels may well copy, but compute so.
    copies = np.where(is_gpu, (said | named) & ~sets, np.isin(found.work, _COPIES))
    library = entries_shaped(host, lambda name: _EXCHANGE.search(name) is not None)[entry]
    exchanges = np.where(is_gpu, library, found.work == Work.COLLECTIVE) & ~copies & ~sets
    return copies.astype(np.bool_), exchanges.astype(np.bool_)


def _names_op(host: Host, found: DeviceEvents) -> Bool:
    """Which events name the op they ran for; a reason why there is none does not count."""
    stats, kinds = event_stats(host), planes(host).plane_kind
    are_ops = np.asarray([kind in OP_LINE_PLANES for kind in kinds] or [False])[found.device]
    for name in _OP_STATS:
        are_ops |= stats.texts(name).at(found.rows) >= 0
    are_ops &= stats.texts(names.LAUNCH_ORIGIN).at(found.rows) < 0
    return are_ops.astype(np.bool_)


def _launched(host: Host, found: DeviceEvents) -> Bool:
    """Which events have a recorded call that launched them."""
    known = distinct(launch_ids(host).values)
    launched: Bool = (found.correlation >= 0) & among(known, found.correlation)
    return launched
