"""Recordings of rocprofv3 open, and say the same in each of its formats."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.columns import plane_stats
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats import FORMATS
from stepscope.limits import LimitError
from stepscope.store import find, read_pieces
from tests.unit.formats.layout import Event, lines
from tests.unit.formats.rocprof.files import KERNEL, SECRET, kernel_csv, rocpd, run, tool_json

SHARED = Path(__file__).parents[5] / "shared" / "data" / "rocprof" / "908_results.json.gz"
DETAILS = "regs:64 grid:4,2,1 block:256,1,1 private_mem:0 group_mem:512"
Writer = Callable[..., Path]


def opened(path: Path) -> Space:
    ((source,),) = (one.sources for one in find(path).runs)
    return FORMATS[source.format].open(read_pieces(str(path)), str(path))


WRITERS: dict[str, tuple[str, Writer]] = {
    "rocpd 3": ("a.db", rocpd),
    "rocpd 4": ("a.db", lambda path, *runs: rocpd(path, *runs, generation=4)),
    "json": ("a_results.json", tool_json),
}


@pytest.fixture(params=list(WRITERS.values()), ids=list(WRITERS))
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Path]:
    name, write = request.param
    return lambda *runs: write(tmp_path / name, *runs)


def test_a_dispatch_has_its_launch_its_range_and_its_shape(written: Callable[..., Path]) -> None:
    space = opened(written())
    found = lines(space)
    work = found["/device:GPU:0", "Stream #2(Compute,MemcpyH2D)"]
    kernel, copy = work
    assert (kernel["name"], kernel["start"], kernel["length"]) == (KERNEL, 2_000, 600)
    assert (kernel["kernel_details"], kernel["correlation_id"]) == (DETAILS, 7)
    assert (kernel["tf_op"], kernel["queue_id"]) == ("forward:forward", 16)
    assert (kernel["accum_vgpr_count"], kernel["sgpr_count"]) == (4, 32)
    assert (copy["name"], copy["memcpy_details"]) == (
        "MemcpyH2D",
        "kind_src:host kind_dst:device size:4096",
    )
    mark, call = found["/host:CPU", "python"]
    assert (mark["name"], mark["length"]) == ("forward", 600)
    assert (call["name"], call["correlation_id"]) == ("hipLaunchKernel", 7)
    facts = dict(plane_stats(space, 1))
    assert (facts["gpu_device_name"], facts["clock_rate"]) == ("AMD Instinct MI350X", 2_200_000)
    assert (facts["compute_cap_major"], facts["compute_cap_minor"]) == (9, 5)


def test_two_processes_of_one_file_keep_their_launches_apart(
    written: Callable[..., Path],
) -> None:
    other = run()
    other["metadata"] = {"pid": 60}
    other["strings"]["marker_api"] = [{"key": 3, "value": "backward"}]
    found = lines(opened(written(run(), other)))
    kernels = [one for events in found.values() for one in events if one["name"] == KERNEL]
    assert sorted((one["correlation_id"], one["tf_op"]) for one in kernels) == [
        (7, "forward:forward"),
        (1 << 32 | 7, "backward:backward"),
    ]


def test_nothing_of_environment_and_command_is_read(written: Callable[..., Path]) -> None:
    path = written()
    assert SECRET.encode() in path.read_bytes()
    assert SECRET.encode() not in bytes(opened(path).buffer)


def test_a_csv_of_one_domain_opens_alone(tmp_path: Path) -> None:
    (kernel,) = lines(opened(kernel_csv(tmp_path / "908_kernel_trace.csv")))[
        "/device:GPU:0", "Stream #2(Compute)"
    ]
    assert (kernel["name"], kernel["kernel_details"]) == (KERNEL, DETAILS)


def test_lines_without_cells_are_refused_before_they_fill_memory(tmp_path: Path) -> None:
    path = kernel_csv(tmp_path / "908_kernel_trace.csv")
    with path.open("ab") as file:
        file.write(b"\n" * 800_000)
    with pytest.raises(LimitError, match="'objects'"):
        opened(path)


def test_marks_and_copies_of_csv_files(tmp_path: Path) -> None:
    (tmp_path / "a_marker_api_trace.csv").write_text(
        '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp",'
        '"End_Timestamp"\n"MARKER_CORE_API","step 1",50,50,1,100,200\n'
    )
    (tmp_path / "a_memory_copy_trace.csv").write_text(
        '"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id",'
        '"Start_Timestamp","End_Timestamp"\n'
        '"MEMORY_COPY","MEMORY_COPY_DEVICE_TO_HOST","Agent 4","Agent 0",3,100,250\n'
    )
    ((mark,),) = lines(opened(tmp_path / "a_marker_api_trace.csv")).values()
    assert (mark["name"], mark["step_num"]) == ("step 1", 1)
    ((copy,),) = lines(opened(tmp_path / "a_memory_copy_trace.csv")).values()
    assert (copy["name"], copy["length"]) == ("MemcpyD2H", 150)


def test_any_cut_of_the_json_gives_what_stands_before_it(tmp_path: Path) -> None:
    one = run()
    one["buffer_records"]["kernel_dispatch"] *= 30
    text = tool_json(tmp_path / "whole.json", one).read_bytes()
    counts = []
    for size in range(0, len(text), 61):
        (tmp_path / "cut.json").write_bytes(text[:size])
        try:
            space = FORMATS["rocprof-json"].open(read_pieces(str(tmp_path / "cut.json")), "cut")
        except FormatError:
            continue
        except stepscope.errors.StoreError:
            assert size == 0
            continue
        counts.append(sum(one["name"] == KERNEL for part in lines(space).values() for one in part))
        assert any("cannot be read to its end" in one for one in space.warnings)
    assert counts == sorted(counts)
    assert counts[-1] == 30


HOSTILE: dict[str, Any] = {
    "nested too deep": "[" * 200_000,
    "a huge number": 10**400,
    "a text": "x",
    "a list": [[]],
    "null": None,
    "an object": {"handle": {"handle": []}},
}


@pytest.mark.parametrize("odd", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize(
    "field", ["start_timestamp", "dispatch_info", "correlation_id", "stream_id"]
)
def test_a_record_of_any_shape_costs_itself_alone(tmp_path: Path, field: str, odd: Any) -> None:
    one = run()
    first = one["buffer_records"]["kernel_dispatch"][0]
    bad = "ODD" if isinstance(odd, str) and odd.startswith("[") else odd
    one["buffer_records"]["kernel_dispatch"] = [first, {**first, field: bad}]
    path = tmp_path / "a.json"
    path.write_text(
        json.dumps({"rocprofiler-sdk-tool": [one]}).replace(
            '"ODD"', str(HOSTILE["nested too deep"])
        )
    )
    kernels = [event for part in lines(opened(path)).values() for event in part]
    assert any(event["name"] == KERNEL for event in kernels)


def test_a_broken_database_gives_what_it_has_or_says_why_not(tmp_path: Path) -> None:
    one = run()
    one["buffer_records"]["kernel_dispatch"] *= 500
    whole = rocpd(tmp_path / "whole.db", one).read_bytes()
    refused = 0
    for size in range(100, len(whole), 2_003):
        (tmp_path / "cut.db").write_bytes(whole[:size])
        try:
            FORMATS["rocpd"].open(read_pieces(str(tmp_path / "cut.db")), "cut.db")
        except FormatError as error:
            refused += bool(error.why)
    assert refused


def test_a_table_of_odd_cells_opens(tmp_path: Path) -> None:
    path = rocpd(tmp_path / "a.db")
    with sqlite3.connect(path) as database:
        for table in (
            "rocpd_event",
            "rocpd_info_agent",
            "rocpd_info_kernel_symbol",
            "rocpd_string",
        ):
            database.execute(f"UPDATE {table}_00000000 SET id = x'ff00'")
    database.close()
    (kernel,) = (
        one
        for (plane, _), part in lines(opened(path)).items()
        for one in part
        if "GPU" in plane and "kernel_details" in one
    )
    assert kernel["name"] == "kernel 8"


@pytest.mark.skipif(not SHARED.is_file(), reason="../shared/data/rocprof is not here")
def test_the_shared_run_says_the_same_as_json_and_as_a_database(tmp_path: Path) -> None:
    with gzip.open(SHARED) as file:
        said = json.load(file)["rocprofiler-sdk-tool"][0]
    records = said["buffer_records"]["kernel_dispatch"]
    said["metadata"] = {"pid": said["metadata"]["pid"]}
    found = _kernels(opened(SHARED))
    assert len(found) == len(records) == 43_915
    wanted = sum(one["end_timestamp"] - one["start_timestamp"] for one in records)
    assert sum(one["length"] for one in found) == wanted
    same = _kernels(opened(rocpd(tmp_path / "same.db", said)))
    assert found == same


def _kernels(space: Space) -> list[Event]:
    found = [one for part in lines(space).values() for one in part if "kernel_details" in one]
    return sorted(found, key=lambda one: (one["start"], one["dispatch_id"]))
