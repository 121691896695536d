"""Played profiles with one planted fault each, and healthy ones: GPUs, TPUs, many hosts, CPU.

Each healthy run is one that does what its faulty siblings fail to do, so that a rule that fires on
whatever is large would be found out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from stepscope.formats import FORMATS
from stepscope.formats.xspace.encode import encode
from stepscope.store import read_pieces
from tests.labelled import Labelled, pods, torch_loops
from tests.profiles.loops import Collective, Kernel, Loop, copy_to_device, copy_to_host, record
from tests.profiles.model import NVIDIA_A100, Event, Stats, host, line, space
from tests.profiles.starts import Look, Span, start
from tests.unit.formats.nccl.dumps import dump, entry, write_dumps

GIB = 1 << 30
V100: Stats = {
    "compute_cap_major": 7,
    "compute_cap_minor": 0,
    "device_vendor": "Nvidia",
    "clock_rate": 1_530_000,
    "core_count": 80,
    "memory_bandwidth": 900_000_000_000,
}
MI300X: Stats = {
    "compute_cap_major": 9,
    "compute_cap_minor": 4,
    "device_vendor": "AMD",
    "clock_rate": 2_100_000,
    "core_count": 304,
    "memory_bandwidth": 5_300_000_000_000,
}
H100: Stats = {**NVIDIA_A100, "compute_cap_major": 9, "clock_rate": 1_980_000, "core_count": 132}
TPU_V4: Stats = {"device_type_string": "TPU v4"}
TPU_V6E: Stats = {"device_type_string": "TPU v6 Lite"}

BF16 = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn"
HALF_SUM = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<c10::BFloat16>>"
)
WAIT = "cudaStreamSynchronize"
RING = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)"


def layers(
    product: str = BF16,
    other: str = HALF_SUM,
    *,
    us: float = 200.0,
    count: int = 6,
    op: str = "MatMul",
    between: tuple[Kernel, ...] = (),
) -> list[Kernel]:
    """A network of ``count`` layers: a product of ``us`` µs and a sum of a quarter of that."""
    found: list[Kernel] = []
    for layer in range(count):
        scope = f"model/layer_{layer}"
        found.append(Kernel(product, us, f"{scope}/{op}:{op}"))
        found += between
        found.append(Kernel(other, us / 4, f"{scope}/Add:AddV2"))
    return found


def tpu_ops(
    dtype: str = "bf16", *, us: float = 200.0, count: int = 6, **costs: float
) -> list[Kernel]:
    """HLO fusions of a TPU program, ``costs`` being stats of the op (flops, bytes_accessed)."""
    return [
        Kernel(
            f"%fusion.{layer} = {dtype}[1024,1024]{{1,0:T(8,128)}} fusion({dtype}[1024,1024] %p)",
            us,
            f"jit(step)/layer_{layer}/dot_general:dot_general",
            stats={"hlo_category": "convolution fusion", **costs},
        )
        for layer in range(count)
    ]


# A step of 1.5 ms whose parts are as they should be; memory well used.
GOOD = Loop(layers(), heap=(10 * GIB, 16 * GIB, 0.05), steps=12)
GOOD_TPU = Loop(
    tpu_ops(), is_tpu=True, device=TPU_V4, devices=4, steps=12, wait="block_until_ready"
)
POD = replace(GOOD, devices=4, collective=Collective(300, overlap_us=290, name=RING))
TPU_RING = "%all-reduce.1 = bf16[1024,1024]{1,0} all-reduce(bf16[1024,1024] %g)"


def _one(loop: Loop) -> Callable[[], dict[str, bytes]]:
    return lambda: record(loop)


def _many(*loops: Loop) -> Callable[[], dict[str, bytes]]:
    return lambda: record(*loops)


def _cpu_training() -> dict[str, bytes]:
    """A CPU that computes 9.7 of 10 ms; the input is ready when it is asked for."""
    main: list[Event] = []
    compute: list[Event] = []
    for step in range(12):
        base = 10_000.0 * step
        main.append(Event("train", base, 9_990.0, {"step_num": step, "_r": 1}))
        main.append(Event("IteratorGetNext", base + 5, 20.0))
        for layer in range(6):
            at = base + 50 + 1_650 * layer
            name = f"model/layer_{layer}"
            compute.append(Event(f"{name}/Conv2D:Conv2D", at, 1_580.0))
            compute.append(Event(f"{name}/Relu:Relu", at + 1_580, 70.0))
    return {"host-0": space(host(line("python", *main), line("tf_Compute", *compute)))}


def _faults_of_precision() -> list[Labelled]:
    rocm = "Cijk_Ailk_Bljk_SB_MT128x128x16_SN_1LDSB0"
    return [
        Labelled(
            "gpu_float32_products",
            "full-precision",
            _one(replace(GOOD, kernels=layers("ampere_sgemm_128x64_nn", "Eigen::sum<float>"))),
        ),
        Labelled(
            "gpu_tf32_products",
            None,  # on tensor cores already: fewer bits are an offer
            _one(
                replace(
                    GOOD,
                    kernels=layers("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n", "Eigen::sum<float>"),
                )
            ),
        ),
        Labelled(
            "v100_float32_products",
            "full-precision",
            _one(replace(GOOD, kernels=layers("volta_sgemm_128x64_nn", "sum"), device=V100)),
        ),
        Labelled(
            "rocm_float32_products",
            "full-precision",
            _one(replace(GOOD, kernels=layers(rocm, "sum"), device=MI300X)),
        ),
        Labelled(
            "tpu_float32",
            "full-precision",
            _one(replace(GOOD_TPU, kernels=tpu_ops("f32"))),
        ),
        Labelled(
            "gpu_odd_dimensions",
            "tensor-cores-unused",
            _one(replace(GOOD, kernels=layers("cutlass_80_simt_hgemm_128x64_8x5_nn_align1"))),
        ),
    ]


def _faults_of_ops() -> list[Labelled]:
    turn = Kernel("void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>", 90)
    convolution = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128"
    attention = Kernel("void pytorch_flash::flash_fwd_kernel<bf16>", 3000, "model/attend/Attention")
    poor = {"flops": 2_000_000_000, "bytes_accessed": 10_000_000}
    return [
        Labelled(
            "gpu_channels_first",
            "layout-transposes",
            _one(replace(GOOD, kernels=layers(convolution, op="Conv2D", between=(turn, turn)))),
        ),
        Labelled(
            "gpu_one_large_op",
            "largest-part",
            _one(replace(GOOD, kernels=[*layers(), attention])),
        ),
        Labelled(
            "gpu_far_below_roofline",
            "roofline-gap",
            _one(
                replace(
                    GOOD,
                    kernels=[*layers(), Kernel(BF16, 900, "model/odd/MatMul:MatMul", stats=poor)],
                )
            ),
        ),
        Labelled(
            "tpu_far_below_roofline",
            "roofline-gap",
            _one(
                replace(GOOD_TPU, kernels=tpu_ops(flops=2_000_000_000, bytes_accessed=20_000_000))
            ),
        ),
    ]


def _faults_of_launches() -> list[Labelled]:
    tiny = [Kernel(BF16, 3, f"model/layer_{n}/MatMul:MatMul") for n in range(300)]
    return [
        Labelled(
            "gpu_waits_for_input",
            "input-bound",
            _one(replace(GOOD, input_us=900, wait=WAIT)),
            also=("missing-prefetch",),
        ),
        Labelled(
            "tpu_waits_for_input",
            "input-bound",
            _one(replace(GOOD_TPU, input_us=900)),
            also=("missing-prefetch",),
        ),
        Labelled(
            "gpu_kernels_shorter_than_launches",
            "tiny-kernels",
            _one(replace(GOOD, kernels=tiny, launch_us=6)),
        ),
        Labelled(
            "gpu_small_batch",
            "small-batch",
            _one(replace(GOOD, kernels=tiny, launch_us=6, heap=(GIB // 4, 40 * GIB, 0.05))),
        ),
        Labelled(
            "gpu_launches_compete_with_tf_data",
            "slow-launches",
            _one(replace(GOOD, kernels=layers(us=40, count=20), launch_us=60, stage_us=1_500)),
        ),
    ]


def _faults_of_waits() -> list[Labelled]:
    return [
        Labelled(
            "gpu_loss_read_in_every_step",
            "host-waits",
            _one(replace(GOOD, wait=WAIT, after_us=700)),
        ),
        Labelled(
            "tpu_blocks_in_every_step",
            "host-waits",
            _one(replace(GOOD_TPU, after_us=700)),
        ),
        Labelled(
            "gpu_python_between_ops",
            "idle-device",
            _one(replace(GOOD, python_us=2_500)),
            also=("python-bound",),
        ),
        Labelled(
            "gpu_batch_from_pageable_memory",
            "host-copies",
            _one(
                replace(
                    GOOD,
                    kernels=[
                        copy_to_device(800, 8 << 20, memory="pageable", blocking=True),
                        *layers(),
                    ],
                    wait=WAIT,
                )
            ),
        ),
        Labelled(
            "gpu_results_fetched_in_every_step",
            "host-copies",
            _one(replace(GOOD, kernels=[*layers(), copy_to_host(600, 8 << 20)], wait=WAIT)),
        ),
    ]


def _faults_of_memory() -> list[Labelled]:
    moves = Kernel("MemcpyD2D", 120, "model/state/Copy")
    offload = Kernel(
        "%copy-done.1 = f32[5,1024,1024]{2,1,0:T(8,128)} copy-done((f32[5,1024,1024]{2,1,0}, "
        "f32[5,1024,1024]{2,1,0:T(8,128)S(5)}, u32[]) %copy-start.1)",
        2_000,
        stats={"hlo_category": "copy-done"},
    )
    return [
        Labelled(
            "gpu_memory_nearly_full",
            "memory-near-limit",
            _one(replace(GOOD, heap=(int(15.5 * GIB), 16 * GIB, 0.05))),
        ),
        Labelled(
            "gpu_memory_in_pieces",
            "memory-fragmentation",
            _one(replace(GOOD, heap=(13 * GIB, 16 * GIB, 0.8))),
        ),
        Labelled(
            "gpu_moves_its_own_memory",
            "device-copies",
            _one(replace(GOOD, kernels=layers(between=(moves,)))),
        ),
        Labelled(
            "tpu_tensors_in_host_memory",
            "host-copies",
            _one(replace(GOOD_TPU, kernels=[offload, *tpu_ops()])),
        ),
    ]


def _faults_of_many() -> list[Labelled]:
    bare = replace(GOOD, devices=2, collective=Collective(400, name=RING))
    slow = replace(POD, slower={2: 1.4})
    late = replace(POD, input_us=500, wait=WAIT)
    heavy = replace(POD, more={0: layers(count=3)})
    alone = replace(GOOD, kernels=[Kernel("void touch()", 5)], devices=2, more={0: layers()})
    tpu = replace(GOOD_TPU, collective=Collective(400, name=TPU_RING))
    rccl = Collective(2_500, name="rcclGenericKernel_AllReduce(ncclDevComm*)")
    amd = replace(
        GOOD,
        kernels=layers("Cijk_Ailk_Bljk_BBS_BH_MT256x128x32_MI16x16x16x1"),
        device=MI300X,
        devices=2,
        collective=rccl,
    )
    return [
        Labelled("gpu_gradients_sent_at_the_end", "exposed-collectives", _many(bare, bare)),
        Labelled("tpu_gradients_sent_at_the_end", "exposed-collectives", _many(tpu, tpu)),
        Labelled(
            "gpu_slow_network",
            "collective-bound",
            _many(*[replace(bare, collective=Collective(2_500, name=RING))] * 2),
        ),
        Labelled("rocm_slow_network", "collective-bound", _many(amd, amd)),
        Labelled("gpu_one_slow_device", "straggler", _many(POD, slow)),
        Labelled(
            "gpu_one_host_with_slow_input",
            "straggler",
            _many(replace(POD, wait=WAIT), late, replace(POD, wait=WAIT)),
        ),
        Labelled("gpu_one_device_with_more_work", "unbalanced-devices", _many(heavy, POD)),
        Labelled("gpu_one_device_of_two_used", "unbalanced-devices", _one(alone)),
        Labelled("nccl_rank_that_stopped", "hung-collective", _rank_that_stopped),
        Labelled("start_with_a_slow_import", "slow-start", _slow_import),
    ]


def _slow_import() -> dict[str, bytes]:
    """A program whose start is mostly one import, with no step recorded beyond its first ones."""
    spans = [
        Span("interpreter", "Python", 0, 80),
        Span("import", "slowpackage", 80, 4_080, "train.py:1"),
    ]
    steps = [(4_200.0 + 10 * number, 4_210.0 + 10 * number) for number in range(12)]
    return {"h": space(start(spans, [Look("main", 80, 4_320, cpu=4_240)], steps))}


def _rank_that_stopped() -> dict[str, bytes]:
    """Dumps of NCCL's flight recorder: two ranks call a collective that the third does not."""
    begun = [entry(number, number) for number in range(1, 6)]
    waits, stopped = dump([*begun, entry(6, 6, "started")], 3), dump(begun, 3)
    found = {}
    with TemporaryDirectory() as folder:
        write_dumps(Path(folder), waits, stopped, waits)
        for rank in range(3):
            path = str(Path(folder, f"nccl_trace_rank_{rank}"))
            space = FORMATS["nccl-flight"].open(read_pieces(path), path)
            found[f"rank{rank}"] = encode(space)
    return found


