"""The tables people query."""

import numpy as np
import polars as pl
import pytest

from stepscope.formats.xspace import decode
from stepscope.sql.door import check_query
from stepscope.sql.examples import EXAMPLES, Example
from stepscope.sql.run import run_query
from stepscope.sql.tables import TABLES
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline import timeline
from stepscope.timeline.places import place
from tests.profiles import worked_example
from tests.profiles.memory import Heap
from tests.profiles.model import Kind, gpu, host, line, plane, space, stream


def profile(*data: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{i}", decode(one)) for i, one in enumerate(data)))


def test_events_keep_hosts_and_lines_apart() -> None:
    frame = TABLES["events"].build(profile(worked_example(), worked_example(gpu=True)))
    counts = dict(frame.group_by("host").len().iter_rows())
    assert counts == {"h0": 8 * 6, "h1": 8 * 10}
    kernels = frame.filter(
        (frame["plane"] == "/device:GPU:0") & (frame["name"] == "ampere_sgemm_s1688")
    )
    assert kernels["duration_us"].to_list() == [150.0] * 8
    assert kernels["start_us"].to_list() == [1000.0 * i + 400 for i in range(8)]


def test_steps_have_their_parts() -> None:
    frame = TABLES["steps"].build(profile(worked_example(gpu=True)))
    assert frame["step_num"].to_list() == list(range(8))
    parts = [
        name
        for name in frame.columns
        if name.endswith("_ms") and name not in ("start_ms", "step_time_ms")
    ]
    assert frame.select(parts).sum_horizontal().to_list() == pytest.approx([0.9] * 8)


def test_ops_of_both_sides() -> None:
    frame = TABLES["ops"].build(profile(worked_example(gpu=True)))
    assert set(zip(frame["side"], frame["type"], strict=True)) == {
        ("Host", "MatMul"),
        ("Host", "Mul"),
        ("Device", "MatMul"),
        ("Device", "MemcpyHToD"),
    }


@pytest.mark.parametrize("name", TABLES)
def test_an_empty_profile_gives_empty_frames_with_columns(name: str) -> None:
    frame = TABLES[name].build(profile(space(host())))
    assert frame.height == 0
    assert frame.width > 3


_TYPES = {
    "text": (pl.String, pl.Categorical),
    "integer": (pl.Int64,),
    "number": (pl.Float64,),
    "flag": (pl.Boolean,),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("empty", [False, True])
def test_a_table_has_the_columns_it_declares(name: str, empty: bool) -> None:
    data = space(host()) if empty else worked_example(gpu=True)
    frame = TABLES[name].build(profile(data))
    assert frame.columns == [column.name for column in TABLES[name].columns]
    for column in TABLES[name].columns:
        assert isinstance(frame.schema[column.name], _TYPES[column.type]), column.name
        assert column.meaning.endswith(".")


def test_kernels_are_runs_with_their_op_and_step() -> None:
    frame = TABLES["kernels"].build(profile(worked_example(gpu=True)))
    sgemm = frame.filter(pl.col("name") == "ampere_sgemm_s1688")
    assert sgemm["duration_us"].to_list() == [150.0] * 8
    assert sgemm["step_num"].to_list() == list(range(8))
    assert set(sgemm["class"]) == {"gemm"} and set(sgemm["device"]) == {"GPU:0"}
    assert set(sgemm["op_type"]) == {"MatMul"}
    assert not frame["name"].cast(pl.String).str.contains("(?i)memcpy").any()


def test_event_ids_are_those_of_the_timeline() -> None:
    two = profile(worked_example(), worked_example(gpu=True))
    drawn = timeline(two)
    for name in ("events", "kernels"):
        frame = TABLES[name].build(two).filter(pl.col("host") == "h1")
        for row in frame.sample(5, seed=1).iter_rows(named=True):
            at = place(drawn, row["event"])
            assert drawn.names[at.name] == row["name"]
            assert at.begin_ps / 1e6 == pytest.approx(row["start_us"])


def test_memory_says_what_was_taken_and_given_back() -> None:
    heap = Heap("GPU_0_bfc")
    heap.take(10, 0x100, 512, tf_op="Conv2D")
    heap.take(20, 0x900, 256, tf_op="MatMul")
    heap.give(30, 0x100)
    frame = TABLES["memory"].build(profile(space(host(line("allocator", *heap.events)))))
    rows = frame.select("time_us", "in_use_bytes", "change_bytes", "op").rows()
    assert rows == [(10, 512, 512, "Conv2D"), (20, 768, 256, "MatMul"), (30, 256, -512, "Conv2D")]


@pytest.mark.parametrize(
    ("name", "unit", "values"),
    [("power", "W", [90.5, 250.0, 110.0]), ("utilisation", "%", [0.0, 97.0]), ("clock", "", [1.0])],
)
def test_counters_have_every_reading(name: str, unit: str, values: list[float]) -> None:
    readings = [(name, 10.0 * at, 0, {"value": value}) for at, value in enumerate(values)]
    kinds = {name: Kind(stats={"unit": unit})} if unit else None
    planes = plane("/device:GPU:0", line("_counters_", *readings), kinds=kinds)
    frame = TABLES["counters"].build(profile(space(planes)))
    assert frame["value"].to_list() == values
    assert frame["time_us"].to_list() == [10.0 * at for at in range(len(values))]
    assert set(zip(frame["plane"], frame["counter"], frame["unit"], strict=True)) == {
        ("/device:GPU:0", name, unit)
    }


def test_collectives_wait_for_the_last_device() -> None:
    both = [
        gpu(n, stream(7, ("ncclDevKernel_AllReduce_Sum_f32", begin, 90 - begin)))
        for n, begin in enumerate((10, 40))
    ]
    frame = TABLES["collectives"].build(profile(space(*both))).sort("device")
    assert frame["wait_us"].to_list() == [30.0, 0.0]
    assert frame["transfer_us"].to_list() == [50.0, 50.0]
    assert np.unique(frame["operation"]).tolist() == [0]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.question)
@pytest.mark.parametrize("empty", [False, True])
def test_the_examples_run(example: Example, empty: bool) -> None:
    check_query(example.query)
    data = space(host()) if empty else worked_example(gpu=True)
    assert run_query(profile(data), example.query).width > 1
