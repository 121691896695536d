"""What ran on devices: kernels, copies, replays of graphs, waits; and what GPUs there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from stepscope.columns import coded
from stepscope.formats.launched.recorded import (
    I64,
    NONE,
    Bool,
    DeviceKind,
    DeviceWork,
    LaunchedRecording,
    NamedValues,
    launch_numbers,
)
from stepscope.formats.nsight.ids import Ids
from stepscope.formats.nsight.names import NsightNames, words
from stepscope.formats.packed import NULL
from stepscope.formats.trace_tables import Rows, TraceTables
from stepscope.formats.xspace.plane_writer import Value
from stepscope.schema import names as stats

_COMMON: Final = (
    "start",
    "end",
    "deviceId",
    "contextId",
    "greenContextId",
    "streamId",
    "correlationId",
    "globalPid",
)
_LAUNCH: Final = (
    "registersPerThread",
    "staticSharedMemory",
    "dynamicSharedMemory",
    "gridX",
    "gridY",
    "gridZ",
    "blockX",
    "blockY",
    "blockZ",
)
_CLUSTER: Final = ("clusterX", "clusterY", "clusterZ")
# What else is known of kernels and copies keeps the name that the export has for it.
_OF_KERNELS: Final = (
    "localMemoryPerThread",
    "localMemoryTotal",
    "sharedMemoryExecuted",
    "gridId",
    "graphNodeId",
    "graphId",
    "launchType",
    "cacheConfig",
    *_CLUSTER,
)
_OF_COPIES: Final = (
    "graphNodeId",
    "migrationCause",
    "virtualAddress",
    "copyCount",
    "srcDeviceId",
    "dstDeviceId",
)
_OWN_NAMES: Final = {"graphNodeId": stats.GRAPH_NODE, "contextId": "context_id"}
_COPIES: Final = {
    1: "MemcpyH2D",
    2: "MemcpyD2H",
    3: "MemcpyH2D",
    4: "MemcpyD2H",
    5: "MemcpyD2D",
    6: "MemcpyD2D",
    7: "MemcpyD2D",
    8: "MemcpyD2D",
    9: "MemcpyH2H",
    10: "MemcpyP2P",
    11: "MemcpyH2D",
    12: "MemcpyD2H",
    13: "MemcpyD2D",
}
_MEMORIES: Final = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed"}
_WAITS: Final = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
_FACTS: Final = (
    ("core_count", "smCount", 1),
    ("clock_rate", "clockRate", 1000),  # Hz, kHz
    ("memory_bandwidth", "memoryBandwidth", 1),
    ("memory_size", "totalMemory", 1),
    ("compute_cap_major", "computeMajor", 1),
    ("compute_cap_minor", "computeMinor", 1),
    ("l2_cache_size", "l2CacheSize", 1),
    ("warps_per_core", "maxWarpsPerSm", 1),
    ("registers_per_core", "maxRegistersPerSm", 1),
    ("shared_memory_per_core", "maxShmemPerSm", 1),
)


class Devices:
    """Reads the tables of devices' work."""

    def __init__(
        self, database: TraceTables, recorded: LaunchedRecording, ids: Ids, names: NsightNames
    ) -> None:
        self._database = database
        self._recorded = recorded
        self._ids = ids
        self._names = names
        self._kinds_of_memory = words(database, "ENUM_CUDA_MEM_KIND", _MEMORIES)

    def tables(self) -> Iterator[tuple[str, DeviceWork]]:
        """The events of each table that there is, with its name."""
        readers: tuple[tuple[str, Callable[[str], DeviceWork]], ...] = (
            ("KERNEL", self._kernels),
            ("MEMCPY", self._copies),
            ("MEMSET", self._sets),
            ("GRAPH_TRACE", self._graphs),
            ("SYNCHRONIZATION", self._waits),
            ("CUDA_EVENT", self._events),
        )
        for kind, read in readers:
            for table in versions(self._database, f"CUPTI_ACTIVITY_KIND_{kind}"):
                yield table, read(table)

    def _kernels(self, table: str) -> DeviceWork:
        named = ("demangledName", "shortName", "mangledName")
        rows = self._database.rows(table, (*_COMMON, *named, *_LAUNCH, *_OF_KERNELS))
        full, short = rows["demangledName"], rows["shortName"]
        name = self._names.codes(np.where(full == NULL, short, full), "kernel")
        columns = [self._details(stats.KERNEL_DETAILS, rows, _LAUNCH, self._launch)]
        for key, column in (("short_name", "shortName"), ("mangled_name", "mangledName")):
            code = self._names.optional(rows[column])
            has = (code >= 0) & (code != name)
            columns.append(NamedValues(key, code, has, is_text=True).narrowed())
        return self._events_of("kernel", rows, name, [*columns, *_others(rows, _OF_KERNELS)])

    def _launch(self, values: list[int]) -> str:
        registers, static, dynamic, *dims = (max(one, 0) for one in values)
        grid, block = dims[:3], dims[3:]
        said = [f"regs:{registers}"] if values[0] >= 0 else []
        if values[1] >= 0 or values[2] >= 0:
            said += [f"static_shared:{static}", f"dynamic_shared:{dynamic}"]
        if all(grid):
            said.append("grid:" + ",".join(map(str, grid)))
        if all(block):
            said.append("block:" + ",".join(map(str, block)))
        return " ".join(said)

    def _copies(self, table: str) -> DeviceWork:
        what = ("copyKind", "bytes", "srcKind", "dstKind")
        rows = self._database.rows(table, (*_COMMON, *what, *_OF_COPIES))
        kind = rows.get("copyKind", 0)
        used, inverse = coded(kind)
        texts = [_COPIES.get(one, "MemcpyD2D") for one in used.tolist()]
        labels = words(self._database, "ENUM_CUDA_MEMCPY_OPER", {})
        shown = [labels.get(one, f"Copy of kind {one}") for one in used.tolist()]
        code = self._recorded.texts.codes
        name = code(texts)[inverse] if texts else inverse
        display = code(f"Memcpy {text}" for text in shown)[inverse] if shown else inverse
        columns = [self._details(stats.MEMCPY_DETAILS, rows, what, self._copy)]
        return self._events_of(
            "copy", rows, name, [*columns, *_others(rows, _OF_COPIES)], display=display
        )

    def _copy(self, values: list[int]) -> str:
        kind, size, source, target = values
        ends = {"H": "host", "D": "device", "P": "device"}
        direction = _COPIES.get(kind, "MemcpyD2D").removeprefix("Memcpy")
        said = []
        for key, memory, letter in (
            ("kind_src", source, direction[0]),
            ("kind_dst", target, direction[2]),
        ):
            word = self._kinds_of_memory.get(memory, ends[letter]) if memory >= 0 else ends[letter]
            said.append(f"{key}:{word.lower().replace(' ', '_')}")
        return " ".join([*said, *([f"size:{size}"] if size >= 0 else [])])

    def _sets(self, table: str) -> DeviceWork:
        what = ("bytes", "value", "memKind")
        rows = self._database.rows(table, (*_COMMON, *what, "graphNodeId"))
        name = np.full(len(rows), self._recorded.texts.code("Memset"))
        columns = [self._details(stats.MEMCPY_DETAILS, rows, what, self._set)]
        return self._events_of(
            "set", rows, name, [*columns, *_others(rows, ("graphNodeId", "value"))]
        )

    def _set(self, values: list[int]) -> str:
        size, _, memory = values
        kind = self._kinds_of_memory.get(memory, "device").lower().replace(" ", "_")
        return f"kind_dst:{kind}" + (f" size:{size}" if size >= 0 else "")

    def _graphs(self, table: str) -> DeviceWork:
        what = ("graphId", "graphExecId")
        rows = self._database.rows(table, (*_COMMON, *what))
        name = self._names_of(rows["graphId"], lambda number: f"CUDA graph {number}")
        columns = [
            NamedValues("graph_id", rows["graphId"], rows.has("graphId")),
            NamedValues("graph_exec_id", rows["graphExecId"], rows.has("graphExecId")),
        ]
        return self._events_of("graph", rows, name, columns)

    def _waits(self, table: str) -> DeviceWork:
        what = ("syncType", "eventId", "eventSyncId")
        rows = self._database.rows(table, (*_COMMON, *what))
        name = self._names_of(rows["syncType"], lambda number: _WAITS.get(number, "Sync"))
        return self._events_of("wait", rows, name, _others(rows, ("eventId", "eventSyncId")))

    def _events(self, table: str) -> DeviceWork:
        """Events that streams recorded; one whose time was not collected cannot be shown."""
        what = ("timestamp", "eventId", "eventSyncId")
        rows = self._database.rows(table, (*_COMMON, *what))
        has = rows.has("timestamp") & (rows["timestamp"] != 0)
        time = np.where(has, rows["timestamp"], NULL)
        rows = rows.replaced(start=time, end=time)
        name = np.full(len(rows), self._recorded.texts.code("CUDA event recorded"))
        return self._events_of("wait", rows, name, _others(rows, ("eventId", "eventSyncId")))

    def _names_of(self, numbers: I64, text: Callable[[int], str]) -> I64:
        used, inverse = coded(numbers)
        codes = self._recorded.texts.codes(text(one) for one in used.tolist())
        return codes[inverse] if len(codes) else inverse

    def _details(
        self, stat: str, rows: Rows, columns: tuple[str, ...], text: Callable[[list[int]], str]
    ) -> NamedValues:
        """A text made of several columns, once for each combination of their values."""
        values = [rows.get(one, NONE) for one in columns]
        return self._recorded.text_column(stat, values, text).narrowed()

    def _events_of(
        self,
        kind: DeviceKind,
        rows: Rows,
        name: I64,
        columns: list[NamedValues],
        *,
        display: I64 | None = None,
    ) -> DeviceWork:
        process = self._ids.processes(rows["globalPid"])
        columns = [*columns, *_others(rows, ("contextId", "greenContextId"))]
        timed = rows.has("start") & rows.has("end")
        start, end = rows["start"], rows["end"]
        return taken(
            DeviceWork(
                kind,
                self._ids.streams(rows, process),
                name,
                start,
                np.where(timed, end - start, 0),
                launch_numbers(process, rows.get("correlationId", 0)),
                tuple(columns),
                display,
            ),
            timed,
        )


