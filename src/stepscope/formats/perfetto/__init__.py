"""Perfetto's traces (``.pftrace``, ``.perfetto-trace``): track events, counters, GPU render stages.

``packets`` lists the fields of packets as columns and keeps what packets of one sequence share,
``events`` pairs begins with ends, ``tracks`` says which plane and line each track becomes.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Final

from stepscope.formats.format import Format, Input, Peek
from stepscope.schema.xspace import Wire
from stepscope.wire.read import Field, fields

if TYPE_CHECKING:
    from stepscope.columns.space import Space

_NAME: Final = re.compile(r"\.(pftrace|perfetto-trace|perfetto|perfetto\.pb|proto)(\.gz)?$", re.I)
_HEAD_BYTES: Final = 1 << 16
_PACKET: Final = 1
# Fields of a packet that those of an XSpace's plane cannot be: time, sequence, flags, descriptor …
_OF_PACKETS: Final = {8: Wire.VARINT, 10: Wire.VARINT, 13: Wire.VARINT, 36: Wire.LEN, 60: Wire.LEN}


# How far from the begin the service may say its version.
_WRITER_BYTES: Final = 1 << 20
_SYSTEM_INFO: Final = 45
_SERVICE_VERSION: Final = 4
# "Perfetto v47.0-10adfd0 (10adfd0…)": the rest differs by build.
_VERSION: Final = re.compile(r"v\d[\w.]{0,40}")


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


def _writer(file: Peek) -> str:
    """The version of the service that wrote a trace, which one of its first packets may say."""
    view = memoryview(file.at(0, _WRITER_BYTES))
    with contextlib.suppress(ValueError):  # the first bytes end inside a packet
        for packet in fields(view):
            for one in fields(view, packet.payload, packet.end):
                if (one.number, one.wire) == (_SYSTEM_INFO, Wire.LEN):
                    return _version(view, one)
    return ""


def _version(view: memoryview, system: Field) -> str:
    for one in fields(view, system.payload, system.end):
        if (one.number, one.wire) == (_SERVICE_VERSION, Wire.LEN):
            said = bytes(view[one.payload : one.end]).decode("utf-8", "replace")
            found = _VERSION.search(said)
            return f"Perfetto {found[0]}" if found else ""
    return ""


def _open(pieces: Input, file: str) -> Space:
    from stepscope.formats.perfetto.read import open_trace

    return open_trace(pieces, file=file)


FORMATS = (
    Format(
        id="perfetto",
        title="Perfetto trace",
        head_bytes=_HEAD_BYTES,
        promises=_promises,
        starts=_starts,
        open=_open,
        writer=_writer,
    ),
)
