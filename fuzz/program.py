"""A compiled program to mutate: an HloProto with all that its readers read, and a run of it."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema import names
from stepscope.schema.xspace import MapEntry, XEventMetadata, XPlane, XSpace, XStat, XStatMetadata
from stepscope.wire import write as wire

_ID: Final = 7
_F32: Final = 11
# What its kernels are called, in the order in which they ran: two loops, then a run of the rest.
_KERNELS: Final = (
    "add_fusion",
    "nvjet_tst",
    "add_fusion_2",
    "Memset",
    "nvjet_tst",
    "mul_fusion",
    "memcpy128",
    "mul_fusion",
    "memcpy128",
    "add_fusion_3",
    "somebodys_kernel",
)
_GAP_NS, _LENGTH_NS = 10_000, 8_000


def _shape(*dimensions: int) -> bytes:
    layout = wire.blob(1, b"".join(wire.varint(one) for one in reversed(range(len(dimensions)))))
    listed = wire.blob(3, b"".join(map(wire.varint, dimensions)))
    return wire.number(2, _F32) + listed + wire.blob(5, layout + wire.blob(6, wire.number(1, 8)))


def _pair() -> bytes:
    return wire.number(2, 13) + wire.blob(4, _shape(8, 8)) * 2


def _metadata(op: str, copy_of: str = "") -> bytes:
    return (
        wire.text(1, "Add")
        + wire.text(2, f"jit(f)/layer/{op}")
        + wire.text(3, "model.py")
        + wire.number(4, 12)
        + wire.text(12, copy_of)
        + wire.number(15, 2)
    )


def _instruction(
    id_: int,
    name: str,
    opcode: str,
    *operands: int,
    shape: bytes = b"",
    calls: tuple[int, ...] = (),
    copy_of: str = "",
    more: bytes = b"",
) -> bytes:
    body = wire.text(1, name) + wire.text(2, opcode) + wire.blob(3, shape or _shape(8, 8))
    body += wire.blob(7, _metadata(opcode, copy_of)) + wire.number(35, id_)
    body += wire.blob(36, b"".join(map(wire.varint, operands)))
    body += b"".join(wire.number(38, called) for called in calls)
    return wire.blob(2, body + more)


def _computation(id_: int, root: int, *instructions: bytes) -> bytes:
    named = wire.text(1, f"computation.{id_}") + b"".join(instructions)
    return wire.blob(3, named + wire.number(5, id_) + wire.number(6, root))


def _entry() -> bytes:
    dot = wire.blob(30, wire.number(1, 1) + wire.number(2, 0, always=True))
    gemm = wire.text(28, "__cublas$gemm") + wire.blob(43, b'{"gemm_backend_config":{"beta":0}}')
    reduced = wire.blob(49, wire.number(1, 0, always=True) + wire.number(1, 1))
    loop = wire.text(11, "kLoop")
    return _computation(
        1,
        10,
        _instruction(1, "x", "parameter"),
        _instruction(2, "add_fusion", "fusion", 1, calls=(2,), more=loop),
        _instruction(3, "custom-call.1", "custom-call", 2, 2, shape=_pair(), more=gemm),
        _instruction(4, "add_fusion.2", "fusion", 3, calls=(2,), copy_of="add_fusion", more=loop),
        _instruction(5, "dot.1", "dot", 4, 4, more=dot),
        _instruction(6, "all-reduce.1", "all-reduce", 5, calls=(2,), more=reduced),
        _instruction(7, "while.1", "while", 6, calls=(3, 4)),
        _instruction(8, "copy-start.1", "copy-start", 7, shape=_pair()),
        _instruction(9, "copy-done.1", "copy-done", 8),
        _instruction(10, "add_fusion.3", "fusion", 9, calls=(2,), copy_of="add_fusion", more=loop),
    )


def _bodies() -> bytes:
    fused = _computation(
        2,
        22,
        _instruction(20, "p", "parameter"),
        _instruction(21, "c", "constant"),
        _instruction(22, "add.1", "add", 20, 21),
    )
    test = _computation(3, 31, _instruction(31, "less", "compare"))
    window = wire.blob(15, wire.blob(1, wire.number(1, 3) + wire.number(2, 2)))
    loop = _computation(
        4,
        43,
        _instruction(40, "q", "parameter"),
        _instruction(41, "mul_fusion", "fusion", 40, calls=(2,)),
        _instruction(42, "slice", "async-start", 41),
        _instruction(43, "convolution.1", "convolution", 42, 41, more=window),
    )
    return fused + test + loop


def _schedule() -> bytes:
    orders = {1: (1, 3, 2, 4, 5, 6, 7, 8, 9, 10), 2: (20, 21, 22), 4: (40, 42, 41, 43)}
    return b"".join(
        wire.blob(1, wire.number(1, id_) + wire.blob(2, wire.blob(1, bytes(order))))
        for id_, order in orders.items()
    )


def _stacks() -> bytes:
    place = wire.number(1, 1) + wire.number(2, 1) + wire.number(3, 12)
    frames = wire.blob(4, wire.number(1, 1)) + wire.blob(4, wire.number(1, 1) + wire.number(2, 1))
    return wire.text(1, "model.py") + wire.text(2, "layer") + wire.blob(3, place) + frames


def _memory() -> bytes:
    buffers = b"".join(
        wire.blob(1, wire.number(1, id_) + wire.number(2, 256) + wire.blob(3, wire.text(2, name)))
        for id_, name in ((1, "x"), (2, "add_fusion"), (3, "add_fusion.3"))
    )
    placed = wire.blob(9, wire.number(1, 2) + wire.number(3, 256))
    block = wire.blob(3, wire.number(1, 1) + wire.number(2, 256) + placed)
    events = b"".join(
        wire.blob(1, wire.number(1, kind) + wire.number(2, 2) + wire.text(4, "add_fusion"))
        for kind in (0, 1)
    )
    return buffers + block + wire.blob(4, events)


def small_program() -> bytes:
    """An HloProto with a loop, fusions that repeat each other, a schedule, stacks and memory."""
    module = wire.text(1, "jit_f") + wire.text(2, "computation.1") + _bodies() + _entry()
    module += wire.number(5, _ID) + wire.number(6, 1) + wire.blob(7, _schedule())
    module += wire.blob(15, wire.number(1, 2) + wire.number(2, 1)) + wire.blob(17, _stacks())
    return wire.blob(1, module) + wire.blob(3, _memory())


def _held(program: bytes) -> bytes:
    """The plane that holds a program, as recorders write it."""
    stat = wire.number(XStat.METADATA_ID, 1) + wire.blob(XStat.BYTES_VALUE, program, always=True)
    name = wire.number(XEventMetadata.ID, 1) + wire.text(XEventMetadata.NAME, f"jit_f({_ID})")
    name += wire.blob(XEventMetadata.STATS, stat)
    key = wire.number(XStatMetadata.ID, 1) + wire.text(XStatMetadata.NAME, names.HLO_PROTO)
    plane = wire.text(XPlane.NAME, "/host:metadata")
    for which, entry in ((XPlane.EVENT_METADATA, name), (XPlane.STAT_METADATA, key)):
        plane += wire.blob(which, wire.number(MapEntry.KEY, 1) + wire.blob(MapEntry.VALUE, entry))
    return wire.blob(XSpace.PLANES, plane)


def run_of(program: bytes) -> bytes:
    """An XSpace with a program and two runs of it: kernels of command buffers, and one of none."""
    kernels = _KERNELS * 2
    count = len(kernels)
    at = np.arange(count, dtype=np.int64)
    device = PlaneWriter("/device:GPU:0")
    ops = ["command_buffer_1"] * (count - 1) + ["dot.1"]
    device.line(
        1,
        "Stream #1",
        metadata=device.names(kernels),
        start_ns=at * _GAP_NS,
        duration_ns=np.full(count, _LENGTH_NS, dtype=np.int64),
        stats=[
            Stat(names.HLO_OP, device.texts(ops), is_text=True),
            Stat(names.PROGRAM_ID, np.full(count, _ID, dtype=np.uint64)),
            Stat(names.CORRELATION_ID, at // len(_KERNELS)),
        ],
    )
    return _held(program) + device.xspace()
