"""Rules about PyTorch's programs: loaders without workers, graph breaks, small reductions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stepscope.formats.xspace import decode
from stepscope.registry import Silence
from stepscope.result import Finding
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.torch_loops import (
    BROKEN,
    COLLECTED,
    LONELY,
    ONE_BY_ONE,
    PAGEABLE,
    READ,
    RETRIED,
    SMALL,
    UNFUSED,
)
from tests.profiles.torch_loop import A100, TorchLoop, torch_loop
from tests.unit.advice.asking import Asked
from tests.unit.advice.made import account, finding, part
from tests.unit.formats.kineto.layout import profile as traced
from tests.unit.formats.kineto.layout import x


def asked(loop: TorchLoop) -> Asked:
    return Asked(Profile("s", (Host("host", decode(torch_loop(loop))),)))


def test_a_loader_without_workers_costs_its_whole_wait() -> None:
    found = asked(LONELY).finding("loader-workers")
    assert found.saving_ms == pytest.approx(0.6)
    assert found.measured["step_after_ms"] == pytest.approx(LONELY.step_us / 1e3 - 0.6, rel=0.01)
    # Two of them make two batches at a time: half of a step that only waits would go.
    assert found.saving_low_ms == pytest.approx(0.75 * 0.6, rel=0.01)


@pytest.mark.parametrize(
    ("rule", "loop"),
    [
        ("loader-workers", replace(LONELY, loader="_MultiProcessingDataLoaderIter")),
        ("loader-workers", replace(LONELY, load_us=20)),
        ("garbage-collection", replace(COLLECTED, collection_us=30)),
        ("optimizer-per-variable", replace(ONE_BY_ONE, updates=20)),
    ],
)
def test_little_of_it_is_no_fault(rule: str, loop: TorchLoop) -> None:
    asked(loop).reason(rule, Silence)


@pytest.mark.parametrize(
    ("rule", "loop", "saving_ms", "measured"),
    [
        # Devices wait at each break for what Python does there.
        ("graph-breaks", BROKEN, 0.306, {"breaks_per_step": BROKEN.breaks, "host_wait_ms": 1.02}),
        ("gradient-buckets", SMALL, None,
         {"reductions_per_step": 60, "bytes_per_step": 60 * (64 << 10)}),
        # 25 MiB in 11 µs: 3.75 MiB would take 1.65 µs.
        ("gradient-buckets", replace(SMALL, reductions=(*SMALL.reductions, 25 << 20)),
         0.66 * 59 / 60 - 0.00165, {}),
        ("host-waits", READ, None, {"calls_per_step": READ.reads}),
        ("allocation-stalls", RETRIED, 0.3, {}),
        ("garbage-collection", COLLECTED, None, {"garbage_ms": 0.4, "collections_per_step": 1}),
        ("optimizer-per-variable", ONE_BY_ONE, 0.6 * 1.2, {"ops_per_step": 150}),
        # Of each 2.7 ms step 40 kernels of 29 µs; fusing leaves some of what they move.
        ("unfused-ops", UNFUSED, 0.4 * 40 * 0.029, {"unfused_ms": 40 * 0.029}),
    ],
)  # fmt: skip
def test_a_fault_is_found_with_its_numbers(
    rule: str, loop: TorchLoop, saving_ms: float | None, measured: dict[str, float]
) -> None:
    found = asked(loop).finding(rule)
    assert saving_ms is None or found.saving_ms == pytest.approx(saving_ms, rel=0.02)
    assert {name: found.measured[name] for name in measured} == pytest.approx(measured, rel=0.02)


def test_reading_a_number_in_each_step_is_named_with_its_line() -> None:
    place = asked(READ).finding("host-waits").place
    assert place is not None and (place.file, place.line) == ("train.py", 20)


def test_a_rate_of_large_messages_makes_what_small_ones_save_more_certain() -> None:
    both = replace(SMALL, reductions=(*SMALL.reductions, 25 << 20))
    small, large = (asked(loop).finding("gradient-buckets") for loop in (SMALL, both))
    assert small.saving_high_ms == pytest.approx(0.66 * 59 / 60, rel=0.01)
    assert large.confidence > small.confidence


def test_what_pytorchs_own_kernels_reach_is_no_alarm() -> None:
    """Healthy models' norms reach a fifth of an H200's memory: a hint, after all else."""
    slow = replace(TorchLoop(), product_us=400.0)
    small = {"Input_Dims": [[512, 512]] * 2, "Input_type": ["c10::Half"] * 2}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tests.profiles.torch_loop._shapes", lambda _loop: small)
        found = asked(slow).finding("roofline-gap")
    assert found.severity == "info" and (found.saving_ms or 0.0) > 2
    assert str(found.measured["operation"]).startswith("aten::mm")


@pytest.mark.parametrize(
    ("rule", "loop"),
    [
        ("loader-workers", replace(LONELY, copy_us=500, copied="Pinned")),
        ("host-copies", replace(PAGEABLE, copied="Pinned")),
        ("loader-workers", LONELY),  # it copies nothing
    ],
)
def test_pinned_copies_are_not_told_to_be_pinned(rule: str, loop: TorchLoop) -> None:
    found = asked(loop).finding(rule)
    said = " ".join((*found.actions, *found.code.values()))
    assert "pin" not in said.replace("pipeline", "")


def test_a_compiled_step_that_waits_for_its_batch_keeps_its_device_idle() -> None:
    found = asked(TorchLoop(is_compiled=True, load_us=1500)).finding("idle-device")
    assert found.severity == "high"


def test_a_step_that_a_graph_replays_is_not_told_to_be_compiled(tmp_path: Path) -> None:
    """Ops and slow launches around a replay are few and far from most of the step's work."""
    events = []
    for step in range(6):
        at, number = 5000.0 * step, 100 * step + 1
        events.append(x("user_annotation", f"ProfilerStep#{step}", at, 4990.0))
        events += [x("cpu_op", "aten::copy_", at + 5 + op * 30, 20.0) for op in range(40)]
        events.append(x("cuda_runtime", "cudaGraphLaunch", at + 1300, 900.0, correlation=number))
        events += [kernel("gemm", at + 2200 + nth * 50, 49.0, number) for nth in range(50)]
    found = Asked(traced(tmp_path, events))
    assert "replayed from graphs" in found.reason("eager-execution", Silence)
    assert "replayed from graphs" in found.reason("slow-launches", Silence)
    launching = found.finding("launch-bound")
    assert not launching.code and "Compile" not in " ".join(launching.actions)