def _healthy() -> list[Labelled]:
    volta = layers("volta_h884gemm_128x64_ldg8_nn", "add_half")
    fp8 = layers("nvjet_qqtst_128x256_64x4_2x1_v_bz_TNT")
    amd = layers("Cijk_Ailk_Bljk_BBS_BH_MT256x128x32_MI16x16x16x1")
    tpu = replace(GOOD_TPU, device=TPU_V6E, collective=Collective(30, name=TPU_RING))
    answers = [copy_to_device(8, 64 << 10), *layers(), copy_to_host(8, 64 << 10)]
    return [
        Labelled("healthy_gpu", None, _one(GOOD)),
        Labelled("healthy_gpu_with_input", None, _one(replace(GOOD, input_us=30, stage_us=900))),
        Labelled(
            "healthy_gpu_that_logs_its_loss", None, _one(replace(GOOD, wait=WAIT, after_us=20))
        ),
        Labelled(
            "healthy_v100_mixed_precision", None, _one(replace(GOOD, kernels=volta, device=V100))
        ),
        Labelled("healthy_h100_fp8", None, _one(replace(GOOD, kernels=fp8, device=H100))),
        Labelled("healthy_rocm", None, _one(replace(GOOD, kernels=amd, device=MI300X))),
        Labelled("healthy_gpu_pod", None, _many(POD, replace(POD, clock_us=9e6))),
        Labelled("healthy_tpu_pod", None, _many(tpu, replace(tpu, clock_us=5e5))),
        Labelled("healthy_tpu", None, _one(GOOD_TPU)),
        Labelled("healthy_cpu", None, _cpu_training),
        Labelled(
            "healthy_inference",
            None,
            _one(replace(GOOD, kernels=answers, heap=(2 * GIB, 16 * GIB, 0.05))),
        ),
    ]


PROFILES: tuple[Labelled, ...] = (
    *_faults_of_precision(),
    *_faults_of_ops(),
    *_faults_of_launches(),
    *_faults_of_waits(),
    *_faults_of_memory(),
    *_faults_of_many(),
    *_healthy(),
    *torch_loops.PROFILES,
    *pods.PROFILES,
)
