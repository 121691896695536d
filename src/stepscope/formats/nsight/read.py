"""An export as a ``Space``: its tables, its clock, and what it holds that is not shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.columns import coded, coded_rows
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.database import opened
from stepscope.formats.format import Input, Peek
from stepscope.formats.launched import Counter, LaunchedRecording, MemoryEvents, to_space
from stepscope.formats.launched.recorded import launch_numbers
from stepscope.formats.nsight.devices import Devices, facts, versions
from stepscope.formats.nsight.hosts import Hosts
from stepscope.formats.nsight.ids import Ids
from stepscope.formats.nsight.names import NsightNames
from stepscope.formats.packed import NULL
from stepscope.formats.table_folder import TableFolder
from stepscope.formats.trace_tables import TraceTables, shortcomings

TITLE: Final = "an Nsight Systems export (SQLite)"
FOLDER_TITLE: Final = "an Nsight Systems export (a folder of tables)"
# Tables with a row for each event that have no place here yet; they are counted in a warning.
_NOT_SHOWN: Final = (
    "SCHED_EVENTS", "COMPOSITE_EVENTS", "CUDA_GRAPH_EVENTS", "CUDA_GRAPH_NODE_EVENTS",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS", "CUDA_UM_GPU_PAGE_FAULT_EVENTS", "GENERIC_EVENTS",
    "CUBLAS_EVENTS", "CUDNN_EVENTS", "NET_NIC_METRIC", "NET_IB_SWITCH_METRIC", "ETW_EVENTS",
    "MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_OTHER_EVENTS", "UCP_EVENTS",
    "SYSCALL", "SLI_P2P", "FECS_EVENTS", "GPU_CONTEXT_SWITCH_EVENTS", "VULKAN_API",
)  # fmt: skip
_VERSIONS: Final = {
    "EXPORT_PRODUCT_VERSION": "nsight_systems_version",
    "EXPORT_SCHEMA_VERSION": "nsight_export_schema",
}
_GRAPH_MODE: Final = "CUDA_GRAPH_TRACE_OPTIONS:MODE"
_PRODUCED: Final = re.compile(r"CUPTI events produced:? *(\d+)", re.IGNORECASE)
_COLLECTED: Final = re.compile(r"CUPTI events collected:? *(\d+)", re.IGNORECASE)
_LACKS: Final = (
    "Such files hold no programs of XLA, no shapes but those in names of ranges, and nothing of "
    "what a framework's allocator did."
)


def open_export(pieces: Input, *, file: str) -> Space:
    """The recording in an export.

    Args:
        pieces: The file.
        file: Name for reports.

    Raises:
        FormatError: It is not an export, or has no events.
    """
    recorded = LaunchedRecording(TITLE)
    with pieces.on_disk() as path, opened(path, title=TITLE, file=file) as database:
        if database.has("StringTable") and not database.has("StringIds"):
            raise FormatError(
                "a database of nvprof",
                "nvprof is retired, and its databases (.nvvp, nvprof -o) are not read.",
                file=file,
                hint="Record with nsys profile, and export with nsys export --type sqlite.",
            )
        _read(database, recorded)
    if not recorded.count and database.damage:
        raise FormatError(TITLE, f"SQLite says: {database.damage}", file=file)
    return to_space(recorded, file=file)


def open_folder(pieces: Input, *, file: str) -> Space:
    """The recording in a folder with a file for each table.

    Args:
        pieces: The folder.
        file: Name for reports.

    Raises:
        FormatError: It is not an export, or has no events.
    """
    recorded = LaunchedRecording(FOLDER_TITLE)
    with pieces.on_disk() as path:
        tables = TableFolder(path, title=FOLDER_TITLE, file=file)
        _read(tables, recorded)
    if not recorded.count and tables.damage:
        raise FormatError(FOLDER_TITLE, tables.damage, file=file)
    return to_space(recorded, file=file)


def writer_of(pieces: Peek) -> str:
    """Which version of Nsight Systems wrote an export.

    Raises:
        FormatError: It does not open.
    """
    with pieces.on_disk("META_DATA_EXPORT") as path, opened(path, title=TITLE, file="") as database:
        return f"Nsight Systems{_version(database)}"


def writer_of_folder(pieces: Peek) -> str:
    """The same, of an export that is a folder.

    Raises:
        FormatError: It does not open.
    """
    with pieces.on_disk("") as path:
        tables = TableFolder(path, title=FOLDER_TITLE, file="")
        return f"Nsight Systems{_version(tables)}"


def _read(database: TraceTables, recorded: LaunchedRecording) -> None:
    names = NsightNames(database, recorded)
    ids = Ids(database, recorded, names)
    hosts = Hosts(database, recorded, ids, names)
    untimed: dict[str, int] = {}
    for table, events in Devices(database, recorded, ids, names).tables():
        recorded.add(events)
        untimed[table] = database.count(table) - len(events)
    seen: dict[str, int] = {}
    for table, marked in hosts.tables():
        recorded.add(marked)
        seen[table] = seen.get(table, 0) + len(marked)
    untimed |= {one: database.count(one) - seen[one] for one in seen if one != "NVTX_EVENTS"}
    recorded.facts = facts(database)
    recorded.counters += _gpu_metrics(database)
    recorded.allocations += _allocations(database, recorded, ids, names)
    recorded.unix_ns = _unix_ns(database)
    recorded.host_facts = _versions(database)
    recorded.origin = f"Imported from Nsight Systems{_version(database)}. {_LACKS}"
    recorded.warnings += [
        f"{count:,} rows of {table} have no time; they are left out."
        for table, count in untimed.items()
        if count > 0 and not database.damage
    ]
    if hosts.open_ranges:
        recorded.warnings.append(
            f"{hosts.open_ranges:,} ranges had not ended when the recording did; they last to its "
            "end."
        )
    recorded.warnings += _notes(database)


def _unix_ns(database: TraceTables) -> int | None:
    """The wall clock at 0 of the events' clock.

    The session's start is known on the wall clock, and ``ANALYSIS_DETAILS.startTime`` says when
    that was on the events' clock: 0, unless times are the machine's.
    """
    session = database.rows("TARGET_INFO_SESSION_START_TIME", ("utcEpochNs",))
    details = database.rows("ANALYSIS_DETAILS", ("startTime",))
    if not len(session) or session["utcEpochNs"][0] == NULL:
        return None
    began = int(details["startTime"][0]) if len(details) else 0
    return int(session["utcEpochNs"][0]) - (began if began != NULL else 0)


def _versions(database: TraceTables) -> dict[str, int | float | str]:
    rows = database.rows(
        "META_DATA_EXPORT", (), ("name", "value"), where=("name", tuple(_VERSIONS))
    )
    pairs = zip(rows.texts["name"], rows.texts["value"], strict=True)
    return {_VERSIONS[name]: value for name, value in pairs if name and value}


def _gpu_metrics(database: TraceTables) -> Iterator[Counter]:
    """Samples of each metric of each GPU; the GPU's number is the low byte of the type."""
    named = database.rows("TARGET_INFO_GPU_METRICS", ("typeId", "metricId"), ("metricName",))
    keys = zip(named["typeId"].tolist(), named["metricId"].tolist(), strict=True)
    names = dict(zip(keys, named.texts["metricName"], strict=True))
    for table in versions(database, "GPU_METRICS"):
        rows = database.rows(table, ("timestamp", "typeId", "metricId", "value"))
        usable = np.flatnonzero(rows.has("timestamp") & rows.has("value"))
        (kinds, metrics), inverse = coded_rows(
            rows.get("typeId", 0)[usable], rows.get("metricId", 0)[usable]
        )
        order = np.argsort(inverse, kind="stable")
        cuts = np.cumsum(np.bincount(inverse, minlength=len(kinds)))[:-1]
        pairs = zip(kinds.tolist(), metrics.tolist(), strict=True)
        for (kind, metric), part in zip(pairs, np.split(order, cuts), strict=True):
            name = names.get((kind, metric)) or f"metric {metric}"
            mine = usable[part]
            unit = "%" if "%" in name else ""
            yield Counter(kind & 0xFF, name, rows["timestamp"][mine], rows["value"][mine], unit)


