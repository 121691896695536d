"""Recordings that hold little of their program: marked steps, waits, calls without their ops."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace

from stepscope.advice.render import not_recorded
from stepscope.analysis.overview_page import overview_page
from stepscope.formats.xspace import decode
from stepscope.result import Finding
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.recording.evidence import recorded
from tests.e2e.browser.tool_recordings import heap
from tests.profiles import event
from tests.unit.advice.asking import Asked, pictured
from tests.unit.formats.kineto.layout import PID, profile, x

# ------------------------------------------------------------------ little of the host


def test_a_wait_alone_says_nothing_about_the_program(tmp_path: Path) -> None:
    """Nothing but questions to the driver and a wait of 190 ms: what for is not recorded."""
    events = [
        x("cuda_runtime", "cudaGetDeviceProperties", 0, 2_000, PID, PID, correlation=1),
        x("cuda_runtime", "cudaDeviceSynchronize", 10_000, 190_000, PID, PID, correlation=2),
    ]
    one = profile(tmp_path, events)
    assert Asked(one).advice()
    assert "ops take" not in overview_page(one).headline


def test_kernels_that_were_launched_and_not_recorded_come_first(tmp_path: Path) -> None:
    launch = ("cuda_runtime", "cudaLaunchKernel")
    events = [x("cpu_op", "aten::mm", 100 * at, 90) for at in range(40)]
    events += [x(*launch, 100 * at + 10, 6, PID, PID, correlation=at + 1) for at in range(40)]
    assert Asked(profile(tmp_path, events)).advice()[0].rule == "incomplete-profile"


def test_a_range_around_python_is_no_op_that_computes(tmp_path: Path) -> None:
    """Of 10 ms that the program names, ops have 2."""
    names = x("user_annotation", "model_inference", 0, 10_000)
    one = profile(tmp_path, [names, x("cpu_op", "aten::mm", 1_000, 2_000)])
    said = overview_page(one).headline
    assert "No op ran in 80 % of the 10 ms recorded" in said
    assert "Ops and the framework take 20 %" in said


def test_ops_that_were_only_dispatched_are_said_to_be() -> None:
    """Eager ops as TensorFlow 2.21 records them: as calls, without runs of ops."""
    rows = (".E--.......E--......", "..M........M........")
    calls = {"E": event("EagerExecute", is_func=0), "M": "EagerLocalExecute: MatMul"}
    overview = SimpleNamespace(recorded=recorded(pictured(*rows, **calls).profile))
    found = not_recorded(overview, "host", "ops")  # type: ignore[arg-type]  # what is read of it
    assert found is not None
    assert found.reason.startswith("Calls that dispatch ops were recorded")
    assert "host_tracer_level" not in found.reason


# ------------------------------------------------------------------ nothing but steps


@cache
def only_steps() -> Asked:
    """Marked steps and a memory's course, and nothing of what the steps did."""
    return Asked(Profile("s", (Host("h", decode(heap())),)))


def test_nobody_is_told_to_mark_steps_that_are_marked() -> None:
    overview = only_steps().result("overview_page")
    assert (overview.bound_by, overview.steps.source) == ("unknown", "markers")
    notes = " ".join(overview.completeness.notes)
    assert "Mark steps" not in notes
    # What the devices lack is said of their work alone.
    assert "No kernel, op or copy was recorded on any of the 2 devices." in notes
    assert "nothing was recorded" not in notes
    # Names of ops that only the allocator's events mention took no time.
    assert len(overview.top_ops) == 0


def test_no_saving_is_made_of_what_was_not_recorded() -> None:
    assert only_steps().result("step_account").busy_ms == 0
    findings = only_steps().advice()
    assert {one.saving_ms for one in findings} == {None}
    assert [one.measured.get("kind") for one in findings].count("unrecorded") == 1


def profiled(steps: str) -> Asked:
    """Two steps of 1 ms that the program marks, with PyTorch's profiler in them."""
    train, step = "$/home/me/train.py:40 train", "$torch/profiler/profiler.py:1227 step"
    return pictured(f"T{'-' * 19}", steps, T=train, P=step)


def test_a_profiler_that_ended_as_it_began_says_nothing_of_the_program() -> None:
    """The second round of a schedule without ``repeat=1``, which the end of the loop cut off."""
    assert not isinstance(profiled(".P------...P------..").answers("largest-part")[0], Finding)
    assert isinstance(profiled(".P--.......P--......").answers("largest-part")[0], Finding)
