"""What devices ran, how it was launched, and what events say of themselves."""

from __future__ import annotations

import json
from pathlib import Path

from stepscope.analysis.overview_page import overview_page
from tests.unit.formats.kineto.layout import PID, lines, profile, x, xspace

MAIN = ("/host:CPU", "python")


def test_a_copy_whose_name_says_nothing_is_known_by_its_arguments(tmp_path: Path) -> None:
    events = [
        x("gpu_memcpy", "Memcpy", 0, 5, 0, 7, stream=7, copy_kind="HtoD", src_kind="Pageable",
          dst_kind="Device", bytes=64),
        x("gpu_memcpy", "Memcpy", 10, 5, 0, 7, stream=7, kind="DtoH", bytes=32),
        x("gpu_memset", "fill", 20, 5, 0, 7, stream=7, bytes=32),
    ]  # fmt: skip
    found = lines(xspace(tmp_path, events))["/device:GPU:0", "Stream #7(Memcpy)"]
    assert [one["name"] for one in found] == ["MemcpyH2D", "MemcpyD2H", "Memset"]
    assert found[0]["memcpy_details"] == "kind_src:pageable kind_dst:device size:64 dest:0 async:1"


def test_kernels_without_an_op_say_why(tmp_path: Path) -> None:
    """Launched before the recording, replayed from a graph, launched by no op: named groups."""
    kernel = {"device": 0, "stream": 7}
    events = [
        x("kernel", "early", 0, 5, 0, 7, **kernel, correlation=1),
        x("cpu_op", "aten::mm", 10, 20, External_id=5),
        x("cuda_runtime", "cudaLaunchKernel", 12, 4, correlation=2),
        x("kernel", "mine", 20, 5, 0, 7, **kernel, correlation=2, External_id=77),
        x("cuda_runtime", "cudaGraphLaunch", 40, 4, correlation=3),
        x("kernel", "replayed", 50, 5, 0, 7, **kernel, correlation=3),
        x("cuda_runtime", "cudaLaunchKernel", 60, 4, correlation=4),
        x("kernel", "raw", 70, 5, 0, 7, **kernel, correlation=4),
        x("kernel", "lost", 80, 5, 0, 7, **kernel, correlation=9),
    ]
    found = lines(xspace(tmp_path, events))["/device:GPU:0", "Stream #7(Compute)"]
    assert {one["name"]: one["tf_op"] for one in found} == {
        "early": "Launched before the recording",
        "mine": "aten/mm:mm",
        "replayed": "Replayed from a graph",
        "raw": "Launched outside of any op",
        "lost": "Launch not recorded",
    }
    (device,) = overview_page(profile(tmp_path, events)).window.devices
    assert (device.events, device.with_op, device.without_launch) == (5, 1, 2)


def test_grids_that_count_threads_become_blocks(tmp_path: Path) -> None:
    shape = {"grid": [350208, 1, 1], "block": [256, 1, 1]}
    events = [
        x("cuda_runtime", "hipExtModuleLaunchKernel", 0, 5, correlation=1, **shape),
        x("kernel", "Cijk_gemm", 10, 5, 2, 0, device=2, stream=0, correlation=1, **shape),
        x("cuda_runtime", "hipLaunchKernel", 20, 5, correlation=2, **shape),
        x("kernel", "add", 30, 5, 2, 0, device=2, stream=0, correlation=2, **shape),
    ]
    found = lines(xspace(tmp_path, events))["/device:GPU:2", "Stream #0(Compute)"]
    assert [one["kernel_details"] for one in found] == [
        "grid:1368,1,1 block:256,1,1",
        "grid:350208,1,1 block:256,1,1",
    ]


def test_what_an_event_says_of_itself_is_kept(tmp_path: Path) -> None:
    events = [
        x("cpu_op", "aten::mm", 0, 10, Input_Dims=[[2, 3], [3, 4]], Input_type=["float", "float"],
          Concrete_Inputs=["", ""], Sequence_number=12, Fwd_thread_id=1),
        x("kernel", "ncclDevKernel_AllReduce", 20, 5, 0, 7, device=0, stream=7, correlation=1,
          Collective_name="allreduce", Process_Group_Name="0", In_msg_nelems=1024),
        x("cuda_sync", "Stream Wait Event", 30, 5, 0, 7, stream=7, wait_on_stream=13),
        x("mystery", "new", 40, 5, cores=7, load=0.5, why="who knows"),
    ]  # fmt: skip
    found = lines(xspace(tmp_path, events))
    (op,) = found[MAIN]
    assert (op["shape"], op["sequence_number"]) == ("[[2, 3], [3, 4]]", 12)
    assert json.loads(op["args"]) == {
        "Concrete Inputs": ["", ""],
        "Fwd thread id": 1,
        "Input type": ["float", "float"],
    }
    (kernel,) = found["/device:GPU:0", "Stream #7(Communication)"]
    assert json.loads(kernel["args"])["Collective name"] == "allreduce"
    (wait,) = found["/device:GPU:0", "Synchronization #7"]
    assert wait["wait on stream"] == 13
    (other,) = found["/device:CUSTOM:Other events", f"mystery {PID}"]
    assert (other["name"], other["cores"], other["load"]) == ("new", 7, 0.5)
    assert json.loads(other["args"]) == {"why": "who knows"}


def test_waits_of_an_mtia_are_not_computing(tmp_path: Path) -> None:
    """MTIA has one category for all that a device does; its collectives stay kernels."""
    device = {"device": 0, "stream": 7}
    events = [
        x("cpu_op", "aten::mm", 0, 20, External_id=5),
        x("mtia_runtime", "runFunction - job_prep_and_submit_for_execution", 2, 4, correlation=1),
        x("mtia_ccp_events", "fused_mm_kernel", 10, 30, 0, 7, **device, correlation=1),
        x("mtia_ccp_events", "event_wait", 40, 50, 0, 7, **device),
        x("mtia_ccp_events", "Stream Synchronize", 90, 60, 0, 7, **device),
        x("mtia_ccp_events", "async_copy_kernel", 150, 5, 0, 7, **device),
        x("mtia_ccp_events", "hccl::all_reduce_sync", 160, 20, 0, 7, **device),
    ]
    found = lines(xspace(tmp_path, events))
    work = found["/device:GPU:0", "Stream #7(Compute)"]
    assert [one["name"] for one in work] == [
        "fused_mm_kernel",
        "async_copy_kernel",
        "hccl::all_reduce_sync",
    ]
    waits = found["/device:GPU:0", "Synchronization #7"]
    assert [(one["name"], one["length"]) for one in waits] == [
        ("event_wait", 50),
        ("Stream Synchronize", 60),
    ]
    (gpu,) = overview_page(profile(tmp_path, events)).window.devices
    assert (gpu.busy_ns, gpu.communication_ns) == (55_000, 20_000)
