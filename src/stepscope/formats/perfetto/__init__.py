"""Perfetto's traces (``.pftrace``, ``.perfetto-trace``): track events, counters, GPU render stages.

``packets`` lists the fields of packets as columns and keeps what packets of one sequence share,
``events`` pairs begins with ends, ``tracks`` says which plane and line each track becomes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stepscope.formats.format import Format, Input
from stepscope.schema.xspace import Wire
from stepscope.wire.read import fields

if TYPE_CHECKING:
    from stepscope.columns.space import Space

_NAME: Final = re.compile(r"\.(pftrace|perfetto-trace|perfetto|perfetto\.pb|proto)(\.gz)?$", re.I)
_HEAD_BYTES: Final = 1 << 16
_PACKET: Final = 1
# Fields of a packet that those of an XSpace's plane cannot be: time, sequence, flags, descriptor …
_OF_PACKETS: Final = {8: Wire.VARINT, 10: Wire.VARINT, 13: Wire.VARINT, 36: Wire.LEN, 60: Wire.LEN}


def _promises(name: str) -> bool:
    return bool(_NAME.search(name))


def _starts(first: bytes) -> bool:
    view = memoryview(first)
    try:
        for packet in fields(view):
            if (packet.number, packet.wire) != (_PACKET, Wire.LEN):
                return False
            inner = fields(view, packet.payload, packet.end)
            if any(_OF_PACKETS.get(one.number) == one.wire for one in inner):
                return True
    except ValueError:  # the first bytes end inside a packet
        return False
    return False


def _open(pieces: Input, file: str) -> Space:
    from stepscope.formats.perfetto.read import open_trace

    return open_trace(pieces, file=file)


FORMAT = Format(
    id="perfetto",
    title="Perfetto trace",
    head_bytes=_HEAD_BYTES,
    promises=_promises,
    starts=_starts,
    open=_open,
)
