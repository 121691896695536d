"""Dumps of NCCL's flight recorder and logs of its Inspector open; ranks of a folder are one run."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis.collectives import Collectives
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats import FORMATS
from stepscope.store import find, read_pieces
from tests.unit.formats.layout import lines
from tests.unit.formats.nccl.dumps import (
    MS,
    START_NS,
    as_pytorch,
    dump,
    entry,
    log,
    perf,
    write_dumps,
)

LINE = ("/device:CUSTOM:Flight recorder", "0 · default_pg")
GPU = ("/device:GPU:0", "Stream #1(DP 0)")


def opened(path: Path, format_: str = "nccl-flight") -> Space:
    return FORMATS[format_].open(read_pieces(str(path)), str(path))


@pytest.mark.parametrize("protocol", [0, 2, 3, 4, 5])
def test_a_dump_has_every_call_as_an_instant(tmp_path: Path, protocol: int) -> None:
    write_dumps(tmp_path, dump([entry(1, 0), entry(2, 7, "started")]), protocol=protocol)
    first, second = lines(opened(tmp_path / "nccl_trace_rank_0"))[LINE]
    assert (first["name"], first["start"], first["length"]) == ("nccl:all_reduce", START_NS, 0)
    assert (second["start"], second["Seq"]) == (START_NS + 7 * MS, 2)
    assert (second["call_state"], second["elements"]) == ("started", 1024)
    assert (second["group_ranks"], second["message_sizes"]) == ("0-1", "[512, 2]")
    assert second["tf_op"] == "work/train.py:42 step"


def test_a_dump_as_pytorch_pickles_it_takes_little_more_than_its_columns(tmp_path: Path) -> None:
    frames = entry(1, 0)["frames"]
    calls = [entry(n, n, frames=list(frames)) for n in range(1, 4001)]
    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(as_pytorch(dump(calls)))
    opened(path)
    tracemalloc.start()
    space = opened(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    events, stats = space.events, space.event_stats
    columns = (events.metadata, events.start_ps, events.duration_ps, events.stat_begin)
    held = sum(one.nbytes for one in (*columns, stats.key, stats.kind, stats.value))
    # Besides them the piece that is being read and what small things take.
    assert peak < 2.5 * held + 2**20
    write_dumps(tmp_path, dump(calls))
    assert lines(opened(path)) == lines(space)


def test_when_a_watchdog_looked_is_no_duration(tmp_path: Path) -> None:
    write_dumps(tmp_path, dump([entry(1, 0), entry(2, 1, duration_ms=1.5)]))
    space = opened(tmp_path / "nccl_trace_rank_0")
    assert not space.events.duration_ps.any()
    first, second = lines(space)[LINE]
    assert "kernel_us" not in first
    assert second["kernel_us"] == 1500


@pytest.mark.parametrize("name", ["nccl_trace_rank_{}", "fr_rank{}.pickle", "dump_rank_{}.json"])
def test_the_dumps_of_a_folder_are_one_run_by_rank(tmp_path: Path, name: str) -> None:
    write_dumps(tmp_path, *(dump([entry(1, rank)], 12) for rank in range(12)))
    for rank in range(12):
        (tmp_path / f"nccl_trace_rank_{rank}").rename(tmp_path / name.format(rank))
    (run,) = find(tmp_path).runs
    assert [one.host for one in run.sources] == [f"rank{rank:02d}" for rank in range(12)]
    assert {one.format for one in run.sources} == {"nccl-flight"}


def test_a_rank_that_called_nothing_opens(tmp_path: Path) -> None:
    write_dumps(tmp_path, dump([]))
    assert not len(opened(tmp_path / "nccl_trace_rank_0").events)


def test_a_dump_in_json_that_is_cut_keeps_what_comes_before(tmp_path: Path) -> None:
    write_dumps(tmp_path, dump([entry(n, n) for n in range(50)]), protocol=0)
    path = tmp_path / "nccl_trace_rank_0"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 4])
    space = opened(path)
    assert 20 < len(space.events) < 45
    assert any("missing" in one for one in space.warnings)


ODD: list[Any] = [None, "x", -1, 2**70, 1.5, float("nan"), [], {}, True, [[[]]], [None]]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("field", list(entry(1, 0)))
def test_any_field_of_a_call_may_hold_anything(tmp_path: Path, field: str, odd: Any) -> None:
    write_dumps(tmp_path, dump([entry(1, 0), entry(2, 1, **{field: odd})]))
    write_dumps(tmp_path, dump([entry(1, 0), entry(2, 1, **{field: odd})]))
    stepscope.open(tmp_path).run("hung_collectives")


@pytest.mark.parametrize("key", ["entries", "pg_config", "pg_status", "version"])
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_dump_of_any_shape_opens(tmp_path: Path, key: str, odd: Any) -> None:
    write_dumps(tmp_path, {**dump([entry(1, 0)]), key: odd})
    opened(tmp_path / "nccl_trace_rank_0")


def test_a_pickle_that_would_run_something_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(b"\x80\x02cos\nsystem\nX\x09\0\0\0pg_config\x85R.")
    with pytest.raises(FormatError, match="does not open") as caught:
        opened(path)
    assert "GLOBAL" in caught.value.why


def collectives(path: Path) -> Collectives:
    found = stepscope.open(path).run("collectives")
    assert isinstance(found, Collectives)
    return found


def test_bandwidths_are_those_that_the_inspector_wrote(tmp_path: Path) -> None:
    records = [
        perf(1, 17_179_869_184, 61_974),
        perf(2, 2_147_483_648, 41_057, collective="ReduceScatter", factor=8),
        perf(3, 1_000_000, 100, collective="Broadcast"),
    ]
    path = log(tmp_path / "gpu-node-7-pid4711.log", *records)
    found = collectives(path)
    for row, said in zip(
        sorted(found.groups.rows(), key=lambda row: row["collective"]),
        sorted((one["coll_perf"] for one in records), key=lambda one: one["coll"]),
        strict=True,
    ):
        assert row["collective"] == said["coll"].lower()
        assert row["time_ms"] == pytest.approx(said["coll_exec_time_us"] / 1e3)
        assert row["algorithm_gbps"] == pytest.approx(said["coll_algobw_gbs"])
        if row["collective"] != "broadcast":
            assert row["bus_gbps"] == pytest.approx(said["coll_busbw_gbs"])
    assert "DP 0" in {row["description"] for row in found.groups.rows()}


def test_what_computed_beside_the_collectives_is_unknown_not_nothing(tmp_path: Path) -> None:
    found = collectives(log(tmp_path / "a-pid1.log", perf(1, 1_000_000, 100)))
    assert found.exposed_ms is None
    assert "nothing computing" not in found.headline


def test_times_are_those_of_the_trace_where_there_is_one(tmp_path: Path) -> None:
    at = START_NS // 1000
    seen: dict[str, Any] = {"event_trace_ts": {"coll_start_ts": at - 900, "coll_stop_ts": at - 800}}
    space = opened(
        log(tmp_path / "a.log", perf(1, 8192, 100, **seen), perf(2, 8192, 40), perf(3, 8192, 60)),
        "nccl-inspector",
    )
    events = lines(space)[GPU]
    assert [(one["start"] // 1000 - at, one["length"] // 1000) for one in events] == [
        (-900, 100),
        (-100, 40),
        (-60, 60),
    ]
    (note,) = space.warnings
    assert note.startswith("When 2 collectives ran is not in the log")


def test_logs_of_several_processes_are_one_run(tmp_path: Path) -> None:
    for rank in range(3):
        log(tmp_path / f"node-pid{100 + rank}.log", perf(1, 8192, 10 + rank, rank=rank))
    (run,) = find(tmp_path).runs
    assert [one.host for one in run.sources] == ["node-pid100", "node-pid101", "node-pid102"]
    (row,) = collectives(tmp_path).groups.rows()
    assert row["transfer_ms"] == pytest.approx(0.010)
    assert row["wait_ms"] == pytest.approx(0.001)


def test_a_log_that_is_cut_or_holds_other_records_says_so(tmp_path: Path) -> None:
    path = log(tmp_path / "a.log", perf(1, 8192, 10), {"header": 1}, perf(2, 8192, 10))
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    space = opened(path, "nccl-inspector")
    assert len(space.events) == 1
    assert "1 records are not collectives" in " ".join(space.warnings)
    assert "cannot be read to its end" in " ".join(space.warnings)


@pytest.mark.parametrize("odd", [*ODD, 10**400], ids=lambda odd: repr(odd)[:20])
@pytest.mark.parametrize("part", ["header", "metadata", "coll_perf"])
def test_any_field_of_a_record_may_hold_anything(tmp_path: Path, part: str, odd: Any) -> None:
    for key in perf(1, 1, 1)[part]:
        record = perf(2, 8192, 10, collective="AllGather")
        record[part][key] = odd
        path = tmp_path / "a.log"
        path.write_text(json.dumps(perf(1, 8192, 10)) + json.dumps(record))
        assert len(opened(path, "nccl-inspector").events) in (1, 2)
        collectives(path)


@pytest.mark.parametrize("indent", [None, 2])
def test_the_trace_of_a_distributed_program_is_no_dump(indent: int | None, tmp_path: Path) -> None:
    """Kineto's ``distributedInfo`` lists the process groups under a key that dumps have, too."""
    groups = [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}]
    info = {"backend": "nccl", "rank": 1, "world_size": 2, "pg_count": 1, "pg_config": groups}
    event = {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    trace = {"schemaVersion": 1, "distributedInfo": info, "traceEvents": [event]}
    path = tmp_path / "rank_1.pt.trace.json"
    path.write_text(json.dumps(trace, indent=indent))
    assert not FORMATS["nccl-flight"].starts(path.read_bytes())
    with stepscope.open(path) as session:
        assert len(session.profile.hosts[0].space.events) == 1
