"""Collectives between TPU slices, which the data-centre network (DCN) carries.

XLA compiles such a collective into four ops of every TPU: *send* hands a buffer to the host,
*send-done* ends when it has left, *recv* offers the host an empty buffer and *recv-done* ends when
it is full. The TPU stands still in each of them, and computes between them. What belongs together
shares a rendezvous, which only the HLO module says.

Formulas after the incumbent's (openxla/xprof, docs/megascale_stats.md and
xprof/convert/xspace_to_dcn_slack_analysis.cc); what one transfer moves, by type, is the traffic of
the usual algorithms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.columns import metadata_stats_by_name, pivot
from stepscope.columns.space import KIND_BYTES, Bool
from stepscope.errors import DecodeError
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.planes import LineKind, PlaneKind, lines_of, planes
from stepscope.tables.core.presence import any_event
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.stats import metadata_ints, metadata_texts
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.wire.read import values

if TYPE_CHECKING:
    from stepscope.tables.hlo.module import HloModule, Instruction


class DcnRole(IntEnum):
    """Which of a collective's four ops."""

    SEND = 0
    SEND_DONE = 1
    RECV = 2
    RECV_DONE = 3


_ROLES: Final = {
    "send": DcnRole.SEND,
    "send-done": DcnRole.SEND_DONE,
    "recv": DcnRole.RECV,
    "recv-done": DcnRole.RECV_DONE,
}
# Field numbers of xla.HloInstructionProto, and of the map inside xla.FrontendAttributes.
_CHANNEL_ID, _FRONTEND_ATTRIBUTES = 26, 68
# Field numbers of tensorflow.profiler.DcnCollectiveInfoProto, and its transfer types.
_TRANSFER_TYPE, _ENDPOINT_GROUPS = 1, 2
_TYPES: Final = (
    "",
    "ALL_TO_ALL",
    "ONE_TO_ONE",
    "REDUCE_SCATTER",
    "ALL_GATHER",
    "ALL_REDUCE",
    "RAGGED_ALL_TO_ALL",
)


@dataclass(frozen=True, slots=True)
class DcnCollective:
    """One collective of a program.

    Attributes:
        rendezvous: Its name: what its four ops share.
        program: Name of the HLO module.
        transfer_type: "ALL_REDUCE", "ONE_TO_ONE" …; "" when unknown.
        sent_bytes: What one TPU sends in one run; None where type or group size are unknown.
    """

    rendezvous: str
    program: str
    transfer_type: str
    sent_bytes: float | None


@dataclass(frozen=True, slots=True)
class DcnOp:
    """One of a collective's four ops, as an entry of ``Space.event_metadata`` names it."""

    collective: DcnCollective
    role: DcnRole
    name: str


def sent_bytes(transfer_type: str, received_bytes: int, group_size: int) -> float | None:
    """What one member of a group of slices sends in one collective.

    Args:
        transfer_type: As XLA calls it.
        received_bytes: Size of the recv-done's result.
        group_size: Members of a group; 0 when unknown.

    Returns:
        Bytes; None for types whose traffic depends on the data, and without a group size.
    """
    if transfer_type == "ONE_TO_ONE":
        return float(received_bytes)
    if group_size <= 0:
        return None
    others = group_size - 1
    shares = {
        "ALL_REDUCE": 2 * others / group_size,  # all parts are scattered, then gathered
        "ALL_GATHER": others / group_size,
        "ALL_TO_ALL": others / group_size,
        "REDUCE_SCATTER": float(others),
    }
    share = shares.get(transfer_type)
    return None if share is None else share * received_bytes


def has_host_transfers(profile: Profile) -> bool:
    """Whether a TPU ran an op that hands a buffer to its host or takes one."""
    return any(
        any_event(host, tpu_op_lines(host), entries=entry_mask(host, transfer_entries(host)))
        for host in profile.hosts
    )


def has_their_programs(profile: Profile) -> bool:
    """Whether the HLO module of any op that exchanges buffers with the host is there."""
    return any(
        hlo_modules(host).get(program) is not None
        for host in profile.hosts
        for program in {program for _entry, program in _programs(host)}
    )


def has_dcn_collectives(profile: Profile) -> bool:
    """Whether ``dcn_runs`` finds any run, complete or not."""
    return any(
        any_event(host, tpu_op_lines(host), entries=entry_mask(host, _halves(host)))
        for host in profile.hosts
    )


def _halves(host: Host) -> list[int]:
    """Rows of ``Space.event_metadata`` that begin or end a run."""
    halves = (DcnRole.SEND, DcnRole.RECV_DONE)
    return [row for row, op in dcn_ops(host).items() if op.role in halves]


def tpu_op_lines(host: Host) -> list[int]:
    """Rows in ``Space.lines`` of the ops of TPUs' main cores."""
    return lines_of(host, LineKind.OPS, PlaneKind.TPU)


@derived
def transfer_entries(host: Host) -> tuple[int, ...]:
    """Rows of ``Space.event_metadata`` that are host transfers of a TPU."""
    kinds, plane = planes(host).plane_kind, host.space.event_metadata.plane
    return tuple(
        entry
        for entry, category in metadata_texts(host, names.HLO_CATEGORY).items()
        if any(wanted in category for wanted in names.HOST_TRANSFER_CATEGORIES)
        and kinds[plane[entry]] is PlaneKind.TPU
    )