# ------------------------------------------------------------------ ops one after the other

# Its name, its kernel's, and how long it waits, its op and its kernel take (µs).
Op = tuple[str, str, float, float, float]


def looped(folder: Path, *ops: Op, gap_us: float = 0.0) -> Asked:
    """Five steps of ops, each of which begins when the kernel of the one before has ended."""
    events, at, number = [], 100.0, 0
    for step in range(5):
        begin = at
        for name, kernel_name, wait_us, op_us, kernel_us in ops:
            at, number = at + wait_us, number + 1
            launch = at + op_us / 2
            events.append(x("cpu_op", name, at, op_us))
            events.append(x("cuda_runtime", "cudaLaunchKernel", launch, 1.0, correlation=number))
            events.append(kernel(kernel_name, at + op_us, kernel_us, number))
            at += op_us + kernel_us + gap_us
        events.append(x("user_annotation", f"ProfilerStep#{step}", begin - 1, at - begin))
        if ops[0][0].startswith("triton"):
            events.append(x("cpu_op", "Torch-Compiled Region: 0/0", begin, at - begin - 2))
    return Asked(traced(folder, events, deviceProperties=[A100]))


def kernel(name: str, at: float, length: float, number: int) -> dict[str, Any]:
    return x("kernel", name, at, length, 0, 7, device=0, stream=7, correlation=number)


