"""Input-bound or not, and why, on profiles whose answers can be worked out by hand."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.input_pipeline_analyzer import (
    TOOL,
    InputPipelineAnalyzer,
    Options,
    _spread,
    input_pipeline_analyzer,
    verdict_of,
)
from stepscope.formats.xspace import decode
from stepscope.result import tables_of
from stepscope.surfaces.outline import outline
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import gpu, line, no_events, pytorch_like, space, stream, worked_example
from tests.profiles import host as host_plane
from tests.profiles.model import EventLike


def profile(*hosts: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(hosts)))


def analyze(*hosts: bytes, **options: str) -> InputPipelineAnalyzer:
    return input_pipeline_analyzer(profile(*hosts), Options(**options))  # type: ignore[arg-type]


def ops(found: InputPipelineAnalyzer) -> dict[str, dict[str, object]]:
    return {str(row["op"]): row for row in found.input_ops.rows()}


def test_waiting_on_the_cpu() -> None:
    found = analyze(worked_example())
    assert found.verdict == "highly_input_bound"
    assert found.input_frac == pytest.approx(200 / 900)
    assert found.step_count == 6
    assert found.device_side.input_wait_ms.mean == pytest.approx(0.2)
    assert found.device_side.input_wait_frac.max == pytest.approx(200 / 900)


def test_waiting_on_a_gpu_counts_the_copy() -> None:
    found = analyze(worked_example(gpu=True))
    assert found.device_side.input_wait_ms.mean == pytest.approx(0.23)
    assert found.device_side.mean_ms["input"] == pytest.approx(0.2)
    assert found.device_side.mean_ms["host_to_device"] == pytest.approx(0.03)


def test_copies_are_not_said_to_be_the_input_pipeline() -> None:
    step = ("train", 0.0, 1000.0, {"step_num": 0, "_r": 1})
    copy = ("MemcpyH2D", 100.0, 600.0, {"memcpy_details": "kind_src:pageable size:8 dest:0"})
    data = space(host_plane(line("python", step)), gpu(0, stream(1, copy)))
    found = analyze(data)
    assert found.input_frac == pytest.approx(0.6)
    assert found.headline == (
        "Copies to the devices, which count as waiting for input, take 60.0 % of step time."
    )
    assert "trace_viewer" in found.next_step


@pytest.mark.parametrize("make", [worked_example, pytorch_like])
def test_categories_sum_to_the_step(make: Callable[[], bytes]) -> None:
    found = analyze(make())
    for row in found.step_table.rows():
        parts = [v for k, v in row.items() if k.endswith("_ms") and k != "step_time_ms"]
        assert sum(parts) == pytest.approx(row["step_time_ms"])
    assert sum(found.device_side.mean_ms.values()) == pytest.approx(
        found.device_side.step_time_ms.mean
    )


def iterators() -> bytes:
    """Two steps; per step Root 400 ⊃ Prefetch 380, on another thread Map 300 ⊃ TFRecord 100."""
    root = "Iterator::Root"
    main: list[EventLike] = []
    pool: list[EventLike] = []
    for step in range(2):
        base = 1000.0 * step
        main += [
            ("train", base, 900.0, {"step_num": step, "_r": 1}),
            ("IteratorGetNextOp::DoCompute", base + 5, 450.0),
            (root, base + 10, 400.0),
            (f"{root}::Prefetch", base + 15, 380.0),
        ]
        pool += [
            (f"{root}::Prefetch::Map[{step}]", base + 20, 300.0),
            (f"{root}::Prefetch::Map[{step}]::TFRecord", base + 25, 100.0),
        ]
    return space(host_plane(line("python", *main), line("tf_data_iterator_resource/1", *pool)))


def test_self_times_and_categories_of_iterators() -> None:
    found = ops(analyze(iterators()))
    assert found["Iterator::Root"]["self_time_ms"] == pytest.approx(0.04)
    assert found["Iterator::Root::Prefetch"]["category"] == "Preprocessing"
    read = found["Iterator::Root::Prefetch::Map[0]::TFRecord"]
    assert (read["category"], read["count"]) == ("Advanced file read", 1)
    assert found["Iterator::Root::Prefetch::Map[0]"]["self_time_ms"] == pytest.approx(0.2)
    assert "IteratorGetNextOp::DoCompute" not in found


def test_instances_can_be_merged() -> None:
    found = ops(analyze(iterators(), instances="merged"))
    assert found["Iterator::Root::Prefetch::Map::TFRecord"]["count"] == 2
    assert found["Iterator::Root::Prefetch::Map"]["self_time_ms"] == pytest.approx(0.4)


def test_a_reader_without_anything_ahead_of_it_is_on_demand() -> None:
    name = "Iterator::Root::BatchV2::TFRecord"
    found = analyze(space(host_plane(line("python", (name, 0, 100.0)))))
    assert ops(found)[name]["category"] == "Demanded file read"
    assert found.verdict == "unknown"
    assert found.input_frac is None
    assert found.diagnostics[0].slug == "no-steps"


def test_fractions_are_of_all_self_time() -> None:
    found = analyze(iterators())
    assert sum(found.input_ops["self_time_frac"]) == pytest.approx(1)
    shares = [one.self_time_frac for one in found.host_breakdown]
    assert sum(share or 0 for share in shares) == pytest.approx(1)
    assert sum(one.self_time_ms for one in found.host_breakdown) == pytest.approx(
        sum(found.input_ops["self_time_ms"])
    )


def test_pytorch_data_loader() -> None:
    found = analyze(pytorch_like())
    (row,) = found.input_ops.rows()
    assert row["op"] == "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert row["self_time_ms"] == pytest.approx(3.0)
    assert found.verdict == "highly_input_bound"
    assert found.input_frac == pytest.approx(600 / 1900)


def test_annotated_stages() -> None:
    stage = {"_ipl_stage_name": "read shards", "_ipl_stage_id": 0, "_ipl_stage_cat": "Read"}
    steps = [("train", 1000.0 * i, 900.0, {"step_num": i, "_r": 1}) for i in range(3)]
    reads = [("whatever", 1000.0 * i + 10, 100.0, stage) for i in range(3)]
    found = analyze(space(host_plane(line("python", *steps, *reads))))
    assert ops(found)["read shards"]["category"] == "Demanded file read"
    assert found.input_frac == pytest.approx(100 / 900)
    assert found.verdict == "moderately_input_bound"


def test_next_calls_of_a_python_loop() -> None:
    steps = [("train", 1000.0 * i, 900.0, {"step_num": i, "_r": 1}) for i in range(3)]
    waits = [("next(batches)", 1000.0 * i + 10, 450.0) for i in range(3)]
    found = analyze(space(host_plane(line("python", *steps, *waits))))
    assert found.input_frac == pytest.approx(0.5)
    assert ops(found)["next(batches)"]["count"] == 3


def test_a_reader_inside_a_python_function_is_a_read() -> None:
    pool = [
        ("map/PyFunc:PyFunc", 0.0, 500.0),
        ("$h5py/_hl/files.py:500 __init__", 100.0, 300.0),
    ]
    elsewhere = [("$h5py/_hl/files.py:500 __init__", 0.0, 700.0)]
    found = ops(
        analyze(
            space(
                host_plane(line("tf_data_private_threadpool/7", *pool), line("python", *elsewhere))
            )
        )
    )
    read = found["$h5py/_hl/files.py:500 __init__"]
    assert (read["category"], read["count"]) == ("Demanded file read", 1)
    assert read["self_time_ms"] == pytest.approx(0.3)
    assert found["map/PyFunc:PyFunc"]["self_time_ms"] == pytest.approx(0.2)


def test_hosts_are_added_not_concatenated() -> None:
    one, two = analyze(iterators()), analyze(iterators(), iterators())
    assert len(two.input_ops) == len(one.input_ops)
    assert ops(two)["Iterator::Root"]["count"] == 4
    assert two.input_ops["self_time_frac"] == pytest.approx(one.input_ops["self_time_frac"])
    assert list(two.host_table["host"]) == ["h0", "h1"]


def test_nothing_recorded_says_what_to_record() -> None:
    unavailable = TOOL.available(profile(no_events()))
    assert unavailable is not None
    assert "step_num" in unavailable.record


def test_without_steps_nothing_is_zero() -> None:
    body = analyze(space(host_plane(line("python", ("Iterator::Root", 0, 5.0))))).to_dict()
    assert body["device_side"]["step_time_ms"]["mean"] is None
    assert body["input_frac"] is None


@given(st.floats(0, 1))
def test_verdicts_follow_the_thresholds(frac: float) -> None:
    order = ["not_input_bound", "moderately_input_bound", "highly_input_bound"]
    assert order.index(verdict_of(frac)) == (frac >= 0.05) + (frac >= 0.2)
    assert not math.isnan(frac)


def on_devices(*copies_us: float) -> bytes:
    """Three steps of 900 µs; each device copies its batch for so long, then computes."""
    steps = [("train", 1000.0 * n, 900.0, {"step_num": n, "_r": 1}) for n in range(3)]
    planes = []
    for device, spent in enumerate(copies_us):
        events: list[EventLike] = []
        for n in range(3):
            # The second step copies 100 µs more on every device.
            copy = spent + (100.0 if n == 1 else 0.0)
            details = {"memcpy_details": "kind_src:pageable size:8 dest:0"}
            events += [
                ("MemcpyH2D", 1000.0 * n, copy, details),
                ("sgemm", 1000.0 * n + copy, 900.0 - copy),
            ]
        planes.append(gpu(device, stream(7, *events)))
    return space(host_plane(line("python", *steps)), *planes)


def test_input_wait_has_its_range_over_devices() -> None:
    found = analyze(on_devices(100.0, 400.0, 100.0)).input_across_workers
    assert found is not None
    assert found.workers == 3
    assert (found.least_worker, found.most_worker) == ("GPU:0", "GPU:1")
    assert [found.least_ms, found.mean_ms, found.most_ms] == pytest.approx(
        [0.4 / 3, (0.4 + 1.3 + 0.4) / 9, 1.3 / 3]
    )
    rows = list(found.per_step.records())
    assert [row.step_num for row in rows] == [0, 1, 2]
    assert [row.least_ms for row in rows] == pytest.approx([0.1, 0.2, 0.1])
    assert [row.mean_ms for row in rows] == pytest.approx([0.2, 0.3, 0.2])
    assert [row.most_ms for row in rows] == pytest.approx([0.4, 0.5, 0.4])
    assert {row.worker for row in rows} == {"GPU:1"}


def test_input_wait_of_several_hosts_names_the_host() -> None:
    found = analyze(on_devices(100.0), on_devices(300.0)).input_across_workers
    assert found is not None
    assert (found.least_worker, found.most_worker) == ("h0 GPU:0", "h1 GPU:0")
    hosts = analyze(worked_example(), worked_example()).input_across_workers
    assert hosts is not None
    assert hosts.most_ms == pytest.approx(0.2)


@pytest.mark.parametrize("data", [on_devices(100.0), worked_example(), no_events()])
def test_one_device_has_no_range_of_the_input_wait(data: bytes) -> None:
    found = analyze(data)
    assert found.input_across_workers is None
    assert "across" not in " ".join(line.label for line in outline(found))
    assert not [name for name in tables_of(found) if "across" in name]


def test_equal_times_have_no_deviation() -> None:
    assert _spread(np.full(7, 0.1)).std == 0
    assert _spread(np.asarray([1.0, 3.0])).std == pytest.approx(2**0.5)