def taken(events: DeviceWork, kept: Bool) -> DeviceWork:
    """The events that are kept; all of them as they are."""
    if kept.all():
        return events
    columns = tuple(
        NamedValues(one.name, one.values[kept], one.has[kept], one.is_text)
        for one in events.columns
    )
    display = None if events.display is None else events.display[kept]
    return DeviceWork(
        events.kind,
        events.stream[kept],
        events.name[kept],
        events.start_ns[kept],
        events.duration_ns[kept],
        events.launch[kept],
        columns,
        display,
    )


def versions(database: TraceTables, table: str) -> list[str]:
    """The table of this name; of several versions (``_V2``, ``_V3``) the highest."""
    numbered = []
    for one in database.tables:
        rest = one.removeprefix(f"{table}_V")
        if one != rest and rest.isdecimal():
            numbered.append((int(rest), one))
    if numbered:
        return [max(numbered)[1]]
    return [table] if database.has(table) else []


def facts(database: TraceTables) -> dict[int, dict[str, Value]]:
    """What the file says of each GPU, under the names that XSpaces have for it."""
    wanted = tuple(column for _, column, _ in _FACTS)
    for table in ("TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU"):
        rows = database.rows(table, ("id", *wanted), ("name", "chipName"))
        if len(rows):
            break
    found: dict[int, dict[str, Value]] = {}
    for at, number in enumerate(rows.get("id", 0).tolist()):
        said: dict[str, Value] = {"device_vendor": "Nvidia"}
        model = rows.texts["name"][at] or rows.texts["chipName"][at]
        if model:
            said["gpu_device_name"] = model
        for key, column, divisor in _FACTS:
            value = int(rows[column][at])
            if value > 0:
                said[key] = value // divisor
        if 0 <= number < 1 << 16:
            found[number] = said
    return found


def _others(rows: Rows, columns: tuple[str, ...]) -> list[NamedValues]:
    """Numbers that keep their own names, where any row has one that says something."""
    found = []
    for one in columns:
        has = rows.has(one) & ((rows[one] != 0) | (one == "value"))
        if has.any():
            found.append(NamedValues(_OWN_NAMES.get(one, one), rows[one], has).narrowed())
    return found
