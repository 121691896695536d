"""Who wrote an XSpace, from the planes that say so; no event is decoded.

JAX notes its version on the plane of programs, our recorder its own and those of the frameworks
that were loaded on the plane of the task. TensorFlow's profiler notes none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stepscope.formats.format import Peek
from stepscope.schema import names
from stepscope.schema.xspace import MapEntry, Wire, XPlane, XSpace, XStat, XStatMetadata
from stepscope.wire.read import Field, fields, read_varint

_PLANES: Final = (names.METADATA_PLANE, names.ENVIRONMENT_PLANE)
_FRAMEWORKS: Final = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
_SUFFIX: Final = "_version"
_VERSION: Final = re.compile(r"\d[\w.+-]{0,40}")
# A tag and a size are at most this long.
_HEAD_BYTES: Final = 20
_NAME_BYTES: Final = 256
# A stat that says a version is short, as is the name of one.
_LONGEST_BYTES: Final = 1024
# Programs and planes are few; a file of more fields than this says nothing of its writer.
_MOST_FIELDS: Final = 20_000


def writer_of(file: Peek) -> str:
    """Who wrote a file, with versions; "" where it does not say."""
    versions: dict[str, str] = {}
    walk = _Walk(file)
    for plane in walk.inside(0, None):
        if (plane.number, plane.wire) != (XSpace.PLANES, Wire.LEN):
            continue
        if walk.name_of(plane) in _PLANES:
            versions |= walk.versions(plane)
    loaded = [f"{name} {versions[key]}" for key, name in _FRAMEWORKS.items() if key in versions]
    if versions.get("jaxlib", "") not in ("", versions.get("jax")):
        loaded.append(f"jaxlib {versions['jaxlib']}")
    if "stepscope" not in versions:
        return ", ".join(loaded)
    return f"Stepscope {versions['stepscope']}" + (f" ({', '.join(loaded)})" if loaded else "")


class _Walk:
    """Fields of a file of which only parts are at hand."""

    def __init__(self, file: Peek) -> None:
        self._file = file
        self._left = _MOST_FIELDS

    def inside(self, begin: int, end: int | None) -> Iterator[Field]:
        """The fields between two places, by their places in the file; ends where they break."""
        at = begin
        while (end is None or at < end) and self._left > 0:
            self._left -= 1
            field = _field(self._file.at(at, _HEAD_BYTES), at)
            if field is None or (end is not None and field.end > end):
                return
            yield field
            at = field.end

    def name_of(self, plane: Field) -> str:
        """The name of a plane, which stands among its first fields."""
        head = memoryview(self._file.at(plane.payload, min(plane.end - plane.payload, _NAME_BYTES)))
        try:
            for field in fields(head):
                if field.number == XPlane.NAME and field.wire == Wire.LEN:
                    return bytes(head[field.payload : field.end]).decode("utf-8", "replace")
                if field.number != XPlane.ID:
                    return ""
        except ValueError:  # the first bytes end inside a field
            pass
        return ""

    def versions(self, plane: Field) -> dict[str, str]:
        """The versions among a plane's stats, by the package."""
        stat_names: dict[int, str] = {}
        stats: list[memoryview] = []
        for field in self.inside(plane.payload, plane.end):
            if field.wire != Wire.LEN or field.end - field.payload > _LONGEST_BYTES:
                continue
            if field.number in (XPlane.STAT_METADATA, XPlane.STATS):
                data = memoryview(self._file.at(field.payload, field.end - field.payload))
                if field.number == XPlane.STATS:
                    stats.append(data)
                else:
                    stat_names.update(_named(data))
        return dict(one for data in stats for one in _version(data, stat_names))


def _field(head: bytes, at: int) -> Field | None:
    """The field whose tag and size these bytes begin with; None where they are those of none."""
    view = memoryview(head)
    try:
        tag, place = read_varint(view, 0, len(view))
        value, payload = read_varint(view, place, len(view))
    except ValueError:
        return None
    number, wire = tag >> 3, tag & 7
    if wire == Wire.LEN:
        return Field(number, wire, at, at + payload, at + payload + value, 0)
    if wire == Wire.VARINT:
        return Field(number, wire, at, at + place, at + payload, value)
    size = {Wire.FIXED64: 8, Wire.FIXED32: 4}.get(wire)  # type: ignore[call-overload]  # an int is one
    return None if size is None else Field(number, wire, at, at + place, at + place + size, 0)


def _named(entry: memoryview) -> Iterator[tuple[int, str]]:
    """Number and name of an entry of a plane's names of stats; nothing where it breaks."""
    key, name = 0, ""
    try:
        for field in fields(entry):
            if field.number == MapEntry.KEY:
                key = field.value
            elif field.number == MapEntry.VALUE and field.wire == Wire.LEN:
                name = _text(entry, field.payload, field.end, XStatMetadata.NAME)
    except ValueError:
        return
    yield key, name


def _version(stat: memoryview, stat_names: dict[int, str]) -> Iterator[tuple[str, str]]:
    """Package and version where a stat says one."""
    name, said = "", ""
    try:
        for field in fields(stat):
            if field.number == XStat.METADATA_ID:
                name = stat_names.get(field.value, "")
            elif field.number == XStat.REF_VALUE:
                said = stat_names.get(field.value, "")
        said = said or _text(stat, 0, len(stat), XStat.STR_VALUE)
    except ValueError:
        return
    if name.endswith(_SUFFIX) and _VERSION.fullmatch(said):
        yield name.removesuffix(_SUFFIX), said


def _text(view: memoryview, begin: int, end: int, number: int) -> str:
    """A text of a message; "" where it has none."""
    for field in fields(view, begin, end):
        if field.number == number and field.wire == Wire.LEN:
            return bytes(view[field.payload : field.end]).decode("utf-8", "replace")
    return ""
