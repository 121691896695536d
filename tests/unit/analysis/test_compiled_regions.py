"""A compiled function with a graph break, a recompile, Triton kernels and a replayed graph."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis import TOOLS
from stepscope.analysis.compiled_regions import NOT_SEEN, CompiledRegions, compiled_regions
from tests.unit.formats.kineto.layout import PID, profile, text, x


def kernel(
    number: int, ts: float, at: float, dur: float, name: str = "gemm"
) -> list[dict[str, Any]]:
    """A launch, and the kernel that it starts."""
    return [
        x("cuda_runtime", "cudaLaunchKernel", ts, 1, correlation=number),
        x("kernel", name, at, dur, 0, 7, device=0, stream=7, correlation=number),
    ]


def region(name: str, ts: float, dur: float) -> dict[str, Any]:
    return x("cpu_op", f"Torch-Compiled Region: {name}", ts, dur)


RESUMED = "train.py(12): torch_dynamo_resume_in_forward_at_17"


def program() -> list[dict[str, Any]]:
    """Region 0 calls region 1 behind a break at line 17; 1 is compiled again before its second."""
    return [
        x("cpu_op", "TorchDynamo Cache Lookup", 0, 2),
        region("0/0", 5, 60),
        *kernel(1, 10, 1000, 7),
        region("1/0", 30, 20),
        *kernel(2, 35, 1010, 5),
        x("python_function", RESUMED, 29, 25),
        x("cpu_op", "TorchDynamo Cache Lookup", 100, 3),
        region("0/0", 105, 400),
        *kernel(3, 110, 1020, 7),
        x("cpu_op", "entire_frame_compile", 150, 200),
        x("cpu_op", "_compile.compile_inner (dynamo_timed)", 155, 190),
        region("1/1", 360, 20),
        *kernel(4, 365, 1030, 5),
        x("python_function", RESUMED, 359, 30),
        *kernel(5, 600, 1040, 11),
    ]


def test_time_goes_to_the_innermost_region(tmp_path: Path) -> None:
    found = compiled_regions(profile(tmp_path, program()))
    rows = {row["region"]: row for row in found.regions.rows()}
    assert {name: (row["calls"], row["kernels"]) for name, row in rows.items()} == {
        "0/0": (2, 2),
        "1/0": (1, 1),
        "1/1": (1, 1),
    }
    assert rows["0/0"]["device_ms"] == pytest.approx(0.014)
    assert rows["0/0"]["host_ms"] == pytest.approx(0.460)
    assert rows["0/0"]["self_ms"] == pytest.approx(0.420)
    assert found.outside_ms == pytest.approx(0.011)
    assert found.guard_ms == pytest.approx(0.005)


def test_compiling_belongs_to_the_variant_that_runs_next(tmp_path: Path) -> None:
    found = compiled_regions(profile(tmp_path, program()))
    rows = {row["region"]: row for row in found.regions.rows()}
    assert {name: row["compiles"] for name, row in rows.items()} == {"0/0": 0, "1/0": 0, "1/1": 1}
    assert rows["1/1"]["compile_ms"] == pytest.approx(0.2)
    assert found.compiles == 1 and found.compile_ms == pytest.approx(0.2)
    assert "compiled-within" in {one.slug for one in found.diagnostics}


def test_a_break_is_told_by_the_function_that_resumes(tmp_path: Path) -> None:
    (row,) = compiled_regions(profile(tmp_path, program())).breaks.rows()
    assert (row["function"], row["file"], row["line"]) == ("forward", "train.py", 17)
    assert (row["calls"], row["host_ms"]) == (2, pytest.approx(0.055))


def test_without_stacks_breaks_are_not_known(tmp_path: Path) -> None:
    events = [one for one in program() if one["cat"] != "python_function"]
    said = why_empty(compiled_regions(profile(tmp_path, events)))
    assert "with_stack=True" in said["breaks"] and "several regions" in said["breaks"]


def why_empty(found: CompiledRegions) -> dict[str, str]:
    """The reasons, by table; exactly the tables without rows have one."""
    said = {one.slug: one.message for one in found.diagnostics}
    tables = {
        name: len(getattr(found, name))
        for name in ("regions", "breaks", "triton", "graphs", "graph_ops")
    }
    assert {f"empty-{name}" for name, rows in tables.items() if not rows} == {
        slug for slug in said if slug.startswith("empty-")
    }
    return {slug.removeprefix("empty-"): text for slug, text in said.items()}


def test_a_table_without_rows_says_whether_it_was_not_recorded_or_did_not_happen(
    tmp_path: Path,
) -> None:
    whole = [one for one in program() if one["name"] != RESUMED]
    whole.append(x("python_function", "train.py(3): forward", 0, 70))
    said = why_empty(compiled_regions(profile(tmp_path, whole)))
    assert said["breaks"].startswith("No function broke")
    assert said["graphs"] == said["graph_ops"] and "graph was replayed" in said["graphs"]
    said = why_empty(compiled_regions(profile(tmp_path, replay(1, 0, 100, "abc"))))
    assert "replayed from a graph calls none" in said["regions"]
    assert said["breaks"] == "No compiled region was called, so none broke."
    assert "capture" in said["graph_ops"] and "Triton" in said["triton"]
    said = why_empty(
        compiled_regions(profile(tmp_path, kernel(1, 2, 9, 4, "triton_poi_fused_add_0")))
    )
    assert "Older versions" in said["regions"]


def test_kernels_of_triton_have_bytes_and_arguments(tmp_path: Path) -> None:
    name = "triton_poi_fused_add_mul_0"
    said = {"Input_Dims": [[1000], [1000], []], "Input_type": ["float", "float", "Scalar"]}
    events = [
        x(
            "cpu_op",
            name,
            0,
            10,
            kernel_backend="triton",
            kernel_kwargs="XBLOCK=512",
            num_warps=4,
            num_stages=1,
            kernel_file="/tmp/cache/ab.py",
            **said,
        ),
        *kernel(1, 2, 100, 4, name),
        *kernel(2, 20, 110, 6, "triton_red_fused_sum_1"),
    ]
    for key in ("kernel_backend", "kernel_kwargs", "num_warps", "num_stages", "kernel_file"):
        events[0]["args"][key] = events[0]["args"].pop(key.replace("_", " "))
    bare, full = compiled_regions(profile(tmp_path, events)).triton.rows()
    assert (full["kernel"], full["kind"], full["fused"]) == (name, "pointwise", "add_mul")
    assert full["moved_bytes"] == 8000 and full["memory_gbps"] == pytest.approx(2.0)
    assert full["arguments"] == "XBLOCK=512, warps: 4, stages: 1"
    assert full["source"] == "/tmp/cache/ab.py"
    assert (bare["kind"], bare["moved_bytes"]) == ("reduction", None)


def replay(number: int, ts: float, at: float, names: str) -> list[dict[str, Any]]:
    """A launch of a graph, whose kernels run for 3 µs each with a gap of 1 µs between."""
    return [
        x("cuda_runtime", "cudaGraphLaunch", ts, 10, correlation=number),
        *(
            x("kernel", name, at + 4 * place, 3, 0, 7, device=0, stream=7, correlation=number)
            for place, name in enumerate(names)
        ),
    ]


def test_replays_of_the_same_kernels_are_one_graph(tmp_path: Path) -> None:
    events = [*replay(1, 0, 100, "abc"), *replay(2, 20, 121, "abc"), *replay(3, 40, 140, "acb")]
    one, other = compiled_regions(profile(tmp_path, events)).graphs.rows()
    assert (one["graph"], one["replays"], one["kernels_per_replay"]) == (1, 2, 3)
    assert (other["graph"], other["replays"]) == (2, 1)
    assert one["first_kernel"] == "a"
    assert (one["replay_us"], one["inside_gap_us"]) == (pytest.approx(11), pytest.approx(2))
    # The first has nothing before it; the second begins 10 µs after its end, the third 8 µs.
    assert one["gap_before_us"] == one["longest_gap_us"] == pytest.approx(10)
    assert other["gap_before_us"] == pytest.approx(8)
    assert one["device_ms"] == pytest.approx(0.018)
    assert one["launch_us"] == pytest.approx(10)


def test_overlapping_kernels_of_a_replay_are_busy_once(tmp_path: Path) -> None:
    events = replay(1, 0, 100, "ab")
    events.append(x("kernel", "c", 101, 9, 0, 8, device=0, stream=8, correlation=1))
    (row,) = compiled_regions(profile(tmp_path, events)).graphs.rows()
    assert row["kernels_per_replay"] == 3
    assert (row["replay_us"], row["inside_gap_us"]) == (pytest.approx(10), pytest.approx(0))


def run_once(at: float, ops: dict[str, str]) -> list[dict[str, Any]]:
    """Each op in turn, with the kernels that it launches."""
    events = []
    for name, kernels in ops.items():
        events.append(x("cpu_op", name, at, 10, Input_type=["float"]))
        for place, one in enumerate(kernels):
            number = int(at) * 100 + place + 50
            events += [
                x("cuda_runtime", "cudaLaunchKernel", at + 1 + place, 0.5, correlation=number),
                x(
                    "kernel",
                    one,
                    at + 500 + place,
                    0.9,
                    0,
                    7,
                    device=0,
                    stream=7,
                    correlation=number,
                ),
            ]
        at += 20
    return events


def graph_ops(found: CompiledRegions) -> tuple[str, dict[str, tuple[int, float]]]:
    """What tells the ops of the only graph, and of each its kernels and their time in µs."""
    (graph,) = found.graphs.rows()
    rows = found.graph_ops.rows()
    return graph["ops_from"], {
        row["op"]: (row["kernels_per_replay"], row["replay_us"]) for row in rows
    }


TWO_OPS = {"aten::mm": "ab", "aten::relu": "c"}
THEIR_KERNELS = {"aten::mm": (2, 6.0), "aten::relu": (1, 3.0)}


def test_a_run_before_the_capture_tells_the_ops_of_a_graph(tmp_path: Path) -> None:
    events = [*run_once(0, TWO_OPS), *replay(1, 2000, 2100, "abc")]
    told, ops = graph_ops(compiled_regions(profile(tmp_path, events)))
    assert (told, ops) == ("a run outside of graphs", THEIR_KERNELS)


def test_ops_that_launch_the_same_kernels_are_not_told_apart(tmp_path: Path) -> None:
    other = {"aten::addmm": "ab", "aten::relu": "c"}
    events = [*run_once(0, TWO_OPS), *run_once(1000, other), *replay(1, 3000, 3100, "abc")]
    told, ops = graph_ops(compiled_regions(profile(tmp_path, events)))
    assert (told, ops) == (NOT_SEEN, {})


@pytest.mark.parametrize("events", [[], run_once(0, TWO_OPS)], ids=["no run", "another order"])
def test_what_does_not_agree_is_not_guessed(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    events = [*events, *replay(1, 2000, 2100, "acb")]
    assert graph_ops(compiled_regions(profile(tmp_path, events))) == (NOT_SEEN, {})


def test_a_window_before_this_one_may_have_the_capture(tmp_path: Path) -> None:
    for number, events in enumerate((run_once(0, TWO_OPS), replay(1, 2000, 2100, "abc"))):
        path = tmp_path / f"worker_7.{1_700_000_000_000 + number}.pt.trace.json"
        path.write_text(text(events), "utf-8")
        os.utime(path, (number + 1, number + 1))
    with stepscope.open(tmp_path) as session:
        assert len(session.runs) == 2
        earlier = next(run.id for run in session.runs if run.id != session.name)
        told, ops = graph_ops(session.compiled_regions())
    assert (told, ops) == (f"a run outside of graphs in {earlier}", THEIR_KERNELS)


def test_an_eager_program_has_no_such_page(tmp_path: Path) -> None:
    made = profile(tmp_path, [x("cpu_op", "aten::mm", 0, 10), *kernel(1, 2, 100, 4)])
    lacking = TOOLS.find("compiled_regions").available(made)
    assert lacking is not None and "torch.compile" in lacking.record
    assert len(compiled_regions(made).regions) == 0


def test_a_thread_of_another_number_is_another_program(tmp_path: Path) -> None:
    events = [region("0/0", 0, 50)]
    launch = kernel(1, 10, 100, 5)
    launch[0]["tid"] = PID + 1
    found = compiled_regions(profile(tmp_path, [*events, *launch]))
    assert next(found.regions.rows())["kernels"] == 0
