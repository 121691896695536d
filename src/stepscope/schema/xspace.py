"""Field numbers of the XSpace messages (proto3, package ``tensorflow.profiler``).

The compiled kernels repeat the numbers of ``XEvent`` and ``XStat`` as literal tags, because a
module constant costs a load per field; the round-trip tests hold both to google.protobuf.
"""

from __future__ import annotations

from enum import IntEnum


class Wire(IntEnum):
    """How a field's payload is laid out."""

    VARINT = 0
    FIXED64 = 1
    LEN = 2
    START_GROUP = 3
    END_GROUP = 4
    FIXED32 = 5


class XSpace(IntEnum):
    """Top level: one file is one XSpace."""

    PLANES = 1
    ERRORS = 2
    WARNINGS = 3
    HOSTNAMES = 4


class XPlane(IntEnum):
    """A host or a device."""

    ID = 1
    NAME = 2
    LINES = 3
    EVENT_METADATA = 4
    STAT_METADATA = 5
    STATS = 6


class MapEntry(IntEnum):
    """An entry of ``event_metadata`` or ``stat_metadata``."""

    KEY = 1
    VALUE = 2


class XLine(IntEnum):
    """A thread, a stream or a derived track."""

    ID = 1
    NAME = 2
    TIMESTAMP_NS = 3
    EVENTS = 4
    DURATION_PS = 9
    DISPLAY_ID = 10
    DISPLAY_NAME = 11


class XEvent(IntEnum):
    """Something that happened on a line."""

    METADATA_ID = 1
    OFFSET_PS = 2
    DURATION_PS = 3
    STATS = 4
    NUM_OCCURRENCES = 5


class XStat(IntEnum):
    """A named value of an event, of an event's metadata or of a plane."""

    METADATA_ID = 1
    DOUBLE_VALUE = 2
    UINT64_VALUE = 3
    INT64_VALUE = 4
    STR_VALUE = 5
    BYTES_VALUE = 6
    REF_VALUE = 7


class XEventMetadata(IntEnum):
    """What events of one name share."""

    ID = 1
    NAME = 2
    METADATA = 3
    DISPLAY_NAME = 4
    STATS = 5
    CHILD_ID = 6


class XStatMetadata(IntEnum):
    """The name of a stat, or a string that stats refer to."""

    ID = 1
    NAME = 2
    DESCRIPTION = 3


def tag(field: int, wire: Wire) -> int:
    """The varint before a field."""
    return int(field) << 3 | int(wire)


class ProfileOptions(IntEnum):
    """``tensorflow.ProfileOptions``, as recorders store it in ``Task Environment``; 0 is off."""

    HOST_TRACER_LEVEL = 2
    DEVICE_TRACER_LEVEL = 3
    PYTHON_TRACER_LEVEL = 4
    VERSION = 5
    ENABLE_HLO_PROTO = 7