def entry_mask(host: Host, entries: Iterable[int]) -> Bool:
    """These rows of ``Space.event_metadata``, as a mask over all."""
    mask = np.zeros(max(len(host.space.event_metadata), 1), dtype=bool)
    mask[list(entries)] = True
    return mask


def _programs(host: Host) -> Iterator[tuple[int, int]]:
    """(metadata row, program id) of the host transfers."""
    of_entry = metadata_ints(host, names.PROGRAM_ID)
    return ((entry, of_entry[entry]) for entry in transfer_entries(host) if entry in of_entry)


@derived
def dcn_ops(host: Host) -> dict[int, DcnOp]:
    """The ops of collectives between slices, by row of ``Space.event_metadata``.

    Other transfers to the host (callbacks, memory that is kept there) have a rendezvous, too; they
    are distinguished by who handles them.
    """
    entries: dict[int, list[int]] = {}
    for entry, program in _programs(host):
        entries.setdefault(program, []).append(entry)
    infos = _infos(host)
    found: dict[int, DcnOp] = {}
    for program, rows in entries.items():
        module = hlo_modules(host).get(program)
        if module is not None:
            found |= _ops_of_module(host, module, rows, infos)
    return found


def _ops_of_module(
    host: Host, module: HloModule, rows: list[int], infos: dict[int, _Info]
) -> dict[int, DcnOp]:
    metadata = host.space.event_metadata
    of_channel = _rendezvous_of_channels(module)
    groups: dict[str, list[tuple[int, Instruction]]] = {}
    for row in rows:
        name = metadata.display_name[row] or metadata.name[row].partition(" = ")[0].lstrip("%")
        one = module.instructions.get(name)
        if one is not None and one.opcode in _ROLES:
            rendezvous = _attributes(one).get(names.RENDEZVOUS) or of_channel.get(_channel(one), "")
            groups.setdefault(rendezvous, []).append((row, one))
    groups.pop("", None)
    found = {}
    for rendezvous, members in groups.items():
        collective = _collective(module.name, rendezvous, members, infos)
        if collective is not None:
            for row, one in members:
                found[row] = DcnOp(collective, _ROLES[one.opcode], one.name)
    return found


def _collective(
    program: str, rendezvous: str, ops: list[tuple[int, Instruction]], infos: dict[int, _Info]
) -> DcnCollective | None:
    """What these ops are together; None when their host keeps the buffers to itself."""
    attributes = [_attributes(one) for _row, one in ops]
    info = next((infos[row] for row, _one in ops if row in infos), None)
    said = (found.get(names.MEGASCALE_TRANSFER_TYPE, "") for found in attributes)
    transfer_type = next(filter(None, said), info.transfer_type if info else "")
    handlers = {found.get(names.HOST_TRANSFER_HANDLER) for found in attributes}
    if info is None and not transfer_type and names.MEGASCALE_HANDLER not in handlers:
        return None
    received = next((one.shape.bytes for _row, one in ops if one.opcode == "recv-done"), None)
    size = info.group_size if info else 0
    sent = None if received is None else sent_bytes(transfer_type, received, size)
    return DcnCollective(rendezvous, program, transfer_type, sent)


def _rendezvous_of_channels(module: HloModule) -> dict[int, str]:
    """A done op need not name its rendezvous: then the op of its channel does."""
    found: dict[int, str] = {}
    for one in module.by_id.values():
        if one.opcode in _ROLES and (rendezvous := _attributes(one).get(names.RENDEZVOUS)):
            found[_channel(one)] = rendezvous
    found.pop(0, None)  # no channel
    return found


def _channel(one: Instruction) -> int:
    value = one.attributes.get(_CHANNEL_ID, [0])[0]
    return value if isinstance(value, int) else 0


def _attributes(one: Instruction) -> dict[str, str]:
    """What the framework and XLA's passes noted about an instruction."""
    found = {}
    try:
        for _number, entry in values(one.message(_FRONTEND_ATTRIBUTES)):
            pair = dict(values(entry)) if isinstance(entry, bytes) else {}
            key, value = (pair.get(number, b"") for number in (1, 2))
            if isinstance(key, bytes) and isinstance(value, bytes):
                found[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
    except DecodeError:
        return {}  # as a damaged module is: absent
    return found


@dataclass(frozen=True, slots=True)
class _Info:
    """What the recorder says of a collective: its type, and how many meet in its first group."""

    transfer_type: str
    group_size: int


def _infos(host: Host) -> dict[int, _Info]:
    """By row of ``Space.event_metadata``."""
    wanted = names.DCN_COLLECTIVE_INFO
    column = metadata_stats_by_name(host.space, (wanted,))[wanted]
    found = {}
    is_bytes = column.kind == KIND_BYTES
    for row, bits in zip(
        column.rows[is_bytes].tolist(), column.bits[is_bytes].tolist(), strict=True
    ):
        kind, groups = 0, []
        try:
            for number, value in values(pivot.read_bytes(host.space, bits)):
                if number == _TRANSFER_TYPE and isinstance(value, int):
                    kind = value
                elif number == _ENDPOINT_GROUPS and isinstance(value, bytes):
                    groups.append(sum(1 for field in values(value) if field[0] == 1))
        except DecodeError:
            continue
        name = _TYPES[kind] if kind < len(_TYPES) else ""
        found[row] = _Info(name, groups[0] if groups else 0)
    return found
