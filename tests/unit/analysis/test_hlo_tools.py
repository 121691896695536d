"""The five tools about compiled programs, on profiles whose answers can be worked out by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from stepscope.analysis import graph_viewer, hlo_stats, memory_viewer, op_profile, roofline_model
from stepscope.columns import decode
from stepscope.errors import UsageError
from stepscope.tables.profile import Host, Profile
from tests.profiles import worked_example
from tests.profiles.hlo import f32, instruction, memory_plan, metadata_plane, program
from tests.profiles.model import Event, environment, gpu, host, line, space, stream, u

TOOLS = (op_profile, hlo_stats, roofline_model, memory_viewer, graph_viewer)
# A product of 64×64 by 64×64: 524,288 FLOPs, 49,152 bytes.
ENTRY = [
    instruction("x", "parameter", f32(64, 64), parameter_number=0),
    instruction("dot.1", "dot", f32(64, 64), "x", "x", contracting=(1, 0), op_name="jit(f)/mul"),
    instruction(
        "add.1", "add", f32(64, 64), "dot.1", "dot.1", op_name="jit(f)/rematted_computation/add"
    ),
]
SIZE = 64 * 64 * 4
MEMORY = memory_plan(
    {1: (SIZE, "x"), 2: (SIZE, "dot.1"), 3: (SIZE, "add.1")},
    [
        {"size": SIZE, "is_entry_computation_parameter": 1, "buffers": [1]},
        {"size": SIZE, "buffers": [2]},
        {"size": SIZE, "maybe_live_out": 1, "buffers": [3]},
    ],
    [(0, 2, 0), (1, 2, 0)],
)
PLANE = metadata_plane(("jit_f", 7, program("jit_f", ENTRY, memory=MEMORY)))


def kernel(op: str, start: float, duration: float) -> Event:
    return Event(f"k_{op}", start, duration, {"hlo_op": op, "program_id": u(7)})


def profile(*planes: Any) -> Profile:
    return Profile("s", (Host("h", decode(space(*planes))),))


def on_gpu() -> Profile:
    return profile(PLANE, gpu(0, stream(1, kernel("dot.1", 0, 10), kernel("add.1", 20, 20))))


def on_cpu() -> Profile:
    thread = line("tf_XLAEigen", kernel("dot.1", 0, 10), kernel("add.1", 20, 20))
    return profile(PLANE, host(thread))


@pytest.mark.parametrize("made", [on_gpu, on_cpu])
@pytest.mark.parametrize("module", TOOLS)
def test_every_tool_answers_in_plain_json(module: Any, made: Any) -> None:
    tool = module.TOOL
    assert tool.available(made()) is None
    body = tool.run(made(), tool.options()).to_dict()
    assert json.loads(json.dumps(body, allow_nan=False))["tool"] == tool.id


@pytest.mark.parametrize("module", TOOLS)
def test_a_profile_without_anything_says_what_to_record(module: Any) -> None:
    reason = module.TOOL.available(profile(environment(profile_start_time=1)))
    assert reason is not None
    assert reason.missing.endswith(".")
    assert "Record" in reason.record


def test_hlo_ops_have_rates_and_shares() -> None:
    found = hlo_stats.hlo_stats(on_gpu())
    add, dot = found.ops.rows()
    assert (add["hlo_op"], add["rematerialised"], add["category"]) == (
        "add.1", True, "non-fusion elementwise",
    )  # fmt: skip
    assert dot["flop_rate_gflops"] == pytest.approx(2 * 64**3 / 10e-6 / 1e9)
    assert dot["memory_bw_gibps"] == pytest.approx(3 * SIZE / 10e-6 / 2**30)
    assert (dot["self_time_frac"], found.idle_time_us) == (0.25, 10)
    assert [row["category"] for row in found.rematerialised.rows()] == [
        "Rematerialised", "Not rematerialised",
    ]  # fmt: skip


def test_wasted_time_is_what_the_peak_would_not_need() -> None:
    nodes = list(op_profile.op_profile(on_gpu()).nodes.rows())
    assert (nodes[0]["time_us"], nodes[0]["wasted_frac"]) == (
        40, pytest.approx(1 - nodes[0]["utilisation_frac"]),
    )  # fmt: skip
    dot = next(row for row in nodes if row["name"] == "dot.1")
    peak = 108 * 1.41e9 * 2048
    assert dot["utilisation_frac"] == pytest.approx(2 * 64**3 / 10e-6 / peak)
    assert dot["wasted_us"] == pytest.approx(10 * (1 - dot["utilisation_frac"]))
    assert [row["name"] for row in nodes[:2]] == ["Program", "jit_f(7)"]


def test_provenance_follows_the_scopes_of_the_model() -> None:
    options = op_profile.Options(group_by="provenance", include_idle=False)
    nodes = list(op_profile.op_profile(on_gpu(), options).nodes.rows())
    names = [row["name"] for row in nodes if row["kind"] == "scope"]
    assert names == ["jit(f)", "rematted_computation", "add", "mul"]


def test_a_program_without_xla_still_has_a_tree() -> None:
    made = Profile("s", (Host("h", decode(worked_example(gpu=True))),))
    found = op_profile.op_profile(made)
    assert found.total_time_us > 0
    assert all(row["utilisation_frac"] is None for row in found.nodes.rows())


def test_the_roofline_of_a_program_counts_all_device_time() -> None:
    found = roofline_model.roofline_model(on_gpu())
    total = next(found.programs.rows())
    assert total["total_time_us"] == 40
    assert total["flop_rate_gflops"] == pytest.approx((2 * 64**3 + 64 * 64) / 40e-6 / 1e9)
    assert found.device.peak_gflops == pytest.approx(311_869.4, rel=1e-4)
    corners = [row for row in found.roofs.rows() if row["memory"] == "HBM"]
    assert corners[1]["flop_rate_gflops"] == pytest.approx(found.device.peak_gflops)
    assert corners[1]["operational_intensity"] == found.device.hbm_ridge_flop_per_byte


def test_a_cpu_has_no_peak_until_one_is_given() -> None:
    found = roofline_model.roofline_model(on_cpu())
    assert math.isnan(found.device.peak_gflops)
    assert {one.slug for one in found.diagnostics} == {"peak-unknown", "bandwidth-unknown"}
    assert all(row["flop_utilisation_frac"] is None for row in found.ops.rows())
    given = roofline_model.Options(peak_gflops=1000.0, peak_hbm_gbps=100.0)
    known = roofline_model.roofline_model(on_cpu(), given)
    dot = next(row for row in known.ops.rows() if row["operation"] == "dot.1")
    assert dot["flop_utilisation_frac"] == pytest.approx(2 * 64**3 / 10e-6 / 1e12)
    assert not known.diagnostics


def test_memory_held_all_along_is_in_the_peak() -> None:
    found = memory_viewer.memory_viewer(on_gpu())
    assert (found.peak_bytes, found.parameter_bytes, found.output_bytes) == (3 * SIZE, SIZE, SIZE)
    assert found.timeline["used_bytes"].tolist() == [2 * SIZE, 3 * SIZE, 2 * SIZE]
    at_peak = [row for row in found.buffers.rows() if row["at_peak"]]
    assert sum(row["size_bytes"] for row in at_peak) == found.peak_bytes
    assert sum(found.peak_groups["size_bytes"]) == found.peak_bytes


def test_wrong_programs_and_spaces_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="no program 'g'"):
        memory_viewer.memory_viewer(on_gpu(), memory_viewer.Options(program="g"))
    with pytest.raises(UsageError, match="no memory space 5"):
        memory_viewer.memory_viewer(on_gpu(), memory_viewer.Options(memory_space=5))
    with pytest.raises(UsageError, match="no instruction or computation 'dott'"):
        graph_viewer.graph_viewer(on_gpu(), graph_viewer.Options(node="dott"))


def test_the_graph_opens_at_the_slowest_op() -> None:
    found = graph_viewer.graph_viewer(on_gpu())
    assert (found.centre, found.operand_names, found.consumer_names) == ("add.1", ("dot.1",), ())
    assert len(found.nodes) == 3
    assert {(row["source"], row["target"]) for row in found.edges.rows()} == {(1, 2), (2, 3)}
    assert found.instructions["name"][0] == "add.1"


def test_a_whole_computation_and_a_cut_one() -> None:
    whole = graph_viewer.graph_viewer(on_gpu(), graph_viewer.Options(node="main"))
    assert (whole.centre, len(whole.nodes), whole.is_cut) == ("", 3, False)
    cut = graph_viewer.graph_viewer(on_gpu(), graph_viewer.Options(node="main", max_nodes=2))
    assert (len(cut.nodes), cut.is_cut) == (2, True)
    assert [one.slug for one in cut.diagnostics] == ["graph-cut"]
