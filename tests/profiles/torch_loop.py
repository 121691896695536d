"""A training loop of PyTorch's as torch.profiler writes it, with faults to switch on."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.reading.read import read_pieces
from stepscope.formats.kineto.steps import StepCount
from tests.unit.formats.kineto.layout import text, x

V100 = {
    "id": 0,
    "name": "Tesla V100-SXM2-16GB",
    "computeMajor": 7,
    "computeMinor": 0,
    "numSms": 80,
    "totalGlobalMem": 16 << 30,
}
# How long a read of a number, a retry of the allocator and an update of a parameter take.
_READ_US, _RETRY_US, _UPDATE_US = 60.0, 300.0, 8.0
A100 = {
    "id": 0,
    "name": "NVIDIA A100-SXM4-80GB",
    "computeMajor": 8,
    "computeMinor": 0,
    "numSms": 108,
    "totalGlobalMem": 80 << 30,
}
PLAIN = "ampere_sgemm_128x64_nn"
MULTIPLY = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<c10::Half, "
    "c10::Half, c10::Half, at::native::binary_internal::MulFunctor<float>>>"
)
HALF = "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn"


@dataclass(frozen=True)
class TorchLoop:
    """A loop of equal steps; times in µs.

    Attributes:
        steps: How many.
        loader: Iterator of its DataLoader, and how long the step waits for it.
        load_us: That wait.
        products: Products of matrices in a step, each of ``product_us``.
        is_compiled: Whether its products are in a region of torch.compile.
        breaks: How often that breaks; Python then takes ``break_us``.
        recompile_us: How long it is compiled at the begin of each step.
        reductions: Bytes of each reduction, one after the other at the end of the step.
        reduction_us: How long each takes.
        unfused: Elementwise ops behind each product, of ``unfused_us`` each.
        kernel: What the products run.
        dtype: Of the matrices.
        gpu: It runs on, as ``deviceProperties`` lists it.
        reads: How often the loop reads a number of the device at the end of the step (``.item()``).
        copy_us: Copying the batch to the device, before the products.
        copied: Memory it is copied from, as CUPTI says.
        retries: How often the allocator frees its cache and asks the driver again.
        is_emptied: It is the program that frees it, and not an op that needs room.
        collection_us: Collecting garbage at the end of the step.
        updates: Parameters that the optimizer updates one by one.
    """

    steps: int = 12
    loader: str = "_MultiProcessingDataLoaderIter"
    load_us: float = 5.0
    products: int = 10
    product_us: float = 150.0
    is_compiled: bool = False
    breaks: int = 0
    break_us: float = 100.0
    recompile_us: float = 0.0
    reductions: tuple[int, ...] = ()
    reduction_us: float = 12.0
    unfused: int = 0
    unfused_us: float = 30.0
    kernel: str = HALF
    dtype: str = "c10::Half"
    gpu: dict[str, object] = field(default_factory=lambda: V100)
    reads: int = 0
    copy_us: float = 0.0
    copied: str = "Pageable"
    retries: int = 0
    is_emptied: bool = False
    collection_us: float = 0.0
    updates: int = 0

    @property
    def step_us(self) -> float:
        """Length of a step."""
        compute = self.products * self.product_us + self.breaks * self.break_us
        compute += self.products * self.unfused * self.unfused_us
        compute += self.recompile_us
        rest = self.reads * _READ_US + self.copy_us + self.retries * _RETRY_US
        rest += self.collection_us + self.updates * _UPDATE_US
        return self.load_us + compute + len(self.reductions) * self.reduction_us + rest + 20.0


def torch_loop(loop: TorchLoop) -> bytes:
    """The loop as an XSpace."""
    events = []
    for step in range(loop.steps):
        events += _step(loop, step, 100.0 + step * loop.step_us)
    trace = read_pieces([text(events, {"deviceProperties": [loop.gpu]}).encode()])
    return to_xspace(trace, count=StepCount())[0]


def _step(loop: TorchLoop, step: int, begin: float) -> list[dict[str, object]]:
    events = [
        x("user_annotation", f"ProfilerStep#{step}", begin, loop.step_us - 1),
        x(
            "user_annotation",
            f"enumerate(DataLoader)#{loop.loader}.__next__",
            begin + 1,
            loop.load_us,
        ),
    ]
    at = begin + 2 + loop.load_us
    if loop.recompile_us:
        name = "_compile.compile_inner (dynamo_timed)"
        events.append(x("cpu_op", name, at, loop.recompile_us))
        at += loop.recompile_us
    if loop.copy_us:
        events.append(x("python_function", "train.py(8): to_device", at, loop.copy_us))
        way = f"HtoD ({loop.copied} -> Device)"
        events += _copy(1000 * (step + 1) + 900, way, at, loop.copy_us)
        at += loop.copy_us
    first = at
    number = 1000 * (step + 1)
    every = max(loop.products // (loop.breaks + 1), 1)
    for product in range(loop.products):
        if loop.breaks and product and product % every == 0:
            at += loop.break_us  # Python goes on by itself; the device waits
        number += 1
        events += _launch(number, "aten::mm", loop.kernel, at, loop.product_us - 1, **_shapes(loop))
        at += loop.product_us
        for behind in range(loop.unfused):
            own = 1_000_000 + 100 * number + behind
            events += _launch(own, "aten::mul", MULTIPLY, at, loop.unfused_us - 1)
            at += loop.unfused_us
    if loop.is_compiled:
        events.append(x("cpu_op", "Torch-Compiled Region: 0/0", first, at - first))
        for place in range(loop.breaks):
            start = first + (place + 1) * every * loop.product_us
            events += [
                x("cpu_op", f"Torch-Compiled Region: {place + 1}/0", start, 40.0),
                x(
                    "python_function",
                    "train.py(9): torch_dynamo_resume_in_forward_at_12",
                    start,
                    41.0,
                ),
            ]
    for size in loop.reductions:
        number += 1
        said = {
            "Collective_name": "allreduce",
            "In_msg_nelems": size // 2,
            "Out_msg_nelems": size // 2,
            "Group_size": 8,
            "dtype": "BFloat16",
            "Process_Group_Name": "0",
        }
        ran = loop.reduction_us - 1
        events += _launch(number, "record_param_comms", "ncclDevKernel_AllReduce", at, ran, **said)
        at += loop.reduction_us
    return events + _faults(loop, number + 1, at)


def _faults(loop: TorchLoop, number: int, at: float) -> list[dict[str, object]]:
    """What the loop does behind its products and should not."""
    events = []
    for _ in range(loop.retries):
        half = _RETRY_US / 2
        if not loop.is_emptied:
            events.append(x("cpu_op", "aten::empty", at - 0.5, _RETRY_US))
        events += [
            x("cuda_runtime", "cudaFree", at, half - 1, correlation=number),
            x("cuda_runtime", "cudaMalloc", at + half, half - 1, correlation=number + 1),
        ]
        number, at = number + 2, at + _RETRY_US
    if loop.updates:
        length = loop.updates * _UPDATE_US
        events.append(x("user_annotation", "Optimizer.step#Adam.step", at, length))
        for _ in range(loop.updates):
            events += _launch(number, "aten::add_", "elementwise_kernel", at + 0.2, 2.0)
            number, at = number + 1, at + _UPDATE_US
    for _ in range(loop.reads):
        # The product runs while the host waits; then the device waits for the host.
        events += _launch(number, "aten::mm", loop.kernel, at, _READ_US / 2, **_shapes(loop))
        events += [
            x("python_function", "train.py(20): log_loss", at + 4, _READ_US - 6),
            x("cpu_op", "aten::item", at + 5, _READ_US / 2 + 5),
            x("cpu_op", "aten::_local_scalar_dense", at + 6, _READ_US / 2 + 3),
            x("cuda_runtime", "cudaMemcpyAsync", at + 7, 2.0, correlation=number + 1),
            x("cuda_runtime", "cudaStreamSynchronize", at + 10, _READ_US / 2 - 2),
            x(
                "gpu_memcpy",
                "Memcpy DtoH (Device -> Pageable)",
                at + _READ_US / 2 + 2,
                3.0,
                0,
                7,
                device=0,
                stream=7,
                correlation=number + 1,
                bytes=4,
            ),
        ]
        number, at = number + 2, at + _READ_US
    if loop.collection_us:
        events.append(x("python_function", "Python GC", at, loop.collection_us - 1))
    return events


def _copy(number: int, way: str, at: float, length: float) -> list[dict[str, object]]:
    """A copy that the host waits for."""
    return [
        x("cpu_op", "aten::copy_", at, length),
        x("cuda_runtime", "cudaMemcpyAsync", at + 0.5, length - 1, correlation=number),
        x(
            "gpu_memcpy",
            f"Memcpy {way}",
            at + 1,
            length - 2,
            0,
            7,
            device=0,
            stream=7,
            correlation=number,
            bytes=round(length * 6000),
        ),
    ]


def _shapes(loop: TorchLoop) -> dict[str, object]:
    """Of square matrices whose product takes that long at 100 TFLOP/s."""
    size = round((loop.product_us * 1e-6 * 100e12 / 2) ** (1 / 3))
    return {"Input_Dims": [[size, size]] * 2, "Input_type": [loop.dtype] * 2}


def _launch(
    number: int, op: str, kernel: str, at: float, length: float, **said: object
) -> list[dict[str, object]]:
    """An op, its launch, and the kernel right behind it."""
    return [
        x("cpu_op", op, at, 3.0, **said),
        x("cuda_runtime", "cudaLaunchKernel", at + 0.5, 1.5, correlation=number),
        x("kernel", kernel, at + 1, length, 0, 7, device=0, stream=7, correlation=number, **said),
    ]