def _allocations(
    database: TraceTables, recorded: LaunchedRecording, ids: Ids, names: NsightNames
) -> Iterator[MemoryEvents]:
    """Memory of GPUs taken and given back through CUDA."""
    wanted = (
        "start",
        "deviceId",
        "address",
        "bytes",
        "memKind",
        "memoryOperationType",
        "correlationId",
        "globalPid",
    )
    for table in versions(database, "CUDA_GPU_MEMORY_USAGE_EVENTS"):
        rows = database.rows(table, wanted)
        kept = rows.has("start") & rows.has("bytes")
        size = np.maximum(rows.get("bytes", 0), 0)
        taken = rows.get("memoryOperationType", 0) == 0
        used, inverse = coded(rows.get("deviceId", 0))
        code = recorded.texts.codes(f"cuda_gpu_{device}" for device in used.tolist())
        process = ids.processes(rows["globalPid"])
        yield MemoryEvents(
            (code[inverse] if len(used) else inverse)[kept],
            rows["start"][kept],
            np.where(taken, size, -size)[kept],
            rows.get("address", 0)[kept],
            launch_numbers(process, rows.get("correlationId", 0))[kept],
        )


def _notes(database: TraceTables) -> Iterator[str]:
    """What a reader of numbers must know about an export."""
    left_out = [
        f"{one} ({count:,})"
        for table in _NOT_SHOWN
        for one in versions(database, table)
        if (count := database.count(one))
    ]
    if left_out:
        yield f"Tables whose rows are not shown: {', '.join(left_out)}."
    if not versions(database, "CUPTI_ACTIVITY_KIND_KERNEL") and versions(
        database, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
    ):
        yield (
            "Replays of CUDA graphs are recorded as a whole, without their kernels. Record with "
            "--cuda-graph-trace=node to see those."
        )
    yield from _lost_events(database)
    yield from shortcomings(database, "export")


def _version(database: TraceTables) -> str:
    said = _versions(database)
    version, schema = (str(said.get(one, "")) for one in _VERSIONS.values())
    return f" {version} (export schema {schema})" if version and schema else ""


def _lost_events(database: TraceTables) -> Iterator[str]:
    """How many events the recorder says that it lost."""
    texts = [one for one in database.rows("DIAGNOSTIC_EVENT", (), ("text",)).texts["text"] if one]
    produced = sum(int(one[1]) for text in texts if (one := _PRODUCED.search(text)))
    collected = sum(int(one[1]) for text in texts if (one := _COLLECTED.search(text)))
    if 0 < collected < produced:
        yield (
            f"Nsight Systems collected {collected:,} of {produced:,} events of the GPU: device "
            "times are lower bounds."
        )
