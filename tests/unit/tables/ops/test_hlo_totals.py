"""Device-level ops in sum, their tree, their rates and the peaks they are held against."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.tables.core.devices import Device
from stepscope.tables.core.planes import PlaneKind
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.ops.device_peaks import Peaks, device_peaks
from stepscope.tables.ops.hlo_totals import HloTotals
from stepscope.tables.ops.op_tree import Node, op_tree, scope_parts
from stepscope.tables.ops.roofline import F64, OpRates, rates, ridge
from stepscope.tables.sums.hlo_ops import profile_totals
from tests.profiles.hlo import f32, instruction, metadata_plane, program
from tests.profiles.model import Event, Kind, gpu, host, line, plane, space, stream, u

PROGRAM = program(
    "jit_f",
    [
        instruction("p", "parameter", f32(256)),
        instruction("sum.1", "add", f32(256), "p", "p", op_name="jit(f)/net/add"),
        instruction(
            "sum.2", "add", f32(256), "p", "sum.1", op_name="jit(f)/net/add", copy_of="sum.1"
        ),
    ],
)


def kernel(op: str, start: float, duration: float, name: str = "k", program_id: int = 7) -> Event:
    return Event(name, start, duration, {"hlo_op": op, "program_id": u(program_id)})


def profile(*hosts: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(hosts)))


def on_gpu(*streams: tuple[Event, ...], devices: int = 1) -> bytes:
    lines = [stream(number, *events) for number, events in enumerate(streams, start=1)]
    planes = [gpu(number, *lines) for number in range(devices)]
    return space(metadata_plane(("jit_f", 7, PROGRAM)), *planes)


def by_name(totals: HloTotals) -> dict[str, dict[str, float]]:
    return {
        op.name: {
            "runs": int(totals.runs[row]),
            "self": int(totals.self_ps[row]) / 1e6,
            "flops": float(totals.flops[row]),
            "bytes": float(totals.bytes[row]),
        }
        for row, op in enumerate(totals.ops)
    }


def test_an_op_of_several_kernels_runs_as_often_as_the_most_frequent() -> None:
    events = tuple(
        kernel("sum.1", 10 * n + 3 * part, 2, name)
        for n in range(4)
        for part, name in enumerate(("main", "tail"))
    )
    found = by_name(profile_totals(profile(on_gpu(events))))
    assert found["sum.1"] == {"runs": 4, "self": 16.0, "flops": 4 * 256, "bytes": 4 * 2048 + 4096}


def _library_call(per_run: tuple[str, ...], *, between: bool = True, runs: int = 5) -> bytes:
    """A program of two ops; ``sum.1`` runs these kernels each time."""
    events = []
    for run in range(runs):
        begin = 100.0 * run
        events += [kernel("sum.1", begin + 2 * at, 2, name) for at, name in enumerate(per_run)]
        events += [kernel("sum.2", begin + 50, 5)] if between else []
    return on_gpu(tuple(events))


@pytest.mark.parametrize(
    "per_run",
    [
        ("prepare", "scan", "scan", "fold", "finish"),
        ("scan", "scan"),
        ("scan", "scan", "scan", "fold"),
        ("main",),
    ],
)
def test_a_kernel_that_runs_twice_in_a_run_of_an_op_is_no_second_run(
    per_run: tuple[str, ...],
) -> None:
    found = by_name(profile_totals(profile(_library_call(per_run))))
    assert found["sum.1"]["runs"] == 5
    assert found["sum.1"]["flops"] == 5 * 256
    assert found["sum.2"]["runs"] == 5


def test_an_op_alone_on_its_stream_runs_as_often_as_its_kernels() -> None:
    found = by_name(profile_totals(profile(_library_call(("main",), between=False))))
    assert found["sum.1"]["runs"] == 5


def test_an_op_in_a_loop_runs_as_often_as_its_kernels_however_they_stand() -> None:
    looping = program(
        "jit_f",
        [
            instruction("p", "parameter", f32(256)),
            instruction("loop", "while", f32(256), "p", calls=["body"]),
            instruction("sum.2", "add", f32(256), "loop", "loop"),
        ],
        bodies={
            "body": [
                instruction("x", "parameter", f32(256)),
                instruction("sum.1", "add", f32(256), "x", "x"),
            ]
        },
    )
    events = tuple(
        one
        for run in range(3)
        for one in (
            *(kernel("sum.1", 100 * run + 5 * trip, 5) for trip in range(10)),
            kernel("sum.2", 100 * run + 60, 5),
        )
    )
    data = space(metadata_plane(("jit_f", 7, looping)), gpu(0, stream(1, *events)))
    found = by_name(profile_totals(profile(data)))
    assert (found["sum.1"]["runs"], found["sum.2"]["runs"]) == (30, 3)


def test_devices_and_hosts_are_added_not_listed() -> None:
    data = on_gpu((kernel("sum.1", 0, 5), kernel("sum.2", 5, 5)), devices=2)
    totals = profile_totals(profile(data, data))
    assert by_name(totals)["sum.1"] == {"runs": 4, "self": 20.0, "flops": 1024, "bytes": 12288}
    assert (len(totals), totals.device_count) == (2, 4)


def test_kernels_outside_of_xla_are_ops_without_costs() -> None:
    event = Event("volta_sgemm", 0, 5, {"tf_op": "net/MatMul:MatMul"})
    totals = profile_totals(profile(space(gpu(0, stream(1, event)))))
    (op,) = totals.ops
    assert (op.name, op.category, op.framework_op) == ("volta_sgemm", "MatMul", "net/MatMul")
    assert not op.is_hlo
    assert math.isnan(totals.flops[0])


def test_a_fusion_without_metadata_has_the_framework_op_of_its_event() -> None:
    nameless = program(
        "jit_f",
        [
            instruction("p", "parameter", f32(256)),
            instruction("wrapped", "add", f32(256), "p", "p"),
        ],
    )
    stats = {"hlo_op": "wrapped", "program_id": u(7), "name": "jit(f)/net/add"}
    event = Event("wrapped.kd", 0, 5, stats)
    data = space(metadata_plane(("jit_f", 7, nameless)), gpu(0, stream(1, event)))
    (op,) = profile_totals(profile(data)).ops
    assert (op.name, op.framework_op) == ("wrapped", "jit(f)/net/add")


def test_xla_on_the_cpu_has_ops_and_costs() -> None:
    data = space(
        metadata_plane(("jit_f", 7, PROGRAM)),
        host(line("tf_XLAEigen", kernel("sum.1", 0, 5, "sum.1"), kernel("sum.1", 9, 5, "sum.1"))),
    )
    totals = profile_totals(profile(data))
    assert by_name(totals)["sum.1"]["flops"] == 512
    assert not totals.on_device


def test_ops_of_a_tpu_are_what_its_recorder_says() -> None:
    text = "%fusion.1 = bf16[8]{0} fusion(bf16[8]{0} %p), kind=kLoop"
    kinds = {
        text: Kind(
            "fusion.1",
            {
                "hlo_category": "loop fusion",
                "program_id": u(7),
                "flops": 100,
                "model_flops": 200,
                "bytes_accessed": 64,
                "tf_op": "jit(f)/mul:",
                "memory_access_breakdown": b"\x0a\x06\x08\x01\x10\x01\x18\x20"
                b"\x0a\x06\x08\x02\x10\x03\x18\x20",
            },
        )
    }
    ops = line("XLA Ops", Event(text, 0, 5), Event(text, 10, 5))
    totals = profile_totals(profile(space(plane("/device:TPU:0", ops, kinds=kinds))))
    (op,) = totals.ops
    assert (op.name, op.category, op.framework_op, op.core_type) == (
        "fusion.1",
        "loop fusion",
        "jit(f)/mul",
        "TensorCore",
    )
    assert (totals.flops[0], totals.model_flops[0], totals.bytes[0]) == (200, 400, 128)
    assert (totals.hbm_bytes[0], totals.on_chip_write_bytes[0]) == (64, 64)
    assert totals.idle_ps == 5_000_000


SPANS = st.lists(
    st.tuples(st.sampled_from(["sum.1", "sum.2"]), st.integers(0, 500), st.integers(1, 90)),
    min_size=1,
    max_size=25,
)


@given(SPANS, SPANS)
def test_self_times_add_up_and_idle_is_what_no_stream_covers(
    first: list[tuple[str, int, int]], second: list[tuple[str, int, int]]
) -> None:
    streams = [tuple(kernel(*one) for one in spans) for spans in (first, second)]
    totals = profile_totals(profile(on_gpu(*streams)))
    spans = [*first, *second]
    assert totals.op_time_ps == sum(length for _, _, length in spans) * 1_000_000
    covered = {us for _, start, length in spans for us in range(start, start + length)}
    assert totals.idle_ps == (max(covered) - min(covered) + 1 - len(covered)) * 1_000_000


@given(SPANS, st.sampled_from(["program", "category", "provenance"]), st.booleans())
def test_children_add_up_to_their_parent(
    spans: list[tuple[str, int, int]], group_by: Any, include_idle: bool
) -> None:
    totals = profile_totals(profile(on_gpu(tuple(kernel(*one) for one in spans))))
    root = op_tree(totals, group_by, include_idle=include_idle)
    assert root.time_ps == totals.op_time_ps + (totals.idle_ps if include_idle else 0)
    assert sum(leaf.time_ps for leaf in leaves(root)) == root.time_ps
    assert sum(leaf.runs for leaf in leaves(root)) == root.runs == int(totals.runs.sum())
    for node in nodes(root):
        if node.children:
            assert node.time_ps == sum(child.time_ps for child in node.children)


def nodes(root: Node) -> list[Node]:
    return [root, *(below for child in root.children for below in nodes(child))]


def leaves(root: Node) -> list[Node]:
    return [node for node in nodes(root) if not node.children]


def test_copies_of_an_op_stand_under_one_node() -> None:
    totals = profile_totals(profile(on_gpu((kernel("sum.1", 0, 5), kernel("sum.2", 5, 9)))))
    root = op_tree(totals, "category", include_idle=False)
    (category,) = root.children
    (group,) = category.children
    assert group.name == "sum.2 and its duplicate(s)"
    assert [one.name for one in group.children] == ["sum.2", "sum.1"]


def test_scopes_split_outside_of_brackets() -> None:
    found = list(scope_parts("jit(f)/a(b/c)/dot[x=(1/2)]/d"))
    assert found == ["jit(f)", "a(b/c)", "dot[x=(1/2)]", "d"]


def test_ridge_is_the_reference_value() -> None:
    # reference §8.4: 1000 GFLOP/s and 100 GiB/s
    assert ridge(1000e9, 100 * 2**30) == pytest.approx(9.31322, abs=1e-5)
    assert math.isnan(ridge(1000e9, math.nan))


def test_rates_name_the_resource_that_is_fullest() -> None:
    peaks = Peaks(flops=1e12, hbm_bytes=1e11)
    found = _rates([9e11, 1e10, np.nan], [1e10, 8e10, np.nan], peaks)
    assert found.bound_by == ["Compute", "HBM", "Unknown"]
    assert found.efficiency_frac[:2].tolist() == pytest.approx([0.9, 0.8])
    assert found.optimal_gflops[:2].tolist() == pytest.approx([1000.0, 12.5])
    assert found.intensity[:2].tolist() == pytest.approx([90.0, 0.125])


def test_an_op_is_held_against_the_peak_of_its_own_type() -> None:
    types = (("bf16", 1e12), ("tf32", 5e11), ("fp32", 1e11))
    peaks = Peaks(flops=1e12, hbm_bytes=1e11, flops_by_type=types)
    # 0.08 of 1 TFLOP/s in bf16, 0.8 of what there is in fp32, 0.16 in TF32; a fifth of HBM.
    fp32, tf32 = np.asarray([0.0, 8e10, 0.0]), np.asarray([0.0, 0.0, 8e10])
    found = _rates([8e10] * 3, [2e10] * 3, peaks, fp32=fp32, tf32=tf32)
    assert found.bound_by == ["HBM", "Compute", "HBM"]
    assert found.efficiency_frac.tolist() == pytest.approx([0.2, 0.8, 0.2])
    # The rate and its share of the device's peak stay what they are.
    assert found.flop_frac.tolist() == pytest.approx([0.08] * 3)
    by_hand = _rates([8e10], [2e10], Peaks(flops=1e12, hbm_bytes=1e11), fp32=fp32[1:2])
    assert by_hand.efficiency_frac.tolist() == pytest.approx([0.2])


def test_an_op_of_unknown_flops_is_not_called_bound_by_a_memory() -> None:
    found = _rates([np.nan, 0.0], [9e9, 9e9], Peaks(flops=1e12, hbm_bytes=1e11))
    assert found.bound_by == ["Unknown", "HBM"]
    assert found.memory_frac.tolist() == pytest.approx([0.09, 0.09])
    assert np.isnan(found.efficiency_frac[0])


def test_without_the_peak_of_compute_only_ops_that_compute_nothing_are_judged() -> None:
    found = _rates([1e9, 0.0], [9e9, 9e9], Peaks(hbm_bytes=1e11))
    assert found.bound_by == ["Unknown", "HBM"]


def _rates(
    flops: list[float],
    moved: list[float],
    peaks: Peaks,
    fp32: F64 | float = 0.0,
    tf32: F64 | float = 0.0,
) -> OpRates:
    """Of ops that took a second each."""
    size = len(flops)
    return rates(
        np.full(size, 10**12),
        model_flops=np.asarray(flops),
        flops=np.asarray(flops),
        bytes_accessed=np.asarray(moved),
        hbm_bytes=np.asarray(moved),
        on_chip_read_bytes=np.full(size, np.nan),
        on_chip_write_bytes=np.full(size, np.nan),
        fp32_flops=fp32,
        tf32_flops=tf32,
        peaks=peaks,
    )


@pytest.mark.parametrize("noted", [{}, {"flops": 1000, "bytes_accessed": 0}])
def test_a_custom_call_on_a_tpu_has_the_flops_of_its_shapes(noted: dict[str, int]) -> None:
    text = (
        "%matmul_kernel.1 = bf16[128,256]{1,0} custom-call(bf16[128,512]{1,0} %a, "
        'bf16[512,256]{1,0} %b), custom_call_target="tpu_custom_call"'
    )
    kinds = {text: Kind("matmul_kernel.1", {"hlo_category": "custom-call", **noted})}
    ops = line("XLA Ops", Event(text, 0, 5), Event(text, 10, 5))
    totals = profile_totals(profile(space(plane("/device:TPU:0", ops, kinds=kinds))))
    assert totals.flops[0] == 2 * 2 * 128 * 256 * 512
    assert math.isnan(totals.bytes[0])


def test_a_copy_on_a_tpu_computes_nothing_though_nothing_is_noted() -> None:
    text = "%copy.1 = bf16[128]{0} copy(bf16[128]{0} %a)"
    kinds = {text: Kind("copy.1", {"hlo_category": "copy", "bytes_accessed": 512})}
    ops = line("XLA Ops", Event(text, 0, 5))
    totals = profile_totals(profile(space(plane("/device:TPU:0", ops, kinds=kinds))))
    assert (totals.flops[0], totals.bytes[0]) == (0, 512)


def device(**capabilities: object) -> Device:
    kind = PlaneKind.TPU if "device_type_string" in capabilities else PlaneKind.GPU
    name = str(capabilities.get("device_type_string", "GPU"))
    return Device(0, kind, "/device", name, capabilities, has_events=True)


@pytest.mark.parametrize(
    ("capabilities", "tflops"),
    [
        ({"compute_cap_major": 7, "clock_rate": 1530000, "core_count": 80}, 125.3),
        ({"compute_cap_major": 8, "clock_rate": 1410000, "core_count": 108}, 311.9),
        ({"compute_cap_major": 9, "clock_rate": 1830000, "core_count": 132}, 989.4),
        ({"compute_cap_major": 6, "compute_cap_minor": 1, "clock_rate": 1582000,
          "core_count": 28}, 11.34),
        ({"device_vendor": "AMD", "compute_cap_major": 9, "compute_cap_minor": 4,
          "clock_rate": 2100000, "core_count": 304}, 1307.4),
        ({"device_type_string": "TPU v5 Lite"}, 197.0),
        ({"device_type_string": "TPU v6 Lite", "peak_teraflops_per_second": 900.0}, 900.0),
    ],
)  # fmt: skip
def test_peaks_are_the_data_sheets(capabilities: dict[str, object], tflops: float) -> None:
    assert device_peaks(device(**capabilities)).flops / 1e12 == pytest.approx(tflops, rel=1e-3)


@pytest.mark.parametrize(
    ("vendor", "minor", "recorded", "true"),
    [
        # An MI300X: 1.3 GHz × 8192 bits × 2, where HBM3 makes 4 transfers to a clock.
        ("AMD", 4, 2.6624e12, 5.3248e12),
        # An MI325X, and a recorder that knows its memory.
        ("AMD", 4, 3.072e12, 6.144e12),
        ("AMD", 4, 5.3e12, 5.3e12),
        # HBM2 makes 2 transfers, and what NVIDIA calls a clock is one of two.
        ("AMD", 0, 1.6384e12, 1.6384e12),
        ("Nvidia", 0, 3.35e12, 3.35e12),
    ],
)
def test_the_bandwidth_of_hbm3_is_not_halved(
    vendor: str, minor: int, recorded: float, true: float
) -> None:
    found = device_peaks(
        device(
            device_vendor=vendor,
            compute_cap_major=9,
            compute_cap_minor=minor,
            clock_rate=2_100_000,
            core_count=304,
            memory_bandwidth=recorded,
        )
    )
    assert found.hbm_bytes == pytest.approx(true)


@pytest.mark.parametrize(
    "capabilities",
    [
        {"compute_cap_major": 99, "clock_rate": 1530000, "core_count": 80},
        {"device_vendor": "AMD", "compute_cap_major": 9, "clock_rate": 1700000, "core_count": 60},
        {"compute_cap_major": 8, "core_count": 108},
        {"device_type_string": "TPU v99"},
    ],
)
def test_an_unknown_device_has_no_peak(capabilities: dict[str, object]) -> None:
    found = device_peaks(device(**capabilities))
    assert math.isnan(found.flops)
    assert found.source == ""
