"""Real PyTorch on the CPU under our recording, as every tool then sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis import TOOLS
from stepscope.errors import NothingToShow
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.attribution import steps
from tests.profiles import parse

pytestmark = [
    pytest.mark.framework_torch,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
]
ROOT = Path(__file__).parents[2]
# This tree, whatever is installed.
PATHS = os.pathsep.join([str(ROOT), str(ROOT / "src")])
STEPS = 24


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("torch"))


@pytest.fixture(scope="module")
def recorded_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a process with a fresh heap: whether one breaks into pieces rests on what ran before."""
    return recorded(tmp_path_factory.mktemp("alone"), "in_pieces")


def recorded(folder: Path, *names: str) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "tests.live.torch_programs", str(folder), *names],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": PATHS},
        timeout=280,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "USDT" not in done.stderr  # Kineto's own log stays away from the program's
    return folder


def said(recordings: Path, name: str) -> Any:
    return json.loads((recordings / f"{name}.json").read_text("utf-8"))


def host(recordings: Path, name: str) -> Host:
    return Host("h", decode(Path(said(recordings, name)["path"]).read_bytes()))


@pytest.mark.parametrize("tool", [tool.id for tool in TOOLS])
@pytest.mark.parametrize("name", ["loader", "workers"])
def test_every_tool_opens_it(recordings: Path, name: str, tool: str) -> None:
    """What it has nothing for (kernels, HLO, tf.data) says so; nothing fails."""
    opened = stepscope.open(recordings / name)
    try:
        result = getattr(opened, tool)()
    except NothingToShow as nothing:
        assert tool in NEEDS_MORE, nothing
    else:
        assert result is not None


NEEDS_MORE = {
    "collectives",
    "compiled_regions",
    "device_idle",
    "graph_viewer",
    "hlo_stats",
    "hung_collectives",
    "inference_profile",
    "kernel_stats",
    "megascale_stats",
    "memory_viewer",
    "model_flops",
    "module_tree",
    "op_profile",
    "perf_counters",
    "roofline_model",
    "serving_steps",
    "startup",
    "step_log",
    "tf_data_bottleneck_analysis",
    "utilization_viewer",
}


@pytest.mark.parametrize("name", ["loader", "workers", "from_outside", "stopped_elsewhere"])
def test_steps_are_from_one_optimizer_step_to_the_next(recordings: Path, name: str) -> None:
    found = steps(host(recordings, name))
    assert found is not None
    assert found.markers.source == "framework"  # the optimizer's: the program marked none
    # The first optimizer's step has no begin but the recording's: it is step 0.
    assert found.markers.num.tolist()[-(STEPS - 1) :] == list(range(1, STEPS))


def test_shapes_end_where_they_leave_the_heap_in_pieces(
    recordings: Path, recorded_alone: Path
) -> None:
    """The program itself asserts that it has not grown; the ops after them are recorded, too."""
    listed = dict(said(recorded_alone, "in_pieces")["warnings"])
    assert "Shapes of PyTorch's ops are recorded of the first part alone" in listed["torch-shapes"]
    assert "torch-shapes" not in dict(said(recordings, "loader")["warnings"])
    assert said(recorded_alone, "in_pieces")["counts"]["torch"] > 12 * 100 * 4


def test_ops_of_a_forked_child_fill_no_memory(recordings: Path) -> None:
    """The program itself asserts it; its own op after that is recorded."""
    assert said(recordings, "forked")["counts"]["torch"] > 0


def test_without_host_events_its_profiler_stays_off(recordings: Path) -> None:
    """The program itself asserts it; what it marks is recorded all the same."""
    found = steps(host(recordings, "without_host"))
    assert found is not None
    assert found.markers.num.tolist() == [7]


def test_ops_that_are_thrown_away_count_for_the_price(recordings: Path) -> None:
    """Without them, the profiler seems to cost nothing and runs all the time."""
    overview = stepscope.open(recordings / "ranges_alone").overview_page()
    assert "record_function" not in said(recordings, "ranges_alone")["counts"]
    assert overview.steps.recorded_frac < 0.7


def test_waiting_for_the_loader_is_input(recordings: Path) -> None:
    """Each batch takes 4 ms to load in the training process: nothing hides it."""
    overview = stepscope.open(recordings / "loader").overview_page()
    assert overview.breakdown_ms["input"] >= 0.9 * 4
    assert overview.environment.framework == "PyTorch"
    inputs = stepscope.open(recordings / "loader").input_pipeline_analyzer()
    assert inputs.verdict in ("highly_input_bound", "moderately_input_bound")
    (loader,) = (row for row in inputs.input_ops.rows() if "DataLoader" in row["op"])
    assert loader["count"] == STEPS + 1  # the last call finds the end


def test_ops_and_their_backward_are_counted(recordings: Path) -> None:
    rows = stepscope.open(recordings / "loader").framework_op_stats().ops.rows()
    ops = {row["operation"]: row["occurrences"] for row in rows}
    assert ops["aten/conv2d"] >= STEPS
    assert ops["autograd/ConvolutionBackward0"] >= STEPS


