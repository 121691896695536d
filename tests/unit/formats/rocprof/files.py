"""One small run as rocprofv3 writes it in each of its formats: a launch, a kernel, a copy."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SECRET = "TOKEN=do-not-import"
KERNEL = "void gemm<float>(float*)"
Row = Mapping[str, Any]


def run(correlation: int = 7) -> dict[str, Any]:
    """The run as JSON: one GPU, one process."""
    return {
        "metadata": {"pid": 50, "command": [SECRET], "environment": SECRET},
        "agents": [
            {"id": {"handle": 100}, "type": 1, "name": "EPYC", "gpu_index": -1},
            {
                "id": {"handle": 101}, "type": 2, "name": "gfx950", "gpu_index": 0,
                "product_name": "AMD Instinct MI350X", "cu_count": 256,
                "max_engine_clk_fcompute": 2200, "gfx_target_version": 90500,
                "mem_banks": [{"size_in_bytes": 1 << 38}],
            },
        ],
        "strings": {
            "buffer_records": [
                {"kind": "NONE", "operations": []},
                {"kind": "HIP_RUNTIME_API", "operations": ["none", "hipLaunchKernel"]},
                {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxThreadRangeA"]},
            ],
            "marker_api": [{"key": 3, "value": "forward"}],
        },
        "kernel_symbols": [
            {"kernel_id": 8, "formatted_kernel_name": KERNEL, "arch_vgpr_count": 64,
             "accum_vgpr_count": 4, "sgpr_count": 32},
        ],
        "buffer_records": {
            "kernel_dispatch": [
                {
                    "start_timestamp": 2_000, "end_timestamp": 2_600,
                    "correlation_id": {"internal": correlation}, "stream_id": {"handle": 2},
                    "dispatch_info": {
                        "agent_id": {"handle": 101}, "queue_id": {"handle": 16}, "kernel_id": 8,
                        "dispatch_id": 1, "private_segment_size": 0, "group_segment_size": 512,
                        "workgroup_size": {"x": 256, "y": 1, "z": 1},
                        "grid_size": {"x": 1000, "y": 2, "z": 1},
                    },
                }
            ],
            "hip_api": [
                {"start_timestamp": 1_000, "end_timestamp": 1_200, "thread_id": 51, "kind": 1,
                 "operation": 1, "correlation_id": {"internal": correlation}},
            ],
            "marker_api": [
                {"start_timestamp": 900, "end_timestamp": 1_500, "thread_id": 51, "kind": 2,
                 "operation": 1, "correlation_id": {"internal": 3}},
            ],
            "memory_copy": [
                {"start_timestamp": 3_000, "end_timestamp": 3_100, "kind": 10, "operation": 2,
                 "src_agent_id": {"handle": 100}, "dst_agent_id": {"handle": 101}, "bytes": 4096,
                 "stream_id": {"handle": 2}, "correlation_id": {"internal": 9}},
            ],
        },
    }  # fmt: skip


def tool_json(path: Path, *runs: dict[str, Any]) -> Path:
    """The file of ``--output-format json``."""
    path.write_text(json.dumps({"rocprofiler-sdk-tool": list(runs or (run(),))}))
    return path


def rocpd(path: Path, *runs: dict[str, Any], generation: int = 3) -> Path:
    """A database of the same numbers, the tables of each process under a suffix of its own."""
    with sqlite3.connect(path) as database:
        for number, one in enumerate(runs or (run(),)):
            _Writer(database, f"_{number:08x}", generation).write(one)
    database.close()
    return path


class _Writer:
    def __init__(self, database: sqlite3.Connection, suffix: str, generation: int) -> None:
        self._database = database
        self._suffix = suffix
        self._generation = generation
        self._events: list[Row] = []
        self._tracks: list[Row] = []
        self._strings: dict[str, int] = {}

    def _table(self, name: str, rows: Sequence[Row]) -> None:
        columns = list(dict.fromkeys(key for row in rows for key in row)) or ["id"]
        listed = ", ".join(f'"{one}"' for one in columns)
        marks = ", ".join("?" * len(columns))
        self._database.execute(f'CREATE TABLE "{name}{self._suffix}" ({listed})')
        values = [[row.get(one) for one in columns] for row in rows]
        self._database.executemany(
            f'INSERT INTO "{name}{self._suffix}" ({listed}) VALUES ({marks})', values
        )

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings) + 1)

    def _event(self, launch: int, category: str, message: str = "") -> int:
        extdata = json.dumps({"message": message} if message else {})
        number, kind = len(self._events) + 1, self._string(category)
        self._events.append(
            {
                "id": number,
                "stack_id": launch,
                "correlation_id": 0,
                "category_id": kind,
                "extdata": extdata,
            }
        )
        return len(self._events)

    def _placed(self, place: Row) -> Row:
        """The place on the row itself, or on a track that the row names."""
        if self._generation == 3:
            return place
        self._tracks.append({"id": len(self._tracks) + 1, **place})
        return {"track_id": len(self._tracks)}

    def write(self, one: dict[str, Any]) -> None:
        """All tables of a process."""
        records = one["buffer_records"]
        messages = {said["key"]: said["value"] for said in one["strings"]["marker_api"]}
        operations = [said["operations"] for said in one["strings"]["buffer_records"]]
        self._table("rocpd_metadata", [{"tag": "schema_version", "value": "3.0.3"}])
        self._table(
            "rocpd_info_process",
            [
                {"id": 1, "pid": one["metadata"]["pid"], "command": SECRET, "environment": SECRET},
            ],
        )
        self._table("rocpd_info_thread", [{"id": 5, "tid": 51, "name": "python3"}])
        self._table(
            "rocpd_info_agent",
            [
                {
                    "id": said["id"]["handle"],
                    "type": "GPU" if said["type"] == 2 else "CPU",
                    "type_index": max(said["gpu_index"], 0),
                    "product_name": said.get("product_name"),
                    "name": said["name"],
                    "extdata": json.dumps(said),
                }
                for said in one["agents"]
            ],
        )
        self._table(
            "rocpd_info_kernel_symbol",
            [
                {
                    "id": said["kernel_id"],
                    "display_name": said["formatted_kernel_name"],
                    **{
                        key: said[key]
                        for key in ("arch_vgpr_count", "accum_vgpr_count", "sgpr_count")
                    },
                }
                for said in one["kernel_symbols"]
            ],
        )
        self._records(records, messages, operations)

    def _records(
        self, records: dict[str, Any], messages: dict[int, str], operations: list[list[str]]
    ) -> None:
        self._table(
            "rocpd_kernel_dispatch", [self._dispatch(said) for said in records["kernel_dispatch"]]
        )
        self._table("rocpd_memory_copy", [self._copy(said) for said in records["memory_copy"]])
        self._table(
            "rocpd_region",
            [
                *(
                    self._region(
                        said, operations[said["kind"]][said["operation"]], "HIP_RUNTIME_API"
                    )
                    for said in records["hip_api"]
                ),
                *(
                    self._region(
                        said,
                        "roctxThreadRangeA",
                        "MARKER_CORE_RANGE_API",
                        messages.get(said["correlation_id"]["internal"], ""),
                    )
                    for said in records["marker_api"]
                ),
            ],
        )
        self._table("rocpd_event", self._events)
        self._table("rocpd_track", self._tracks)
        strings = [{"id": key, "string": text, "name": text} for text, key in self._strings.items()]
        self._table("rocpd_string", strings)
        if self._generation == 4:
            self._table("rocpd_info_category", strings)

    def _dispatch(self, said: Row) -> Row:
        info = said["dispatch_info"]
        place = {
            "pid": 1,
            "tid": 5,
            "agent_id": info["agent_id"]["handle"],
            "queue_id": info["queue_id"]["handle"],
            "stream_id": said["stream_id"]["handle"],
        }
        sizes = {
            f"{what}_{axis}": info[what][axis]
            for what in ("grid_size", "workgroup_size")
            for axis in "xyz"
        }
        return {
            "start": said["start_timestamp"],
            "end": said["end_timestamp"],
            "kernel_id": info["kernel_id"],
            "dispatch_id": info["dispatch_id"],
            "private_segment_size": info["private_segment_size"],
            "group_segment_size": info["group_segment_size"],
            **sizes,
            **self._placed(place),
            "event_id": self._event(said["correlation_id"]["internal"], "KERNEL_DISPATCH"),
        }

    def _copy(self, said: Row) -> Row:
        place = {"stream_id": said["stream_id"]["handle"]}
        return {
            "start": said["start_timestamp"],
            "end": said["end_timestamp"],
            "size": said["bytes"],
            "src_agent_id": said["src_agent_id"]["handle"],
            "dst_agent_id": said["dst_agent_id"]["handle"],
            **self._placed(place),
            "event_id": self._event(said["correlation_id"]["internal"], "MEMORY_COPY"),
        }

    def _region(self, said: Row, name: str, category: str, message: str = "") -> Row:
        launch = said["correlation_id"]["internal"]
        return {
            "start": said["start_timestamp"],
            "end": said["end_timestamp"],
            "name_id": self._string(name),
            **self._placed({"pid": 1, "tid": 5}),
            "event_id": self._event(launch, category, message),
        }


def kernel_csv(path: Path) -> Path:
    """The file of ``--kernel-trace --output-format csv``."""
    path.write_text(
        '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id",'
        '"Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size",'
        '"Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X",'
        '"Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
        f'"KERNEL_DISPATCH","Agent 4",1,2,51,1,8,"{KERNEL}",7,2000,2600,512,0,64,4,32,256,1,1,'
        "1000,2,1\n"
    )
    return path


def old_trace(path: Path) -> Path:
    """As rocprof 1 writes it: a range, a launch, its kernel and a copy, with arrows."""

    def slice_(pid: int, tid: int, name: str, begin: int, end: int, **more: str) -> Row:
        said = {"BeginNs": str(begin), "EndNs": str(end), "pid": "50", "tid": str(tid), **more}
        at, dur = begin // 1000, (end - begin) // 1000
        return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": at, "dur": dur, "args": said}

    def named(pid: int, name: str) -> Row:
        return {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}

    def arrow(phase: str, number: int, pid: int, tid: int, at: int) -> Row:
        return {
            "ph": phase,
            "cat": "DataFlow",
            "id": number,
            "pid": pid,
            "tid": tid,
            "ts": at,
            "name": "dep",
        }

    events = [
        named(2, "0 CPU HIP API"),
        named(5, "1 Markers and Ranges"),
        named(6, "2 GPU0"),
        slice_(5, 51, "forward", 900_000, 1_500_000),
        slice_(2, 51, "hipLaunchKernel", 1_000_123, 1_200_000),
        slice_(2, 51, "hipMemcpyAsync", 1_250_000, 1_260_000),
        slice_(6, 0, f"{KERNEL}.kd", 2_000_777, 2_600_000, **{"stream-id": "2"}),
        slice_(6, 0, "CopyHostToDevice", 3_000_000, 3_100_000, **{"stream-id": "2"}),
        arrow("s", 7, 2, 51, 1_000),
        arrow("t", 7, 6, 0, 2_000),
        arrow("s", 8, 2, 51, 1_250),
        arrow("t", 8, 6, 0, 3_000),
    ]
    lines = "\n,".join(["{}", *map(json.dumps, events)])
    path.write_text(f'{{ "traceEvents":[{lines}\n],\n"otherData": {{"cmd": "{SECRET}"}}\n}}\n')
    return path


_CALL = ("BeginNs", "EndNs", "pid", "tid", "Name", "args", "Index", "Data", "__section", "__lane")
_WORK = (
    "BeginNs", "EndNs", "dev-id", "queue-id", "Name", "pid", "tid", "roctx-range", "stream-id",
    "Index", "Data", "__section", "__lane",
)  # fmt: skip


def old_database(path: Path, **tables: Sequence[Row]) -> Path:
    """The same run in the tables that rocprof 1 makes of it; ``tables`` replace some of them."""
    call = {"pid": 50, "tid": 51, "args": f"( kernel({SECRET}))", "Data": "", "__section": 2}
    work = {"pid": 50, "tid": 51, "dev-id": 0, "queue-id": 1, "stream-id": 2, "Data": ""}

    def row(what: Row, name: str, begin: int, end: int, index: int) -> Row:
        return {**what, "BeginNs": begin, "EndNs": end, "Name": name, "Index": index}

    made: dict[str, Sequence[Row]] = {
        "rocTX": [row(call, "forward", 900_000, 1_500_000, 0)],
        "HIP": [
            row(call, "hipLaunchKernel", 1_000_123, 1_200_000, 7),
            row(call, "hipMemcpyAsync", 1_250_000, 1_260_000, 8),
        ],
        "OPS": [
            row(work, f"{KERNEL}.kd", 2_000_777, 2_600_000, 7),
            row(work, '"<barrier packet>"', 2_700_000, 2_700_001, 9),
        ],
        "COPY": [row(work, "CopyHostToDevice", 3_000_000, 3_100_000, 8)],
        "KERN": [],
        **tables,
    }
    columns = {"rocTX": _CALL, "HIP": _CALL, "HSA": _CALL, "OPS": _WORK, "COPY": _WORK}
    with sqlite3.connect(path) as database:
        for table, rows in made.items():
            empty = columns.get(table, ("Index", "KernelName"))
            _old_table(database, table, list(rows[0]) if rows else list(empty), rows)
    database.close()
    return path


def old_kernel(index: int, begin: int, end: int, **more: int | str) -> Row:
    """A row of ``KERN``: a dispatch with what it used, and counters."""
    return {
        "Index": index, "KernelName": f'"{KERNEL}.kd"', "gpu-id": 1, "queue-id": 0,
        "queue-index": index, "pid": 50, "tid": 51, "grd": 1024, "wgr": 256, "lds": 512, "scr": 0,
        "arch_vgpr": 64, "accum_vgpr": 4, "sgpr": 32, "wave_size": 64, "sig": "0x0", "obj": "0x7f",
        **more, "DispatchNs": begin - 100, "BeginNs": begin, "EndNs": end, "CompleteNs": end + 50,
    }  # fmt: skip


def _old_table(
    database: sqlite3.Connection, table: str, columns: list[str], rows: Sequence[Row]
) -> None:
    texts = ("Name", "KernelName", "args", "Data", "roctx-range")
    typed = ", ".join(f'"{one}" {"TEXT" if one in texts else "INTEGER"}' for one in columns)
    database.execute(f"CREATE TABLE {table} ({typed})")
    listed, marks = ", ".join(f'"{one}"' for one in columns), ", ".join("?" * len(columns))
    values = [[row.get(one) for one in columns] for row in rows]
    database.executemany(f"INSERT INTO {table}({listed}) VALUES({marks});", values)
    if "BeginNs" in columns:
        database.execute(f'ALTER TABLE {table} ADD COLUMN "DurationNs" INTEGER')
        database.execute(f"UPDATE {table} SET DurationNs = (EndNs - BeginNs);")
