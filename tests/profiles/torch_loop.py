"""A training loop of PyTorch's as torch.profiler writes it, with faults to switch on."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.read import read_pieces
from stepscope.formats.kineto.steps import StepCount
from tests.unit.formats.kineto.layout import text, x

V100 = {"id": 0, "name": "Tesla V100-SXM2-16GB", "computeMajor": 7, "computeMinor": 0,
        "numSms": 80, "totalGlobalMem": 16 << 30}  # fmt: skip
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
        reductions: Bytes of each reduction, one behind the other at the end of the step.
        reduction_us: How long each takes.
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

    @property
    def step_us(self) -> float:
        """Length of a step."""
        compute = self.products * self.product_us + self.breaks * self.break_us
        compute += self.recompile_us
        return self.load_us + compute + len(self.reductions) * self.reduction_us + 20.0


def torch_loop(loop: TorchLoop) -> bytes:
    """The loop as an XSpace."""
    events = []
    for step in range(loop.steps):
        events += _step(loop, step, 100.0 + step * loop.step_us)
    trace = read_pieces([text(events, {"deviceProperties": [V100]}).encode()])
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
    first = at
    number = 1000 * (step + 1)
    every = max(loop.products // (loop.breaks + 1), 1)
    for product in range(loop.products):
        if loop.breaks and product and product % every == 0:
            at += loop.break_us  # Python goes on by itself; the device waits
        number += 1
        events += _launch(number, "aten::mm", HALF, at, loop.product_us - 1, **_shapes(loop))
        at += loop.product_us
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
            "Collective_name": "allreduce", "In_msg_nelems": size // 2, "Out_msg_nelems": size // 2,
            "Group_size": 8, "dtype": "BFloat16", "Process_Group_Name": "0",
        }  # fmt: skip
        ran = loop.reduction_us - 1
        events += _launch(number, "record_param_comms", "ncclDevKernel_AllReduce", at, ran, **said)
        at += loop.reduction_us
    return events


def _shapes(loop: TorchLoop) -> dict[str, object]:
    """Of square matrices whose product takes that long at 100 TFLOP/s."""
    size = round((loop.product_us * 1e-6 * 100e12 / 2) ** (1 / 3))
    return {"Input_Dims": [[size, size]] * 2, "Input_type": ["c10::Half"] * 2}


def _launch(
    number: int, op: str, kernel: str, at: float, length: float, **said: object
) -> list[dict[str, object]]:
    """An op, its launch, and the kernel right behind it."""
    return [
        x("cpu_op", op, at, 3.0, **said),
        x("cuda_runtime", "cudaLaunchKernel", at + 0.5, 1.5, correlation=number),
        x("kernel", kernel, at + 1, length, 0, 7, device=0, stream=7, correlation=number, **said),
    ]