def test_allocations_are_told_with_their_ops(recordings: Path) -> None:
    (memory,) = stepscope.open(recordings / "loader").memory_profile().memories
    assert memory.id == "torch_cpu"
    assert (memory.allocations or 0) > 10 * STEPS
    assert (memory.peak_bytes or 0) > 0


def test_steps_and_allocations_go_on_through_chunks(recordings: Path) -> None:
    found = host(recordings, "chunks")
    known = steps(found)
    assert known is not None
    numbers = known.markers.num.tolist()
    assert numbers == sorted(set(numbers))
    # A chunk's cut may fall into a step, and that step's end into the time between two chunks.
    assert numbers[-1] >= STEPS - 8
    assert not [one for one in said(recordings, "chunks")["warnings"] if "failed" in one[0]]
    assert "gaps" in dict(said(recordings, "chunks")["warnings"])  # it was cut at all
    names = {event.split(":")[0] for event in found.space.event_metadata.name}
    assert "MemoryAllocation" in names


def test_within_a_range_of_the_programs_nothing_is_cut_and_nothing_lost(recordings: Path) -> None:
    """To end and begin PyTorch's profiler inside a range that it saw begin crashes the program."""
    assert "torch-uncut" in dict(said(recordings, "chunks_in_a_range")["warnings"])
    known = steps(host(recordings, "chunks_in_a_range"))
    assert known is not None
    # The first optimizer's step has no begin but the recording's.
    assert known.markers.num.tolist()[-(STEPS - 1) :] == list(range(1, STEPS))


def test_after_the_range_it_ended_in_pytorch_is_recorded_again(recordings: Path) -> None:
    """Within that range it is not, and the note says why (asked in the program itself)."""
    noted = said(recordings, "ended_in_a_range")
    assert noted["counts"]["torch"] > 100 * STEPS
    assert not [slug for slug, _ in noted["warnings"] if slug == "recorder-failed"]


def test_captures_from_outside_end_and_begin_wherever_the_training_is(recordings: Path) -> None:
    assert said(recordings, "again_and_again")["counts"]["torch"] > 0


def test_from_another_thread_all_threads_are_seen_but_no_allocations(recordings: Path) -> None:
    noted = dict(said(recordings, "from_outside")["warnings"])
    assert "torch-memory" in noted
    assert "MemoryAllocation" not in host(recordings, "from_outside").space.event_metadata.name


def test_ops_of_a_servers_thread_are_seen(recordings: Path) -> None:
    """PyTorch's profiler of the thread that starts it sees none of them."""
    noted = dict(said(recordings, "served")["warnings"])
    assert "model-worker" in noted["torch-memory"]
    found = host(recordings, "served")
    convolutions = [
        row
        for row in range(len(found.space.events.metadata))
        if found.space.event_metadata.name[int(found.space.events.metadata[row])].startswith(
            "aten/conv2d"
        )
    ]
    assert len(convolutions) == 2 * STEPS


def test_a_main_thread_that_waits_ends_its_profiler_for_another(recordings: Path) -> None:
    noted = said(recordings, "stopped_elsewhere")
    assert noted["counts"]["torch"] > 100 * STEPS
    assert not [slug for slug, _ in noted["warnings"] if slug == "recorder-failed"]
    assert "MemoryAllocation" in host(recordings, "stopped_elsewhere").space.event_metadata.name


def test_marks_of_the_program_stand_on_the_track_of_its_ops(recordings: Path) -> None:
    found = host(recordings, "annotated")
    known = steps(found)
    assert known is not None
    assert known.markers.num.tolist() == [100, 101, 102, 103, 104]
    data = Path(said(recordings, "annotated")["path"]).read_bytes()
    planes = {plane.name: plane for plane in parse(data).planes}
    plane = planes["/host:CPU"]
    named = {one.name for one in plane.event_metadata.values()}
    assert {"train", "forward, all", "aten/conv2d:conv2d"} <= named
    assert "a,b" in {one.name for one in plane.stat_metadata.values()}
    assert "[[4, 1, 16, 16], " in "".join(one.name for one in plane.stat_metadata.values())
    calls = planes["/device:CUSTOM:Python calls"]
    assert any("nn.Module: Conv2d" in one.name for one in calls.event_metadata.values())


@pytest.mark.parametrize(
    ("name", "numbers"), [("scheduled", [10, 11, 12, 13]), ("watched", [4, 5, 6, 7, 8])]
)
def test_hooks_mark_the_steps_they_record_with_their_input(
    recordings: Path, name: str, numbers: list[int]
) -> None:
    """Cycles of 7: steps 7 and 8 wait, 9 warms up, 10 to 13 are kept."""
    found = host(recordings, name)
    known = steps(found)
    assert known is not None
    assert known.markers.num.tolist() == numbers
    path = Path(said(recordings, name)["path"])
    overview = stepscope.open(path).overview_page()
    assert overview.breakdown_ms["input"] >= 0.9 * 4


def test_the_programs_own_profiler_wins_and_that_is_said(recordings: Path) -> None:
    noted = said(recordings, "busy")
    assert "torch" not in noted["counts"]
    assert any("torch.profiler is recording" in text for _, text in noted["warnings"])
