"""Rules about PyTorch's programs: loaders without workers, graph breaks, small reductions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

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


def test_a_loader_with_workers_is_no_fault_however_long_it_takes() -> None:
    slow = replace(LONELY, loader="_MultiProcessingDataLoaderIter")
    assert "has worker processes" in asked(slow).reason("loader-workers", Silence)
    quick = replace(LONELY, load_us=20)
    assert "of the step" in asked(quick).reason("loader-workers", Silence)


def test_breaks_are_named_with_their_line() -> None:
    found = asked(BROKEN).finding("graph-breaks")
    assert found.measured["breaks_per_step"] == BROKEN.breaks
    # Devices wait at each break for what Python does there.
    assert found.measured["host_wait_ms"] == pytest.approx(1.0, rel=0.05)
    assert found.saving_ms == pytest.approx(0.3, rel=0.05)


def test_small_reductions_are_told_from_large_ones() -> None:
    found = asked(SMALL).finding("gradient-buckets")
    assert found.measured["reductions_per_step"] == 60
    assert found.measured["bytes_per_step"] == 60 * (64 << 10)
    assert found.saving_high_ms == pytest.approx(0.66 * 59 / 60, rel=0.01)


def test_the_rate_of_large_messages_says_what_small_ones_could_take() -> None:
    both = replace(SMALL, reductions=(*SMALL.reductions, 25 << 20))
    found = asked(both).finding("gradient-buckets")
    # 25 MiB in 11 µs: 3.75 MiB would take 1.65 µs.
    assert found.saving_ms == pytest.approx(0.66 * 59 / 60 - 0.00165, rel=0.01)
    assert found.confidence > asked(SMALL).finding("gradient-buckets").confidence


def test_reading_a_number_in_each_step_is_named_with_its_line() -> None:
    found = asked(READ).finding("host-waits")
    assert found.measured["calls_per_step"] == READ.reads
    assert found.place is not None and (found.place.file, found.place.line) == ("train.py", 20)


def test_an_allocator_that_asks_the_driver_again_stalls_the_step() -> None:
    found = asked(RETRIED).finding("allocation-stalls")
    assert found.saving_ms == pytest.approx(0.3, rel=0.02)


def test_collections_that_pytorch_recorded_count_as_such() -> None:
    found = asked(COLLECTED).finding("garbage-collection")
    assert found.measured["garbage_ms"] == pytest.approx(0.4, rel=0.01)
    assert found.measured["collections_per_step"] == 1
    short = replace(COLLECTED, collection_us=30)
    assert "of the step" in asked(short).reason("garbage-collection", Silence)


def test_parameters_updated_one_by_one_are_counted() -> None:
    found = asked(ONE_BY_ONE).finding("optimizer-per-variable")
    assert (found.measured["optimizer"], found.measured["ops_per_step"]) == ("Adam", 150)
    few = replace(ONE_BY_ONE, updates=20)
    assert "20 ops" in asked(few).reason("optimizer-per-variable", Silence)


def test_what_pytorchs_own_kernels_reach_is_no_alarm() -> None:
    """Healthy models' norms reach a fifth of an H200's memory: a hint, after all else."""
    slow = replace(TorchLoop(), product_us=400.0)
    small = {"Input_Dims": [[512, 512]] * 2, "Input_type": ["c10::Half"] * 2}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tests.profiles.torch_loop._shapes", lambda _loop: small)
        found = asked(slow).finding("roofline-gap")
    assert found.severity == "info" and (found.saving_ms or 0.0) > 2
    assert str(found.measured["operation"]).startswith("aten::mm")


def test_pinned_copies_are_not_told_to_be_pinned() -> None:
    for rule, loop in (("loader-workers", replace(LONELY, copy_us=500)), ("host-copies", PAGEABLE)):
        found = asked(replace(loop, copied="Pinned")).finding(rule)
        said = " ".join((*found.actions, *found.code.values()))
        assert "pin" not in said.replace("pipeline", ""), rule


def test_without_copies_nothing_is_said_of_pinning() -> None:
    found = asked(LONELY).finding("loader-workers")
    assert "pin" not in " ".join((*found.actions, *found.code.values()))


def test_a_step_that_a_graph_replays_is_not_told_to_be_compiled(tmp_path: Path) -> None:
    """Ops and slow launches around a replay are few and far from most of the step's work."""
    events = []
    for step in range(6):
        at, number = 5000.0 * step, 100 * step + 1
        events.append(x("user_annotation", f"ProfilerStep#{step}", at, 4990.0))
        events += [x("cpu_op", "aten::copy_", at + 5 + op * 30, 20.0) for op in range(40)]
        events.append(x("cuda_runtime", "cudaGraphLaunch", at + 1300, 900.0, correlation=number))
        for kernel in range(50):
            begin = at + 2200 + kernel * 50
            events.append(
                x("kernel", "gemm", begin, 49.0, 0, 7, device=0, stream=7, correlation=number)
            )
    found = Asked(traced(tmp_path, events))
    assert "replayed from graphs" in found.reason("eager-execution", Silence)
    assert "replayed from graphs" in found.reason("slow-launches", Silence)
    launching = found.finding("launch-bound")
    assert not launching.code and "Compile" not in " ".join(launching.actions)


def test_chains_of_elementwise_kernels_are_told_to_be_fused() -> None:
    found = asked(UNFUSED).finding("unfused-ops")
    # Of each 2.7 ms step 40 kernels of 29 µs; fusing leaves some of what they move.
    assert found.measured["unfused_ms"] == pytest.approx(40 * 0.029, rel=0.02)
    assert found.saving_ms == pytest.approx(0.4 * 40 * 0.029, rel=0.02)


