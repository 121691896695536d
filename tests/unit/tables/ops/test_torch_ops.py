"""The types that devices compute in, and the peaks of these."""

from __future__ import annotations

import math

from stepscope.formats.xspace import decode
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Host
from stepscope.tables.ops.device_peaks import Peaks, device_peaks
from stepscope.tables.ops.torch_ops import HALF, type_times, used_peaks
from tests.profiles.model import NVIDIA_A100, Event, gpu, host, line, space, stream
from tests.profiles.torch_loop import PLAIN, TorchLoop, torch_loop

ROCM_XF32 = "Cijk_Alik_Bljk_S_MX_xf32_MT128x128"


def recorded(*events: Event) -> Host:
    return Host(
        "h", decode(space(host(line("python", Event("f", 0, 1))), gpu(0, stream(1, *events))))
    )


def test_names_of_kernels_tell_the_bits_and_unknown_ones_are_left_out() -> None:
    found = type_times(
        recorded(
            Event("ampere_sgemm_128x64_nn", 0, 10),
            Event("sm80_xmma_gemm_tf32f32_tf32f32_f32", 10, 20),
            Event(ROCM_XF32, 30, 5),
            Event("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", 40, 40),
            Event("loop_fusion_3", 80, 80),
            Event("MemcpyH2D", 160, 10),
        )
    )
    assert found == {"fp32": 10_000_000, "tf32": 25_000_000, HALF: 40_000_000}


def test_products_of_pytorch_tell_their_type() -> None:
    half = Host("h", decode(torch_loop(TorchLoop(steps=4))))
    wide = Host("h", decode(torch_loop(TorchLoop(steps=4, dtype="float", kernel=PLAIN))))
    assert set(type_times(half)) == {"fp16"}
    assert set(type_times(wide)) == {"fp32"}


def test_types_of_one_peak_share_a_row_and_unknown_peaks_have_none() -> None:
    both = recorded(Event("hgemm", 0, 10), Event("ampere_sgemm_128x64_nn", 10, 30))
    peaks = Peaks(flops=4e12, flops_by_type=(("bf16", 4e12), ("fp16", 4e12), ("fp32", 1e12)))
    assert used_peaks([both], peaks) == [(HALF, 4e12, 10_000_000), ("fp32", 1e12, 30_000_000)]
    assert used_peaks([both], Peaks(flops=4e12)) == []
    only = Peaks(flops=4e12, flops_by_type=(("fp32", 1e12),))
    assert [name for name, _, _ in used_peaks([both], only)] == ["fp32"]
    exact = Host("h", decode(torch_loop(TorchLoop(steps=4))))
    names = [name for name, _, _ in used_peaks([both, exact], peaks)]
    assert names == ["fp16", "fp32"]


def a100(**said: float) -> Peaks:
    plane = gpu(0, stream(1, Event("k", 0, 1)), stats={**NVIDIA_A100, **said})
    return device_peaks(devices(Host("h", decode(space(plane))))[0])


def test_the_clock_gives_the_peak_of_each_type() -> None:
    cycles = 108 * 1.41e9
    found = a100()
    assert dict(found.flops_by_type) == {
        "bf16": 2048 * cycles,
        "fp16": 2048 * cycles,
        "tf32": 1024 * cycles,
        "fp32": 128 * cycles,
    }
    assert found.flops == 2048 * cycles


def test_a_recorded_peak_replaces_that_of_the_fastest_type_and_no_type_exceeds_it() -> None:
    assert dict(a100(peak_teraflops_per_second=100.0).flops_by_type) == {
        "bf16": 100e12,
        "fp16": 100e12,
        "fp32": 128 * 108 * 1.41e9,
    }
    assert not math.isnan(a100(peak_teraflops_per_second=100.0).flops)
