"""A ``Space`` as a file that maps back into memory: NumPy arrays, one after another.

The file is a sequence of arrays in NumPy's ``.npy`` format, each of which begins at a multiple of
64 bytes. The first holds JSON: texts, small tables, and where the data of each array is. Arrays
are not copied when they are read, so that opening 2 million events costs as much as their names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import pairwise
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import (
    EventMetadata,
    Events,
    Line,
    Plane,
    Space,
    StatMetadata,
    Stats,
    UnknownFields,
)
from stepscope.columns.texts import stretches_without_text

#: Version of the layout: files of other versions are not read.
VERSION: Final = 1
_ALIGNED: Final = 64
_PIECE_BYTES: Final = 1 << 22
_COLUMNS: Final = {
    "events": ("metadata", "start_ps", "duration_ps", "data", "stat_begin"),
    "event_stats": ("key", "kind", "value"),
    "plane_stats": ("key", "kind", "value"),
    "metadata_stats": ("key", "kind", "value"),
    "event_metadata": ("plane", "id", "stat_begin", "present"),
    "stat_metadata": ("plane", "id", "present"),
}
_ARRAYS: Final = tuple((table, column) for table, columns in _COLUMNS.items() for column in columns)


def write_space(file: BinaryIO, space: Space, facts: dict[str, Any]) -> None:
    """Write a space without damage.

    Stretches of its buffer that hold no text become holes of the file.

    Args:
        file: An empty file, at its begin.
        space: What to write.
        facts: What else to keep: JSON.
    """
    blobs = [*space.event_metadata.metadata.values(), *space.raw_text.values()]
    blobs += [one.data for one in space.unknown]
    arrays = [np.ascontiguousarray(getattr(getattr(space, table), name)) for table, name in _ARRAYS]
    arrays.append(np.frombuffer(b"".join(blobs), dtype=np.uint8))
    arrays.append(np.frombuffer(space.buffer, dtype=np.uint8))
    header: dict[str, Any] = {
        "version": VERSION,
        "facts": facts,
        "planes": [_values(plane) for plane in space.planes],
        "lines": [_values(line) for line in space.lines],
        "occurrences": list(space.events.occurrences.items()),
        "event_names": space.event_metadata.name,
        "event_labels": space.event_metadata.display_name,
        "event_own_ids": list(space.event_metadata.own_id.items()),
        "children": list(space.event_metadata.child_id.items()),
        "metadata": [(row, len(data)) for row, data in space.event_metadata.metadata.items()],
        "stat_names": space.stat_metadata.name,
        "stat_texts": space.stat_metadata.description,
        "stat_own_ids": list(space.stat_metadata.own_id.items()),
        "errors": space.errors,
        "warnings": space.warnings,
        "hostnames": space.hostnames,
        "origin_ns": space.origin_ns,
        "raw_text": [(text, len(data)) for text, data in space.raw_text.items()],
        "unknown": [(one.level, one.row, len(one.data)) for one in space.unknown],
    }
    heads, places, size = [], [], 0
    for array in arrays:
        heads.append(_head(array))
        places.append((array.dtype.str, len(array), size + len(heads[-1])))
        size += _aligned(len(heads[-1]) + array.nbytes)
    header |= {"arrays": places, "size": size}
    text = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), dtype=np.uint8)
    head = _head(text)
    file.write(head)
    file.write(text.data)
    base = _aligned(len(head) + len(text))
    holes = stretches_without_text(space)
    for array, own, (_, _, place) in zip(arrays, heads, places, strict=True):
        file.seek(base + place - len(own))
        file.write(own)
        skipped = holes if array is arrays[-1] else []
        for begin, end in _pieces(array.nbytes, skipped):
            file.seek(base + place + begin)
            file.write(array.view(np.uint8)[begin:end].data)
    file.truncate(base + size)


def read_space(memory: memoryview) -> tuple[Space, dict[str, Any]] | None:
    """Return a written space, whose arrays lie in ``memory``, and its facts.

    None if the bytes are no whole file of this version.
    """
    try:
        stream = BytesIO(memory[:256])
        np.lib.format.read_magic(stream)
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype != np.uint8 or len(shape) != 1:
            return None
        begin, end = stream.tell(), stream.tell() + shape[0]
        header = json.loads(bytes(memory[begin:end]))
        base = _aligned(end)
        if header["version"] != VERSION or base + header["size"] != len(memory):
            return None
        return _space(memory[base:], header), header["facts"]
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _space(memory: memoryview, header: dict[str, Any]) -> Space:
    found = [
        np.frombuffer(memory, np.dtype(dtype), count, offset)
        for dtype, count, offset in header["arrays"]
    ]
    *columns, blob, buffer = found
    arrays: dict[str, dict[str, NDArray[Any]]] = {}
    for (table, name), column in zip(_ARRAYS, columns, strict=True):
        arrays.setdefault(table, {})[name] = column
    data = blob.tobytes()
    lengths = [entry[-1] for key in ("metadata", "raw_text", "unknown") for entry in header[key]]
    ends = np.cumsum([0, *lengths]).tolist()
    blobs = iter([data[begin:end] for begin, end in pairwise(ends)])
    metadata = {row: next(blobs) for row, _ in header["metadata"]}
    raw_text = {text: next(blobs) for text, _ in header["raw_text"]}
    unknown = [UnknownFields(level, row, next(blobs)) for level, row, _ in header["unknown"]]
    children = {row: tuple(ids) for row, ids in header["children"]}
    return Space(
        buffer=buffer.data,
        planes=tuple(Plane(*values) for values in header["planes"]),
        lines=tuple(Line(*values) for values in header["lines"]),
        events=Events(**arrays["events"], occurrences=dict(header["occurrences"])),
        event_stats=Stats(**arrays["event_stats"]),
        plane_stats=Stats(**arrays["plane_stats"]),
        event_metadata=EventMetadata(
            **arrays["event_metadata"],
            name=header["event_names"],
            display_name=header["event_labels"],
            metadata=metadata,
            child_id=children,
            own_id=dict(header["event_own_ids"]),
        ),
        metadata_stats=Stats(**arrays["metadata_stats"]),
        stat_metadata=StatMetadata(
            **arrays["stat_metadata"],
            name=header["stat_names"],
            description=header["stat_texts"],
            own_id=dict(header["stat_own_ids"]),
        ),
        errors=tuple(header["errors"]),
        warnings=tuple(header["warnings"]),
        hostnames=tuple(header["hostnames"]),
        origin_ns=header["origin_ns"],
        unknown=tuple(unknown),
        raw_text=raw_text,
    )


def _values(row: Plane | Line) -> list[Any]:
    return [getattr(row, name) for name in row.__dataclass_fields__]


def _head(array: NDArray[Any]) -> bytes:
    """Return what stands before an array's data in a ``.npy`` file."""
    stream = BytesIO()
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    return stream.getvalue()


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _pieces(size: int, holes: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of what lies between the holes, a few megabytes at a time."""
    begin = 0
    for hole_begin, hole_end in [*holes, (size, size)]:
        for place in range(begin, hole_begin, _PIECE_BYTES):
            yield place, min(place + _PIECE_BYTES, hole_begin)
        begin = hole_end
