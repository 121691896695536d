"""TPUs of several slices that exchange data, as profiles: the program, and its ops as they ran.

    gradients = Collective("all-reduce.1", channel=1, elements=1024)
    slices(gradients, run=[("send.1", 0, 10), ("send-done.1", 20, 5), ("recv-done.1", 40, 30)])

gives the planes of a host with one TPU. The four ops of a collective are called after its channel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.profiles.hlo import (
    Instruction,
    f32,
    instruction,
    metadata_plane,
    program,
    shape,
    token,
    tuple_of,
)
from tests.profiles.model import Kind, Plane, host, line, plane

ROLES: Final = ("send", "send-done", "recv", "recv-done")
TYPES: Final = {
    "ALL_TO_ALL": 1,
    "ONE_TO_ONE": 2,
    "REDUCE_SCATTER": 3,
    "ALL_GATHER": 4,
    "ALL_REDUCE": 5,
    "RAGGED_ALL_TO_ALL": 6,
}
PROGRAM, PROGRAM_ID = "jit_step", 7


@dataclass(frozen=True)
class Collective:
    """One collective between slices.

    Attributes:
        rendezvous: Its name.
        channel: Number of its channel; also the end of its ops' names.
        elements: Length of the array of 32-bit floats that a TPU receives.
        transfer_type: "" when the program does not say it.
        group: How many slices meet; 0 when the recorder does not say it.
        handler: Who carries the buffers.
        done_named: Whether the done ops name the rendezvous, too, and not their channel alone.
    """

    rendezvous: str
    channel: int
    elements: int = 1024
    transfer_type: str = "ALL_REDUCE"
    group: int = 2
    handler: str = "xla_megascale_runtime"
    done_named: bool = True

    def instructions(self) -> list[Instruction]:
        """Its four ops, after an array ``x`` and a token ``after``."""
        array, end = f32(self.elements), token()
        pair = tuple_of(array, shape(8), end)
        own = {
            "_xla_host_transfer_rendezvous": self.rendezvous,
            "_xla_host_transfer_handler_name": self.handler,
            "_xla_megascale_transfer_type": self.transfer_type,
        }
        own = {key: value for key, value in own.items() if value}
        results = {
            "send": (pair, ("x", "after"), own),
            "send-done": (end, (f"send.{self.channel}",), own if self.done_named else {}),
            "recv": (pair, ("after",), own),
            "recv-done": (
                tuple_of(array, end),
                (f"recv.{self.channel}",),
                own if self.done_named else {},
            ),
        }
        return [
            instruction(
                f"{opcode}.{self.channel}",
                opcode,
                result,
                *operands,
                attributes=attributes,
                channel_id=self.channel,
                is_host_transfer=1,
            )
            for opcode, (result, operands, attributes) in results.items()
        ]

    def info(self) -> bytes:
        """Its DcnCollectiveInfoProto: one group of as many slices, or one pair."""
        kind = bytes([8, TYPES[self.transfer_type]]) if self.transfer_type else b""
        ends = [bytes([0x0A, 2, 8, place + 1]) for place in range(self.group)]
        if self.transfer_type == "ONE_TO_ONE":
            return kind + _message(3, _message(1, ends[0][2:]) + _message(2, ends[-1][2:]))
        return kind + _message(2, b"".join(ends))


def _message(number: int, content: bytes) -> bytes:
    """A field that holds a message shorter than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def module(collectives: Iterable[Collective]) -> bytes:
    """The HloProto of a program with these collectives and a multiplication between them."""
    return program(
        PROGRAM,
        [
            instruction("x", "parameter", f32(1024), parameter_number=0),
            instruction("after", "after-all", token()),
            *(one for collective in collectives for one in collective.instructions()),
            instruction("multiply.9", "multiply", f32(1024), "x", "x"),
        ],
    )


Op: TypeAlias = "tuple[str, float, float]"


def tpu(index: int, collectives: Sequence[Collective], run: Iterable[Op]) -> Plane:
    """A TPU that ran these ops (by their short names)."""
    events = [
        (f"%{name} = f32[1024] {name.partition('.')[0]}()", start, duration)
        for name, start, duration in run
    ]
    kinds = {"%multiply.9 = f32[1024] multiply()": _kind("multiply.9", "loop fusion")}
    for one in collectives:
        for role in ROLES:
            name = f"{role}.{one.channel}"
            info = {"dcn_collective_info": one.info()} if one.group and role == "send" else {}
            kinds[f"%{name} = f32[1024] {role}()"] = _kind(name, f"host {role}", **info)
    begin = min((start for _name, start, _duration in events), default=0)
    end = max((start + duration for _name, start, duration in events), default=0)
    return plane(
        f"/device:TPU:{index}",
        line("XLA Modules", (f"{PROGRAM}({PROGRAM_ID})", begin, end - begin)),
        line("XLA Ops", *events),
        kinds=kinds,
        id=index + 1,
    )


def _kind(name: str, category: str, **more: Any) -> Kind:
    stats = {"hlo_category": category, "program_id": PROGRAM_ID, **more}
    return Kind(display_name=name, stats=stats)


def slices(
    *collectives: Collective, run: Iterable[Op], more: Sequence[Iterable[Op]] = ()
) -> list[Plane]:
    """The planes of a host whose first TPU ran ``run``, and each further one of ``more``."""
    marker = Kind()  # the incumbent only looks where such an event has a name
    return [
        host(kinds={"MegaScale: Communication Transport Receive": marker}),
        metadata_plane((PROGRAM, PROGRAM_ID, module(collectives))),
        *(tpu(index, collectives, ops) for index, ops in enumerate([run, *more])),
    ]


def message(
    arrived_us: float, latency_us: int, size: int, source: int, destination: int
) -> tuple[str, float, float, dict[str, Any]]:
    """A message from another slice, as the receiving host notes its arrival."""
    return (
        "MegaScale: Communication Transport Receive",
        arrived_us,
        0,
        {
            "dcn_label": "all-reduce.1_312",
            "dcn_source_slice_id": source,
            "dcn_source_per_slice_device_id": 0,
            "dcn_destination_slice_id": destination,
            "dcn_destination_per_slice_device_id": 0,
            "payload_size_bytes": size,
            "duration_us": latency_us,
        },
    )
