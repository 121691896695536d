"""A tile as bytes, as specified in ``docs/timeline-format.md``."""

from __future__ import annotations

import struct
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from stepscope.timeline import Tile

VERSION: Final = 1
MIMETYPE: Final = "application/vnd.stepscope.tile"
_MAGIC: Final = b"SSTL"
# magic, version, header bytes, begin, end, bucket, unit, rows, slices, names, series, points, spare
_HEADER: Final = struct.Struct("<4sHHqqqqIIIIII")


def pack(tile: Tile) -> bytes:
    """The tile as little-endian arrays after a header of 64 bytes, wide items first."""
    counters = tile.counters
    header = _HEADER.pack(
        _MAGIC,
        VERSION,
        _HEADER.size,
        tile.begin_ps,
        tile.end_ps,
        tile.bucket_ps,
        tile.unit_ps,
        len(tile.row_track),
        len(tile.event),
        len(tile.names),
        len(counters.track),
        len(counters),
        0,
    )
    columns = (
        ("<f8", counters.least),
        ("<f8", counters.most),
        ("<f8", counters.last),
        ("<u4", tile.row_track),
        ("<u4", tile.row_lane),
        ("<u4", tile.row_begin),
        ("<u4", tile.names),
        ("<u4", counters.track),
        ("<u4", counters.begin),
        ("<u4", tile.event),
        ("<u4", tile.count),
        ("<u2", tile.name),
        ("<u2", tile.x0),
        ("<u2", tile.x1),
        ("<u2", counters.x),
        ("<u1", tile.fill),
        ("<u1", tile.kind),
    )
    return header + b"".join(np.asarray(array, dtype=kind).tobytes() for kind, array in columns)


def plain(tile: Tile) -> dict[str, Any]:
    """The same arrays as lists, by the same names, for scripts."""
    return {
        "version": VERSION,
        **{
            name: {key: array.tolist() for key, array in value.items()}
            if isinstance(value, dict)
            else value.tolist()
            if isinstance(value, np.ndarray)
            else value
            for name, value in asdict(tile).items()
        },
    }
