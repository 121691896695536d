"""The databases of rocprof 1 and 2 say what their JSON says, and what was counted."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats import FORMATS
from stepscope.store import find, read_pieces
from tests.unit.formats.layout import lines
from tests.unit.formats.rocprof.files import KERNEL, SECRET, old_database, old_kernel, old_trace


def opened(path: Path) -> Space:
    ((source,),) = (one.sources for one in find(path).runs)
    assert source.format == "rocprof-database"
    return FORMATS[source.format].open(read_pieces(str(path)), str(path))


def test_a_database_says_what_the_json_says(tmp_path: Path) -> None:
    def plain(space: Space) -> dict[tuple[str, str], list[dict[str, Any]]]:
        # The JSON is without the numbers of queues.
        return {
            where: [{key: one[key] for key in one if key != "queue_id"} for one in events]
            for where, events in lines(space).items()
        }

    database = opened(old_database(tmp_path / "results.db"))
    path = old_trace(tmp_path / "results.json")
    of_json = FORMATS["rocprof-trace"].open(read_pieces(str(path)), str(path))
    assert plain(database) == plain(of_json)
    kernel, copy = lines(database)["/device:GPU:0", "Stream #2(Compute,MemcpyH2D)"]
    assert (kernel["name"], kernel["start"], kernel["length"]) == (KERNEL, 2_000_777, 599_223)
    assert (kernel["correlation_id"], kernel["tf_op"]) == (7, "forward:forward")
    assert (copy["name"], copy["correlation_id"], copy["queue_id"]) == ("MemcpyH2D", 8, 1)
    assert "1 barriers between kernels are not shown." in database.warnings


def test_every_page_of_kernels_has_them(tmp_path: Path) -> None:
    with stepscope.open(old_database(tmp_path / "results.db")) as session:
        (row,) = session.kernel_stats().kernels.records()
        assert row.name == KERNEL
        assert SECRET not in json.dumps(session.overview_page().to_dict(), default=str)


def test_counted_dispatches_are_kernels_where_no_call_was_recorded(tmp_path: Path) -> None:
    counted = [
        old_kernel(0, 5_000, 6_000, SQ_WAVES=16, WRITE_SIZE="0.25"),
        old_kernel(1, 7_000, 9_000, SQ_WAVES=32, WRITE_SIZE="0.5"),
    ]
    space = opened(old_database(tmp_path / "a.db", HIP=(), OPS=(), COPY=(), KERN=counted))
    found = lines(space)
    first, second = found["/device:GPU:1", "Stream #0(Compute)"]
    assert (first["name"], first["start"], first["length"]) == (KERNEL, 5_000, 1_000)
    assert first["kernel_details"] == "regs:64 private_mem:0 group_mem:512"
    assert (second["start"], second["dispatch_id"], second["sgpr_count"]) == (7_000, 1, 32)
    samples = found["/device:GPU:1", "_counters_"]
    assert [(one["name"], one["start"], one["counter_value"]) for one in samples] == [
        ("SQ_WAVES", 5_000, 16.0),
        ("SQ_WAVES", 7_000, 32.0),
        ("WRITE_SIZE", 5_000, 0.25),
        ("WRITE_SIZE", 7_000, 0.5),
    ]


def test_counted_dispatches_are_not_kernels_twice(tmp_path: Path) -> None:
    counted = [old_kernel(0, 2_000_777, 2_600_000, SQ_WAVES=16)]
    with stepscope.open(old_database(tmp_path / "a.db", KERN=counted)) as session:
        (row,) = session.kernel_stats().kernels.records()
        assert row.occurrences == 1


def test_copies_of_hsa_belong_to_calls_of_hsa(tmp_path: Path) -> None:
    times = {"BeginNs": 3_000, "EndNs": 3_100, "pid": 50, "tid": 51}
    call = {**times, "BeginNs": 2_000, "EndNs": 2_100, "Name": "hsa_amd_memory_async_copy"}
    path = old_database(
        tmp_path / "a.db",
        OPS=(),
        HSA=[{**call, "Index": 7}],
        COPY=[{**times, "Name": "async-copy", "Index": 7}],
    )
    found = lines(opened(path))
    (copy,) = (one for key, some in found.items() if "GPU" in key[0] for one in some)
    (hip,) = (one for one in found["/host:CPU", "python"] if one["name"] == "hipLaunchKernel")
    (hsa,) = (one for one in found["/host:CPU", "python"] if one["name"].startswith("hsa"))
    assert copy["name"] == "Memcpy"
    assert copy["correlation_id"] == hsa["correlation_id"] != hip["correlation_id"]


def test_processes_are_kept_apart(tmp_path: Path) -> None:
    call = {"tid": 51, "Name": "hipLaunchKernel", "Index": 7}
    work = {"tid": 51, "Name": "k", "Index": 7, "dev-id": 0, "queue-id": 0, "stream-id": 0}
    path = old_database(
        tmp_path / "a.db",
        COPY=(),
        rocTX=(),
        HIP=[{**call, "pid": 50 + at, "BeginNs": 10 + at, "EndNs": 20} for at in range(2)],
        OPS=[{**work, "pid": 50 + at, "BeginNs": 30 + at, "EndNs": 40} for at in range(2)],
    )
    found = lines(opened(path))
    kernels = [one for key, some in found.items() if "GPU" in key[0] for one in some]
    assert len({one["correlation_id"] for one in kernels}) == 2


def test_fills_are_sets(tmp_path: Path) -> None:
    fill = {
        "BeginNs": 3_000,
        "EndNs": 3_100,
        "pid": 50,
        "tid": 51,
        "Name": "FillBuffer",
        "Index": 8,
        "dev-id": 0,
        "queue-id": 0,
        "stream-id": 0,
    }
    found = lines(opened(old_database(tmp_path / "a.db", OPS=(), COPY=[fill])))
    (events,) = (some for key, some in found.items() if "GPU" in key[0])
    assert [one["name"] for one in events] == ["Memset"]


def test_rows_without_times_are_counted(tmp_path: Path) -> None:
    path = old_database(tmp_path / "a.db")
    with sqlite3.connect(path) as database:
        database.execute('UPDATE HIP SET EndNs = NULL WHERE "Index" = 8')
        database.execute("UPDATE COPY SET pid = x'ff'")
    database.close()
    said = opened(path).warnings
    assert "1 rows of HIP have no time; they are left out." in said
    assert any("hold something else" in one for one in said)


def test_after_a_broken_table_kernels_are_shown_without_counters(tmp_path: Path) -> None:
    kernel = old_kernel(0, 5_000, 6_000, WRITE_SIZE="0.25")
    path = old_database(tmp_path / "a.db", OPS=(), COPY=(), KERN=[kernel])
    with sqlite3.connect(path) as database:
        asked = "SELECT rootpage FROM sqlite_master WHERE name = 'HIP'"
        ((root,),) = database.execute(asked).fetchall()
        ((size,),) = database.execute("PRAGMA page_size").fetchall()
    database.close()
    broken = bytearray(path.read_bytes())
    broken[(root - 1) * size : root * size] = b"\xff" * size
    path.write_bytes(bytes(broken))
    space = opened(path)
    found = lines(space)
    assert [one["name"] for one in found["/device:GPU:1", "Stream #0(Compute)"]] == [KERNEL]
    assert any("cannot be read to its end" in one for one in space.warnings)


@pytest.mark.parametrize("counted", [False, True])
def test_broken_bytes_open_or_say_why_not(tmp_path: Path, *, counted: bool) -> None:
    kernels = [old_kernel(at, 5_000 + at, 6_000 + at, SQ_WAVES=at) for at in range(100)]
    tables = {"OPS": (), "HIP": (), "KERN": kernels} if counted else {}
    data = old_database(tmp_path / "a.db", **tables).read_bytes()
    rng = random.Random(5)
    path = tmp_path / "broken.db"
    for _ in range(200):
        broken = bytearray(data[: rng.choice((len(data), rng.randrange(100, len(data))))])
        for _ in range(rng.randrange(8)):
            broken[rng.randrange(100, len(broken))] = rng.randrange(256)
        path.write_bytes(bytes(broken))
        try:
            FORMATS["rocprof-database"].open(read_pieces(str(path)), str(path))
        except FormatError as error:
            assert error.why