@pytest.mark.parametrize(
    ("op", "launch_us", "idle_frac", "severity"),
    [
        # A compiled step of 7 ms took 12 recorded, and its device idled more than half of that.
        ("triton_poi_fused_add", 60.0, 0.5, None),
        # If it idles two thirds of the step the host is too slow without a recorder, too.
        ("triton_poi_fused_add", 140.0, 0.7, None),
        # Ops of an H200 took their host 1.4 times as long and more while each was recorded.
        ("aten::add", 20.0, 0.25, None),
        ("aten::add", 100.0, 0.62, "high"),
    ],
)
def test_devices_that_wait_for_recorded_launchers_idle(
    tmp_path: Path, op: str, launch_us: float, idle_frac: float, severity: str | None
) -> None:
    one = looped(tmp_path, *[(op, op, launch_us - 2, 2.0, 60.0)] * 50)
    found = one.finding("idle-device")
    assert found.measured["idle_frac"] == pytest.approx(idle_frac, abs=0.02)
    assert severity in (None, found.severity)


def test_a_larger_batch_saves_what_is_between_small_ops_too(tmp_path: Path) -> None:
    """Rays in 32 chunks took 8.8 ms, together 0.8: more than their launches alone."""
    ops = [("aten::add", "fused", 0.0, 20.0, 5.0)] * 40
    found = looped(tmp_path, *ops, gap_us=31.0).finding("tiny-kernels")
    assert found.saving_ms is not None and found.saving_high_ms is not None
    # 40 gaps of 30 µs, in which nothing was recorded.
    assert found.saving_high_ms - found.saving_ms == pytest.approx(1.2, rel=0.05)


def test_ops_that_are_only_handed_over_are_launches(tmp_path: Path) -> None:
    one = looped(tmp_path, *[("aten::add", "fused", 0.0, 30.0, 5.0)] * 40, gap_us=1.0)
    assert one.finding("tiny-kernels").measured["waiting_ms"] > 1.0  # type: ignore[operator]
    said = [one.title for one in one.answers("largest-part") if isinstance(one, Finding)]
    assert said and not any("on the host" in one for one in said)


def test_norms_in_channels_first_may_go_with_the_transposes(tmp_path: Path) -> None:
    """PyTorch has cuDNN's norms for channels_last alone: half of an H200's step went with them."""
    turned = "void cudnn::engines_precompiled::nchwToNhwcKernel<half>"
    product = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc"
    norm = "void at::native::batch_norm_collect_statistics_kernel<>"
    ops = [
        ("aten::convolution", turned, 0.0, 4.0, 40.0),
        ("aten::convolution", product, 0.0, 4.0, 60.0),
        ("aten::native_batch_norm", norm, 0.0, 4.0, 90.0),
    ]
    found = looped(tmp_path, *ops * 10, gap_us=1.0).finding("layout-transposes")
    assert found.saving_ms == pytest.approx(0.8 * 0.4, rel=0.02)
    assert found.saving_high_ms == pytest.approx(0.4 + 0.9 * 0.75, rel=0.02)


MAKES = {"kind": "input", "name": "input", "function": "Photos.__getitem__", "file": "data.py"}
GETS = part(**MAKES, time_ms=4.0, input_frac=1.0)


@pytest.mark.parametrize(
    ("row", "is_named"),
    [
        (GETS, True),
        (GETS | {"line": None}, False),
        (GETS | {"time_ms": 0.1, "step_frac": 0.01}, False),
        (GETS | {"input_frac": 0.2}, False),
    ],
    ids=["most", "no line", "little", "mostly for others"],
)
def test_a_loader_is_placed_where_its_batches_are_made(row: dict[str, Any], is_named: bool) -> None:
    results = asked(LONELY).results("overview_page", "input_pipeline_analyzer")
    place = finding("loader-workers", **results, step_account=account(row)).place
    assert (place is not None and place.function == "Photos.__getitem__") == is_named
