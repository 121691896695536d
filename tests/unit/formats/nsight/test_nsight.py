"""Exports of Nsight Systems open, and say what is in them."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.columns.space import Space
from stepscope.errors import FormatError, StoreError
from stepscope.formats import FORMATS
from stepscope.formats.table_pages import TablePages
from stepscope.store import find, read_pieces
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.attribution import steps
from tests.unit.formats.layout import lines
from tests.unit.formats.nsight.export import add, call, export, kernel, pid, range_, tid

TEXTS = ("gemm<float>", "cudaLaunchKernel_v7000", "relu", "forward")
GEMM, LAUNCH, RELU, FORWARD = 1, 2, 3, 4


def opened(path: Path) -> Space:
    return FORMATS["nsight"].open(read_pieces(str(path)), str(path))


def test_a_kernel_has_its_launch_its_op_and_its_shape(tmp_path: Path) -> None:
    dims = {"gridX": 4, "gridY": 2, "gridZ": 1, "blockX": 128, "blockY": 1, "blockZ": 1}
    space = opened(
        export(
            tmp_path / "a.sqlite",
            TEXTS,
            kernels=[
                kernel(
                    300,
                    500,
                    GEMM,
                    5,
                    **dims,
                    registersPerThread=40,
                    staticSharedMemory=8,
                    dynamicSharedMemory=16,
                ),
            ],
            calls=[call(100, 120, LAUNCH, 5)],
            ranges=[range_(90, 200, "aten::mm, seq = 3, op_id = 12, sizes = [[2, 3], [3, 4]]")],
        )
    )
    found = lines(space)
    (work,) = found["/device:GPU:0", "Stream #7(Compute)"]
    assert (work["name"], work["start"], work["length"]) == ("gemm<float>", 300, 200)
    assert work["kernel_details"] == (
        "regs:40 static_shared:8 dynamic_shared:16 grid:4,2,1 block:128,1,1"
    )
    assert (work["correlation_id"], work["tf_op"]) == (5, "aten/mm:mm")
    op, launch = found["/host:CPU", "python"]
    assert (op["name"], op["shown"], op["shape"]) == ("aten/mm:mm", "aten::mm", "[[2, 3], [3, 4]]")
    assert (op["sequence_number"], op["op_id"]) == (3, 12)
    assert (launch["name"], launch["correlation_id"]) == ("cudaLaunchKernel", 5)


def test_launches_of_two_processes_with_one_number_stay_apart(tmp_path: Path) -> None:
    other = {"globalPid": pid(11), "deviceId": 1}
    space = opened(
        export(
            tmp_path / "a.sqlite",
            TEXTS,
            kernels=[kernel(300, 500, GEMM, 5), kernel(300, 400, RELU, 5, **other)],
            calls=[
                call(100, 120, LAUNCH, 5),
                call(100, 120, LAUNCH, 5, globalTid=tid(11, 11)),
            ],
            ranges=[
                range_(90, 200, "aten::mm"),
                range_(90, 200, "aten::relu", globalTid=tid(11, 11)),
            ],
        )
    )
    found = lines(space)
    (first,) = found["/device:GPU:0", "Stream #7(Compute)"]
    (second,) = found["/device:GPU:1", "Stream #7(Compute)"]
    assert (first["tf_op"], second["tf_op"]) == ("aten/mm:mm", "aten/relu:relu")
    assert first["correlation_id"] == 5
    assert second["correlation_id"] == 1 << 32 | 5


def test_ranges_become_the_path_of_what_is_launched_in_them(tmp_path: Path) -> None:
    space = opened(
        export(
            tmp_path / "a.sqlite",
            TEXTS,
            kernels=[kernel(300, 500, GEMM, 5), kernel(600, 700, GEMM, 6)],
            calls=[call(100, 120, LAUNCH, 5), call(400, 420, LAUNCH, 6)],
            ranges=[
                range_(0, 350, "step 1"),
                range_(360, 900, "step 2"),
                range_(50, 300, None, textId=FORWARD),
                range_(90, 200, "Attention 3"),
            ],
        )
    )
    found = lines(space)
    inside, outside = found["/device:GPU:0", "Stream #7(Compute)"]
    assert inside["tf_op"] == "forward/Attention_3:Attention"
    assert outside["tf_op"] == outside["launch_origin"] == "Launched outside of any op"
    steps = [one for one in found["/host:CPU", "python"] if "step_num" in one]
    assert [(one["name"], one["step_num"], one["_r"]) for one in steps] == [
        ("step 1", 1, 1),
        ("step 2", 2, 1),
    ]


def test_jax_tells_the_instruction_and_program_of_a_kernel(tmp_path: Path) -> None:
    space = opened(
        export(
            tmp_path / "a.sqlite",
            TEXTS,
            kernels=[kernel(300, 500, GEMM, 5)],
            calls=[call(100, 120, LAUNCH, 5)],
            ranges=[
                {"start": 0, "eventType": 75, "domainId": 2, "text": "TSL"},
                range_(50, 400, "XlaModule:#hlo_module=jit_step,program_id=7#", domainId=2),
                range_(90, 200, "Thunk:#hlo_op=dot.3#", domainId=2),
            ],
        )
    )
    found = lines(space)
    (work,) = found["/device:GPU:0", "Stream #7(Compute)"]
    assert (work["hlo_op"], work["hlo_module"], work["program_id"]) == ("dot.3", "jit_step", 7)
    assert "tf_op" not in work
    module, thunk, _ = found["/host:CPU", "python"]
    assert (module["name"], module["hlo_module"], module["domain"]) == (
        "XlaModule",
        "jit_step",
        "TSL",
    )
    assert (thunk["name"], thunk["hlo_op"]) == ("Thunk", "dot.3")


def test_a_range_that_never_ended_lasts_to_the_end_and_is_counted(tmp_path: Path) -> None:
    space = opened(
        export(tmp_path / "a.sqlite", TEXTS, ranges=[range_(10, None, "open"), range_(20, 90, "b")])
    )
    first, _ = lines(space)["/host:CPU", "thread 10"]
    assert (first["name"], first["start"], first["length"]) == ("open", 10, 80)
    assert any("1 ranges had not ended" in one for one in space.warnings)


def test_copies_sets_waits_and_replays_have_their_words(tmp_path: Path) -> None:
    place = {"deviceId": 0, "streamId": 7, "globalPid": pid(10)}
    copy = {"copyKind": 1, "bytes": 4096, "srcKind": 1, "dstKind": 2}
    space = opened(
        export(
            tmp_path / "a.sqlite",
            copies=[{"start": 10, "end": 20, **place, **copy}],
            sets=[{"start": 30, "end": 35, **place, "bytes": 64, "value": 0, "memKind": 2}],
            graphs=[{"start": 40, "end": 90, **place, "graphId": 3, "graphExecId": 9}],
            waits=[{"start": 5, "end": 9, **place, "syncType": 3}],
        )
    )
    found = lines(space)
    work = found["/device:GPU:0", "Stream #7(MemcpyH2D,Memset,Compute)"]
    assert [one["name"] for one in work] == ["MemcpyH2D", "Memset", "CUDA graph 3"]
    assert work[0]["memcpy_details"] == "kind_src:pinned kind_dst:device size:4096"
    assert work[1]["memcpy_details"] == "kind_dst:device size:64"
    assert (work[2]["graph_id"], work[2]["graph_exec_id"]) == (3, 9)
    (wait,) = found["/device:GPU:0", "Synchronization #7"]
    assert (wait["name"], wait["length"]) == ("Stream Sync", 4)
    assert any("--cuda-graph-trace=node" in one for one in space.warnings)


def test_metrics_memory_and_system_calls_are_there(tmp_path: Path) -> None:
    taken = {"deviceId": 0, "globalPid": pid(10), "address": 256, "bytes": 1024}
    space = opened(
        export(
            tmp_path / "a.sqlite",
            ("read", "cudaMalloc_v3020"),
            calls=[call(10, 20, 2, 4)],
            OSRT_API=[{"start": 30, "end": 60, "globalTid": tid(10, 10), "nameId": 1}],
            CUDA_GPU_MEMORY_USAGE_EVENTS=[
                {"start": 15, **taken, "memoryOperationType": 0, "correlationId": 4},
                {"start": 80, **taken, "memoryOperationType": 1},
            ],
            TARGET_INFO_GPU_METRICS=[{"typeId": 257, "metricId": 2, "metricName": "SM Active [%]"}],
            GPU_METRICS=[{"timestamp": 50, "typeId": 257, "metricId": 2, "value": 40}],
            TARGET_INFO_GPU=[
                {"id": 1, "name": "NVIDIA H100", "clockRate": 1_980_000_000, "smCount": 132}
            ],
        )
    )
    found = lines(space)
    (sample,) = found["/device:GPU:1", "_counters_"]
    assert (sample["name"], sample["counter_value"], sample["unit"]) == ("SM Active [%]", 40, "%")
    events = found["/host:CPU", "python"]
    assert [one["name"] for one in events] == [
        "cudaMalloc",
        "MemoryAllocation",
        "read",
        "MemoryDeallocation",
    ]
    assert [one["bytes_allocated"] for one in events if "addr" in one] == [1024, 0]
    assert dict(stepscope.columns.plane_stats(space, 1))["clock_rate"] == 1_980_000


def test_of_several_versions_of_a_table_the_highest_counts(tmp_path: Path) -> None:
    space = opened(
        export(
            tmp_path / "a.sqlite",
            TEXTS,
            kernels=[kernel(1, 2, GEMM, 1)],
            CUPTI_ACTIVITY_KIND_KERNEL_V2=[kernel(10, 30, RELU, 1)],
        )
    )
    (work,) = lines(space)["/device:GPU:0", "Stream #7(Compute)"]
    assert work["name"] == "relu"


def test_times_are_on_the_wall_clock_where_the_file_knows_it(tmp_path: Path) -> None:
    space = opened(
        export(
            tmp_path / "a.sqlite",
            TEXTS,
            kernels=[kernel(1_500, 1_600, GEMM, 1)],
            TARGET_INFO_SESSION_START_TIME=[{"utcEpochNs": 1_700_000_000_000_000_000}],
            ANALYSIS_DETAILS=[{"startTime": 1_000, "stopTime": 9_000}],
        )
    )
    (work,) = lines(space)["/device:GPU:0", "Stream #7(Compute)"]
    assert work["start"] == 1_700_000_000_000_000_500


def test_rows_in_a_journal_beside_the_file_count(tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite", TEXTS, kernels=[kernel(1, 2, GEMM, 1)])
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    writer.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES (10, 20)")
    writer.commit()
    assert (tmp_path / "a.sqlite-wal").stat().st_size > 0
    link = tmp_path / "links" / "b.sqlite"
    link.parent.mkdir()
    link.symlink_to(path)
    spaces = [opened(path), FORMATS["nsight"].open(read_pieces(str(link)), str(link))]
    writer.close()
    for space in spaces:
        assert sum(len(one) for (plane, _), one in lines(space).items() if "GPU" in plane) == 2


HOSTILE: dict[str, str] = {
    "a view of the kernels' name": "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start",
    "a view that never ends": (
        "CREATE VIEW OSRT_API AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 "
        "FROM n) SELECT start, start AS end FROM n"
    ),
    "a column that is computed": (
        "CREATE TABLE OSRT_API (end INTEGER, start AS (abs(-9223372036854775807 - 1)) VIRTUAL)"
    ),
    "a name with quotes": 'CREATE TABLE "x""; DROP TABLE StringIds; --" (a)',
}


@pytest.mark.parametrize("statement", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_computes_is_never_asked(tmp_path: Path, statement: str) -> None:
    path = export(tmp_path / "a.sqlite", TEXTS, ranges=[range_(1, 9, "forward")])
    with sqlite3.connect(path) as database:
        database.execute(statement)
        database.execute("CREATE TABLE IF NOT EXISTS more (a)")
    database.close()
    ((event,),) = lines(opened(path)).values()
    assert event["name"] == "forward"


@pytest.mark.parametrize("odd", [b"\xff", "text", 1e300, -(2**63), 2**63 - 1, None, 1.5])
@pytest.mark.parametrize("column", ["start", "end", "deviceId", "streamId", "demangledName",
                                    "correlationId", "globalPid", "gridX"])  # fmt: skip
def test_any_cell_may_hold_anything(tmp_path: Path, column: str, odd: Any) -> None:
    rows = [kernel(10, 20, GEMM, 1, gridX=1), {**kernel(30, 50, GEMM, 2), "gridX": 1, column: odd}]
    space = opened(export(tmp_path / "a.sqlite", TEXTS, kernels=rows))
    assert 10 in [event["start"] for events in lines(space).values() for event in events]
    session = stepscope.open(tmp_path / "a.sqlite")
    assert session.kernel_stats() is not None


def test_a_cut_file_gives_what_it_has_or_says_why_not(tmp_path: Path) -> None:
    whole = export(
        tmp_path / "whole.sqlite",
        TEXTS,
        kernels=[kernel(10 * n, 10 * n + 5, GEMM, n, note="x" * 200) for n in range(200)],
    ).read_bytes()
    outcomes = set()
    for size in range(100, len(whole), 997):
        (tmp_path / "cut.sqlite").write_bytes(whole[:size])
        try:
            opened(tmp_path / "cut.sqlite")
            outcomes.add("opened")
        except FormatError as error:
            assert error.why
            outcomes.add("refused")
    assert "refused" in outcomes


def test_a_broken_schema_is_told_whatever_its_bytes_are(tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite", TEXTS, ranges=[range_(1, 9, "forward")])
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE NVTX", b"CREATE \x84\xff\xfeLE NVTX"))
    with pytest.raises(FormatError, match="not open"):
        opened(path)


def test_other_databases_and_reports_say_what_they_are(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "notes.sqlite") as database:
        add(database, "notes", [{"text": "hello"}])
    database.close()
    with pytest.raises(StoreError, match="recording") as refused:
        find(tmp_path / "notes.sqlite")
    assert refused.value.anchor == "sqlite"
    (tmp_path / "run.nsys-rep").write_bytes(b"NSYS")
    with pytest.raises(StoreError) as report:
        find(tmp_path / "run.nsys-rep")
    assert "nsys export --type sqlite" in report.value.hint


def test_a_folder_of_exports_has_a_run_for_each(tmp_path: Path) -> None:
    for name in ("a", "b"):
        export(tmp_path / f"{name}.sqlite", TEXTS, kernels=[kernel(1, 2, GEMM, 1)])
    found = find(tmp_path)
    assert sorted(run.sources[0].host for run in found.runs) == ["a", "b"]
    assert {source.format for run in found.runs for source in run.sources} == {"nsight"}


@pytest.mark.parametrize(
    "texts",
    [
        ["aten::mm, op_id = 7", "aten::mm, seq = 3, op_id = 8", "aten::add", None, "step 4"],
        ["aten::mm, seq = 3", "aten::mm, op_id = 0007", f"aten::mm, op_id = {10**18 - 1}"],
        ["aten::mm, op_id = 7", f"aten::mm, op_id = {10**19}", "aten::mm, op_id = ", "op_id = 7"],
        ["a, b, op_id = 7", "aten::mm, op_id = 8"],
        [", op_id = 7", "aten::mm, op_id = 8"],
        ["", "aten::mm, op_id = 8", "forward, layer 3"],
        ["aten::mm, op_id = 8", "aten::mm, seq = 2, op_id = 9, sizes = [[2, 3]]"],
        ["aten::mm, op_id = 8, seq = 2", "aten::mm, seq = 1, seq = 2"],
    ],
)
def test_names_read_from_pages_are_those_that_sqlite_gives(
    texts: list[str | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranges = [{**range_(100 * n, 100 * n + 50, "x"), "text": one} for n, one in enumerate(texts)]
    path = export(tmp_path / "n.sqlite", kernels=[kernel(1, 2, 1, 1)], ranges=ranges)
    by_pages = lines(opened(path))
    monkeypatch.setattr(TablePages, "read", lambda *_: None)
    assert lines(opened(path)) == by_pages


def test_a_file_that_is_cut_within_its_last_page_says_so(tmp_path: Path) -> None:
    kernels = [kernel(300 + n, 500 + n, 1, n) for n in range(1, 10)]
    ranges = [range_(90 * n, 90 * n + 70, "step 1") for n in range(1, 10)]
    path = export(tmp_path / "whole.sqlite", kernels=kernels, ranges=ranges)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA page_size = 512")
        database.execute("VACUUM")
    assert not opened(path).warnings
    # SQLite takes zeros for what is missing of the page: nine rows without a value.
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(path.read_bytes()[:-100])
    assert any("ends within a page" in one for one in opened(cut).warnings)


def test_what_the_profiler_does_on_a_thread_is_no_work_of_the_program(tmp_path: Path) -> None:
    """It sets itself up for 300 µs before the first call; CUDA loads a kernel within a launch."""
    thread = {"globalTid": tid(10, 10)}
    space = opened(
        export(
            tmp_path / "a.sqlite",
            ("cudaLaunchKernel_v7000", "gemm", "CUDA profiling initialization", "Unknown"),
            calls=[call(400_000, 480_000, 1, 4)],
            kernels=[kernel(480_000, 490_000, 2, 4)],
            PROFILER_OVERHEAD=[
                {"start": 10_000, "end": 310_000, "nameId": 3, "overheadType": 0, **thread},
                {"start": 485_000, "end": 487_000, "nameId": 4, "overheadType": 3, **thread},
            ],
            CUPTI_ACTIVITY_KIND_OVERHEAD=[
                {"start": 410_000, "end": 470_000, "nameId": 4, "overheadType": 6, **thread}
            ],
        )
    )
    names = [one["name"] for one in lines(space)["/host:CPU", "python"]]
    assert names == [
        "Profiler: CUDA profiling initialization",
        "cudaLaunchKernel",
        "Runtime module loading (CUDA)",
        "Profiler: Buffer flush",
    ]
    found = steps(Host("h", space))
    assert found is not None and found.markers.is_window
    # From the launch to the end of the kernel: 90 µs, 80 of which the host launches.
    assert found.duration_ps.tolist() == [90_000_000]
    assert found.parts_ps["kernel_launch"].tolist() == [80_000_000]
    assert found.parts_ps["host_compute"].tolist() == [0]


def test_a_program_of_its_own_kernels_is_not_told_to_compute_in_16_bits(tmp_path: Path) -> None:
    """One kernel of double numbers for 50 ms; the driver asks the system for the memory."""
    path = export(
        tmp_path / "a.sqlite",
        ("divergence(int, double *)", "cudaLaunchKernel_v7000", "cudaMalloc_v3020", "ioctl"),
        kernels=[kernel(60_000_000, 110_000_000, 1, 5)],
        calls=[call(10_000_000, 50_000_000, 3, 4), call(50_500_000, 59_000_000, 2, 5)],
        OSRT_API=[{"start": 12_000_000, "end": 48_000_000, "globalTid": tid(10, 10), "nameId": 4}],
        TARGET_INFO_GPU=[
            {"id": 0, "name": "NVIDIA GeForce RTX 3060", "computeMajor": 8, "computeMinor": 6}
        ],
    )
    with stepscope.open(path) as session:
        advice = session.advice()
        account: Any = session.run("step_account")
    (judged,) = (one for one in advice.checked if one.rule == "full-precision")
    assert judged.outcome == "unknown" and "no framework was recorded" in judged.reason
    kinds = {row.kind: row.time_ms for row in account.parts.records()}
    assert kinds["allocation"] == pytest.approx(40.0) and "framework" not in kinds


def test_a_database_of_nvprof_says_what_to_record_instead(tmp_path: Path) -> None:
    for table in ("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"):
        path = tmp_path / f"{table}.sqlite"
        with sqlite3.connect(path) as database:
            add(database, table, [{"_id_": 1, "start": 5, "end": 9, "name": 1}])
            add(database, "StringTable", [{"_id_": 1, "value": "sgemm"}])
        database.close()
        with pytest.raises(FormatError, match="database of nvprof") as refused:
            opened(path)
        assert "nsys export" in refused.value.hint


POLLS = [
    {
        "start": at * 10_000_000,
        "end": at * 10_000_000 + 7_000_000,
        "nameId": 1,
        "globalTid": tid(10, 10),
    }
    for at in range(20)
]
RANGES = [range_(at * 10_000_000, at * 10_000_000 + 9_500_000, "assimilate") for at in range(20)]


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({"ranges": RANGES}, "Ranges and calls take 95 %"),
        ({"OSRT_API": POLLS}, "The host waits in 71 %"),
        ({"ranges": RANGES, "OSRT_API": POLLS}, "The host waits in 70 %"),
    ],
)
def test_an_export_of_the_host_alone_says_so_and_answers_from_its_rows(
    tmp_path: Path, tables: dict[str, Any], says: str
) -> None:
    session = stepscope.open(export(tmp_path / "host.sqlite", ("poll",), **tables))
    overview, account = session.overview_page(), session.step_account()
    assert overview.headline.startswith(f"No device and no op was recorded. {says}")
    waits = sum(row["time_ms"] for row in account.parts.rows() if row["kind"] == "wait")
    assert waits == pytest.approx(overview.breakdown_ms["host_wait"])
