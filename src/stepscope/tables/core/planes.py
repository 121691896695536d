"""What each plane and line of a host is: device, thread, stream, or a track derived by a viewer."""

from __future__ import annotations

import re
from enum import Enum

from stepscope.columns.space import Line
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.presence import Stretch, stat_rows
from stepscope.tables.core.profile import Host, derived


class PlaneKind(Enum):
    """What a plane records."""

    HOST = "host"
    GPU = "gpu"
    TPU = "tpu"
    SPARSE_CORE = "sparse_core"
    CUSTOM = "custom"
    PYTHON = "python"
    TELEMETRY = "telemetry"
    METADATA = "metadata"
    ENVIRONMENT = "environment"
    OTHER = "other"


class LineKind(Enum):
    """What a line records."""

    THREAD = "thread"
    STREAM = "stream"
    STEPS = "steps"
    MODULES = "modules"
    OPS = "ops"
    ASYNC_OPS = "async_ops"
    DERIVED = "derived"
    COUNTERS = "counters"
    OTHER = "other"


_CHILD = re.compile(r" \[\d+\]$")
# Planes whose events are XLA ops: the short name is the op, the long one its whole HLO text, and
# the event metadata says everything of it.
OP_LINE_PLANES = (PlaneKind.TPU, PlaneKind.SPARSE_CORE)
DEVICE_KINDS = (PlaneKind.GPU, PlaneKind.TPU, PlaneKind.SPARSE_CORE, PlaneKind.CUSTOM)


@dataclass(frozen=True, slots=True)
class PlaneKinds:
    """Kinds by row: ``plane_kind[row in Space.planes]``, ``line_kind[row in Space.lines]``."""

    plane_kind: tuple[PlaneKind, ...]
    line_kind: tuple[LineKind, ...]


@derived
def planes(host: Host) -> PlaneKinds:
    """The kinds of the host's planes and lines."""
    space = host.space
    kinds = tuple(plane_kind(plane.name) for plane in space.planes)
    lines = tuple(line_kind(line, kinds[line.plane]) for line in space.lines)
    if names.COUNTER_VALUE in stat_rows(host):
        # CUPTI's range profiler gives every range a line of its plane, named after a kernel.
        lines = tuple(
            LineKind.OTHER if kind is LineKind.STREAM and _has_counters(host, line) else kind
            for line, kind in zip(space.lines, lines, strict=True)
        )
    return PlaneKinds(kinds, lines)


def _has_counters(host: Host, line: Line) -> bool:
    """Whether the line's first event, and so all of them, is a sample of a hardware counter."""
    first = Stretch(host, line.begin, min(line.begin + 1, line.end))
    return bool(first.has(names.COUNTER_VALUE).any())


def plane_kind(name: str) -> PlaneKind:
    """What a plane with this name records; a child process's is its parent's with " [pid]"."""
    name = _CHILD.sub("", name)
    if name.startswith(names.GPU_PLANE):
        return PlaneKind.GPU
    if name.startswith(names.TPU_PLANE):
        is_sparse = names.SPARSE_CORE_MARK in name
        return PlaneKind.SPARSE_CORE if is_sparse else PlaneKind.TPU
    if name in names.PYTHON_PLANES:
        return PlaneKind.PYTHON
    if name == names.TELEMETRY_PLANE:
        return PlaneKind.TELEMETRY
    if name in (
        names.OTHER_EVENTS_PLANE,
        names.FLIGHT_PLANE,
        names.START_PLANE,
        names.STEP_LOG_PLANE,
    ):
        return PlaneKind.OTHER
    if name.startswith(names.CUSTOM_PLANE):
        return PlaneKind.CUSTOM
    if name == names.METADATA_PLANE:
        return PlaneKind.METADATA
    if name == names.ENVIRONMENT_PLANE:
        return PlaneKind.ENVIRONMENT
    # Planes merged from a child process are called "/host:CPU [pid]".
    if name.startswith((names.HOST_PLANE, *names.RAW_HOST_PLANES)):
        return PlaneKind.HOST
    return PlaneKind.OTHER


def line_kind(line: Line, plane: PlaneKind) -> LineKind:
    """What a line records, from its name and, for derived lines, its id."""
    name = line.name
    if name.startswith(names.COUNTER_LINE):
        return LineKind.COUNTERS
    if plane in DEVICE_KINDS:
        return _device_line_kind(line, plane)
    if plane is PlaneKind.HOST:
        return LineKind.DERIVED if _has_derived_id(line) else LineKind.THREAD
    return LineKind.OTHER


def _device_line_kind(line: Line, plane: PlaneKind) -> LineKind:
    name = line.name
    if name.startswith(names.STEPS_LINES):
        return LineKind.STEPS
    if plane is PlaneKind.GPU:
        # On a GPU everything that is not a stream was computed from the streams.
        named = (
            names.NAME_SCOPE_LINES
            + names.FRAMEWORK_OPS_LINES
            + names.XLA_MODULES_LINES
            + names.XLA_OPS_LINES
            + names.SOURCE_LINES
            + names.LAUNCH_STATS_LINES
            + names.WAIT_LINES
        )
        is_derived = _has_derived_id(line) or name.startswith(named)
        return LineKind.DERIVED if is_derived else LineKind.STREAM
    if name.startswith(names.XLA_MODULES_LINES):
        return LineKind.MODULES
    if name.startswith(names.ASYNC_OPS_LINES):
        return LineKind.ASYNC_OPS
    if name.startswith(names.XLA_OPS_LINES):
        return LineKind.OPS
    derived_names = names.NAME_SCOPE_LINES + names.FRAMEWORK_OPS_LINES + names.SOURCE_LINES
    if _has_derived_id(line) or name.startswith(derived_names):
        return LineKind.DERIVED
    return LineKind.OTHER


def _has_derived_id(line: Line) -> bool:
    # Old files stored the id as a signed 32-bit number.
    low = line.id & 0xFFFFFFFF
    in_range = 0 <= low - names.DERIVED_LINE_ID < names.DERIVED_LINE_COUNT
    return in_range and (line.id == low or line.id == low - (1 << 32))


def lines_of(host: Host, kind: LineKind, plane: PlaneKind | None = None) -> list[int]:
    """Rows of the lines of this kind, on planes of that kind (any when None)."""
    table = planes(host)
    return [
        row
        for row, line in enumerate(host.space.lines)
        if table.line_kind[row] is kind and (plane is None or table.plane_kind[line.plane] is plane)
    ]