def _compiled(folder: Path, launch_us: float, op: str = "triton_poi_fused_add") -> Asked:
    """Five steps of 50 kernels of 60 µs, compiled or not, each after so long a launch."""
    events, at = [], 100.0
    for step in range(5):
        begin = at
        for number in range(50):
            one = 1000 * (step + 1) + number
            events += [
                x("cpu_op", op, at + launch_us - 2, 1.8),
                x("cuda_driver", "cuLaunchKernel", at + launch_us - 1.5, 1.0, correlation=one),
                x("kernel", op, at + launch_us, 60.0, 0, 7,
                  device=0, stream=7, correlation=one),
            ]  # fmt: skip
            at += launch_us + 60.0
        events.append(x("user_annotation", f"ProfilerStep#{step}", begin - 1, at - begin))
        if op.startswith("triton"):
            events.append(x("cpu_op", "Torch-Compiled Region: 0/0", begin, at - begin - 2))
    return Asked(traced(folder, events, deviceProperties=[A100]))


def test_devices_that_wait_for_recorded_launchers_of_compiled_code_are_no_alarm(
    tmp_path: Path,
) -> None:
    """A compiled step of 7 ms took 12 recorded, and its device idled more than half of that."""
    found = _compiled(tmp_path, 60.0).finding("idle-device")
    assert found.measured["idle_frac"] == pytest.approx(0.5, abs=0.02)
    # Of a device that idles two thirds of the step the host is too slow without a recorder, too.
    found = _compiled(tmp_path, 140.0).finding("idle-device")


def test_devices_that_are_nearly_busy_wait_for_recorded_ops(tmp_path: Path) -> None:
    """Ops of an H200 took their host 1.4 times as long and more while each was recorded."""
    found = _compiled(tmp_path, 20.0, "aten::add").finding("idle-device")
    assert found.measured["idle_frac"] == pytest.approx(0.25, abs=0.02)
    assert _compiled(tmp_path, 100.0, "aten::add").finding("idle-device").severity == "high"


def test_a_compiled_step_that_waits_for_its_batch_keeps_its_device_idle() -> None:
    found = asked(TorchLoop(is_compiled=True, load_us=1500)).finding("idle-device")
    assert found.severity == "high"


def _of_ops(folder: Path, op: str, takes_us: float, apart_us: float = 0.0) -> Asked:
    """Five steps of 40 ops that take so long on the host each, and 5 µs on the device."""
    events, at = [], 100.0
    for step in range(5):
        begin = at
        for number in range(40):
            one = 1000 * (step + 1) + number
            events += [
                x("cpu_op", op, at, takes_us),
                x("cuda_runtime", "cudaLaunchKernel", at + takes_us - 3, 2.0, correlation=one),
                x("kernel", "fused", at + takes_us, 5.0, 0, 7, device=0, stream=7, correlation=one),
            ]
            at += takes_us + 6.0 + apart_us
        events.append(x("user_annotation", f"ProfilerStep#{step}", begin - 1, at - begin))
    return Asked(traced(folder, events, deviceProperties=[A100]))


def test_a_larger_batch_saves_what_is_between_small_ops_too(tmp_path: Path) -> None:
    """Rays in 32 chunks took 8.8 ms, together 0.8: more than their launches alone."""
    found = _of_ops(tmp_path, "aten::add", 20.0, apart_us=30.0).finding("tiny-kernels")
    assert found.saving_ms is not None and found.saving_high_ms is not None
    # 40 gaps of 30 µs, in which nothing was recorded.
    assert found.saving_high_ms - found.saving_ms == pytest.approx(1.2, rel=0.05)


def test_ops_that_are_only_handed_over_are_launches(tmp_path: Path) -> None:
    asked = _of_ops(tmp_path, "aten::add", 30.0)
    assert asked.finding("tiny-kernels").measured["waiting_ms"] > 1.0  # type: ignore[operator]
    said = [one.title for one in asked.answers("largest-part") if isinstance(one, Finding)]
    assert said and not any("on the host" in one for one in said)


def test_norms_in_channels_first_may_go_with_the_transposes(tmp_path: Path) -> None:
    """PyTorch has cuDNN's norms for channels_last alone: half of an H200's step went with them."""
    kernels = [
        ("aten::convolution", "void cudnn::engines_precompiled::nchwToNhwcKernel<half>", 40.0),
        (
            "aten::convolution",
            "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc",
            60.0,
        ),
        (
            "aten::native_batch_norm",
            "void at::native::batch_norm_collect_statistics_kernel<>",
            90.0,
        ),
    ]
    events, at = [], 100.0
    for step in range(5):
        begin = at
        for number in range(30):
            op, kernel, takes = kernels[number % 3]
            one = 1000 * (step + 1) + number
            events += [
                x("cpu_op", op, at, 4.0),
                x("cuda_runtime", "cudaLaunchKernel", at + 1, 2.0, correlation=one),
                x("kernel", kernel, at + 4, takes, 0, 7, device=0, stream=7, correlation=one),
            ]
            at += takes + 5.0
        events.append(x("user_annotation", f"ProfilerStep#{step}", begin - 1, at - begin))
    found = Asked(traced(tmp_path, events, deviceProperties=[A100])).finding("layout-transposes")
    assert found.saving_ms == pytest.approx(0.8 * 0.4, rel=0.02)
    assert found.saving_high_ms == pytest.approx(0.4 + 0.9 * 2 / 3, rel=0.02)
