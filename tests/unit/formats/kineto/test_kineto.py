"""Kineto's JSON as planes: what each tool then finds, on traces written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.framework_op_stats import framework_op_stats
from stepscope.analysis.input_pipeline_analyzer import input_pipeline_analyzer
from stepscope.analysis.kernel_stats import kernel_stats
from stepscope.analysis.memory_profile import memory_profile
from stepscope.analysis.overview_page import overview_page
from stepscope.capture.torch.profiler import unfinished
from stepscope.columns import innermost
from stepscope.formats.kineto.annotations import encoded
from stepscope.formats.kineto.names import copy_ends, copy_name, frame_name, op_name
from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.reading import read as reading
from stepscope.formats.kineto.reading.read import read
from stepscope.formats.kineto.steps import StepCount
from stepscope.tables.core.devices import devices
from stepscope.tables.recording.environment import environment
from stepscope.tables.steps.attribution import steps
from stepscope.timeline.flows import flows
from tests.unit.formats.kineto.layout import (
    BASE_NS,
    PID,
    allocation,
    arrow,
    lines,
    profile,
    text,
    trace,
    x,
    xspace,
)

V100 = {
    "deviceProperties": [
        {
            "id": 0,
            "name": "Tesla V100",
            "totalGlobalMem": 2**34,
            "computeMajor": 7,
            "computeMinor": 0,
            "numSms": 80,
        }
    ]
}
MAIN = ("/host:CPU", "python")
GPU = "/device:GPU:0"


def cuda_step(number: int, begin: float) -> list[dict[str, Any]]:
    """A step of 1000 µs: 300 loading, an op of 200 that launches a kernel of 400, and a copy."""
    first = number * 10
    kernel = x(
        "kernel", "volta_sgemm_128x64_nn", begin + 520, 400, 0, 7, External_id=first + 1, device=0,
        stream=7, correlation=first + 2, registers_per_thread=122, shared_memory=12288,
        grid=[4, 16, 1], block=[128, 1, 1],
    )  # fmt: skip
    kernel["args"]["est. achieved occupancy %"] = 31
    return [
        x("user_annotation", f"ProfilerStep#{number}", begin, 1000),
        x(
            "user_annotation",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            begin,
            300,
        ),
        x("cpu_op", "aten::linear", begin + 350, 250, External_id=first),
        x("cpu_op", "aten::addmm", begin + 400, 200, External_id=first + 1,
          Input_Dims=[[8, 16], [16, 4]]),
        x("cuda_runtime", "cudaLaunchKernel", begin + 500, 10, correlation=first + 2),
        kernel,
        x("cuda_runtime", "cudaMemcpyAsync", begin + 610, 10, correlation=first + 3),
        x("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", begin + 930, 20, 0, 7,
          correlation=first + 3, bytes=4096, device=0),
        x("gpu_user_annotation", f"ProfilerStep#{number}", begin + 520, 430, 0, 7),
    ]  # fmt: skip


def cuda_steps(count: int = 4) -> list[dict[str, Any]]:
    return [event for number in range(count) for event in cuda_step(number + 5, 1000.0 * number)]


def test_ops_get_names_that_every_viewer_takes_for_ops() -> None:
    assert op_name("aten::conv2d") == "aten/conv2d:conv2d"
    assert op_name("c10d::allreduce_") == "c10d/allreduce_:allreduce_"
    assert op_name("AddmmBackward0") == "autograd/AddmmBackward0:AddmmBackward0"
    assert op_name("detach") == "torch/detach:detach"
    for text_ in ("autograd::engine::evaluate_function: AddmmBackward0", "## 1 ##", "", "a b"):
        assert op_name(text_) == text_


def test_python_calls_are_written_as_everywhere() -> None:
    assert frame_name("train.py(12): step") == "$train.py:12 step"
    assert frame_name("nn.Module: Linear_0") == "$nn.Module: Linear_0"


def test_copies_have_one_name_per_direction() -> None:
    assert copy_name("Memcpy HtoD (Pageable -> Device)") == "MemcpyH2D"
    assert copy_name("CopyDeviceToHost") == "MemcpyD2H"
    assert copy_name("Memset (Device)") == "Memset"
    assert copy_ends("Memcpy HtoD (Pageable -> Device)") == ("pageable", "device")
    assert copy_ends("CopyDeviceToHost") == ("device", "host")


def test_times_are_absolute_to_the_nanosecond(tmp_path: Path) -> None:
    made = trace(tmp_path, [x("cpu_op", "aten::add", 4_410_699_696_319.266, 2.152)])
    assert made.slices["start_ns"].tolist() == [BASE_NS + 4_410_699_696_319_266]
    assert made.slices["duration_ns"].tolist() == [2152]


def test_times_of_2021_count_from_1970_and_keep_their_microseconds(tmp_path: Path) -> None:
    made = trace(
        tmp_path,
        [x("Operator", "aten::add", 1_623_142_623_460_111, 25)],
        baseTimeNanoseconds=0,
    )
    assert made.slices["start_ns"].tolist() == [1_623_142_623_460_111_000]


def test_a_cuda_trace_as_planes(tmp_path: Path) -> None:
    found = lines(xspace(tmp_path, cuda_step(5, 0.0), **V100))
    main = {event["name"]: event for event in found[MAIN]}
    assert main["ProfilerStep#5"] == {
        "name": "ProfilerStep#5",
        "begin": 0,
        "length": 1000,
        "step_num": 5,
        "_r": 1,
    }
    assert main["aten/addmm:addmm"]["shape"] == "[[8, 16], [16, 4]]"
    loader = main["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"]
    # A loader without worker processes is named so: advice need not read names of iterators.
    assert loader["_ipl_stage_name"] == "DataLoader without workers"
    assert loader["_ipl_stage_cat"] == "preprocessing"
    assert main["cudaLaunchKernel"]["correlation_id"] == 52
    kernel, copy = found[GPU, "Stream #7(Compute)"]
    assert kernel == {
        "name": "volta_sgemm_128x64_nn",
        "begin": 520,
        "length": 400,
        "correlation_id": 52,
        "kernel_details": "regs:122 shm:12288 grid:4,16,1 block:128,1,1 occ_pct:31",
        "tf_op": "aten/addmm:addmm",
    }
    assert copy["name"] == "MemcpyD2H"
    assert copy["memcpy_details"] == "kind_src:device kind_dst:pinned size:4096 dest:0 async:1"
    (scope,) = found[GPU, "Framework Name Scope #7"]
    assert scope["name"] == "ProfilerStep#5"


def test_every_tool_reads_a_cuda_trace(tmp_path: Path) -> None:
    made = profile(tmp_path, cuda_steps(), **V100)
    overview = overview_page(made)
    assert overview.environment.framework == "PyTorch"
    assert (overview.steps.source, overview.steps.count) == ("markers", 4)
    assert overview.breakdown_ms["input"] == pytest.approx(0.3)
    assert overview.breakdown_ms["device_compute_32"] == pytest.approx(0.4)
    (kernel,) = kernel_stats(made).kernels.rows()
    assert (kernel["occurrences"], kernel["total_duration_us"]) == (4, 1600)
    assert (kernel["op_name"], kernel["registers_per_thread"]) == ("aten/addmm", 122)
    ops = {row["operation"]: row for row in framework_op_stats(made).ops.rows()}
    assert ops["aten/addmm"]["total_time_us"] > 0
    assert input_pipeline_analyzer(made).verdict == "highly_input_bound"
    (gpu,) = devices(made.hosts[0])
    assert gpu.type == "Tesla V100 (Volta)"
    assert gpu.capabilities["core_count"] == 80
    assert sum(kind == 0 for kind in flows(made).kind.tolist()) == 8


def test_kernels_of_rocm_have_their_launch_from_the_call(tmp_path: Path) -> None:
    events = [
        x(
            "cuda_runtime",
            "hipLaunchKernel",
            10,
            5,
            correlation=9,
            grid=[2, 1, 1],
            block=[256, 1, 1],
            shared_memory=64,
        ),
        x("kernel", "Cijk_gemm", 20, 30, 2, 0, device=2, stream=0, correlation=9),
    ]
    head = {"hip_driver_version": 6, "deviceProperties": [{"id": 2, "name": "AMD Instinct MI300X"}]}
    data = xspace(tmp_path, events, **head)
    (kernel,) = lines(data)["/device:GPU:2", "Stream #0(Compute)"]
    assert kernel["kernel_details"] == "shm:64 grid:2,1,1 block:256,1,1"
    made = profile(tmp_path, events, **head)
    (row,) = kernel_stats(made).kernels.rows()
    assert row["registers_per_thread"] is None
    assert devices(made.hosts[0])[0].type == "AMD Instinct MI300X"


def test_forward_and_backward_are_tied_by_the_innermost_op_at_the_arrows_end(
    tmp_path: Path,
) -> None:
    made = profile(
        tmp_path,
        [
            x("cpu_op", "aten::linear", 0, 100),
            x("cpu_op", "aten::addmm", 0, 50),
            arrow("s", 7, 0),
            x("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 200, 100, tid=101),
            x("cpu_op", "AddmmBackward0", 205, 90, tid=101),
            arrow("f", 7, 205, tid=101),
        ],
    )
    found, space = flows(made), made.hosts[0].space
    ends = [
        space.event_metadata.name[space.events.metadata[int(row)]]
        for row in (found.source[0], found.target[0])
    ]
    assert (len(found), ends) == (
        1,
        ["aten/addmm:addmm", "autograd/AddmmBackward0:AddmmBackward0"],
    )
    assert environment(made.hosts[0]).is_training is True


def test_without_marks_a_step_lasts_from_one_optimizer_step_to_the_next(tmp_path: Path) -> None:
    events = []
    for number in range(4):
        events += [
            x("cpu_op", "aten::mm", 100.0 * number + 10, 50),
            x("user_annotation", "Optimizer.step#Adam.step", 100.0 * number + 70, 20),
        ]
    found = steps(profile(tmp_path, events).hosts[0])
    assert found is not None
    # The recording began in step 0, which has no begin and does not count.
    assert found.markers.num.tolist() == [0, 1, 2, 3]
    assert found.markers.name == ["step 0", "step 1", "step 2", "step 3"]
    assert found.kept.tolist() == [False, True, True, True]
    length = found.markers.end_ps - found.markers.start_ps
    assert length[found.kept].tolist() == [100_000_000] * 3


def test_steps_go_on_through_chunks(tmp_path: Path) -> None:
    count = StepCount()
    numbers, lengths = [], []
    for chunk in (range(3), range(3, 5)):
        made = trace(
            tmp_path,
            [x("user_annotation", "Optimizer.step#Adam.step", 100.0 * n, 20) for n in chunk],
        )
        found = lines(to_xspace(made, count=count)[0])[MAIN]
        marks = [event for event in found if event["name"] == "train"]
        numbers += [event["step_num"] for event in marks]
        lengths += [event["length"] for event in marks]
    assert numbers == [1, 2, 3, 4]
    assert lengths == [100] * 4


def test_of_two_optimizers_the_busier_one_gives_the_steps(tmp_path: Path) -> None:
    events = [x("user_annotation", "Optimizer.step#D.step", 10.0 * n, 2) for n in range(6)]
    events += [x("user_annotation", "Optimizer.step#G.step", 20.0 * n + 5, 2) for n in range(3)]
    found = [one for one in lines(xspace(tmp_path, events))[MAIN] if one["name"] == "train"]
    assert [one["length"] for one in found] == [10] * 5


def test_two_optimizers_of_a_class_share_the_step_of_their_backward_pass(tmp_path: Path) -> None:
    """Sparse and dense parameters have an SGD each: it steps twice after one backward pass."""
    events = []
    for at in (0.0, 10.0, 20.0, 30.0):
        name = "autograd::engine::evaluate_function: AddmmBackward0"
        events.append(x("cpu_op", name, at, 2))
        events += [x("user_annotation", "Optimizer.step#SGD.step", at + n, 2) for n in (4, 7)]
    found = [one for one in lines(xspace(tmp_path, events))[MAIN] if one["name"] == "train"]
    assert [(one["begin"], one["length"]) for one in found] == [(9, 10), (19, 10), (29, 10)]


def adversarial(parts: list[int], begin: float = 0.0) -> list[dict[str, Any]]:
    """One optimizer step every 10 us, each after a backward pass of so many parts."""
    name = "autograd::engine::evaluate_function: AddmmBackward0"
    events = []
    for turn, count in enumerate(parts):
        at = begin + 10.0 * turn
        of_loss = "SubBackward0" if count >= 8 else "MeanBackward0"
        ops = [*[name] * (count - 1), name.replace("AddmmBackward0", of_loss)]
        events += [x("cpu_op", op, at + 0.1 * part, 0.05) for part, op in enumerate(ops)]
        events.append(x("user_annotation", "Optimizer.step#Adam.step", at + 7, 2))
    return events


@pytest.mark.parametrize(
    ("parts", "lengths"),
    [
        ([5, 3] * 6, [20] * 5),  # a GAN: discriminator and generator have an Adam each
        ([5, 3, 2] * 6, [30] * 5),
        ([8, 8, 8, 8, 8, 6] * 4, [60] * 3),  # a critic's five turns for each of the generator
        ([7, 7, 7, 7, 7, 6] * 4, [10] * 23),  # one lacks a gradient that is not needed
        ([4] * 12, [10] * 11),
        ([4, 4, 4, 4, 6, 4] * 3, [10] * 17),  # each sixth step logs a gradient
        ([5, 3, 4, 5, 3, 5, 4, 3, 5, 4], [10] * 9),  # sentences of any length
    ],
)
def test_optimizers_that_take_turns_share_a_step(
    tmp_path: Path, parts: list[int], lengths: list[int]
) -> None:
    found = [
        one for one in lines(xspace(tmp_path, adversarial(parts)))[MAIN] if one["name"] == "train"
    ]
    assert [one["length"] for one in found] == lengths


def test_optimizers_that_take_turns_do_so_in_every_chunk(tmp_path: Path) -> None:
    count = StepCount()
    chunks = ([5, 3] * 6, [3, 5, 3])  # the second begins behind a rest, within a round
    found = [
        one
        for chunk, parts in enumerate(chunks)
        for one in lines(
            to_xspace(trace(tmp_path, adversarial(parts, 1000.0 * chunk)), count=count)[0]
        )[MAIN]
        if one["name"] == "train"
    ]
    assert [one["length"] for one in found] == [20] * 5 + [890, 20]
    assert [one["step_num"] for one in found] == [1, 2, 3, 4, 5, 6, 7]


def test_marks_of_the_program_come_before_the_optimizers(tmp_path: Path) -> None:
    optimizer = [x("user_annotation", "Optimizer.step#A.step", 10.0 * n, 2) for n in range(3)]
    marked = [x("cpu_op", "train#step_num=3,_r=1#", 0, 9), *optimizer]
    found = lines(xspace(tmp_path, marked))[MAIN]
    assert [(one["step_num"], one["length"]) for one in found if one["name"] == "train"] == [(3, 9)]


def test_annotations_of_ours_get_their_values_back(tmp_path: Path) -> None:
    events = [
        x("cpu_op", "load##", 0, 1),
        x("cpu_op", "eval#epoch=2,loss=0.5,split=a b#", 2, 1),
        x("cpu_op", "C# compiler", 4, 1),
        x("cpu_op", "#1 fan#", 6, 1),
    ]
    assert lines(xspace(tmp_path, events))[MAIN] == [
        {"name": "load", "begin": 0, "length": 1},
        {"name": "eval", "begin": 2, "length": 1, "epoch": 2, "loss": 0.5, "split": "a b"},
        {"name": "C# compiler", "begin": 4, "length": 1},
        {"name": "#1 fan#", "begin": 6, "length": 1},
    ]


@pytest.mark.parametrize("text_", ["", "a, b", "#", "x=1#y", "µ 名前", "50%", "%2C", '"\\', "\0"])
def test_any_annotation_comes_through(tmp_path: Path, text_: str) -> None:
    name = encoded(text_, {"key, =": text_ or "-", "n": -3, "f": 1.5, "is": True})
    assert name.isascii()
    (found,) = lines(xspace(tmp_path, [x("cpu_op", name, 0, 1)]))[MAIN]
    assert found == {
        "name": text_,
        "begin": 0,
        "length": 1,
        "key, =": text_ or "-",
        "n": -3,
        "f": 1.5,
        "is": 1,
    }


def test_allocations_say_who_took_what_and_what_that_left(tmp_path: Path) -> None:
    gpu = {"Device_Type": 1, "Device_Id": 0, "Total_Reserved": 5000}
    other = gpu | {"Device_Id": 1}
    events = [
        x("cpu_op", "aten::linear", 0, 100),
        x("cpu_op", "aten::empty", 10, 20),
        allocation(15, 1000, 1000),
        allocation(50, 500, 1500, addr=2**64 - 64),
        allocation(60, -1000, 500),
        allocation(150, 2000, 3000, **gpu),
        allocation(160, 2000, 3000, **other),
    ]
    planes = lines(xspace(tmp_path, events, **V100))
    found = {one["begin"]: one for one in planes[MAIN] if "addr" in one}
    first, second, freed, on_gpu, unlisted = (found[time] for time in (15, 50, 60, 150, 160))
    assert first["name"] == second["name"] == "MemoryAllocation"
    assert (first["tf_op"], second["tf_op"]) == ("aten/empty:empty", "aten/linear:linear")
    assert (freed["name"], freed["allocation_bytes"]) == ("MemoryDeallocation", 1000)
    assert (freed["bytes_allocated"], freed["peak_bytes_in_use"]) == (500, 1500)
    assert second["addr"] == -64
    assert "bytes_available" not in first  # the CPU's allocator keeps nothing in reserve
    # What is free is the device's, whatever the allocator has reserved so far.
    assert (on_gpu["allocator_name"], on_gpu["bytes_available"]) == ("torch_gpu_0", 2**34 - 3000)
    assert unlisted["allocator_name"] == "torch_gpu_1" and "bytes_available" not in unlisted
    assert "tf_op" not in on_gpu
    memories = {one.id: one for one in memory_profile(profile(tmp_path, events)).memories}
    assert memories["torch_cpu"].peak_bytes == 1500
    assert memories["torch_gpu_0"].peak_bytes == 3000


def test_python_calls_have_a_plane_of_their_own(tmp_path: Path) -> None:
    events = [
        x("cpu_op", "aten::add", 5, 1),
        x("python_function", "train.py(3): main", 0, 10, 0, 0),
        x("python_function", "nn.Module: Linear_0", 4, 3, PID, 101),
    ]
    data = lines(xspace(tmp_path, events))
    # A version of PyTorch lost the thread: it is the main one.
    assert [one["name"] for one in data["/device:CUSTOM:Python calls", "python"]] == [
        "$train.py:3 main"
    ]
    assert ("/device:CUSTOM:Python calls", "thread 101") in data


def test_threads_have_the_names_that_the_system_gives_them(tmp_path: Path) -> None:
    name = {
        "ph": "M",
        "name": "thread_name",
        "ts": 0,
        "pid": PID,
        "tid": 101,
        "args": {"name": "thread 101 (pt_autograd_0)"},
    }
    events = [name, x("cpu_op", "aten::a", 0, 1), x("cpu_op", "aten::a", 0, 1, tid=101)]
    assert set(lines(xspace(tmp_path, events))) == {MAIN, ("/host:CPU", "pt_autograd_0")}


def test_below_level_two_ops_are_left_out(tmp_path: Path) -> None:
    made = trace(tmp_path, [x("cpu_op", "aten::add", 0, 1), x("user_annotation", "mine", 0, 2)])
    found = lines(to_xspace(made, ops=False)[0])
    assert [one["name"] for one in found[MAIN]] == ["mine"]


@pytest.mark.parametrize("piece_bytes", [64, 500, 4 << 20])
def test_where_the_text_is_cut_makes_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    monkeypatch.setattr(reading, "_PIECE_BYTES", piece_bytes)
    made = trace(tmp_path, cuda_steps(5))
    assert len(made.slices["name"]) == 45
    assert made.lost == 0


def test_a_layout_of_another_program_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    words = {"traceEvents": cuda_steps(2), "meta": "}]", "baseTimeNanoseconds": BASE_NS}
    path.write_text(json.dumps(words))
    made = read(path)
    assert len(made.slices["name"]) == 18
    assert int(made.slices["start_ns"].min()) == BASE_NS
    path.write_text(json.dumps(words, indent=2))
    assert len(read(path).slices["name"]) == 18


@pytest.mark.parametrize("content", ["", "[]", '{"traceEvents": 5}', '{"a": 1}'])
def test_a_text_that_is_no_trace_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"traceEvents|Expecting"):
        read(path)


def test_events_that_make_no_sense_are_counted_and_left_out(tmp_path: Path) -> None:
    bad: list[Any] = [
        {"ph": "X", "cat": "cpu_op", "name": 5, "ts": 1},
        {"ph": "X", "cat": "cpu_op", "name": "a", "ts": "soon"},
        {"ph": "X", "cat": "cpu_op", "name": "a"},
        {"name": "no phase", "ts": 1},
    ]
    made = trace(tmp_path, [x("cpu_op", "aten::add", 0, 1), *bad])
    assert (len(made.slices["name"]), made.lost) == (1, 4)


def test_one_event_that_is_no_json_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text(cuda_steps(2)).replace('"aten::linear"', '"aten::lin"ear"', 1))
    made = read(path)
    assert (len(made.slices["name"]), made.lost, made.damage.repaired) == (18, 0, 1)
    path.write_text(
        text(cuda_steps(2)).replace('"name": "aten::linear"', '"name" "aten::linear"', 1)
    )
    made = read(path)
    assert (len(made.slices["name"]), made.lost) == (17, 1)


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    name = "<script>\n  },\n  {\x1b[31m=cmd()#,\ud800"
    found = lines(
        xspace(tmp_path, [x("user_annotation", name, 0, 1), x("cpu_op", "aten::a", 2, 1)])
    )
    assert found[MAIN][0]["name"] == name.replace("\ud800", "\N{REPLACEMENT CHARACTER}")


def test_an_empty_trace_is_an_empty_host(tmp_path: Path) -> None:
    assert to_xspace(trace(tmp_path, []))[1] == 0


@given(st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=4), max_leaves=25))
def test_the_innermost_of_nested_intervals_is_found(tree: Any) -> None:
    """Against walking the nest: every half unit of time is asked for."""
    begin: list[int] = []
    end: list[int] = []
    wanted: list[int] = []
    clock = 0

    def walk(children: Any, around: int) -> None:
        nonlocal clock
        for child in children:
            own = len(begin)
            begin.append(clock)
            end.append(0)
            wanted.append(own)
            clock += 1
            walk(child, own)
            wanted.append(own)
            clock += 1
            end[own] = clock
            wanted.append(around)
            clock += 1

    walk(tree, -1)
    found = innermost(
        np.asarray(begin, dtype=np.int64),
        np.asarray(end, dtype=np.int64),
        np.arange(clock, dtype=np.int64),
    )
    assert found.tolist() == wanted


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=8), st.booleans(), st.booleans()), max_size=30)
)
def test_what_has_not_ended_is_named_without_reading_the_trace(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, bool, bool]]
) -> None:
    """The brute-force twin parses it. Allocations say of themselves that they have not ended."""
    rows = []
    for number, (name, is_open, is_allocation) in enumerate(events):
        if is_allocation:
            row = allocation(number, 8, 8, finished=False, Ev_Idx=number)
        else:
            row = x("cpu_op", name, number, 1)
            row["args"] |= {"finished": False} if is_open else {}
        rows.append(row)
    path = tmp_path_factory.mktemp("open") / "trace.json"
    path.write_text(text(rows), "utf-8")
    wanted = dict.fromkeys(
        event["name"]
        for event in json.loads(path.read_bytes())["traceEvents"]
        if event["ph"] == "X" and event.get("args", {}).get("finished", True) is False
    )
    assert unfinished(path) == tuple(wanted)[:5]


def test_begins_and_ends_become_ranges(tmp_path: Path) -> None:
    def mark(phase: str, name: str, ts: float, tid: int = PID) -> dict[str, Any]:
        return {"ph": phase, "cat": "cpu_op", "name": name, "pid": PID, "tid": tid, "ts": ts}

    events = [
        mark("B", "aten::outer", 0),
        mark("B", "aten::inner", 2),
        mark("B", "aten::other", 3, 7),
        mark("E", "aten::inner", 5),
        mark("E", "aten::outer", 9),
        mark("E", "aten::other", 4, 7),
        mark("B", "aten::again", 9),
        mark("E", "aten::again", 10),
        mark("B", "aten::open", 11),
    ]
    made = trace(tmp_path, events)
    assert made.unpaired == 1
    names = [made.names[code] for code in made.slices["name"].tolist()]
    found = zip(names, (made.slices["duration_ns"] / 1000).tolist(), strict=True)
    assert dict(found) == {"aten::outer": 9, "aten::inner": 3, "aten::other": 1, "aten::again": 1}
